"""A scored text: whatever says a perplexity says it from this one record, and says what it counted."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise, tee
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.blocks.block import ALONE, Beside
from modlm.errors import InputError
from modlm.ground.arrays import Floats, Ids
from modlm.ground.progress import progress
from modlm.text.corpus import Corpus
from modlm.text.encoding import Encoded, encode_bytes, encoded
from modlm.text.options import TextOptions
from modlm.text.parallel import Parallel
from modlm.text.reading import TextSize
from modlm.text.sources import as_lines, source_of
from modlm.text.vocabulary import END, END_NAME, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel

NO_SIZE = TextSize(0, 0)
MANY_UNKNOWN = 0.2  # of all words
MANY_STRANGE = 0.05  # of all documents
LARGEST = 700.0  # exp of more is no float
NO_IDS: Ids = np.zeros(0, np.uint32)
NO_LOG_PROBS: Floats = np.zeros(0)


def perplexity_of(log_likelihood: float, predictions: int) -> float:
    """exp of the mean negative log-likelihood; infinite where it is too large for a float, NaN of no predictions."""
    if not predictions:
        return math.nan
    mean = -log_likelihood / predictions
    return math.exp(mean) if mean < LARGEST else math.inf


@dataclass(frozen=True, slots=True)
class ScoredText:
    """How probable a text is; every word and one end for each sentence are predictions. `float()` is its perplexity."""

    known_log_likelihood: float
    """Natural logarithm of the probability of all words that are known, and of the sentence ends."""
    unknown_log_likelihood: float
    """That of the unknown words."""
    sentences: int
    words: int
    unknown: int
    impossible: int
    """Predictions with probability 0; any makes the perplexity infinite."""
    seconds: float = 0.0
    text_words: int = 0
    """Words between white space, whatever the model predicts; 0 when the text came as ids and that is not known."""
    bytes: int = 0
    """Of all lines as UTF-8, with a line end each; 0 when that is not known."""
    ids: Ids = field(default_factory=lambda: NO_IDS, repr=False, compare=False)
    """Of all predictions, where these are kept: a streamed text keeps its sums alone."""
    log_probs: Floats = field(default_factory=lambda: NO_LOG_PROBS, repr=False, compare=False)
    """Natural logarithms, in the same places."""

    @classmethod
    def along(cls, model: LanguageModel, ids: Ids, log_probs: Floats) -> ScoredText:
        """From what a model says of each place of `<s> w … </s> <s> …`."""
        predicted_T = ids != model.vocabulary.start
        return cls.of(ids[predicted_T], log_probs[predicted_T])

    @classmethod
    def of(cls, ids: Ids, log_probs: Floats, size: TextSize | None = None) -> ScoredText:
        """From every prediction of a text, `w … </s>` for each sentence."""
        known, unknown_T = float(log_probs.sum()), ids == UNKNOWN
        impossible = 0 if math.isfinite(known) else int(np.count_nonzero(np.isneginf(log_probs)))
        sentences, unknown = int(np.count_nonzero(ids == END)), int(np.count_nonzero(unknown_T))
        if unknown:
            known = float(log_probs[~unknown_T].sum())
        unknown_sum = float(log_probs[unknown_T].sum()) if unknown else 0.0
        words, of = len(ids) - sentences, size or NO_SIZE
        return cls(known, unknown_sum, sentences, words, unknown, impossible, 0.0, of.words, of.bytes, ids, log_probs)

    @classmethod
    def total(cls, parts: Iterable[ScoredText]) -> ScoredText:
        """The sums over parts of a text, without their words; the parts may be streamed."""
        return cls(*[sum(column) for column in zip(*map(SUMS, parts), strict=True)] or [0] * 6)

    def bounds(self) -> list[int]:
        """Where each sentence begins among the predictions, and behind them the end of the last."""
        return [0, *(np.flatnonzero(self.ids == END) + 1).tolist()]

    def parts(self, sizes: Sequence[int]) -> list[ScoredText]:
        """Neighbouring sentences, so many in each part."""
        if len(sizes) == 1:
            return [self]
        bounds = self.bounds()
        cuts = [bounds[count] for count in accumulate(sizes, initial=0)]
        return [ScoredText.of(self.ids[low:high], self.log_probs[low:high]) for low, high in pairwise(cuts)]

    def sentence_sums(self) -> Floats:
        """log P of each sentence."""
        return np.add.reduceat(self.log_probs, self.bounds()[:-1])

    def sentence_records(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """For JSON, a record for each sentence; with the names of all predictions, their `scores` too."""
        bounds, known_T = self.bounds(), self.ids != UNKNOWN
        counted = [np.add.reduceat(~known_T, bounds[:-1], dtype=np.int64).tolist()]
        counted += [np.add.reduceat(np.isneginf(self.log_probs), bounds[:-1], dtype=np.int64).tolist()]
        rows = zip(self.sentence_sums().tolist(), pairwise(bounds), *counted, strict=True)
        records: list[dict[str, Any]] = [
            {
                "log_prob": log_prob, "perplexity": perplexity_of(log_prob, end - begin), "words": end - begin - 1,
                "unknown": unknown, "impossible": impossible,
            }
            for log_prob, (begin, end), unknown, impossible in rows
        ]  # fmt: skip
        if names is not None:
            predictions = zip(names, self.log_probs.tolist(), known_T.tolist(), strict=True)
            words = [{"word": name, "log_prob": log_prob, "known": known} for name, log_prob, known in predictions]
            for record, (begin, end) in zip(records, pairwise(bounds), strict=True):
                record["scores"] = words[begin:end]
        return records

    @property
    def log_likelihood(self) -> float:
        """Natural logarithm of the whole text's probability."""
        return self.known_log_likelihood + self.unknown_log_likelihood

    @property
    def predictions(self) -> int:
        """Words plus one end for each sentence."""
        return self.words + self.sentences

    @property
    def perplexity(self) -> float:
        """Of all predictions."""
        return perplexity_of(self.log_likelihood, self.predictions)

    @property
    def perplexity_without_unknown(self) -> float:
        """Of the predictions whose word is in the vocabulary; NaN if there is none."""
        return perplexity_of(self.known_log_likelihood, self.predictions - self.unknown)

    @property
    def perplexity_without_ends(self) -> float:
        """The whole text's likelihood spread over its predictions but sentence ends (SRILM's ppl1); NaN if none."""
        return perplexity_of(self.log_likelihood, self.words)

    @property
    def perplexity_per_word(self) -> float:
        """The likelihood spread over the words between white space and one end a sentence, whatever the model predicts.

        So models of words and of subwords compare. NaN when the text came as ids.
        """
        return perplexity_of(self.log_likelihood, self.text_words + self.sentences if self.bytes else 0)

    @property
    def bits_per_byte(self) -> float:
        """Bits for each byte of the text as UTF-8, one a sentence for its end; NaN when the text came as ids."""
        return -self.log_likelihood / self.bytes / math.log(2) if self.bytes else math.nan

    @property
    def bits(self) -> float:
        """Mean bits a prediction."""
        return -self.log_likelihood / self.predictions / math.log(2)

    @property
    def words_per_second(self) -> float:
        """Predictions a second, reading and encoding the text included."""
        return self.predictions / max(self.seconds, 1e-9)

    def __float__(self) -> float:
        return self.perplexity

    def as_dict(self) -> dict[str, float | int]:
        """For `--json`."""
        return {name: getattr(self, name) for name in REPORTED}


