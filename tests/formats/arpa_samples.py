"""A small sound ARPA file, and what SRILM, IRSTLM and others make of such."""

from __future__ import annotations

VALID = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=2

\\1-grams:
-1.1\t<unk>
-99\t<s>\t-0.5
-0.9\t</s>
-0.6\ta\t-0.3
-0.7\tb\t0.2

\\2-grams:
-0.4\t<s> a\t-0.1
-0.5\ta b\t-0.15
-0.6\tb </s>
-0.3\ta a

\\3-grams:
-0.2\t<s> a b
-0.1\ta b </s>

\\end\\
"""


def edited(*changes: tuple[str, str]) -> str:
    """The sound file with the first occurrence of each text replaced."""
    text = VALID
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text
