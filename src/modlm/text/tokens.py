"""The tokens of a tokenizer (`tokenizers`, `transformers`) in place of words, as a vocabulary that encodes raw text.

Line by line, text goes through the tokenizer as it is, spaces included; special tokens that are spelled out in a text
are text. Our reserved words stand for tokens where the tokenizer has such: `</s>` for the line end, `<unk>` for its
unknown token or, if it has none, for a special token that text never gives. So counts over tokens cover just the ids
of a causal language model with the same tokenizer. `vocabulary.txt` has a word for every token; white space in tokens
is written as an escape.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.errors import InputError, VocabularyError, require
from modlm.ground.arrays import Ids, Ints, threads
from modlm.text.encoding import Encoded, Encoder, count_words
from modlm.text.sentencepieces import tokenizer_json
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary
from modlm.text.word_list import END_NAME, RESERVED, SPACE, UNKNOWN_NAME, words_as_lines

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = "tokenizer.json"
END_TOKENS = ("</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "[SEP]", "[EOS]")
"""Special tokens that end a line where the tokenizer has no single token for the line end itself."""

NEAR = 8  # tokens that can change how the next one is written
HALF = "\ufffd"  # what stands for bytes that are not yet a character

_UNFIT = re.compile(f"[{SPACE}]")


class TokenVocabulary(Vocabulary):
    """Tokens and their ids, which differ from those of the tokenizer: `ours` and `theirs` translate."""

    units = "tokens"

    def __init__(self, lines: bytes, tokenizer: bytes, offsets: Ints | None = None) -> None:
        """From the bytes of a sound vocabulary file and of a `tokenizer.json`, whose tokens are its words."""
        super().__init__(lines, offsets)
        self.tokenizer_json = tokenizer

    @classmethod
    def from_tokenizer(cls, source: str | os.PathLike[str] | bytes, *, size: int = 0) -> TokenVocabulary:
        """From a `tokenizer.json`, a folder with one, or its bytes; `size` adds unused ids up to that many tokens."""
        data = source if isinstance(source, bytes) else tokenizer_bytes(source)
        names = token_names(parsed(data), size)
        ordinary = [name for name in names if name not in RESERVED]
        lines, offsets = words_as_lines(ordinary)
        return cls(lines, data, offsets)

    # ---- ids -----------------------------------------------------------------------------------------------------

    @cached_property
    def _parsed(self) -> Tokenizer:
        return parsed(self.tokenizer_json)

    @cached_property
    def ours(self) -> Ids:
        """For each id of the tokenizer, ours; UNKNOWN for tokens that the vocabulary does not have."""
        names = token_names(self._parsed, len(self))
        return np.array([self._ids.get(name, UNKNOWN) for name in names], np.uint32)

    @cached_property
    def theirs(self) -> Ints:
        """For each of our ids, the tokenizer's; -1 for `<unk>` and `</s>` where it has nothing like them."""
        names = token_names(self._parsed, len(self))
        theirs = np.full(len(self), -1, np.int64)
        for place, name in enumerate(names):
            if name in self._ids:
                theirs[self._ids[name]] = place
        return theirs

    @property
    def special(self) -> list[int]:
        """The tokenizer's ids of special tokens, which text never gives."""
        return sorted(place for place, token in self._parsed.get_added_tokens_decoder().items() if token.special)

    def first_token(self) -> int | None:
        """The tokenizer's id of the special token that it puts before every text, if it does."""
        ids = self._parsed.encode("a", add_special_tokens=True).ids
        return int(ids[0]) if ids and ids[0] in self.special else None

    def encode(self, words: str | Sequence[str]) -> Ids:
        """The ids of a string's tokens, or of tokens; no boundaries are added."""
        if not isinstance(words, str):
            return super().encode(words)
        return self.encode_lines([words.encode("utf-8", "replace").decode()])[1:-1]  # half a surrogate pair becomes ?

    def encode_lines(self, lines: list[str]) -> Ids:
        """`<s> t … </s>` for each line, one behind the other; on all cores."""
        try:
            found = self._parsed.encode_batch_fast(lines, add_special_tokens=False)
        except Exception as error:  # what the tokenizer raises is a bare Exception
            raise InputError(
                f"The tokenizer cannot encode this text: {error}. Use one with an unknown token."
            ) from error
        tokens = [encoding.ids for encoding in found]
        lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        total = int(lengths.sum())
        ids = self.ours[np.fromiter(chain.from_iterable(tokens), np.int64, total)]
        if self._more:
            self._by_spelling(ids, lines, np.cumsum(lengths) - lengths)
        ids[ids == END] = UNKNOWN  # a line end inside a line is no end
        ends = np.cumsum(lengths + 2) - 1
        out = np.empty(total + 2 * len(lines), np.uint32)
        inside = np.ones(len(out), np.bool_)
        inside[ends], inside[ends - lengths - 1] = False, False
        out[ends], out[ends - lengths - 1] = END, self.start
        out[inside] = ids
        return out

    @cached_property
    def _more(self) -> bool:
        """Whether there are words that are no tokens, as in models of what SentencePiece writes."""
        return bool((self.theirs[END + 1 :] < 0).any())

    def _by_spelling(self, ids: Ids, lines: list[str], begins: Ints) -> None:
        """Look unknown tokens up as they are spelled."""
        for line in np.unique(np.searchsorted(begins, np.flatnonzero(ids == UNKNOWN), side="right") - 1):
            for place, (low, high) in enumerate(self.places(lines[line]), begins[line]):
                if ids[place] == UNKNOWN:
                    ids[place] = self._ids.get(lines[line][low:high], UNKNOWN)

    def encoders(self, workers: int | None = None) -> Sequence[Encoder]:
        """One: the tokenizer uses all cores by itself."""
        return [TokenEncoder(self)]

    def split(self, sentence: str) -> list[str]:
        return self.decode(self.encode(sentence))

    def places(self, sentence: str) -> list[tuple[int, int]]:
        text = sentence.encode("utf-8", "replace").decode()
        places: list[tuple[int, int]] = self._parsed.encode(text, add_special_tokens=False).offsets
        return places

    def continuation(self, before: Ids, token: int) -> str:
        """What a token adds to the text of those before it; nothing while a character is not whole."""
        ids = self.theirs[[*before[-NEAR:].tolist(), token]].tolist()
        old: str = self._parsed.decode([place for place in ids[:-1] if place >= 0], skip_special_tokens=True)
        new: str = self._parsed.decode([place for place in ids if place >= 0], skip_special_tokens=True)
        return "" if new.endswith(HALF) else new.removeprefix(old.rstrip(HALF))

    def splits_like(self, other: Vocabulary) -> bool:
        return isinstance(other, TokenVocabulary) and self.tokenizer_json == other.tokenizer_json

    def join(self, words: Sequence[str]) -> str:
        theirs = self.theirs[super().encode(words)]
        return str(self._parsed.decode(theirs[theirs >= 0].tolist(), skip_special_tokens=True))

    # ---- what it is ----------------------------------------------------------------------------------------------

    @cached_property
    def tokenizer_fingerprint(self) -> str:
        return hashlib.sha256(self.tokenizer_json).hexdigest()

    def files(self) -> dict[str, bytes]:
        return {**super().files(), TOKENIZER: self.tokenizer_json}

    def fingerprints(self) -> dict[str, str]:
        return {**super().fingerprints(), "tokenizer": self.tokenizer_fingerprint}

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, TokenVocabulary) and self.tokenizer_fingerprint == other.tokenizer_fingerprint
        return self is other or (same and super().__eq__(other))

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.tokenizer_fingerprint))

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[bytes, ...]]:
        return TokenVocabulary, (self._lines, self.tokenizer_json)

    def __repr__(self) -> str:
        return f"TokenVocabulary({len(self):,} tokens)"


