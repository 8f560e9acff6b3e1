"""Texts in requests: sentences, words, and what may not stand in them."""

from __future__ import annotations

from collections.abc import Sequence

from modlm.serve.limits import MOST_CONTEXT, Limits
from modlm.serve.refusals import bad, too_large
from modlm.text.vocabulary import END_NAME, START_NAME, split_words


def lines_of(text: str) -> list[str]:
    """The sentences of a text, one per line as in files: an empty line is an empty sentence."""
    if not text:
        raise bad("empty_text", "The text is empty, so there is nothing to score. Send one sentence per line.")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def check_sentences(sentences: Sequence[str], limits: Limits) -> int:
    """The number of words; refuses what is too much, or what no sentence may hold."""
    if not sentences:
        raise bad("empty_text", "There are no sentences, so there is nothing to score. Send at least one.")
    if len(sentences) > limits.max_sentences:
        raise too_large(
            "too_many_sentences",
            f"{len(sentences):,} sentences, but at most {limits.max_sentences:,} are taken at once. Send fewer.",
        )
    text = "\n".join(sentences)
    if text.count("\n") >= len(sentences):
        number = next(number for number, sentence in enumerate(sentences, start=1) if "\n" in sentence)
        raise bad(
            "line_break",
            f"Sentence {number} holds a line break, which ends a sentence. Send lines as separate sentences, or all of "
            f'them as "text".',
        )
    if "s>" in text:
        for number, sentence in enumerate(sentences, start=1):
            check_reserved(sentence, where=f"Sentence {number}")
    words = word_count(text)
    if words > limits.max_words:
        raise too_large(
            "too_many_words",
            f"{words:,} words, but at most {limits.max_words:,} are taken at once. Send the text in parts.",
        )
    return words


def check_reserved(sentence: str, *, where: str) -> None:
    for name in (START_NAME, END_NAME):
        if name in sentence and name in split_words(sentence):
            raise bad(
                "reserved_word",
                f"{where} holds {name}, which stands for a sentence boundary and is added by itself. Leave it out.",
            )


def word_count(text: str) -> int:
    """How many words a text has; `str.split` is faster where it splits at the same characters."""
    return len(text.split()) if text.isascii() else len(split_words(text))


def check_context(context: str) -> None:
    if "\n" in context:
        raise bad("line_break", "The context holds a line break, which ends a sentence. Send its last line alone.")
    check_reserved(context, where="The context")
    words = word_count(context)
    if words > MOST_CONTEXT:
        raise too_large(
            "too_many_words",
            f"The context has {words:,} words, but at most {MOST_CONTEXT:,} are taken. Send the nearest ones.",
        )
