"""What to say about a wrong row of an ARPA file."""

from __future__ import annotations

import math
from contextlib import suppress

from modlm.formats import word_kernels
from modlm.formats.arpa import row_kernels as kernels
from modlm.formats.arpa.header import TOLERANCE
from modlm.formats.lines import shown


def row_error(code: int, found: bytes, order: int, *, top: bool) -> str:
    """The message for a row that was refused, given the field in question."""
    words = "1 word" if order == 1 else f"{order} words"
    end = " and nothing else" if top else " and, if it has one, the log10 backoff weight"
    rule = rf"A row of \{order}-grams: is the log10 probability, {words}{end}, separated by tabs or spaces."
    if code in (kernels.BAD_PROBABILITY, kernels.BAD_BACKOFF):
        what = "log10 probability" if code == kernels.BAD_PROBABILITY else "log10 backoff weight"
        with suppress(ValueError):
            if math.isfinite(float(found)):
                return f"{shown(found)} is no plain decimal number. {rule}"
            return (
                f"the {what} is {shown(found)}. It must be finite; probability zero is written -99. "
                "A tool that writes such numbers failed to estimate them: estimate the model again."
            )
        return f"{shown(found)} stands where the {what} belongs, but is no number. {rule}"
    messages = {
        kernels.POSITIVE: (
            f"the log10 probability {shown(found)} is positive, so the probability is above 1. At most 0 is allowed "
            f"(rounding up to {TOLERANCE:g} is forgiven). Estimate the model again; old versions of IRSTLM write such."
        ),
        kernels.TOP_BACKOFF: (
            f"backoff weight {shown(found)} on an n-gram of the highest order, {order}, from which nothing backs off. "
            "Remove it, or announce the missing higher order."
        ),
        word_kernels.EMPTY_FIELD: f"nothing between two tabs, or before the first. No field may be empty. {rule}",
        word_kernels.CONTROL: (
            "a NUL, vertical tab or form feed character. No word may hold one; remove it from the training text."
        ),
        kernels.TOO_FEW: f"{shown(found.rstrip())} has too few words. {rule}",
        kernels.TOO_MANY: f"{shown(found.rstrip())} has too many words. {rule}",
        kernels.UNKNOWN_WORD: (
            f"the word {shown(found)} is not among the unigrams. Every word of an n-gram must have a row in "
            r"\1-grams:; add it there, or remove the n-gram."
        ),
        kernels.REPEATED_WORD: f"the unigram {shown(found)} is there twice. Keep one of its rows.",
        kernels.START_INSIDE: (
            "<s> after another word. <s> begins a sentence, so it can stand only at the start of an n-gram; "
            "remove the n-gram, and check that <s> is no word of the training text."
        ),
    }
    return messages[code]