SUMS = attrgetter(
    "known_log_likelihood", "unknown_log_likelihood", "sentences", "words", "unknown", "impossible", "seconds",
    "text_words", "bytes",
)  # fmt: skip
REPORTED = (
    "perplexity", "perplexity_without_unknown", "perplexity_without_ends", "perplexity_per_word", "bits",
    "bits_per_byte", "log_likelihood", "sentences", "words", "predictions", "unknown", "impossible", "text_words",
    "bytes", "words_per_second",
)  # fmt: skip


def score_text(model: LanguageModel, text: Any, *, source: Any = None, encoding_errors: str = "strict") -> ScoredText:
    """A text of any length: a path, several, sentences, or a Corpus; of what is streamed only the sums are kept.

    `source` has the source of each sentence, for a model that reads them.
    """
    begun = time.perf_counter()

    def parts() -> Iterator[ScoredText]:
        with progress("scoring") as bar:
            for part in scored_parts(model, text, source=source, encoding_errors=encoding_errors):
                bar.advance(part.predictions)
                yield part

    total = ScoredText.total(parts())
    if total.predictions == 0:
        raise InputError(
            "there are no sentences to score. Give a text with one sentence per line.",
            path=text if isinstance(text, str | os.PathLike) else "",
        )
    warn_of_unknown(model, total.words, total.unknown)
    return replace(total, seconds=time.perf_counter() - begun)


