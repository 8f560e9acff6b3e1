"""`NetMixer`: a net as a mixer, lambda(c) = softmax(NN(c)) over the dense columns and, if there are any, the deltas.

Along texts the net takes many sentences at once, and the product with D is part of the same pass: no array of J weights
is made where a word has to be scored.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from modlm.blocks.block import ALONE, Beside, Blocks, ColumnLayout, Reads
from modlm.blocks.log_rows import LogRows, log_rows
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids, Singles
from modlm.mixers.mixer import Mixer, State
from modlm.nets import scoring_kernels
from modlm.nets.batches import ALL, Batch, BatchSource, Sentences, Streams
from modlm.nets.bodies import FeedForward
from modlm.nets.fast_bodies import FastLstm, FastStep, fast_feedforward, in_singles, version_of
from modlm.nets.mixer_net import MixerNet
from modlm.nets.stored_net import read_net, weights_file
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

POSITIONS = 1 << 13  # positions of sentences side by side that the net takes at once
STRETCH = 1 << 11  # of one stream: hidden vectors that stay in the processor's cache (8,192: a tenth slower)
SOURCE = "source/"  # where its vocabulary is in a model folder
CELLS = 1 << 24  # weights of all columns, deltas among them, that are in memory at a time


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """A batch and what a net says of its predicted places."""

    batch: Batch
    log_probs_P: Floats
    mass_P: Floats
    """The weight on dense columns."""
    state_SBH: Tensor | None
    """After the batch, if it is carried."""
    hidden_PH: Tensor
    """What the body made of the places."""


class NetMixer(Mixer):
    """lambda by a net."""

    kind: ClassVar[str] = "net"

    def __init__(self, net: MixerNet, *, trained_on: str = "", source_vocabulary: Vocabulary | None = None) -> None:
        """`trained_on` is the fingerprint of the text that it was trained on, if that is known."""
        self.net, self.trained_on, self.source_vocabulary = net.eval(), trained_on, source_vocabulary
        self.reads = Reads(net.config.context_words, document=net.config.context == "document", source=net.reads_source)
        self.state_size = int(np.prod(net.state_shape))
        self.deltas = net.vocab_size if net.delta else 0
        self.columns, self.over_source = net.dense + self.deltas, net.over_source
        self.units = net.config.hidden
        self._fast: FastLstm | None = None
        self._fast_step: FastStep | None = None

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
        if (net.dense, taken, self.deltas, net.over_source) != (
            layout.dense, layout.features, layout.deltas, len(layout.over_source),
        ):  # fmt: skip
            deltas = {True: "with delta columns", False: "without delta columns"}
            raise ConfigError(
                f"The net was made for {net.dense} dense columns with {taken} features, {deltas[net.delta]} and "
                f"{net.over_source} blocks over a source, but the blocks "
                f"({', '.join([*layout.spans, *layout.over_source]) or 'none'}) have {layout.dense} with "
                f"{layout.features}, {deltas[layout.deltas > 0]} and {len(layout.over_source)}. Give those it was "
                f"trained with."
            )

    def described(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The net."""
        parameters = sum(parameter.numel() for parameter in self.net.parameters())
        return {"parameters": parameters, "net": asdict(self.net.config)}

    # ---- after contexts ------------------------------------------------------------------------------------------

    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """One step of the net, of a small one in numpy: 0.01 ms instead of 0.05."""
        if self._fast_step is None or not self._fast_step.current:
            self._fast_step = FastStep.of(self.net)
        if self._fast_step is not None:
            return self._fast_step.log_weights(features_BF), state_BS
        with torch.inference_mode():
            hidden_BH, after_BS = self._step(contexts_BW, features_BF, state_BS, beside)
            log_weights: Floats = self.net.log_weights(hidden_BH).double().cpu().numpy()
        return log_weights, after_BS

    @torch.inference_mode()
    def next_state(self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE) -> State:
        """The same without the softmax."""
        return self._step(contexts_BW, features_BF, state_BS, beside)[1]

    @torch.inference_mode()
    def hidden_after(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Singles, State]:
        """Hidden vectors (B, H) instead of weights."""
        hidden_BH, after_BS = self._step(contexts_BW, features_BF, state_BS, beside)
        return hidden_BH.float().cpu().numpy(), after_BS

    @torch.inference_mode()
    def weights_of(
        self, words_B: Ids, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """The same for some columns."""
        if self.columns == self.net.dense and not self.over_source:
            return super().weights_of(words_B, contexts_BW, features_BF, state_BS, beside)
        hidden_BH, after_BS = self._step(contexts_BW, features_BF, state_BS, beside)
        return self._weights(hidden_BH, words_B), after_BS

    def _step(self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside) -> tuple[Tensor, State]:
        """Hidden vectors (B, H) for the next prediction, and the states after it."""
        before = self.unpacked(state_BS) if self.state_size else None
        hidden_1BH, after = self.net.hidden(
            self._tensor(contexts_BW, torch.int64)[None], self._tensor(features_BF)[None], before,
            sources=beside.sources, source_features_BSF=self._source_features(beside),
        )  # fmt: skip
        return hidden_1BH[0], self.packed(after) if self.state_size else state_BS

    def unpacked(self, state_BS: State) -> Tensor:
        """States as the body takes them (S, B, H)."""
        return self._tensor(state_BS.reshape(len(state_BS), *self.net.state_shape)).transpose(0, 1).contiguous()

    def packed(self, state_SBH: Tensor) -> State:
        """One row for each sentence."""
        state_BS: State = state_SBH.transpose(0, 1).flatten(1).cpu().numpy()
        return state_BS

    def _source_features(self, beside: Beside) -> Tensor | None:
        """Features of the words of each source (B, S, F)."""
        if not self.over_source or not beside.features:
            return None
        longest = max(map(len, beside.features))
        features_BSF = np.zeros((len(beside.features), longest, beside.features[0].shape[1]), np.float32)
        for own_SF, features_SF in zip(features_BSF, beside.features, strict=True):
            own_SF[: len(features_SF)] = features_SF
        return self._tensor(features_BSF)

    def _weights(self, hidden_PH: Tensor, words_P: Ids) -> Floats:
        """lambda of the dense columns, of those for words of the source, and of each word's delta column."""
        columns = self.columns + hidden_PH.shape[1] - self.net.config.hidden
        known = np.minimum(words_P, self.net.vocab_size - 1)  # `<s>` and NOTHING are asked for, but never counted
        deltas_P = columns - self.deltas + self._tensor(known, torch.int64)
        some = max(1, CELLS // columns)
        parts = list[Tensor]()
        for hidden_BH, deltas_B in zip(torch.split(hidden_PH, some), torch.split(deltas_P, some), strict=True):
            log_weights_BK = self.net.log_weights(hidden_BH)
            own = [log_weights_BK.gather(1, deltas_B[:, None])] if self.deltas else []
            parts.append(torch.cat([log_weights_BK[:, : columns - self.deltas], *own], dim=1))
        weights: Floats = torch.cat(parts).double().exp().cpu().numpy()
        return weights

    # ---- along texts ---------------------------------------------------------------------------------------------

    def log_probs(
        self, ids: Ids, blocks: Blocks, out: Floats, state: Any = None, *, carried: bool = False, beside: Beside = ALONE
    ) -> tuple[Any, Any]:
        """Sentences of like length side by side; carried, one behind the other."""
        rows = log_rows(blocks, ids, self.net.vocab_size, beside)
        return self.score_rows(rows, out, state, carried=carried), rows.memory

    def score_rows(
        self, rows: LogRows, out: Floats, state: Any = None, *, carried: bool = False, hidden_TH: Singles | None = None
    ) -> Any:
        """Write log P of every word of a text whose rows are there; gives the state after it, if it is carried.

        Where there is room for them, hidden vectors are written, too.
        """
        source = self._source(rows, carried=carried)
        for number in range(len(source)):
            scored = self.score(source, number, state)
            out[scored.batch.at_P], state = scored.log_probs_P, scored.state_SBH
            if hidden_TH is not None:
                hidden_TH[scored.batch.at_P] = scored.hidden_PH.float().cpu().numpy()
        return state

    @torch.inference_mode()
    def weights_along(self, ids: Ids, features_TF: Floats, beside: Beside = ALONE) -> Floats:
        """The sentence from its start."""
        places = self.over_source * beside.longest
        weights_TK = np.empty((len(ids), self.net.dense + places + (self.deltas > 0)))
        rows = log_rows({}, ids, self.net.vocab_size, beside)
        source = self._source(replace(rows, features_TF=features_TF.astype(np.float32)), carried=False)
        for number in range(len(source)):
            batch = replace(source.batch(number), source_features_BSF=self._source_features(beside)).to(self.device)
            hidden_PH, _ = self._hidden(source, batch, None)
            weights_TK[batch.at_P] = self._weights(hidden_PH, ids[batch.at_P])
        return weights_TK

    def _source(self, rows: LogRows, *, carried: bool) -> BatchSource:
        """Without a memory, or where it is carried, the text is one stream."""
        if self.reads.source or (self.state_size and not carried):
            return Sentences(rows, self.reads.words, most=POSITIONS)
        return Streams(rows, self.reads.words, streams=1, steps=STRETCH)

    @torch.inference_mode()
    def score(
        self, source: BatchSource, number: int, state_SBH: Tensor | None = None, *, shard: slice = ALL
    ) -> ScoredBatch:
        """A batch of a text, or one process's part of it; streams go on from the state after the batch before."""
        batch = source.batch(number, shard).to(self.device)
        hidden_PH, state_SBH = self._hidden(source, batch, state_SBH)
        if self.deltas or self.over_source or not in_singles(self.net):
            over = batch.source_log_probs_PX
            nll_P, mass_P = self.net.nll(hidden_PH, batch.log_probs_PD, batch.words_P, source_log_probs_PX=over)
            own_P, dense_P = -nll_P.double().cpu().numpy(), mass_P.double().cpu().numpy()
            return ScoredBatch(batch, own_P, dense_P, state_SBH, hidden_PH)
        output, log_probs_P = self.net.output, np.empty(len(hidden_PH))
        logits_PD = torch.addmm(output.bias_K, hidden_PH, output.weight_KH.t())
        scoring_kernels.mixed_log_probs(logits_PD.numpy(), batch.log_probs_PD.numpy(), log_probs_P)
        return ScoredBatch(batch, log_probs_P, np.ones(len(hidden_PH)), state_SBH, hidden_PH)

    def _hidden(self, source: BatchSource, batch: Batch, state_SBH: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Hidden vectors (P, H) of the predicted places, and the state after the batch if it is carried."""
        if batch.real_TB.shape[1] == 0:
            return torch.zeros(0, self.net.config.hidden, device=self.device), state_SBH
        fast = None if source.carries or self.reads.source else self._fast_lstm(source.words)
        plain = isinstance(self.net.body, FeedForward) and not self.reads.source and in_singles(self.net)
        if fast is not None or plain:
            contexts_PW, features_PF = batch.predicted(batch.contexts_TBW), batch.predicted(batch.features_TBF)
            if fast is None:
                return fast_feedforward(self.net, contexts_PW, features_PF), None
            return fast.hidden(contexts_PW, features_PF, batch.real_TB.sum(1).numpy()), None
        before_SBH = state_SBH if source.carries else None
        hidden_TBH, after_SBH = self.net.hidden(
            batch.contexts_TBW, batch.features_TBF, before_SBH, sources=batch.sources,
            source_features_BSF=batch.source_features_BSF,
        )  # fmt: skip
        return batch.predicted(hidden_TBH), after_SBH if source.carries else None

    def _fast_lstm(self, positions: int) -> FastLstm | None:
        """The faster form, kept for as long as the parameters stay as they are; none where it does not pay."""
        known = self._fast is not None and self._fast.version == version_of(self.net)
        if not known:
            self._fast = FastLstm(self.net) if FastLstm.fits(self.net, positions) else None
        return self._fast

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fast": None, "_fast_step": None}

    def _tensor(self, array: np.ndarray, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device=self.device, dtype=dtype)

    # ---- on disk -------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """The net's settings, and its parameters as a safetensors file."""
        net, source = asdict(self.net.config), self.source_vocabulary
        if not self.net.points:
            net = {name: value for name, value in net.items() if name not in ("encoder", "source_words")}
        settings = {"net": net, "trained_on": self.trained_on}
        settings |= {"source": source.fingerprints()} if source else {}
        files = Parts({}, {}, source.files()).within(SOURCE).texts if source else {}
        return Parts(settings, {}, {**weights_file(self.net), **files})

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """The net that a folder keeps."""
        source = (
            vocabulary_in(stored.part("source", inside=SOURCE), what="net was") if "source" in stored.about else None
        )
        return cls(
            read_net(stored, layout), trained_on=str(stored.about.get("trained_on", "")), source_vocabulary=source
        )