class TokenEncoder:
    """Lines as strings through a tokenizer."""

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, data: bytearray, size: int, *, unknown_name: bool) -> Encoded:
        lines = [line.removesuffix("\r") for line in data[:size].decode().split("\n")[:-1]]
        ids = self.vocabulary.encode_lines(lines)
        unknown = int(np.count_nonzero(ids == UNKNOWN))
        return Encoded(ids, len(lines), unknown, count_words(data, size), size, text=data)


def with_tokenizer(vocabulary: Vocabulary, source: str | os.PathLike[str] | bytes) -> TokenVocabulary:
    """A vocabulary whose words are the tokens of a tokenizer, in any order, together with that tokenizer."""
    data = source if isinstance(source, bytes) else tokenizer_bytes(source)
    tokens = TokenVocabulary(vocabulary.files()["vocabulary.txt"], data)
    known = np.count_nonzero(tokens.theirs[END + 1 :] >= 0)
    if known < (len(tokens) - END - 1) // 2:
        raise VocabularyError(
            f"Only {known:,} of the {len(tokens):,} words of the model are tokens of the tokenizer, so it is not the "
            f"one that the model was made with. Give that one."
        )
    return tokens


# ---- tokenizers ------------------------------------------------------------------------------------------------------


def tokenizer_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a `tokenizer.json`, given itself, by its folder, or as SentencePiece's `.model`."""
    place = Path(path)
    place = place / TOKENIZER if place.is_dir() else place
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"there is no such file. A tokenizer is a {TOKENIZER} or a folder with one; from any other kind, "
            f'transformers makes one: AutoTokenizer.from_pretrained("FOLDER").save_pretrained("FOLDER").',
            path=place,
        ) from None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror or error}.", path=place) from error
    if place.suffix != ".model":
        return data
    return tokenizer_json(data)


