"""What an unknown word costs for its letters: P(w | c) = P(<unk> | c) · P(its spelling), so that no two are alike.

The spelling is an n-gram model of the bytes of words, each word a sentence: a proper distribution over all byte
strings, ends counted. Byte b has the id b + 1; byte 0, which is in no word, is in the place of `<unk>`. Known words
have spellings too, whose mass is given away, so what a model gives to all words adds up to a little less than 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.counts.counts import Counts
from modlm.errors import ConfigError, EstimationError
from modlm.families import MODELS
from modlm.ground.arrays import Floats, Ids
from modlm.ground.progress import quietly
from modlm.store.folder import Folder, Parts
from modlm.text import text_kernels
from modlm.text.corpus import Corpus
from modlm.text.encoding import Encoded, encode_bytes
from modlm.text.options import TextOptions
from modlm.text.reading import read
from modlm.text.sources import PADDING
from modlm.text.vocabulary import UNKNOWN, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

if TYPE_CHECKING:
    from modlm.model.ngram_lm import NgramLM

PLACE = "spelling/"
ORDER = 6  # bytes; eight are no better
MOST = 2_000_000  # words that are looked at, spread over all of them
BYTES = Vocabulary.from_words([f"{byte:02x}" for byte in range(1, 256)])


class Spelling:
    """P of the spellings of words."""

    def __init__(self, model: NgramLM) -> None:
        self.model = model

    @classmethod
    def fit(cls, words: Sequence[str], order: int = ORDER) -> Spelling:
        """From words, each as often as it stands there.

        Types, not running text: new words look like rare ones, and most types are rare. Of new words of newswire, 28.2
        bits each after all types once, 28.6 after those seen once or twice, and more with other families of smoothing.
        """
        if not words:
            raise EstimationError("A spelling model needs words to learn from, but there are none.")
        none = Vocabulary.from_words(())  # to it every word is unknown, and so is spelled
        ids = spelled(encode_bytes("\n".join([*words, ""]).encode("utf-8", "replace"), none))
        with quietly():  # what few words leave undetermined is nobody's worry
            model: NgramLM = MODELS["ngram"].fit(Corpus.from_ids(ids, BYTES), order)
        return cls(type(model)(BYTES, model.compiled, settings=model.settings, notes=model.notes))  # without its counts

    def log_probs(self, block: Encoded) -> Floats:
        """log P of the spelling of each unknown word of a text, in order; 0 for `<unk>` itself, which has none."""
        if not block.unknown or not block.text:
            return np.zeros(block.unknown)
        ids = spelled(block)
        begins = np.flatnonzero(ids == BYTES.start)
        sums = np.add.reduceat(self.model.log_probs(ids), begins)
        return np.where(np.diff(np.append(begins, len(ids))) > 2, sums, 0.0)

    def parts(self) -> Parts:
        return self.model.parts().within(PLACE)


def read_spelling(stored: Folder) -> Spelling:
    inner = stored.part("spelling", inside=PLACE)
    vocabulary = vocabulary_in(inner, what="spelling model was")
    if vocabulary != BYTES:
        raise stored.damaged(f"{PLACE} is not a model of bytes")
    return Spelling(inner.member(MODELS).from_parts(inner, vocabulary))


def spelled(block: Encoded) -> Ids:
    """The bytes of each unknown word of a text as ids `<s> b … </s>`; nothing between them for `<unk>`."""
    out = np.empty(block.bytes + 2 * block.unknown + PADDING, np.uint32)
    data = np.frombuffer(block.text, np.uint8)
    return out[: text_kernels.spell_unknown(data, block.bytes, block.ids, BYTES.start, out)]


def spelling_of(counts: Counts, text: Any = None, reading: TextOptions | None = None) -> Spelling:
    """From the words of the counts, and those of their text that the vocabulary leaves out, if it can be read again."""
    vocabulary = counts.vocabulary
    if vocabulary.units != "words":
        raise ConfigError(
            f"The model is one of {vocabulary.units}, which leave next to nothing unknown. Leave the spelling out."
        )
    words = list(vocabulary.words[2:])
    if counts.frequencies[1 + UNKNOWN] and text is not None:
        options = TextOptions(encoding_errors=reading.encoding_errors if reading else "strict")
        every = Vocabulary(read(text, options, lambda _: None).words)
        places = np.flatnonzero(every.mapping(vocabulary)[:-1] == UNKNOWN).tolist()
        words += [every.word(place) for place in places if place > 1]
    return Spelling.fit(words[:: -(-len(words) // MOST)])
