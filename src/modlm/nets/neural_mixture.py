"""`NeuralMixture`: blocks and a net make a language model, with or without a delta column for each word.

Along texts the net takes many sentences at once. For single steps a state holds the window of words that the columns
and the net's word vectors look at, and the recurrent state before the net has seen that window. One step of the net is
one prediction: `<s>` is an input and `</s>` is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modlm.arrays import AnyFloats, Bools, Floats, Ids, Ints
from modlm.blocks.block import NOTHING, UNLIMITED, Block, ColumnLayout
from modlm.blocks.log_rows import Singles, log_rows
from modlm.blocks.model import rows_after, trimmed
from modlm.errors import ConfigError
from modlm.model.language_model import LONGEST, LanguageModel, States
from modlm.model.mixture import stretches
from modlm.nets.fast_bodies import FastLstm, fast_feedforward, in_singles, version_of
from modlm.nets.mixer_net import MixerNet
from modlm.nets.sentence_batches import contexts_along, sentence_batches
from modlm.text.vocabulary import Vocabulary

CHUNK = 1 << 16  # positions whose rows are in memory, and whose sentences are sorted, at a time
POSITIONS = 1 << 13  # positions that the net takes at once
CELLS = 1 << 24  # weights of all columns, deltas among them, that are in memory at a time
WINDOWS = 64  # contexts whose J by K columns are in memory at a time
DELTA = "delta"


class NeuralMixture(LanguageModel):
    """Dense columns in the order of `blocks`, then the delta columns if the net has them; lambda by the net."""

    def __init__(
        self, vocabulary: Vocabulary, blocks: Mapping[str, Block], net: MixerNet, *, trained_on: str = ""
    ) -> None:
        self.vocabulary = vocabulary
        self.trained_on = trained_on
        """The fingerprint of the text that the net was trained on, if it is known."""
        self.blocks = dict(blocks)
        self.layout = ColumnLayout(self.blocks)
        self.net = net.eval()
        self._fast: FastLstm | None = None
        self._check()
        config = net.config
        self.recurrent = net.state_shape[0] > 0
        self.document = config.context == "document"
        self._keeps_lines = any(getattr(block, "reads_documents", False) for block in self.blocks.values())
        self.reads_documents = self.document or self._keeps_lines
        counted = max((block.context_length for block in self.blocks.values()), default=0)
        looked_at = max(counted, config.words if "word" in config.inputs else 0)
        self.context_length = UNLIMITED if self.recurrent else looked_at
        window = ("words", np.uint32, (min(max(1, looked_at), LONGEST),))
        state = ("state", np.float32, (int(np.prod(net.state_shape)),))
        self._dtype = np.dtype([window, state] if self.recurrent else [window])

    def _check(self) -> None:
        net, dense, features = self.net, len(self.layout), self.layout.features
        if net.vocab_size != len(self.vocabulary):
            raise ConfigError(
                f"The net was made for {net.vocab_size:,} words, but there are {len(self.vocabulary):,}. "
                f"Give the vocabulary that it was trained with."
            )
        taken = len(net.inputs.scaled.mean_F) if "counts" in net.config.inputs else features
        if (net.dense, taken) != (dense, features):
            raise ConfigError(
                f"The net was made for {net.dense} dense columns with {taken} features, but the blocks "
                f"({', '.join(self.blocks) or 'none'}) have {dense} with {features}. Give those it was trained with."
            )

    @property
    def delta(self) -> bool:
        """Whether there is a delta column for each word."""
        return self.net.delta

    @property
    def device(self) -> torch.device:
        """Where the net is."""
        return next(self.net.parameters()).device

    def described(self) -> dict[str, Any]:
        """The net and its columns."""
        kinds = {(True, True): "hybrid", (True, False): "neural", (False, True): "interpolated"}
        blocks = [
            {"name": name, "kind": block.kind, "columns": len(block.columns)} for name, block in self.blocks.items()
        ]
        counted = any(block.kind not in ("uniform", "unknown") for block in self.blocks.values())
        return {
            "model": kinds[self.delta, counted or not self.delta],
            "parameters": sum(parameter.numel() for parameter in self.net.parameters()),
            "net": asdict(self.net.config),
            "blocks": [*blocks, *([{"name": DELTA, "kind": DELTA, "columns": len(self.vocabulary)}] * self.delta)],
        }

    # ---- along texts ---------------------------------------------------------------------------------------------

    def log_probs(self, ids: Ids) -> Floats:
        """log P of each word; with context = document the text is one document."""
        return np.concatenate([np.zeros(0), *(log_probs for _, log_probs in self.along([ids]))])

    def word_probs(self, ids: Ids) -> Floats:
        """P of each word."""
        return np.exp(self.log_probs(ids))

    def along(self, texts: Iterable[Ids]) -> Iterator[tuple[Ids, Floats]]:
        """Stretches of one text with their log P; with context = document the state goes on from one to the next."""
        state: Tensor | None = None
        for ids in texts:
            out = np.zeros(len(ids))
            for place in stretches(ids, self.vocabulary.start, CHUNK):
                state = self._score(ids[place], out[place], state, carried=self.document)
            yield ids, out

    def sentence_log_probs(self, ids: Ids) -> Floats:
        """log P of each word, each sentence on its own."""
        out = np.zeros(len(ids))
        for place in stretches(ids, self.vocabulary.start, CHUNK):
            self._score(ids[place], out[place], None, carried=False)
        return out

    @torch.inference_mode()
    def _score(self, ids: Ids, out: Floats, state: Tensor | None, *, carried: bool) -> Tensor | None:
        """Writes log P of each word; gives the recurrent state after the last, or nothing if it is not carried."""
        rows_TD, features_TF = log_rows(self.blocks, ids)
        score = self._scorer(ids, rows_TD)
        for places, hidden_PH, after in self._hidden(ids, features_TF, state, carried=carried):
            score(hidden_PH, places, out)
            state = after
        return state

    def _scorer(self, ids: Ids, rows_TD: Singles) -> Callable[[Tensor, Tensor, Floats], None]:
        """What writes log P to the places of a text from their hidden vectors."""
        from modlm.nets.scoring_kernels import mixed_log_probs

        log_probs_TD, words_T = self._tensor(rows_TD), self._tensor(ids, torch.int64)
        output = self.net.output

        def any_columns(hidden_PH: Tensor, places: Tensor, out: Floats) -> None:
            nll_P, _ = self.net.nll(hidden_PH, log_probs_TD[places], words_T[places])
            out[places.cpu().numpy()] = -nll_P.double().cpu().numpy()

        def few_columns(hidden_PH: Tensor, places: Tensor, out: Floats) -> None:
            logits_PD = torch.addmm(output.bias_K, hidden_PH, output.weight_KH.t())
            mixed_log_probs(logits_PD.numpy(), rows_TD, places.numpy(), out)

        return any_columns if self.delta or not in_singles(self.net) else few_columns

    def _hidden(
        self, ids: Ids, features_TF: Singles, state: Tensor | None, *, carried: bool
    ) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        """Places in the text (P) with their hidden vectors (P, H), and the state behind them if it is carried."""
        starts = np.flatnonzero(ids == self.vocabulary.start)
        contexts_TW = self._tensor(contexts_along(ids, starts, self.net.config.words), torch.int64)
        features = self._tensor(features_TF)
        if self.recurrent and not carried:
            fast = self._fast_lstm(len(ids))
            for batch in sentence_batches(starts, len(ids), POSITIONS):
                if fast is not None:
                    places = self._tensor(batch.places_TB[batch.real_TB], torch.int64)
                    yield places, fast.hidden(contexts_TW[places], features[places], batch.real_TB.sum(axis=1)), None
                    continue
                places_TB, real_TB = self._tensor(batch.places_TB, torch.int64), self._tensor(batch.real_TB, torch.bool)
                hidden_TBH, _ = self.net.hidden(contexts_TW[places_TB], features[places_TB])
                yield places_TB[real_TB], hidden_TBH[real_TB], None
            return
        predicted = self._tensor(np.flatnonzero(ids != self.vocabulary.start), torch.int64)
        for places in torch.split(predicted, POSITIONS):
            if not self.recurrent and in_singles(self.net):
                yield places, fast_feedforward(self.net, contexts_TW[places], features[places]), None
                continue
            hidden_T1H, after = self.net.hidden(contexts_TW[places][:, None], features[places][:, None], state)
            state = after if carried else None
            yield places, hidden_T1H[:, 0], state

    def _fast_lstm(self, positions: int) -> FastLstm | None:
        """The faster form, kept for as long as the parameters stay as they are; none where it does not pay."""
        known = self._fast is not None and self._fast.version == version_of(self.net)
        if not known:
            self._fast = FastLstm(self.net) if FastLstm.fits(self.net, positions) else None
        return self._fast

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fast": None}

    @torch.inference_mode()
    def shares_along(self, ids: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """Columns and weights of every word of a sentence and its end."""
        log_probs_TD, features_TF = log_rows(self.blocks, ids)
        weights_TK = np.empty((len(ids), len(self.column_names)))
        for places, hidden_PH, _ in self._hidden(ids, features_TF, None, carried=False):
            at = places.cpu().numpy()
            weights_TK[at] = self._weights(hidden_PH, ids[at])
        return self.column_names, self._with_delta(np.exp(log_probs_TD[1:].astype(np.float64))), weights_TK[1:]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The dense columns, and the delta column of whichever word is asked for."""
        return (*self.layout.names, DELTA) if self.delta else self.layout.names

    def _weights(self, hidden_PH: Tensor, words_P: Ids) -> Floats:
        """lambda of the dense columns and of each word's delta column."""
        known = np.minimum(words_P, len(self.vocabulary) - 1)  # `<s>` and NOTHING are asked for, but never counted
        deltas_P = self.net.dense + self._tensor(known, torch.int64)
        some = max(1, CELLS // (self.net.dense + self.delta * len(self.vocabulary)))
        parts = list[Tensor]()
        for hidden_BH, deltas_B in zip(torch.split(hidden_PH, some), torch.split(deltas_P, some), strict=True):
            log_weights_BK = self.net.log_weights(hidden_BH)
            own = [log_weights_BK.gather(1, deltas_B[:, None])] if self.delta else []
            parts.append(torch.cat([log_weights_BK[:, : self.net.dense], *own], dim=1))
        weights: Floats = torch.cat(parts).double().exp().cpu().numpy()
        return weights

    def _with_delta(self, probs_BD: Floats) -> Floats:
        """Columns of D: a word's own delta column gives it 1."""
        return np.concatenate((probs_BD, np.ones((len(probs_BD), 1))), axis=1) if self.delta else probs_BD

    def _tensor(self, array: np.ndarray, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device=self.device, dtype=dtype)

    # ---- states --------------------------------------------------------------------------------------------------

    def start(self, count: int = 1) -> States:
        """Windows that hold `<s>` alone, and no recurrent state."""
        return self._renewed(np.zeros(count, dtype=self._dtype), self.vocabulary.start)

    def state_after(self, windows_BC: Ids) -> States:
        """The net taken through the windows word by word; without `<s>` it knows nothing before the first word."""
        windows_BC = trimmed(windows_BC) if windows_BC.shape[1] else windows_BC
        states = self._renewed(np.zeros(len(windows_BC), dtype=self._dtype), NOTHING)
        if not self.recurrent:
            windows_BC = windows_BC[:, -states["words"].shape[1] :]
        for words_B in windows_BC.T:
            states = self._after(states, words_B)
        return states

    def advance(self, states: States, words: Ids) -> tuple[States, Floats]:
        """The states one word further, and the logarithm of its probability."""
        _, probs_BK, weights_BK = self._shares(states, words)
        with np.errstate(divide="ignore"):
            log_probs = np.log((probs_BK * weights_BK).sum(axis=1))
        log_probs[words >= len(self.vocabulary)] = 0.0
        return self._after(states, words), log_probs

    def shares(self, windows_BC: Ids, words_B: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """Columns and weights for a word after each window; of the delta columns that of the word alone."""
        return self._shares(self.state_after(windows_BC), words_B)

    @torch.inference_mode()
    def columns_after(self, window_1C: Ids) -> tuple[AnyFloats, Floats]:
        """D after one window, the delta columns joined into one: what the net alone would predict; and lambda."""
        states = self.state_after(window_1C)
        weights_K = self.net.log_weights(self._step(states)[0])[0].double().exp().cpu().numpy()
        windows_1C, dense = trimmed(states["words"]), self.net.dense
        columns = [np.ones((len(self.vocabulary), 0))]
        columns += [block.after(windows_1C)[0][0] for block in self.blocks.values()]
        if not self.delta:
            return np.concatenate(columns, axis=1), weights_K
        own_J = weights_K[dense:]
        mass = own_J.sum()
        columns.append((own_J / (mass if mass > 0 else 1.0))[:, None])
        return np.concatenate(columns, axis=1), np.append(weights_K[:dense], mass)

    @torch.inference_mode()
    def distributions(self, states: States) -> AnyFloats:
        """D times lambda, the whole product."""
        out_BJ = np.empty((len(states), len(self.vocabulary)))
        dense = self.net.dense
        for begin in range(0, len(states), WINDOWS):
            some = states[begin : begin + WINDOWS]
            weights_BK = self.net.log_weights(self._step(some)[0]).double().exp().cpu().numpy()
            own_BJ = weights_BK[:, dense:] if self.delta else np.zeros((len(some), len(self.vocabulary)))
            for name, span in self.layout.spans.items():
                columns_BJK, _ = self.blocks[name].after(trimmed(some["words"]))
                own_BJ += np.einsum("bjk,bk->bj", columns_BJK, weights_BK[:, :dense][:, span.columns])
            out_BJ[begin : begin + WINDOWS] = own_BJ
        return out_BJ

    @torch.inference_mode()
    def _shares(self, states: States, words_B: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        windows_BC = trimmed(states["words"])
        parts = [np.ones((len(states), 0))]
        parts += [rows_after(block, windows_BC, words_B).probs_TK for block in self.blocks.values()]
        weights_BK = self._weights(self._step(states)[0], words_B)
        return self.column_names, self._with_delta(np.concatenate(parts, axis=1)), weights_BK

    def _step(self, states: States) -> tuple[Tensor, Tensor]:
        """One step of the net: hidden vectors (B, H) for the next prediction, and the recurrent state after it."""
        words = self.net.config.words
        windows_BC = states["words"]
        contexts_BW = np.minimum(windows_BC[:, -words:], self.vocabulary.start)
        before = None
        if self.recurrent:
            rows, units = self.net.state_shape
            before = self._tensor(states["state"].reshape(len(states), rows, units)).transpose(0, 1).contiguous()
        hidden_1BH, after = self.net.hidden(
            self._tensor(contexts_BW, torch.int64)[None], self._tensor(self._features(windows_BC))[None], before
        )
        return hidden_1BH[0], after

    def _features(self, windows_BC: Ids) -> Floats:
        """Features after each window."""
        windows_BC = trimmed(windows_BC)
        any_B = np.zeros(len(windows_BC), dtype=np.uint32)
        parts = [np.zeros((len(windows_BC), 0))]
        parts += [rows_after(block, windows_BC, any_B).features_TF for block in self.blocks.values() if block.features]
        return np.concatenate(parts, axis=1)

    @torch.inference_mode()
    def _after(self, states: States, words_B: Ids) -> States:
        """The states one word further: `<s>` begins a sentence, NOTHING an empty context, and neither is predicted."""
        moved = states.copy()
        moved["words"] = np.concatenate((states["words"][:, 1:], words_B[:, None]), axis=1)
        begins = words_B >= len(self.vocabulary)
        if self.recurrent:
            steps: Bools = ~begins & (states["words"][:, -1] != NOTHING)
            if steps.any():
                _, after = self._step(states[steps])
                moved["state"][steps] = after.transpose(0, 1).flatten(1).cpu().numpy()
            forgotten = words_B == NOTHING if self.document else begins
            moved["state"][forgotten] = 0.0
        if self._keeps_lines:
            begins = words_B == NOTHING
        places: Ints = np.flatnonzero(begins)
        moved["words"][places] = NOTHING
        moved["words"][places, -1] = words_B[places]
        return moved

    @staticmethod
    def _renewed(states: States, word: int) -> States:
        states["words"] = NOTHING
        states["words"][:, -1] = word
        return states
