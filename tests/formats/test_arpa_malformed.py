"""Every way to break an ARPA file ends in one message with the file, the line, what was found, and a way out."""

from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path

import pytest
from tests.formats.arpa_samples import VALID, edited

from modlm.errors import InputError
from modlm.formats import read_arpa
from modlm.model.ngram.arpa import from_arpa

PACKED = gzip.compress(VALID.encode() * 500)

# name: (content, line in the message or 0, words in the message)
MALFORMED: dict[str, tuple[str | bytes, int, list[str]]] = {
    "empty file": ("", 0, ["empty", r"\data"]),
    "blank file": ("\n\n\n", 0, [r"no line \data"]),
    "no data line": (edited(("\\data\\\n", "")), 0, [r"no line \data", "first 22 lines"]),
    "data line spelled wrongly": (edited(("\\data\\", "\\Data\\")), 0, [r"no line \data"]),
    "text before data without end": ("blah\n" * 300_000 + VALID, 0, [r"no line \data"]),
    "binary rubbish": (bytes(range(256)) * 50, 0, [r"no line \data"]),
    "zeros": (bytes(100_000), 0, [r"no line \data"]),
    "KenLM binary": (b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(99), 0, ["KenLM binary"]),
    "IRSTLM binary": (b"blmt 3 10 20 30\n" + bytes(99), 0, ["IRSTLM", "compile-lm"]),
    "iARPA": ("iARPA\n" + VALID, 0, ["iARPA", "compile-lm"]),
    "UTF-16": (VALID.encode("utf-16"), 0, ["UTF-16", "iconv"]),
    "data line only": ("\\data\\\n", 2, ["ends after", "truncated"]),
    "no counts": (edited(("ngram 1=5\nngram 2=4\nngram 3=2\n", "")), 3, ["no counts", "'ngram 1="]),
    "count line without number": (edited(("ngram 2=4", "ngram 2=")), 3, ["'ngram 2='", "no count"]),
    "count line with text": (edited(("ngram 2=4", "ngram two=4")), 3, ["'ngram two=4'", "no count"]),
    "count line with a fraction": (edited(("ngram 2=4", "ngram 2=4.5")), 3, ["'ngram 2=4.5'", "whole number"]),
    "count line of another kind": (edited(("ngram 2=4", "grams 2=4")), 3, ["'grams 2=4'"]),
    "negative count": (edited(("ngram 2=4", "ngram 2=-4")), 3, ["-4 2-grams", "negative"]),
    "count of a thousand digits": (edited(("ngram 2=4", "ngram 2=" + "9" * 5000)), 3, ["no count"]),
    "no unigrams": (edited(("ngram 1=5", "ngram 1=0")), 2, ["0 1-grams", "must be unigrams"]),
    "order zero": (edited(("ngram 1=5", "ngram 0=5")), 2, ["order 0", "from 1 to"]),
    "absurd order": (edited(("ngram 3=2", "ngram 1000=2")), 4, ["order 1000", "from 1 to"]),
    "order announced twice": (edited(("ngram 3=2", "ngram 2=2")), 4, ["order 2", "twice"]),
    "order left out": (edited(("ngram 2=4\n", "")), 5, ["order 3", "not order 2"]),
    "absurd count": (edited(("ngram 2=4", "ngram 2=400000000000000")), 0, ["400,000,000,000,007", "truncated"]),
    "more rows announced": (edited(("ngram 2=4", "ngram 2=5")), 19, ["after 4 rows", "5 are announced", "3-grams"]),
    "fewer rows announced": (edited(("ngram 2=4", "ngram 2=3")), 17, ["more rows", "3 announced", "-0.3\ta a"]),
    "more top rows announced": (edited(("ngram 3=2", "ngram 3=3")), 23, ["after 2 rows", "end"]),
    "fewer top rows announced": (edited(("ngram 3=2", "ngram 3=1")), 21, ["more rows", "1 announced"]),
    "section missing": (edited(("\\2-grams:\n", "")), 13, [r"\2-grams:", "more rows"]),
    "section missing with its rows": (
        VALID[: VALID.index("\\2-g")] + VALID[VALID.index("\\3-g") :], 13, [r"\3-grams:", r"\2-grams: should"],
    ),
    "sections in the wrong order": (edited(("\\2-grams:", "\\3-grams:")), 13, [r"\3-grams:", r"\2-grams: should"]),
    "section twice": (edited(("\\3-grams:", "\\2-grams:")), 19, [r"\2-grams:", r"\3-grams: should"]),
    "section that was not announced": (
        edited(("ngram 3=2\n", ""), ("<s> a\t-0.1", "<s> a"), ("a b\t-0.15", "a b")), 18, ["3-grams:", r"\end\ should"]
    ),
    "section mark spelled wrongly": (edited(("\\2-grams:", "\\2-garms:")), 13, [r"\2-garms:"]),
    "text before the first section": (edited(("\\1-grams:", "text\n\\1-grams:")), 6, ["'text'"]),
    "no end": (edited(("\\end\\\n", "")), 23, [r"without the line \end"]),
    "truncated in a section": (VALID[: VALID.index("-0.1\ta b </s>")], 21, ["after 1 of 2", "truncated"]),
    "truncated in a row": (VALID[: VALID.index("\ta b </s>")], 21, ["too few words", "3 words"]),
    "truncated before a section": (VALID[: VALID.index("\\3-g")], 19, [r"\3-grams: should begin", "truncated"]),
    "probability NaN": (edited(("-0.5\ta", "nan\ta")), 15, ["'nan'", "finite", "-99"]),
    "probability infinite": (edited(("-0.5\ta", "-inf\ta")), 15, ["'-inf'", "finite", "-99"]),
    "probability overflows": (edited(("-0.5\ta", "-1e999\ta")), 15, ["'-1e999'", "finite"]),
    "probability positive": (edited(("-0.5\ta", "0.5\ta")), 15, ["'0.5'", "positive", "above 1"]),
    "long probability positive": (edited(("-0.5\ta", "0.5000000000000000000001\ta")), 15, ["positive"]),
    "probability of a unigram positive": (edited(("-0.7\tb", "7\tb")), 11, ["'7'", "positive"]),
    "probability no number": (edited(("-0.5\ta", "-0.5x\ta")), 15, ["'-0.5x'", "no number"]),
    "probability with comma": (edited(("-0.5\ta", "-0,5\ta")), 15, ["'-0,5'", "no number"]),
    "probability hexadecimal": (edited(("-0.5\ta", "-0x1p-1\ta")), 15, ["'-0x1p-1'", "no number"]),
    "probability with underscore": (edited(("-0.5\ta", "-1_0\ta")), 15, ["'-1_0'", "no plain decimal"]),
    "probability missing": (edited(("-0.5\ta b\t-0.15", "a b")), 15, ["'a b'", "too few", "log10 probability"]),
    "backoff NaN": (edited(("\t-0.15", "\tnan")), 15, ["'nan'", "backoff", "finite"]),
    "backoff infinite": (edited(("\t-0.15", "\tinf")), 15, ["'inf'", "backoff", "finite"]),
    "backoff overflows": (edited(("\t-0.15", "\t1e400")), 15, ["backoff", "finite"]),
    "backoff no number": (edited(("\t-0.15", "\tc")), 15, ["'c'", "backoff", "no number"]),
    "backoff at the top": (edited(("<s> a b", "<s> a b\t-0.3")), 20, ["'-0.3'", "highest order", "3"]),
    "long backoff at the top": (edited(("<s> a b", "<s> a b\t-1e-99")), 20, ["'-1e-99'", "highest order"]),
    "one word too many": (edited(("<s> a b", "<s> a b b")), 20, ["'b'", "3 words"]),
    "two words too many": (edited(("<s> a b", "<s> a b b b")), 20, ["too many words", "3 words"]),
    "one word too few": (edited(("-0.2\t<s> a b", "-0.2\ta b")), 20, ["too few words", "3 words"]),
    "two backoffs": (edited(("\t-0.15", "\t-0.15\t-0.2")), 15, ["too many", "2 words"]),
    "empty word": (edited(("-0.7\tb\t0.2", "-0.7\t\t0.2")), 11, ["two tabs", "empty"]),
    "tab in front": (edited(("-0.7\tb\t0.2", "\t-0.7\tb\t0.2")), 11, ["before the first", "empty"]),
    "word not among the unigrams": (edited(("-0.3\ta a", "-0.3\ta c")), 17, ["'c'", "not among the unigrams"]),
    "control character": (edited(("-0.7\tb", "-0.7\tb\x0bc")), 11, ["vertical tab"]),
    "unigram twice": (edited(("-0.7\tb", "-0.7\ta")), 11, ["'a'", "twice"]),
    "reserved unigram twice": (edited(("-0.7\tb", "-0.7\t<s>")), 11, ["'<s>'", "twice"]),
    "bigram twice": (edited(("-0.3\ta a", "-0.3\ta b")), 17, ["'a b'", "twice", "line 15"]),
    "trigram twice": (edited(("-0.1\ta b </s>", "-0.1\t<s> a b")), 21, ["'<s> a b'", "twice", "line 20"]),
    "context missing": (edited(("-0.1\ta b </s>", "-0.1\tb a </s>")), 21, ["'b a </s>'", "no context", "'b a'"]),
    "start inside": (edited(("-0.3\ta a", "-0.3\ta <s>")), 17, ["<s> after another word"]),
    "start in the middle": (edited(("-0.1\ta b </s>", "-0.1\ta <s> b")), 21, ["<s> after another word"]),
    "end missing among unigrams": (edited(("-0.9\t</s>", "-0.9\tc"), ("b </s>", "b c")), 0, ["no </s>", "-99"]),
    "invalid UTF-8": (VALID.encode().replace(b"-0.7\tb", b"-0.7\tb\xfc"), 11, ["0xfc", "UTF-8", "iconv"]),
    "invalid UTF-8 below": (VALID.encode().replace(b"-0.3\ta a", b"-0.3\ta \xfc"), 17, [r"\xfc", "not among"]),
    "gzip cut off": (PACKED[:-20], 0, ["gzip", "cut off"]),
    "gzip cut off in the check sum": (gzip.compress(VALID.encode())[:-4], 0, ["gzip", "cut off"]),
    "gzip damaged": (PACKED[:15] + b"\xff\xff\xff" + PACKED[18:], 0, ["gzip", "damaged"]),
    "xz cut off": (lzma.compress(VALID.encode())[:-20], 0, ["xz", "cut off"]),
    "packed twice": (gzip.compress(gzip.compress(VALID.encode())), 0, [r"no line \data"]),
    "packed file with an absurd count": (
        gzip.compress(edited(("ngram 2=4", "ngram 2=400000000000000")).encode()), 19, ["after 4 rows", "announced"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_broken_file_gets_one_clear_message(tmp_path: Path, kind: str) -> None:
    content, line, parts = MALFORMED[kind]
    path = tmp_path / "broken.arpa"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        from_arpa(read_arpa(path))
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}: " if line else f"{path}: "), message
    assert all(part in message for part in parts), message
    assert "\n" not in message and len(message) < 600


def test_a_folder_is_no_arpa_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        read_arpa(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.arpa: there is no such file"):
        read_arpa(tmp_path / "nothing.arpa")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret.arpa"
    path.write_text(VALID)
    path.chmod(0)
    with pytest.raises(InputError, match="permission"):
        read_arpa(path)
