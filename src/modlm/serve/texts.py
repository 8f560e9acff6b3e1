"""Texts in requests: sentences, words, and what may not stand in them."""

from collections.abc import Sequence

from modlm.serve.limits import MOST_CONTEXT, Limits
from modlm.serve.refusals import bad, too_large
from modlm.text.vocabulary import END_NAME, START_NAME, split_words


def lines_of(text: str) -> list[str]:
    """The sentences of a text, one per line as in files: an empty line is an empty sentence."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def check_sentences(sentences: Sequence[str], limits: Limits, *, each: int = 1) -> int:
    """The number of words; refuses what is too much if each counts so often, or what no sentence may hold."""
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
    words, most = word_count(text), limits.max_words // max(1, each)
    if words > most:
        beside = f", each beside {each} words of the source" if each > 1 else ""
        message = f"{words:,} words{beside}, but at most {most:,} are taken at once. Send the text in parts."
        raise too_large("too_many_words", message)
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


def check_context(context: str, *, name: str = "context", most: int = MOST_CONTEXT) -> None:
    """Refuse what is no part of one sentence, or too long."""
    if "\n" in context:
        raise bad("line_break", f"The {name} holds a line break, which ends a sentence. Send one line of it alone.")
    check_reserved(context, where=f"The {name}")
    words = word_count(context)
    if words > most:
        message = f"The {name} has {words:,} words, but at most {most:,} are taken. Send fewer."
        raise too_large("too_many_words", message)
