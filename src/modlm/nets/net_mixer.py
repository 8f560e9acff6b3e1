"""`NetMixer`: a net as a mixer, lambda(c) = softmax(NN(c)) over the dense columns and, if there are any, the deltas.

Along texts the net takes many sentences at once, and the product with D is part of the same pass: no array of J weights
is made where a word has to be scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from modlm.arrays import Floats, Ids
from modlm.blocks.block import ALONE, Beside, Block, ColumnLayout, Reads
from modlm.blocks.log_rows import Singles, log_rows
from modlm.errors import ConfigError
from modlm.mixers.mixer import Mixer, State, contexts_along
from modlm.nets.bodies import FeedForward
from modlm.nets.fast_bodies import FastLstm, fast_feedforward, in_singles, version_of
from modlm.nets.mixer_net import MixerNet
from modlm.nets.sentence_batches import sentence_batches
from modlm.nets.stored_net import read_net, weights_file
from modlm.store.folder import Folder, Parts

POSITIONS = 1 << 13  # positions that the net takes at once
CELLS = 1 << 24  # weights of all columns, deltas among them, that are in memory at a time


class NetMixer(Mixer):
    """lambda by a net."""

    kind: ClassVar[str] = "net"

    def __init__(self, net: MixerNet, *, trained_on: str = "") -> None:
        """`trained_on` is the fingerprint of the text that it was trained on, if that is known."""
        self.net, self.trained_on = net.eval(), trained_on
        words = net.config.words if net.inputs.takes_words else 0
        self.reads = Reads(words, document=net.config.context == "document")
        self.state_size = int(np.prod(net.state_shape))
        self.deltas = net.vocab_size if net.delta else 0
        self.columns = net.dense + self.deltas
        self._fast: FastLstm | None = None

    def __repr__(self) -> str:
        config = self.net.config
        return f"{config.body} of {config.layers} x {config.hidden} units"

    @property
    def device(self) -> torch.device:
        """Where the net is."""
        return next(self.net.parameters()).device

    def check(self, layout: ColumnLayout) -> None:
        """The words, columns and features that the net was made for."""
        net = self.net
        if net.vocab_size != layout.vocab_size:
            raise ConfigError(
                f"The net was made for {net.vocab_size:,} words, but there are {layout.vocab_size:,}. "
                f"Give the vocabulary that it was trained with."
            )
        taken = len(net.inputs.scaled.mean_F) if net.inputs.takes_counts else layout.features
        if (net.dense, taken, self.deltas) != (layout.dense, layout.features, layout.deltas):
            deltas = {True: "with delta columns", False: "without delta columns"}
            raise ConfigError(
                f"The net was made for {net.dense} dense columns with {taken} features, {deltas[net.delta]}, but the "
                f"blocks ({', '.join(layout.spans) or 'none'}) have {layout.dense} with {layout.features}, "
                f"{deltas[layout.deltas > 0]}. Give those it was trained with."
            )

    def described(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The net."""
        parameters = sum(parameter.numel() for parameter in self.net.parameters())
        return {"parameters": parameters, "net": asdict(self.net.config)}

    # ---- after contexts ------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """One step of the net."""
        hidden_BH, after_BS = self._step(contexts_BW, features_BF, state_BS)
        log_weights: Floats = self.net.log_weights(hidden_BH).double().cpu().numpy()
        return log_weights, after_BS

    @torch.inference_mode()
    def next_state(self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE) -> State:
        """The same without the softmax."""
        return self._step(contexts_BW, features_BF, state_BS)[1]

    @torch.inference_mode()
    def weights_of(
        self, words_B: Ids, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """The same for some columns."""
        hidden_BH, after_BS = self._step(contexts_BW, features_BF, state_BS)
        return self._weights(hidden_BH, words_B), after_BS

    def _step(self, contexts_BW: Ids, features_BF: Floats, state_BS: State) -> tuple[Tensor, State]:
        """Hidden vectors (B, H) for the next prediction, and the states after it."""
        rows, units = self.net.state_shape
        before = None
        if rows:
            before = self._tensor(state_BS.reshape(len(state_BS), rows, units)).transpose(0, 1).contiguous()
        hidden_1BH, after = self.net.hidden(
            self._tensor(contexts_BW, torch.int64)[None], self._tensor(features_BF)[None], before
        )
        return hidden_1BH[0], after.transpose(0, 1).flatten(1).cpu().numpy() if rows else state_BS

    def _weights(self, hidden_PH: Tensor, words_P: Ids) -> Floats:
        """lambda of the dense columns and of each word's delta column."""
        known = np.minimum(words_P, self.net.vocab_size - 1)  # `<s>` and NOTHING are asked for, but never counted
        deltas_P = self.net.dense + self._tensor(known, torch.int64)
        some = max(1, CELLS // self.columns)
        parts = list[Tensor]()
        for hidden_BH, deltas_B in zip(torch.split(hidden_PH, some), torch.split(deltas_P, some), strict=True):
            log_weights_BK = self.net.log_weights(hidden_BH)
            own = [log_weights_BK.gather(1, deltas_B[:, None])] if self.deltas else []
            parts.append(torch.cat([log_weights_BK[:, : self.net.dense], *own], dim=1))
        weights: Floats = torch.cat(parts).double().exp().cpu().numpy()
        return weights

    # ---- along texts ---------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def log_probs(
        self, ids: Ids, blocks: Mapping[str, Block], out: Floats, state: Any = None, *, carried: bool = False
    ) -> Any:
        """Sentences of like length side by side; carried, one behind the other."""
        rows_TD, features_TF = log_rows(blocks, ids)
        score = self._scorer(ids, rows_TD)
        for places, hidden_PH, after in self._hidden(ids, features_TF, state, carried=carried):
            score(hidden_PH, places, out)
            state = after
        return state

    @torch.inference_mode()
    def weights_along(self, ids: Ids, features_TF: Floats) -> Floats:
        """The sentence from its start."""
        weights_TK = np.empty((len(ids), self.net.dense + (self.deltas > 0)))
        for places, hidden_PH, _ in self._hidden(ids, features_TF, None, carried=False):
            at = places.cpu().numpy()
            weights_TK[at] = self._weights(hidden_PH, ids[at])
        return weights_TK

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

        return any_columns if self.deltas or not in_singles(self.net) else few_columns

    def _hidden(
        self, ids: Ids, features_TF: Floats | Singles, state: Tensor | None, *, carried: bool
    ) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        """Places in the text (P) with their hidden vectors (P, H), and the state behind them if it is carried."""
        contexts_TW = self._tensor(contexts_along(ids, self.reads.words), torch.int64)
        features, start = self._tensor(features_TF), self.net.vocab_size
        if self.state_size and not carried:
            fast = self._fast_lstm(len(ids))
            for batch in sentence_batches(np.flatnonzero(ids == start), len(ids), POSITIONS):
                if fast is not None:
                    places = self._tensor(batch.places_TB[batch.real_TB], torch.int64)
                    yield places, fast.hidden(contexts_TW[places], features[places], batch.real_TB.sum(axis=1)), None
                    continue
                places_TB, real_TB = self._tensor(batch.places_TB, torch.int64), self._tensor(batch.real_TB, torch.bool)
                hidden_TBH, _ = self.net.hidden(contexts_TW[places_TB], features[places_TB])
                yield places_TB[real_TB], hidden_TBH[real_TB], None
            return
        predicted = self._tensor(np.flatnonzero(ids != start), torch.int64)
        for places in torch.split(predicted, POSITIONS):
            if isinstance(self.net.body, FeedForward) and in_singles(self.net):
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

    def _tensor(self, array: np.ndarray, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device=self.device, dtype=dtype)

    # ---- on disk -------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """The net's settings, and its parameters as a safetensors file."""
        settings = {"net": asdict(self.net.config), "trained_on": self.trained_on}
        return Parts(settings, {}, weights_file(self.net))

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """The net that a folder keeps."""
        return cls(read_net(stored, layout), trained_on=str(stored.about.get("trained_on", "")))
