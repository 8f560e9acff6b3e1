"""The directive `modlm-commands`: a section for each command, made from what `modlm COMMAND --help` says."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CODE = re.compile(r"(`[^`]+`)")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("modlm-commands", CommandReference)
    return {"parallel_read_safe": True}


class CommandReference(SphinxDirective):
    """Every command of the program, in the order of `modlm --help`."""

    def run(self) -> list[nodes.Node]:
        import typer.main

        from modlm.cli.app import program

        whole: Any = typer.main.get_command(program())
        context = whole.context_class(whole, info_name="modlm", **whole.context_settings)
        return [self.section(name, command, context) for name, command in whole.commands.items()]

    def section(self, name: str, command: Any, above: Any) -> nodes.section:
        """One command: what it does, how it is called, and its arguments and options."""
        context = command.context_class(command, info_name=name, parent=above)
        section = nodes.section("", nodes.title(text=f"modlm {name}"), ids=[f"modlm-{name}"], names=[f"modlm {name}"])
        self.state.document.note_explicit_target(section)
        section += described(inspect.cleandoc(command.help or ""))
        section += block(command.get_usage(context).removeprefix("Usage: "), "text")
        rows = [(parameter, parameter.get_help_record(context)) for parameter in command.get_params(context)]
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            listed = [record for parameter, record in rows if parameter.param_type_name == kind and record]
            if listed:
                section += nodes.rubric(text=title)
                section += definitions(listed)
        return section


def described(text: str) -> Iterator[nodes.Node]:
    """Paragraphs; what follows a line with \\b stands as it is written, which is how examples are given."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("\b"):
            yield block(paragraph.removeprefix("\b\n"), "text")
        else:
            yield nodes.paragraph("", "", *inline(" ".join(paragraph.split())))


def definitions(records: list[tuple[str, str]]) -> nodes.definition_list:
    """Names as terms, help as their definitions."""
    return nodes.definition_list(
        "",
        *(
            nodes.definition_list_item(
                "",
                nodes.term("", "", nodes.literal(text=name)),
                nodes.definition("", nodes.paragraph("", "", *inline(" ".join(meaning.split())))),
            )
            for name, meaning in records
        ),
        classes=["options"],
    )


def inline(text: str) -> list[nodes.Node]:
    """Plain text with code between backticks."""
    return [
        nodes.literal(text=part.strip("`")) if CODE.fullmatch(part) else nodes.Text(part)
        for part in CODE.split(text)
        if part
    ]


def block(text: str, language: str) -> nodes.literal_block:
    """Lines as they are."""
    return nodes.literal_block(text, text, language=language)
