"""`modlm next`: the most probable next words, and which columns they come from."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from modlm.cli.options import ForeignTokenizer, Json, ModelArgument, option
from modlm.cli.printing import bar, percent, print_json, print_table

if TYPE_CHECKING:
    from modlm.model.language_model import Prediction

BAR = 20  # letters of the longest bar
SHOWN = 0.005  # shares below this are left out


def next_words(
    model: ModelArgument,
    context: Annotated[
        str, typer.Argument(metavar="CONTEXT", help="The words before, in quotes; none for the start of a sentence.")
    ] = "",
    k: Annotated[int, option("-k", "How many words.", min=1)] = 10,
    middle: Annotated[bool, option("--middle", "The context does not begin a sentence.")] = False,
    tokenizer: ForeignTokenizer = None,
    json: Json = False,
) -> None:
    """The most probable next words, and why.

    Beside each word stand its probability and how much of it each order (or other column) gave.

    \b
    modlm next model "the company said"
    modlm next model "said it" --middle -k 5 --json
    """  # fmt: skip
    from modlm.model.folder import load

    lm = load(model, tokenizer=tokenizer)
    predictions = lm.next_words(context, k, start=not middle)
    if json:
        print_json([{"word": p.word, "probability": p.probability, "shares": p.shares} for p in predictions])
        return
    unknown = [word for word in lm.vocabulary.split(context) if word not in lm.vocabulary]
    if unknown:
        print(f"not in the vocabulary, so unknown: {' '.join(unknown)}")
    print_predictions(predictions)


def print_predictions(predictions: list[Prediction]) -> None:
    """A line for each word: its probability, a bar, and the shares of the columns that matter."""
    names = [name for name in predictions[0].shares if any(p.shares[name] >= SHOWN for p in predictions)]
    longest = predictions[0].probability or 1.0
    room = shutil.get_terminal_size((100, 24)).columns
    width = max(4, min(BAR, room - 26 - 9 * len(names)))
    rows = [
        [
            p.word,
            bar(p.probability / longest, width).ljust(width),
            percent(p.probability),
            *(f"{p.shares[name]:.0%}" if p.shares[name] >= SHOWN else "·" for name in names),
        ]
        for p in predictions
    ]
    print_table(["word", "", "probability", *names], rows, left=2)
