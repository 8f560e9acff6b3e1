"""The interface of the `kenlm` package over our models: `import modlm.compat.kenlm as kenlm`.

A model is a KenLM binary, an ARPA file or a model folder with an n-gram model. Logarithms are of base 10 and sentences
are split at white space, as there. Beyond the original, states can be pickled, and words may be bytes. As in KenLM
unknown words cost no letters: the spelling model of a folder is left out, and a warning says so.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from modlm.compat import kenlm_kernels
from modlm.errors import ConfigError, ModlmError
from modlm.formats.kenlm import query_kernels
from modlm.model.folder import load
from modlm.model.kenlm import KenlmModel
from modlm.model.ngram_lm import NgramLM
from modlm.text.sources import PADDING
from modlm.text.word_list import UNKNOWN_NAME

log = logging.getLogger("modlm")


class FullScoreReturn(NamedTuple):
    """log10 P of a word, the length of the n-gram that it was found as, and whether the word is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool

    def __repr__(self) -> str:
        return f"FullScoreReturn({self.log_prob!r}, {self.ngram_length!r}, {self.oov!r})"


class State(bytearray):
    """What a model remembers of the words before; new ones remember nothing. Equal states have equal futures."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(bytes(self))

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> State:
        return State(self)

    def __repr__(self) -> str:
        return f"<State {bytes(self).hex() or 'of no words'}>"


class LoadMethod:
    """How KenLM brings a file into memory; our models are mapped, which is LAZY, whatever is asked for."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class ARPALoadComplain:
    """Whether KenLM says that binaries load faster than ARPA files; nothing is said here."""

    ALL, EXPENSIVE, NONE = range(3)


class Config:
    """Settings of KenLM's loading, kept but without effect."""

    def __init__(self) -> None:
        self.load_method, self.show_progress = LoadMethod.POPULATE_OR_READ, True
        self.arpa_complain = ARPALoadComplain.ALL


class Model:
    """A language model, asked as the `kenlm` package is."""

    __slots__ = {
        "BaseScore": "BaseScore(in_state, word, out_state): log10 P(word | in_state); out_state is the state after it.",
        "__weakref__": "", "_begin": "", "_full": "", "_full_scores": "", "_keep": "", "_score": "", "_vocabulary": "",
        "order": "The highest order.",
        "path": "The absolute path as bytes.",
    }  # fmt: skip

    def __init__(self, path: str | bytes, config: Config | None = None) -> None:
        self.path = os.path.abspath(os.fsencode(path))  # noqa: PTH100
        try:
            model = load(os.fsdecode(self.path))
            if not isinstance(model, KenlmModel | NgramLM):
                raise ConfigError("KenLM's interface is for n-gram models; use modlm.load for this one.")
        except (ModlmError, OSError) as error:
            raise OSError(f"Cannot read model '{os.fsdecode(path)}' ({error})") from error
        if model.spelling is not None:
            log.warning(f"{path!r}: its spelling model is not used here, as KenLM has none; modlm.load uses it.")
        self.order, self._vocabulary = model.order, model.vocabulary
        numbers, arrays, begin = _of_binary(model) if isinstance(model, KenlmModel) else _of_ngrams(model)
        self._begin, handle = begin.tobytes(), np.zeros(kenlm_kernels.ROOM, np.uint64)
        places = [number for array in arrays for number in (array.ctypes.data, len(array))]
        handle[: len(numbers)], handle[kenlm_kernels.SPARE :][: len(places)] = numbers, places
        self._keep, at = (arrays, handle), handle.ctypes.data
        base = partial(kenlm_kernels.BASE, at)
        Model.BaseScore.__set__(self, base)  # type: ignore[attr-defined]  # a subclass may have a method of that name
        self._full, self._score = partial(kenlm_kernels.FULL, at), partial(kenlm_kernels.SCORE, at)
        self._full_scores = partial(kenlm_kernels.FULL_SCORES, at)

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 P of a sentence: after `<s>` if `bos`, with `</s>` if `eos`."""
        return self._score(sentence, bos, eos)  # type: ignore[no-any-return]

    def perplexity(self, sentence: str | bytes) -> float:
        """Of the words of a sentence and its end."""
        words = sentence.encode() if isinstance(sentence, str) else sentence
        return float(10.0 ** (-self.score(sentence) / (len(words.split()) + 1)))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """log10 P, the length of the n-gram and whether the word is unknown, for each word and the end."""
        return iter(self._full_scores(sentence, bos, eos))

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """`BaseScore` with the length of the n-gram and whether the word is unknown."""
        return FullScoreReturn._make(self._full(in_state, word, out_state))

    def BeginSentenceWrite(self, state: State) -> None:
        """Make it the state before the first word of a sentence."""
        state[:] = self._begin

    def NullContextWrite(self, state: State) -> None:
        state.clear()

    def __contains__(self, word: str | bytes) -> bool:
        name = word if isinstance(word, str) else str(word, "utf-8", "replace")
        return name != UNKNOWN_NAME and name in self._vocabulary

    def __repr__(self) -> str:
        return f"<Model from {os.path.basename(self.path)!r}>"  # noqa: PTH119

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)


class LanguageModel(Model):
    """The older name of `Model`."""


Handle = tuple[list[int], list[np.ndarray], np.ndarray]
"""The first numbers of a handle, its arrays, and the state at the begin of a sentence."""


def _of_binary(model: KenlmModel) -> Handle:
    binary, begin = model.binary, np.zeros(2, np.uint32)
    query_kernels.begin_state(binary.data, binary.plan, begin)
    return [1, 0, 0], [np.zeros(2 * model.order + 2, np.uint32), binary.data, binary.plan], begin


def _of_ngrams(model: NgramLM) -> Handle:
    compiled, tables = model.compiled, model.vocabulary.kernel_tables()
    words, nodes, leaves = compiled.arrays
    copy = np.zeros(int(np.diff(tables[1]).max()) + PADDING + 8, np.uint8)  # a longer word is unknown, however it ends
    levels = np.array(compiled.levels)
    arrays = [np.zeros(2, np.uint32), *tables, words, compiled.start_nodes, nodes, leaves, levels, copy]
    begin = np.array([compiled.start] if compiled.start else [], np.uint32)
    return [0, int(compiled.dtype == np.float64), compiled.start], [np.ascontiguousarray(one) for one in arrays], begin