def parsed(data: bytes) -> Tokenizer:
    """The tokenizer, without padding and cutting, to which special tokens in a text are text."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads()))  # read once, when the first batch is encoded
    tokenizers = require("tokenizers", extra="hf", purpose="A model of subwords")
    try:
        tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(data.decode())
    except Exception as error:  # a bare Exception
        raise InputError(f"This is not a {TOKENIZER} of the package tokenizers: {str(error)[:200]}.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def token_names(tokenizer: Tokenizer, size: int = 0) -> list[str]:
    """The word of a vocabulary for each token by the tokenizer's id; ids without a token have one too, up to `size`."""
    tokens: dict[int, str] = {place: token for token, place in tokenizer.get_vocab(with_added_tokens=True).items()}
    end = _end(tokenizer)
    unknown = _unknown(tokenizer, end)
    names = [_name(tokens.get(place), place) for place in range(max(size, max(tokens, default=-1) + 1))]
    seen = set[str]()
    for place, name in enumerate(names):
        if name in seen:
            names[place] = f"<token-{place}>"
        seen.add(names[place])
    if unknown is not None:
        names[unknown] = UNKNOWN_NAME
    if end is not None:
        names[end] = END_NAME
    return names


def _name(token: str | None, place: int) -> str:
    if token is None:
        return f"<unused-{place}>"
    if token in RESERVED or not token:
        return f"<token-{place}>"
    return token.encode("unicode_escape").decode().replace(" ", r"\x20") if _UNFIT.search(token) else token


def _end(tokenizer: Tokenizer) -> int | None:
    """The token for the line end, or a special one that ends texts."""
    ids = tokenizer.encode("\n", add_special_tokens=False).ids
    if len(ids) == 2 and tokenizer.id_to_token(ids[0]) == "▁":  # a space that is put before every text
        ids = ids[1:]
    if len(ids) == 1 and ids[0] != _model_unknown(tokenizer):
        return int(ids[0])
    found = (tokenizer.token_to_id(name) for name in END_TOKENS)
    return next((place for place in found if place is not None), None)


def _model_unknown(tokenizer: Tokenizer) -> int | None:
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    place = tokenizer.token_to_id(model["unk_token"]) if model.get("unk_token") else None
    return None if place is None else int(place)


def _unknown(tokenizer: Tokenizer, end: int | None) -> int | None:
    """The unknown token, else a special one that is not the end."""
    own = _model_unknown(tokenizer)
    if own is not None and own != end:
        return own
    special = sorted(place for place, token in tokenizer.get_added_tokens_decoder().items() if token.special)
    return next((place for place in special if place != end), None)
