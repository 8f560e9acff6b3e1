"""The interface of the `kenlm` package over our models: `import modlm.compat.kenlm as kenlm`.

A model is a KenLM binary, an ARPA file or a model folder with an n-gram model. Logarithms are of base 10 and sentences
are split at white space, as there. Beyond the original, states can be pickled, and words may be bytes.
"""

from __future__ import annotations

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
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = True
        self.arpa_complain = ARPALoadComplain.ALL


class Model:
    """A language model, asked as the `kenlm` package is."""

    __slots__ = {
        "BaseScore": "BaseScore(in_state, word, out_state): log10 P(word | in_state); out_state is the state after it.",
        "__weakref__": "",
        "_begin": "the bytes of the state before the first word of a sentence",
        "_full": "", "_full_scores": "", "_keep": "what the compiled functions read", "_known": "", "_score": "",
        "order": "The highest order.",
        "path": "The absolute path as bytes.",
    }  # fmt: skip

    def __init__(self, path: str | bytes, config: Config | None = None) -> None:
        self.path = os.path.abspath(_as_bytes(path))  # noqa: PTH100
        try:
            model = load(os.fsdecode(self.path))
            if not isinstance(model, KenlmModel | NgramLM):
                raise ConfigError("KenLM's interface is for n-gram models; use modlm.load for this one.")
        except (ModlmError, OSError) as error:
            raise OSError(f"Cannot read model '{os.fsdecode(path)}' ({error})") from error
        self.order = int(model.order)
        is_binary = isinstance(model, KenlmModel)
        arrays, numbers, self._begin = _of_binary(model) if isinstance(model, KenlmModel) else _of_ngrams(model)
        places = [number for array in arrays for number in (array.ctypes.data, len(array))]
        handle = np.zeros(kenlm_kernels.ROOM, np.uint64)
        handle[: len(places) + len(numbers)] = [*places, *numbers]
        self._keep = (arrays, handle)
        calls = {
            name: partial(function, handle.ctypes.data) for name, function in kenlm_kernels.calls(is_binary).items()
        }
        Model.BaseScore.__set__(self, calls["base"])  # type: ignore[attr-defined]  # a subclass may have its own
        self._full, self._known = calls["full"], calls["known"]
        self._score, self._full_scores = calls["score"], calls["full_scores"]

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 P of a sentence: after `<s>` if `bos`, with `</s>` if `eos`."""
        found: float = self._score(sentence, bos, eos)
        return found

    def perplexity(self, sentence: str | bytes) -> float:
        """Of the words of a sentence and its end."""
        return float(10.0 ** (-self.score(sentence) / (len(_as_bytes(sentence).split()) + 1)))

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
        """Make it the state of no words."""
        state.clear()

    def __contains__(self, word: str | bytes) -> bool:
        found: bool = self._known(word)
        return found

    def __repr__(self) -> str:
        return f"<Model from {os.path.basename(self.path)!r}>"  # noqa: PTH119

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)


class LanguageModel(Model):
    """The older name of `Model`."""


def _as_bytes(text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if isinstance(text, str | os.PathLike):
        return os.fspath(text).encode() if isinstance(text, str) else os.fsencode(text)
    raise TypeError(f"Cannot convert {type(text)} to string")


def _of_binary(model: KenlmModel) -> tuple[list[np.ndarray], list[int], bytes]:
    """The arrays of a handle, its further numbers, and the state at the begin of a sentence."""
    binary, begin = model.binary, np.zeros(2, np.uint32)
    query_kernels.begin_state(binary.data, binary.plan, begin)
    return [binary.data, binary.plan, np.zeros(2 * model.order + 2, np.uint32)], [], begin.tobytes()


def _of_ngrams(model: NgramLM) -> tuple[list[np.ndarray], list[int], bytes]:
    compiled = model.compiled
    words, nodes, leaves = compiled.arrays
    blob, offsets, table = model.vocabulary.kernel_tables()
    copy = np.zeros(int(np.diff(offsets).max()) + PADDING + 8, np.uint8)  # a longer word is unknown, however it ends
    arrays = [blob, offsets, table, words, compiled.start_nodes, nodes, leaves, np.array(compiled.levels), copy]
    numbers = [int(compiled.dtype == np.float64), compiled.start]
    spare = np.zeros(2, np.uint32)
    begin = np.array([compiled.start] if compiled.start else [], np.uint32).tobytes()
    return [np.ascontiguousarray(array) for array in (*arrays, spare)], numbers, begin
