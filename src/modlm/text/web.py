"""Text as the web has it, made plain before it is scored: characters as CCNet has them, and sentences apart.

Each character becomes what a table says, so it can be done for all texts of a batch in one call; a model must have been
trained on text that was made plain in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from modlm.errors import ConfigError

NORMAL = ("", "ccnet", "words")
SIGNS = {  # a plain sign, and those that it stands for
    '"': "„”“«»「」《》", "'": "´’", ",": "，、", ".": "。", ":": "∶：", ";": "；", "?": "？", "!": "！", "(": "（",
    ")": "）", "[": "【", "]": "】", "<": "〈", ">": "〉", "-": "–━►", "~": "～", "%": "％", " - ": "—", ". ": "．",
    "...": "…",
}  # fmt: skip
PLAIN_SIGNS = {sign: plain for plain, signs in SIGNS.items() for sign in signs}
TITLES = "".join(rf"(?<!\b{title})" for title in "Mr Mrs Ms Dr Prof St Sr Jr vs No Gen Rep Sen Gov".split())
BOUNDARY = re.compile(  # behind a word of two letters or more, before a letter that is not a small Latin one
    rf"""((?:\w\w{TITLES}|["')\]”])[.!?]+["')\]”’»]*)\s+(?=["'(\[“«]*[^\W\d_a-z])|([。！？][」』）]?)(?=[^\n])"""
)


class _Plain(dict[int, str]):
    """What each character becomes; worked out when one is first met."""

    def __init__(self, *, apart: bool) -> None:
        super().__init__()
        self.apart = apart

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = "".join(self._one(part) for part in unicodedata.normalize("NFD", character.lower()))
        if self.apart and unicodedata.category(character)[0] in "PS" and plain.strip():
            plain = f" {plain.strip()} "
        self[code] = plain
        return plain

    def _one(self, character: str) -> str:
        category = unicodedata.category(character)
        if category in ("Mn", "Cc"):
            return "\n" if character == "\n" else " " if self.apart and character.isspace() else ""
        return "0" if category == "Nd" else PLAIN_SIGNS.get(character, character)


@dataclass(frozen=True)
class Preparation:
    """Texts made plain; give it to whatever takes `prepare`."""

    normalize: str = ""
    """`ccnet`: lower case, no accents, 0 for digits, plain punctuation; `words`: every sign is a word too."""
    split: bool = False
    """A line for each sentence."""

    def __post_init__(self) -> None:
        if self.normalize not in NORMAL:
            raise ConfigError(f"Texts are normalised as {' or '.join(NORMAL[1:])}, not as {self.normalize!r}.")

    def __call__(self, texts: Sequence[str]) -> list[str]:
        if self.split:
            texts = [BOUNDARY.sub(r"\1\2\n", text) for text in texts]
        if not self.normalize:
            return list(texts)
        table = TABLES[self.normalize]
        return [text.translate(table) for text in texts]


TABLES = {name: _Plain(apart=name == "words") for name in NORMAL[1:]}