def warn_of_unknown(model: LanguageModel, words: int, unknown: int, documents: int = 0, strange: int = 0) -> None:
    """One warning where much is unknown and unknown words cost nothing for their letters.

    That is many of the words, or most words of many documents, which are `strange` then.
    """
    much = f"{unknown / words:.0%} of the words" if unknown > MANY_UNKNOWN * words else ""
    if not much and strange > MANY_STRANGE * documents:
        much = f"Most words of {strange:,} of {documents:,} documents"
    if much and model.spelling is None and model.vocabulary.units == "words":
        logging.getLogger("modlm").warning(
            f"{much} are unknown to the model, and to it all unknown words are alike, so "
            f"text that it knows nothing of looks easy. Train the model with a spelling model (spelling=True), or on "
            f"text of this kind."
        )


def scored_parts(
    model: LanguageModel, text: Any, *, source: Any = None, encoding_errors: str = "strict"
) -> Iterator[ScoredText]:
    """A text part by part, with all words of a part; a Corpus, or a text with a source, is one part."""
    beside = ALONE
    if source is not None:
        pairs = with_source(model, text, source, encoding_errors=encoding_errors)
        text, beside = pairs.target, Beside(pairs.sources)
    blocks = read_parts(text, model.vocabulary, encoding_errors=encoding_errors)
    size = None
    if isinstance(text, Corpus) and model.spelling is not None and text.vocabulary != model.vocabulary:
        names, size = text.vocabulary.words, text.size  # with its text, since unknown words are spelled
        lines = as_lines([[names[word] for word in ids[1:-1].tolist()] for ids in text])
        blocks = iter([encode_bytes(lines, model.vocabulary)])
    for part, block in scored_along(model, blocks, beside):
        yield replace(part, text_words=(size or block).words, bytes=(size or block).bytes)


def with_source(model: LanguageModel, text: Any, source: Any, *, encoding_errors: str = "strict") -> Parallel:
    """A text and the source of each of its sentences, in the words that the model knows of both."""
    model.beside(())  # an error, if it reads none
    known = (model.source_vocabulary, model.vocabulary)
    read = [TextOptions(vocabulary=own, encoding_errors=encoding_errors) for own in known]
    if not isinstance(text, Corpus):
        return Parallel.read(source, text, *read)
    ids = text.ids if text.vocabulary == model.vocabulary else text.vocabulary.mapping(model.vocabulary)[text.ids]
    target = replace(text, ids=ids, vocabulary=model.vocabulary)
    return Parallel(Corpus.read(source, read[0]), target, (str(source), "the text"))


def scored_along(
    model: LanguageModel, blocks: Iterable[Encoded], beside: Beside = ALONE
) -> Iterator[tuple[ScoredText, Encoded]]:
    """Parts of one text that a model goes along, each with what it was made of."""
    own, others = tee(blocks)
    for block, (_, log_probs) in zip(own, model.along((other.ids for other in others), beside), strict=True):
        yield ScoredText.along(model, block.ids, model.spelled(block, log_probs)), block


def score_sentences(model: LanguageModel, sentences: Sequence[str]) -> ScoredText:
    """Every sentence on its own, in one pass."""
    block = encode_bytes(as_lines(sentences), model.vocabulary)
    return ScoredText.along(model, block.ids, model.spelled(block, model.sentence_log_probs(block.ids)))


def names_of(vocabulary: Vocabulary, sentences: Sequence[str]) -> list[str]:
    """What is predicted, as it stands in the text: the words of all sentences, an end behind each."""
    return [name for sentence in sentences for name in (*vocabulary.split(sentence), END_NAME)]


def read_parts(text: Any, vocabulary: Vocabulary, *, encoding_errors: str = "strict") -> Iterator[Encoded]:
    """Whole sentences of a text as ids of the vocabulary; those of a Corpus have lost their text."""
    if isinstance(text, Corpus):
        ids = text.ids if text.vocabulary == vocabulary else text.vocabulary.mapping(vocabulary)[text.ids]
        size = text.size or NO_SIZE
        yield Encoded(ids, text.sentences, int(np.count_nonzero(ids == UNKNOWN)), size.words, size.bytes)
        return
    yield from encoded(source_of(text), vocabulary.encoders(), TextOptions(encoding_errors=encoding_errors))
