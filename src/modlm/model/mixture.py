"""`Mixture`: blocks and a mixer make a language model, P(w | c) = sum_k lambda_k(c) P_k(w | c).

Every model of ours is one. A state holds the window of words that the columns and the mixer look at and, if the mixer
has a memory, what it remembered before it saw the last word of that window: one step of the mixer is one prediction, so
`<s>` is an input and `</s>` is not. Where blocks learn from what they read, a state refers to what they keep of all of
it, the window included, by their names; hypotheses share that and never change it. Where a source sentence is read, a
state refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from modlm.blocks.block import (
    ALONE,
    DELTA,
    NOTHING,
    UNLIMITED,
    Beside,
    Block,
    Blocks,
    ColumnLayout,
    Memories,
    Reads,
    Rows,
    one_each,
    rows_of,
    since_the_start,
    trimmed,
)
from modlm.blocks.constant import ConstantBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.over_source import NO_WORDS, given, stretches_beside, with_features
from modlm.errors import ConfigError
from modlm.families import BLOCKS, MIXERS
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints
from modlm.mixers.mixer import Mixer, State
from modlm.model.folder import NEURAL, mixture_of_today, parts_of_blocks
from modlm.model.language_model import LONGEST, LanguageModel, States
from modlm.store.folder import COLUMNS, Folder, Parts
from modlm.text.vocabulary import Vocabulary

CHUNK = 1 << 16  # positions whose rows are in memory at a time
WINDOWS = 64  # contexts whose J by K columns are in memory at a time


class Mixture(LanguageModel):
    """Any columns, any weights."""

    def __init__(self, vocabulary: Vocabulary, blocks: Blocks, mixer: Mixer) -> None:
        self.layout = ColumnLayout(blocks)
        if not len(self.layout):
            raise ConfigError("A mixture needs at least one block of columns besides those over a source, if any.")
        for name, block in blocks.items():
            if len(block.vocabulary) != len(vocabulary):
                raise ConfigError(
                    f"The block {name!r} was made for {len(block.vocabulary):,} words, but the mixture has "
                    f"{len(vocabulary):,}. Give all blocks the vocabulary of the mixture."
                )
        self.vocabulary, self.blocks, self.mixer = vocabulary, dict(blocks), mixer
        mixer.check(self.layout)
        ordered = sorted(self.blocks.items(), key=lambda named: named[1].per_source)
        self.dense = {name: block for name, block in ordered if block.kind != DELTA}
        """All blocks but the delta columns, which are never made, in the order of D: those over sources last."""
        columns = Reads.joined(block.reads for block in self.dense.values())
        self.reads = Reads.joined((mixer.reads, columns))
        self._keeps_lines = columns.document
        self.learners = {name: block for name, block in self.dense.items() if block.reads.learns}
        self._reads_on = mixer.state_size > 0 or self.reads.learns
        self.context_length = UNLIMITED if self._reads_on else self.reads.words
        fields: list[Any] = [("words", np.uint32, (min(max(1, self.reads.words), LONGEST),))]
        fields += [("state", np.float32, (mixer.state_size,))] if mixer.state_size else []
        fields += [("memory", object)] if self.learners else []
        fields += [("source", object)] if self.reads.source else []
        self._dtype = np.dtype(fields)

    @property
    def window_length(self) -> int:
        """At least one word, at most LONGEST unless a memory reads on: farther words are lost to the columns."""
        return max(1, self.context_length if self._reads_on else min(self.context_length, LONGEST))

    def described(self) -> dict[str, Any]:
        about = self.mixer.described(self.layout.names)
        if "model" not in about:
            counted = any(not isinstance(block, ConstantBlock) for block in self.dense.values())
            kinds = {(True, True): "hybrid", (True, False): "neural", (False, True): "interpolated"}
            deltas = self.layout.deltas > 0
            kind = "conditional" if self.reads.source else kinds[deltas, counted or not deltas]
            about = {"model": kind, **about}
        widths, blocks = self._widths, self.blocks.items()
        return about | {"blocks": [{"name": name, "kind": own.kind, "columns": widths[name]} for name, own in blocks]}

    @property
    def source_vocabulary(self) -> Vocabulary | None:
        own = [self.mixer.source_vocabulary, *(block.source_vocabulary for block in self.dense.values())]
        return next(filter(None, own), None)

    def beside(self, sources: Iterable[str | Sequence[str]]) -> Beside:
        """Source sentences as what stands beside sentences, or windows."""
        if (words := self.source_vocabulary) is None:
            raise ConfigError("The model reads no source, so give it sentences alone.")
        return Beside([words.encode(source) for source in sources])

    @property
    def _given(self) -> Sequence[Ids]:
        """The source of a sentence that comes without one of its own; an error where one is read and none was given."""
        return given(self.source, read=self.reads.source)

    @property
    def _widths(self) -> dict[str, int]:
        """How many columns each block has."""
        dense = {name: len(block.columns) for name, block in self.dense.items()}
        return dict.fromkeys(self.blocks, self.layout.deltas) | dense

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} ({width:,})" for name, width in self._widths.items())
        return f"Mixture(columns: {columns}; words: {len(self.vocabulary):,}; weights: {self.mixer})"

    @property
    def column_names(self) -> tuple[str, ...]:
        """The dense columns in the order of D, those over the source, and the delta column of any word asked for."""
        return self._names(())

    # ---- along texts ---------------------------------------------------------------------------------------------

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """The rows of D and the features along a text, without delta columns."""
        return rows_of(self.dense, ids, beside)

    def row_chunks(self, ids: Ids, beside: Beside = ALONE) -> Iterator[tuple[slice, Rows]]:
        """`rows` for stretches of whole sentences, so that memory does not grow with the text."""
        memory = beside.memory
        for place, sources in self._stretches(ids, beside.sources):
            rows = self.rows(ids[place], Beside(sources, memory))
            memory = rows.memory
            yield place, rows

    def log_probs(self, ids: Ids, beside: Beside = ALONE) -> Floats:
        """log P of each word; if the mixer carries its state over, the text is one document."""
        return np.concatenate([np.zeros(0), *(log_probs for _, log_probs in self.along([ids], beside))])

    def word_probs(self, ids: Ids) -> Floats:
        return np.exp(self.log_probs(ids))

    def along(self, texts: Iterable[Ids], beside: Beside = ALONE) -> Iterator[tuple[Ids, Floats]]:
        """Stretches of one text with their log P; each goes on from the state and the memory after the one before.

        `beside` has what was learned before the text, and its source sentences, one behind the other.
        """
        state, memory, at = None, beside.memory, 0
        for ids in texts:
            after = at + int(np.count_nonzero(ids == self.vocabulary.start)) if beside.sources else 0
            own = Beside(beside.sources[at:after], memory)
            out, state, memory = self.read(ids, own, state, carried=self.mixer.reads.document)
            at = after
            yield ids, out

    def sentence_log_probs(self, ids: Ids, beside: Beside = ALONE) -> Floats:
        if not (self.learners or self._keeps_lines):
            return self.read(ids, beside)[0]
        bounds = pairwise([*np.flatnonzero(ids == self.vocabulary.start).tolist(), len(ids)])
        alone = [
            self.read(ids[begin:end], replace(beside, sources=beside.sources[number : number + 1]))[0]
            for number, (begin, end) in enumerate(bounds)
        ]
        return np.concatenate([np.zeros(0), *alone])

    def read(
        self, ids: Ids, beside: Beside = ALONE, state: Any = None, *, carried: bool = False
    ) -> tuple[Floats, Any, Any]:
        """log P of each word of a text, and what goes on behind it: the mixer's state, if carried, and the memory."""
        out, memory = np.zeros(len(ids)), beside.knowing(self.observed).memory
        for place, sources in self._stretches(ids, beside.sources):
            own = with_features(self.dense, Beside(sources, memory))
            state, memory = self.mixer.log_probs(ids[place], self.dense, out[place], state, carried=carried, beside=own)
        out[ids == self.vocabulary.start] = 0.0
        return out, state, memory

    def learned(self, ids: Ids, memory: Any) -> Any:
        """What the blocks that learn keep after a text, by name."""
        for place, _ in stretches_beside(ids, (), self.vocabulary.start, (), size=CHUNK, wide=False):
            own = Beside(memory=memory)
            memory = {name: block.rows(ids[place], own.of(name)).memory for name, block in self.learners.items()}
        return memory

    def _stretches(self, ids: Ids, sources: Sequence[Ids]) -> Iterator[tuple[slice, Sequence[Ids]]]:
        """Neighbouring stretches of whole sentences with their sources."""
        own, wide = () if sources or not len(ids) else self._given, bool(self.layout.over_source)
        return stretches_beside(ids, sources, self.vocabulary.start, own, size=CHUNK, wide=wide)

    def shares_along(self, ids: Ids, beside: Beside = ALONE) -> tuple[tuple[str, ...], Floats, Floats]:
        """Columns and weights of every word of a sentence and its end, in one pass of each block over it."""
        own = with_features(self.dense, replace(beside, sources=beside.sources or self._given))
        rows = self.rows(ids, own.knowing(self.observed))
        weights_TK = self.mixer.weights_along(ids, rows.features_TF, own)
        return self._names(own.sources), self._with_delta(rows.probs_TK[1:]), weights_TK[1:]

    def _names(self, sources: Sequence[Ids]) -> tuple[str, ...]:
        sources = sources or [NO_WORDS if self.source is None else self.source]
        return self.layout.names_over(sources, self.source_vocabulary)

    # ---- states --------------------------------------------------------------------------------------------------

    def start(self, count: int = 1, beside: Beside = ALONE) -> States:
        """Windows that hold `<s>` alone, and nothing to remember but what `beside` has of texts before."""
        states = self._renewed(count, self.vocabulary.start, beside)
        if self.learners:
            states["memory"] = self.remember(states["memory"], np.full(count, self.vocabulary.start, np.uint32))
        return states

    def state_after(self, windows_BC: Ids, beside: Beside = ALONE) -> States:
        """The windows, and a mixer with a memory taken through them word by word.

        Without `<s>` it knows nothing before the first word. Blocks that learn have read the windows, if `beside` has
        their memories; without, they learn from the windows alone.
        """
        windows_BC = trimmed(windows_BC) if windows_BC.shape[1] else windows_BC
        states = self._renewed(len(windows_BC), NOTHING, beside)
        learning = bool(self.learners) and beside.memory is None
        if not self.mixer.state_size and not learning:
            near_BC = windows_BC[:, -states["words"].shape[1] :]
            begins_BC = near_BC == NOTHING if self._keeps_lines else near_BC >= len(self.vocabulary)
            states["words"][:, states["words"].shape[1] - near_BC.shape[1] :] = since_the_start(near_BC, begins_BC)
            return states
        for words_B in windows_BC.T:
            states = self.moved(states, words_B, learning=learning)
        return states

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        """What the blocks that learn keep, by name, after one more word each; NOTHING is no word."""
        moved_B, read = memory_B.copy(), np.flatnonzero(words_B != NOTHING)
        own = Beside(memory=memory_B[read])
        kept = [block.remember(own.of(name).memory, words_B[read]) for name, block in self.learners.items()]
        for place, memories in zip(read.tolist(), zip(*kept, strict=True), strict=True):
            moved_B[place] = dict(zip(self.learners, memories, strict=True))
        return moved_B

    def advance(self, states: States, words: Ids) -> tuple[States, Floats]:
        """The states one word further, and the logarithm of its probability."""
        probs_BK, weights_BK, after_BS = self._row_after(states, words)
        with np.errstate(divide="ignore"):
            log_probs = np.log((probs_BK * weights_BK).sum(axis=1))
        log_probs[words >= len(self.vocabulary)] = 0.0
        return self.moved(states, words, after_BS), log_probs

    def shares(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> tuple[tuple[str, ...], Floats, Floats]:
        """Columns and weights for a word after each window; of the delta columns that of the word alone."""
        probs_BK, weights_BK, _ = self._row_after(self.state_after(windows_BC, beside), words_B)
        return self._names(beside.sources), probs_BK, weights_BK

    def shares_after(
        self, window_1C: Ids, words_B: Ids, beside: Beside = ALONE
    ) -> tuple[tuple[str, ...], Floats, Floats]:
        """The same for several words after one window; the mixer, and a model that is a column, are asked once."""
        if not self.layout.deltas and any(isinstance(block, ModelBlock) for block in self.dense.values()):
            columns_JK, weights_K = self.columns_after(window_1C, beside)
            return self._names(beside.sources), columns_JK[words_B], np.repeat(weights_K[None, :], len(words_B), axis=0)
        states = np.repeat(self.state_after(window_1C, beside), len(words_B))
        probs_BK, weights_BK, _ = self._row_after(states, words_B)
        return self._names(beside.sources), probs_BK, weights_BK

    def columns_after(self, window_1C: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """D after one window, the delta columns joined into one: what they alone would predict; and lambda."""
        states = self.state_after(window_1C, beside)
        own, window_1C = self._beside(states), trimmed(states["words"])
        found = [block.after(window_1C, own.of(name)) for name, block in self.dense.items()]
        columns = [columns_1JK[0] for columns_1JK, _ in found]
        weights_K = self._weights(states, [features_1F for _, features_1F in found])[0]
        if self.layout.deltas:
            own_J = weights_K[-self.layout.deltas :]
            mass = own_J.sum()
            columns.append((own_J / (mass if mass > 0 else 1.0))[:, None])
            weights_K = np.append(weights_K[: -self.layout.deltas], mass)
        return np.concatenate(columns, axis=1), weights_K

    def distributions(self, states: States) -> AnyFloats:
        """D times lambda, the whole product."""
        out_BJ = np.zeros((len(states), len(self.vocabulary)))
        for begin in range(0, len(states), WINDOWS):
            some, some_BJ = states[begin : begin + WINDOWS], out_BJ[begin : begin + WINDOWS]
            windows_BC, own = trimmed(some["words"]), self._beside(some)
            found = [block.to_mix(windows_BC, own.of(name)) for name, block in self.dense.items()]
            weights_BK = self._weights(some, [features_BF for features_BF, _ in found])
            if self.layout.deltas:
                some_BJ += weights_BK[:, -self.layout.deltas :]
            for (_, add), place in zip(found, self.layout.parts_of(weights_BK.shape[1]).values(), strict=True):
                add(weights_BK[:, place], some_BJ)
        return out_BJ

    def _weights(self, states: States, features: list[Floats]) -> Floats:
        features_BF = np.concatenate([np.zeros((len(states), 0)), *features], axis=1)
        return np.exp(self.mixer.log_weights(*self._seen_by_mixer(states, features_BF))[0])

    def _row_after(self, states: States, words_B: Ids) -> tuple[Floats, Floats, State]:
        """The row of D for a word after each state, its weights, and what the mixer remembers afterwards."""
        windows_BC, own = trimmed(states["words"]), self._beside(states)
        found = (block.rows_after(windows_BC, words_B, own.of(name)) for name, block in self.dense.items())
        rows = Rows.joined([Rows.empty(len(states)), *found])
        weights_BK, after_BS = self.mixer.weights_of(words_B, *self._seen_by_mixer(states, rows.features_TF))
        return self._with_delta(rows.probs_TK), weights_BK, after_BS

    def _with_delta(self, probs_BD: Floats) -> Floats:
        """A word's own delta column gives it 1."""
        return np.concatenate((probs_BD, np.ones((len(probs_BD), 1))), axis=1) if self.layout.deltas else probs_BD

    def _beside(self, states: States) -> Beside:
        """What states refer to."""
        if not (self.learners or self.reads.source):
            return ALONE
        sources = states["source"].tolist() if self.reads.source else ()
        return with_features(self.dense, Beside(sources, states["memory"] if self.learners else None))

    def _seen_by_mixer(self, states: States, features_BF: Floats) -> tuple[Ids, Floats, State, Beside]:
        """Contexts, features, memory and sources; what is before a window is `<s>` to a mixer."""
        contexts_BC = np.minimum(states["words"], self.vocabulary.start)
        memory = states["state"] if self.mixer.state_size else np.zeros((len(states), 0), np.float32)
        words = self.mixer.reads.words
        return contexts_BC[:, contexts_BC.shape[1] - words :], features_BF, memory, self._beside(states)

    def moved(self, states: States, words_B: Ids, after_BS: State | None = None, *, learning: bool = True) -> States:
        """The states one word further: `<s>` begins a sentence, NOTHING an empty context, and neither is predicted."""
        moved = states.copy()
        if self.learners and learning:
            moved["memory"] = self.remember(states["memory"], words_B)
        moved["words"] = np.concatenate((states["words"][:, 1:], words_B[:, None]), axis=1)
        begins = words_B >= len(self.vocabulary)
        if self.mixer.state_size:
            steps = ~begins & (states["words"][:, -1] != NOTHING)
            if after_BS is not None:
                moved["state"][steps] = after_BS[steps]
            elif steps.any():
                moved["state"][steps] = self.mixer.next_state(*self.asked(states[steps]))
            moved["state"][words_B == NOTHING if self.mixer.reads.document else begins] = 0.0
        if self._keeps_lines:
            begins = words_B == NOTHING
        places: Ints = np.flatnonzero(begins)
        moved["words"][places] = NOTHING
        moved["words"][places, -1] = words_B[places]
        return moved

    def asked(self, states: States) -> tuple[Ids, Floats, State, Beside]:
        """What the mixer is asked with after the last word of each window."""
        windows_BC, any_B = trimmed(states["words"]), np.zeros(len(states), dtype=np.uint32)
        own, named = self._beside(states), self.dense.items()
        found = [
            block.rows_after(windows_BC, any_B, own.of(name)).features_TF for name, block in named if block.features
        ]
        return self._seen_by_mixer(states, np.concatenate([np.zeros((len(states), 0)), *found], axis=1))

    def _renewed(self, count: int, word: int, beside: Beside) -> States:
        states = np.zeros(count, dtype=self._dtype)
        if self.learners:
            states["memory"] = one_each(beside.knowing(self.observed).memory, count)
        if self.reads.source:
            for place, source in zip(range(count), beside.sources or list(self._given) * count, strict=True):
                states["source"][place] = source
        states["words"] = NOTHING
        states["words"][:, -1] = word
        return states

    # ---- on disk -------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        own = self.mixer.parts()
        blocks = parts_of_blocks(self.blocks)
        mixer = {"kind": self.mixer.kind, **own.settings}
        about = {"kind": "mixture", "blocks": blocks.settings, "mixer": mixer, **self.vocabulary.fingerprints()}
        texts = {**self.vocabulary.files(), **own.texts, **blocks.texts}
        return Parts(about, {**own.arrays, **blocks.arrays}, texts)

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The mixture that a folder keeps; blocks and mixer of kinds that are not installed are named."""
        if stored.about.get("kind") == NEURAL:
            stored = replace(stored, about=mixture_of_today(stored))
        named = stored.part("blocks")
        blocks: dict[str, Block] = {}
        for name in named.about:
            own = named.part(name, inside=f"{COLUMNS}/{name}/")
            blocks[name] = own.member(BLOCKS).from_parts(own, vocabulary)
        mixer = stored.part("mixer")
        made: Mixer = mixer.member(MIXERS).from_parts(mixer, ColumnLayout(blocks))
        return stored.checked(lambda: cls(vocabulary, blocks, made))
