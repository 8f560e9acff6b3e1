"""What every language model can do, ours or foreign, and the conveniences that follow from it.

A model supplies five things, all in bulk: `word_probs` along a text, `start`, `advance` and `distributions` for states,
and its `vocabulary`. States are arrays with one row for each hypothesis; equal rows mean equal futures, so a decoder
may recombine hypotheses whose rows are equal. Everything else here is built on these.
"""

from __future__ import annotations

import abc
import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import NDArray

from modlm.blocks.block import ALONE, NOTHING, Beside, Reads
from modlm.counts.counts import Counts
from modlm.errors import ConfigError, InputError, ModlmError, VocabularyError
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.model.folder import save
from modlm.model.sampling import Sampling, draws, most_probable
from modlm.model.scored_documents import score_documents, score_texts
from modlm.model.scored_text import read_parts, score_text
from modlm.store.folder import Parts
from modlm.text.encoding import encode_bytes
from modlm.text.sources import as_lines
from modlm.text.vocabulary import END, END_NAME, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from modlm.model.mixture import Mixture
    from modlm.model.scored_documents import DocumentScores
    from modlm.model.scored_text import ScoredText
    from modlm.model.spelling import Spelling
    from modlm.model.translation import Translation
    from modlm.text.encoding import Encoded

States = NDArray[Any]
ExplainedRow = tuple[str, bool, float, list[float], list[float], list[float]]
LONGEST = 512  # words that windows hold at most, whatever a model looks at
BOUNDARIES_INSIDE = (
    "The sentence holds <s> or </s>, which stand for its boundaries and are added by themselves. Leave them out."
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A possible next word; `shares` says which columns its probability comes from (they sum to 1)."""

    word: str
    probability: float
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a word has its probability: P(w | c) = sum over columns of weight * column."""

    word: str
    known: bool
    """Whether the word is in the vocabulary; if not, `<unk>` was scored."""
    probability: float
    columns: dict[str, float]
    """P_k(w | c)."""
    weights: dict[str, float]
    """lambda_k(c)."""
    shares: dict[str, float]
    """lambda_k(c) P_k(w | c) / P(w | c)."""


class LanguageModel(abc.ABC):
    """P(w | c) over a closed vocabulary."""

    vocabulary: Vocabulary
    context_length: int
    """How many words of context a prediction looks at; UNLIMITED for all of its sentence."""
    reads: Reads = Reads()
    """What else it looks at: sentences before its own, a source sentence, all that it has read before."""
    folder: str | None = None
    """The folder that it was loaded from."""
    observed: Any = None
    """What blocks that learn keep of the texts that the model was given to observe; every reading goes on from it."""
    source: Ids | None = None
    """Of every sentence that comes without one, for models that read them; None: each must have its own."""
    spelling: Spelling | None = None
    """What unknown words cost for their letters wherever a text with its real words is scored; None: nothing."""

    @property
    def counts(self) -> Counts | None:
        """The counts that it came from, if it kept them."""
        return None

    @property
    def window_length(self) -> int:
        """How many words a window needs to hold."""
        return max(1, self.context_length)

    @abc.abstractmethod
    def word_probs(self, ids: Ids) -> Floats:
        """P of each word of a text of whole sentences (`<s> w … </s>`), 1 at each `<s>`."""

    @abc.abstractmethod
    def start(self, count: int = 1) -> States:
        """States before the first word of a sentence."""

    @abc.abstractmethod
    def advance(self, states: States, words: Ids) -> tuple[States, Floats]:
        """The states after one more word each, and the natural logarithm of its probability."""

    @abc.abstractmethod
    def distributions(self, states: States) -> AnyFloats:
        """(B, J): P of every word after each state."""

    def log_distributions(self, states: States) -> AnyFloats:
        """(B, J): log P of every word after each state."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.distributions(states)))

    @abc.abstractmethod
    def state_after(self, windows_BC: Ids) -> States:
        """States after windows of words (nearest last; NOTHING fills up at the left; `<s>` where a sentence begins)."""

    def shares(self, windows_BC: Ids, words_B: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """Names of the columns, P_k (B, K) and lambda_k (B, K) for a word after each window; one column by default."""
        _, log_probs = self.advance(self.state_after(windows_BC), words_B)
        return self.column_names, np.exp(log_probs)[:, None], np.ones((len(words_B), 1))

    def shares_after(self, window_1C: Ids, words_B: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """The same for several words after one window."""
        return self.shares(np.repeat(window_1C, len(words_B), axis=0), words_B)

    def shares_along(self, ids: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """The same for every word of one sentence `<s> w … </s>` and its end."""
        windows_TC = sliding_windows(ids, min(self.window_length, len(ids)))
        return self.shares(windows_TC[1:], ids[1:])

    def resident(self) -> LanguageModel:
        """The model as it answers fastest, with all of it in memory; itself, unless its kind knows better."""
        return self

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that `shares` and `columns_after` speak of; one by default."""
        return ("model",)

    def columns_after(self, window_1C: Ids) -> tuple[AnyFloats, Floats]:
        """Whole columns (J, K) after one window and their weights (K): their product is the next-word distribution."""
        row: AnyFloats = self.distributions(self.state_after(window_1C))[0]
        return row[:, None], np.ones(1)

    def parts(self) -> Parts:
        """What a model folder keeps of it."""
        raise ModlmError(f"A {type(self).__name__} has no form on disk; save the models it is made of.")

    def described(self) -> dict[str, Any]:
        """Settings that are of interest to people, as far as its kind has any of its own."""
        return {}

    # ---- sentences and texts -------------------------------------------------------------------------------------

    def sentence_ids(self, sentence: str | Sequence[str]) -> Ids:
        """A sentence as ids with its boundaries."""
        ids = self.vocabulary.encode(sentence)
        if ((ids == END) | (ids == self.vocabulary.start)).any():
            raise VocabularyError(BOUNDARIES_INSIDE)
        return np.concatenate((np.array([self.vocabulary.start], np.uint32), ids, np.array([END], np.uint32)))

    def score(self, sentence: str | Sequence[str]) -> float:
        """The natural logarithm of a sentence's probability, its end included."""
        if self.spelling is not None:
            return float(self.score_batch([sentence])[0])
        return float(self.log_probs(self.sentence_ids(sentence)).sum())

    def log_probs(self, ids: Ids) -> Floats:
        """Natural logarithm of P for each word of a text as ids; 0 at `<s>`."""
        with np.errstate(divide="ignore"):
            return np.log(self.word_probs(ids))

    def sentence_log_probs(self, ids: Ids) -> Floats:
        """The same with each sentence on its own, also where the model looks beyond sentences."""
        return self.log_probs(ids)

    def along(self, texts: Iterable[Ids], beside: Beside = ALONE) -> Iterator[tuple[Ids, Floats]]:
        """Stretches of one text with their `log_probs`; a model that looks beyond sentences carries on at each."""
        for ids in texts:
            yield ids, self.log_probs(ids)

    def spelled(self, block: Encoded, log_probs: Floats) -> Floats:
        """log P of each word of a text with what the spellings of its unknown words cost, if the model knows that."""
        if self.spelling is None or not block.unknown:
            return log_probs
        log_probs = log_probs.copy()
        log_probs[block.ids == UNKNOWN] += self.spelling.log_probs(block)
        return log_probs

    @overload
    def score_batch(self, sentences: Sequence[str | Sequence[str]], *, details: Literal[False] = False) -> Floats: ...

    @overload
    def score_batch(self, sentences: Sequence[str | Sequence[str]], *, details: Literal[True]) -> DocumentScores: ...

    def score_batch(
        self, sentences: Sequence[str | Sequence[str]], *, details: bool = False
    ) -> Floats | DocumentScores:
        """`score` of many sentences at once, on all cores.

        With `details` arrays of all that is known of each: `log_prob`, `words`, `unknown`, `bytes`, `perplexity` and
        `bits_per_byte`.
        """
        if isinstance(sentences, str):
            raise InputError(
                "score_batch takes many sentences, but this is one string. Put it into a list, or use score."
            )
        if len(sentences) == 0:
            return score_texts(self, []) if details else np.zeros(0)
        if details:
            return score_texts(self, as_lines(sentences).decode("utf-8", "replace").split("\n")[:-1], blank=True)
        return self._summed(sentences)

    def _summed(self, sentences: Sequence[str | Sequence[str]]) -> Floats:
        """log P of each sentence."""
        block = encode_bytes(as_lines(sentences), self.vocabulary)
        log_probs = self.spelled(block, self.sentence_log_probs(block.ids))
        return np.add.reduceat(log_probs, np.flatnonzero(block.ids == self.vocabulary.start))

    def score_documents(self, documents: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        """For each document a record: `perplexity`, `bits_per_byte`, `words`, `unknown`, `sentences`; as they come.

        A document is a string with a sentence on each line, or a mapping with one in `field="text"`. Batches of
        `batch=256` are scored together, on `workers` threads (all cores). `prepare` makes other strings of a list of
        them before; `modlm.text.web.Preparation` has what web text needs.
        """
        return score_documents(self, documents, **options)

    def perplexity(self, text: Any, *, source: Any = None, encoding_errors: str = "strict") -> ScoredText:
        """Perplexity of a text (a path, sentences or a Corpus) with what it counted; `float()` of it is the number.

        `source` has the source of each sentence, for a model that reads them. `encoding_errors="replace"` takes bytes
        that are not UTF-8 for U+FFFD.
        """
        return score_text(self, text, source=source, encoding_errors=encoding_errors)

    @property
    def source_vocabulary(self) -> Vocabulary | None:
        """The words of the sources that it looks at, if it does."""
        return None

    def beside(self, sources: Iterable[str | Sequence[str]]) -> Beside:
        """Source sentences as what stands beside sentences."""
        raise ConfigError("The model reads no source, so give it sentences alone.")

    def given(self, source: str | Sequence[str]) -> Self:
        """The language model of the translations of one source: what it is beside that, in all that it does."""
        model = copy.copy(self)
        (model.source,) = self.beside([source]).sources
        return model

    def save(self, target: str | os.PathLike[str], *, card: str = "", overwrite: bool = False) -> None:
        """Write a model folder, which `modlm.load` opens; `card` says in Markdown what the model is."""
        save(self, target, card=card, overwrite=overwrite)

    def push_to_hub(self, name: str, **about: Any) -> str:
        """Put the model into the repository `user/name` of the Hugging Face Hub; what was written there.

        Its card gets a header with `licence`, `language`, `datasets` and `perplexities` (of texts by name), as far as
        they are given; perplexities that the model's card names are in it anyway. `card`, `private`, `revision` (a
        branch) and `message` are the Hub's.
        """
        from modlm.model.hub import push

        return push(self, name, **about)

    # ---- learning ------------------------------------------------------------------------------------------------

    def observe(self, text: Any) -> int:
        """Learn from a text: a string with a sentence per line, a Path, sentences or a Corpus; how many words it had.

        Whatever is scored or predicted from now on goes on from there, and `forget` takes all of it back. Scoring by
        itself learns nothing, and a saved model has observed nothing.
        """
        if isinstance(text, str):
            if "\n" not in text and Path(text).is_file():
                raise InputError("to observe a file, give Path(...); a string is the text itself.", path=text)
            text = text.splitlines()
        words, observed = 0, self._learning().observed
        for part in read_parts(text, self.vocabulary):
            observed = self.learned(part.ids, observed)
            words += len(part.ids) - 2 * part.sentences
        self.observed = observed
        return words

    def forget(self) -> None:
        """As if nothing had been observed."""
        self._learning().observed = None

    def session(self) -> Self:
        """The same model with a memory of its own, which begins with what was observed so far; nothing is copied."""
        return copy.copy(self._learning())

    def learned(self, ids: Ids, memory: Any) -> Any:
        """What is remembered after a text: nothing, but models that learn know more."""
        return None

    def _learning(self) -> Self:
        if not self.reads.learns:
            raise ConfigError(
                f"This {type(self).__name__} has no columns that learn from what they read, so there is nothing to "
                f"observe or forget. Mix it with some: modlm interpolate MODEL --online 4 --tune TEXT -o MIXED, or "
                f"modlm.Online() among the columns of modlm.train."
            )
        return self

    # ---- next words ----------------------------------------------------------------------------------------------

    def window(self, context: str | Sequence[str], *, start: bool = True) -> Ids:
        """One window for the words of a context; `start`: they begin a sentence."""
        ids = self.vocabulary.encode(context)
        before = [self.vocabulary.start] if start else []
        words = np.concatenate((np.array(before, np.uint32), ids))[-self.window_length :]
        return words[None, :]

    def next_distribution(self, context: str | Sequence[str] = "", *, start: bool = True) -> AnyFloats:
        """P of every word (by id) after a context that begins a sentence, or after bare words if not `start`."""
        row: AnyFloats = self.distributions(self.state_after(self.window(context, start=start)))[0]
        return row

    def next_words(self, context: str | Sequence[str] = "", k: int = 10, *, start: bool = True) -> list[Prediction]:
        """The k most probable next words, with the share of each column in their probability."""
        if k < 1:
            raise ConfigError(f"k must be at least 1, but is {k}.")
        window = self.window(context, start=start)
        row = self.distributions(self.state_after(window))[0]
        best = most_probable(row, k)
        names, probs_BK, weights_BK = self.shares_after(window, best)
        shares_BK = normalised(probs_BK * weights_BK)
        return [
            Prediction(self.vocabulary.word(word), float(row[word]), dict(zip(names, shares, strict=True)))
            for word, shares in zip(best.tolist(), shares_BK.tolist(), strict=True)
        ]

    def explain(self, sentence: str | Sequence[str]) -> list[Explanation]:
        """For each word and the end of a sentence: the columns, their weights and their shares."""
        return [
            Explanation(word, known, prob, *(dict(zip(self.column_names, own, strict=True)) for own in by_column))
            for word, known, prob, *by_column in self.explained(sentence)
        ]

    def explained(self, sentence: str | Sequence[str]) -> list[ExplainedRow]:
        """The same as plain rows: a word, whether it is known, its probability, and lists by column."""
        words = self.vocabulary.split(sentence) if isinstance(sentence, str) else list(sentence)
        ids = self.sentence_ids(words)
        _, probs_BK, weights_BK = self.shares_along(ids)
        parts_BK = probs_BK * weights_BK
        numbers = (ids[1:] != UNKNOWN, parts_BK.sum(axis=1), probs_BK, weights_BK, normalised(parts_BK))
        return list(zip([*words, END_NAME], *(array.tolist() for array in numbers), strict=True))

    def translate(self, sentences: Iterable[str], **beam: Any) -> Iterator[list[Translation]]:
        """For each source sentence its translations, the best first, by a model that was trained with sources.

        Settings are `width=5`, `n_best=1`, `length_penalty=1.0`, `longest=2.0` and `unknown="replace"`;
        `modlm.model.translation.Beam` says what they mean.
        """
        self.beside(())  # an error, if it reads none
        from modlm.model.translation import Beam, translate

        return translate(cast("Mixture", self), sentences, Beam(**beam))

    def generate(
        self, sampling: Sampling | None = None, *, context: str = "", rng: np.random.Generator | None = None
    ) -> Iterator[str]:
        """The words of a sentence drawn from the model, after a context that begins it."""
        for draw in draws(self, sampling or Sampling(), context=context, rng=rng or np.random.default_rng()):
            if draw.word != END:
                yield self.vocabulary.word(draw.word)


def sliding_windows(ids: Ids, length: int) -> Ids:
    """For each position of one sentence, the `length` words before it, filled up at the left with NOTHING."""
    padded = np.concatenate((np.full(length, NOTHING, dtype=np.uint32), ids))
    return np.lib.stride_tricks.sliding_window_view(padded, length)[: len(ids)].copy()


def normalised(parts_BK: Floats) -> Floats:
    """Rows divided by their sum; rows of zeros stay."""
    total_B1 = parts_BK.sum(axis=1, keepdims=True)
    return parts_BK / np.where(total_B1 > 0, total_B1, 1.0)
