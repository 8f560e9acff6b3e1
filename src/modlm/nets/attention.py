"""A body for sentences that come with a source: an encoder over the source, and an LSTM that attends to it.

At each position the LSTM's vector asks all places of the source, the encoder's vectors there answer, and both together
become the hidden vector (Luong et al. 2015). Behind the source's words stands a place of its own, so that there is
something to attend to even where the source is empty. A model with columns for the source's words gets their logits
from further questions: behind the H hidden units of each position come, for each block of such columns, S logits, one
for each word of the longest source, NEVER where a source has no such word.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar
from weakref import ref

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from modlm.blocks.over_source import NO_WORDS
from modlm.ground.arrays import Ids
from modlm.nets.bodies import Lstm
from modlm.nets.dropout import Dropout
from modlm.nets.fast_bodies import version_of
from modlm.nets.initial import ATTENDED, NEVER, glorot, word_vectors
from modlm.nets.transformer import Layer, heads_of


class AttentionLstm(Lstm):
    """An LSTM over the words before, which looks at the source at every step."""

    reads_source = True
    points: ClassVar[bool] = True
    """Whether it is built for a source vocabulary, and gives logits for columns of source words."""

    def __init__(
        self, size: int, hidden: int, layers: int, generator: torch.Generator, *, words: int, encoder: str,
        columns: tuple[int, int],
    ) -> None:  # fmt: skip
        """`words` of the source vocabulary; blocks of `columns` for source words, and features of each word."""
        super().__init__(size, hidden, layers, generator)
        # The last vector is that of the place behind all words.
        self.source_vectors = nn.Parameter(word_vectors(words + 1, hidden, generator, length=ATTENDED))
        self.encoder = ENCODERS[encoder](hidden, layers, generator)
        self.first = nn.Parameter(glorot(2 * layers * hidden, hidden, generator))
        self.asked = nn.Parameter(glorot(hidden, hidden, generator))
        self.answered = nn.Parameter(glorot(hidden, 2 * hidden, generator))
        self.answered_bias = nn.Parameter(torch.zeros(hidden))
        self.columns, features = columns
        asked = self.columns * (hidden + features)
        self.pointers = nn.Parameter(glorot(asked, hidden, generator)) if asked else None
        self._kept: tuple[object, dict[int, tuple[Any, Tensor]]] = ((), {})

    def forward(
        self, inputs_TBI: Tensor, state_SBH: Tensor | None, dropout: Dropout | None, sources: Sequence[Ids] = (),
        source_features_BSF: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Hidden vectors and behind them logits of the source columns (T, B, H + columns x S), and the state after."""
        sources = sources or [NO_WORDS] * inputs_TBI.shape[1]
        again = 1 in inputs_TBI.shape[:2] or all(id(source) in self._kept[1] for source in sources)
        read = self.remembered if again and dropout is None and not torch.is_grad_enabled() else self.encoded
        encoded_SBH, lengths_B = read(sources, dropout)
        places_S = torch.arange(len(encoded_SBH), device=lengths_B.device)
        there_BS = places_S < lengths_B[:, None]
        keys_BHS = encoded_SBH.permute(1, 2, 0)
        values_TBH, state_SBH = self.run(inputs_TBI, self._begun(state_SBH, encoded_SBH, there_BS), dropout)
        values_BTH = values_TBH.transpose(0, 1)
        scores_BTS = functional.linear(values_BTH, self.asked) @ keys_BHS
        attention_BTS = scores_BTS.masked_fill(~there_BS[:, None], NEVER).softmax(-1)
        seen_BTH = torch.cat([values_BTH, attention_BTS @ keys_BHS.transpose(1, 2)], -1)
        hidden_BTH = torch.tanh(functional.linear(seen_BTH, self.answered, self.answered_bias))
        hidden_TBH = hidden_BTH.transpose(0, 1)
        hidden_TBH = hidden_TBH if dropout is None else dropout(hidden_TBH)
        if self.pointers is None:
            return hidden_TBH, state_SBH
        words_BS = places_S[:-1] < lengths_B[:, None] - 1
        logits_TBX = self._pointed(hidden_TBH, keys_BHS[..., :-1], words_BS, source_features_BSF)
        return torch.cat([hidden_TBH, logits_TBX], -1), state_SBH

    def encoded(self, sources: Sequence[Ids], dropout: Dropout | None) -> tuple[Tensor, Tensor]:
        """The encoder's vectors of each source (S, B, H), and how many places it has, with the one behind its words.

        A source that comes several times, as for the hypotheses of one sentence, is read once.
        """
        different = {id(source): source for source in sources} if dropout is None else dict(enumerate(sources))
        ids_BS, lengths_B = padded(list(different.values()), len(self.source_vectors) - 1)
        vectors_SBH = functional.embedding(ids_BS.t().to(self.source_vectors.device), self.source_vectors)
        encoded_SBH = self.encoder(vectors_SBH if dropout is None else dropout.inputs(vectors_SBH), lengths_B, dropout)
        lengths_B = lengths_B.to(encoded_SBH.device)
        if len(different) == len(sources):
            return encoded_SBH, lengths_B
        place = {source: number for number, source in enumerate(different)}
        which_B = torch.tensor([place[id(source)] for source in sources], device=encoded_SBH.device)
        return encoded_SBH.index_select(1, which_B), lengths_B[which_B]

    def remembered(self, sources: Sequence[Ids], dropout: Dropout | None = None) -> tuple[Tensor, Tensor]:
        """The same word by word or text by text: a source is read once while it and the parameters stay as they are."""
        if self._kept[0] != (version := version_of(self)):
            self._kept = (version, {})
        kept = self._kept[1]
        if new := [source for key, source in {id(source): source for source in sources}.items() if key not in kept]:
            encoded_SBH, lengths_B = self.encoded(new, None)
            for place, (source, length) in enumerate(zip(new, lengths_B.tolist(), strict=True)):
                kept[id(source)] = (
                    ref(source, partial(_dropped, kept, id(source))),
                    encoded_SBH[:length, place].clone(),
                )
        every = [kept[id(source)][1] for source in sources]
        return pad_sequence(every), torch.tensor([len(own_SH) for own_SH in every], device=every[0].device)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": ((), {})}

    def _begun(self, state_SBH: Tensor | None, encoded_SBH: Tensor, there_BS: Tensor) -> Tensor:
        """The state before the first word comes from the mean of the source; no other state is 0 throughout."""
        weights_SB1 = (there_BS / there_BS.sum(1, keepdim=True)).t()[..., None]
        mean_BH = (encoded_SBH * weights_SB1).sum(0)
        first_SBH = (
            torch.tanh(functional.linear(mean_BH, self.first)).view(len(mean_BH), -1, self.units).transpose(0, 1)
        )
        if state_SBH is None:
            return first_SBH.contiguous()
        fresh_B = (state_SBH == 0).all(dim=2).all(dim=0)
        return torch.where(fresh_B[None, :, None], first_SBH, state_SBH).contiguous()

    def _pointed(
        self, hidden_TBH: Tensor, keys_BHS: Tensor, words_BS: Tensor, source_features_BSF: Tensor | None
    ) -> Tensor:
        """Logits of the source columns (T, B, columns x S), block after block."""
        assert self.pointers is not None
        if source_features_BSF is not None and source_features_BSF.shape[-1]:
            keys_BHS = torch.cat([keys_BHS, source_features_BSF.transpose(1, 2)], 1)
        steps, batch, width = *hidden_TBH.shape[:2], keys_BHS.shape[1]
        asked_TBX = functional.linear(hidden_TBH, self.pointers)
        asked_BXK = asked_TBX.transpose(0, 1).reshape(batch, steps * self.columns, width)
        logits_BXS = (asked_BXK @ keys_BHS).masked_fill(~words_BS[:, None], NEVER)
        return logits_BXS.view(batch, steps, -1).transpose(0, 1)


class LstmEncoder(nn.Module):
    """An LSTM from the left and one from the right, half of the units each."""

    def __init__(self, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.lstm = nn.LSTM(hidden, hidden // 2, layers, bidirectional=True, device="meta").to_empty(device="cpu")
        for name, parameter in self.lstm.named_parameters():
            rows, columns = parameter.shape[0], parameter.shape[-1]
            own = glorot(rows, columns, generator) if "weight" in name else torch.zeros(rows)
            if "bias_ih" in name:
                own[rows // 4 : rows // 2] = 1.0  # forget gates begin open
            parameter.data.copy_(own)

    def forward(self, vectors_SBH: Tensor, lengths_B: Tensor, dropout: Dropout | None) -> Tensor:
        """The vectors of all places, both ways side by side."""
        packed = pack_padded_sequence(vectors_SBH, lengths_B, enforce_sorted=False)
        encoded_SBH: Tensor = pad_packed_sequence(self.lstm(packed)[0], total_length=len(vectors_SBH))[0]
        return encoded_SBH


class TransformerEncoder(nn.Module):
    """Layers in which every place looks at all others, nearer ones preferred."""

    def __init__(self, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = heads_of(hidden)
        self.layers = nn.ModuleList([Layer(hidden, self.heads, layers, generator) for _ in range(layers)])
        self.leave = nn.LayerNorm(hidden)

    def forward(self, vectors_SBH: Tensor, lengths_B: Tensor, dropout: Dropout | None) -> Tensor:
        """The vectors of all places."""
        places_S = torch.arange(len(vectors_SBH), device=vectors_SBH.device)
        slopes_N = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=vectors_SBH.device) / self.heads)
        bias_NSS = -slopes_N[:, None, None] * (places_S[:, None] - places_S).abs()
        empty_BS = places_S >= lengths_B.to(vectors_SBH.device)[:, None]
        bias_BNSS = bias_NSS.masked_fill(empty_BS[:, None, None], -torch.inf).to(vectors_SBH.dtype)
        nothing_20BH = vectors_SBH.new_zeros(2, 0, *vectors_SBH.shape[1:])
        for layer in self.layers:
            vectors_SBH, _ = layer(vectors_SBH, nothing_20BH, bias_BNSS, dropout)
        encoded_SBH: Tensor = self.leave(vectors_SBH)
        return encoded_SBH


ENCODERS = {"lstm": LstmEncoder, "transformer": TransformerEncoder}


def _dropped(kept: dict[int, tuple[Any, Tensor]], key: int, _: object) -> None:
    """What was read of a source goes with it."""
    kept.pop(key, None)


def padded(sources: Sequence[Ids], end: int) -> tuple[Tensor, Tensor]:
    """Sources as ids (B, S), with `end` behind each as often as the longest needs, and their lengths with one such."""
    lengths_B = np.array([len(source) for source in sources], np.int64) + 1
    ids_BS = np.full((len(sources), int(lengths_B.max(initial=1))), end, np.int64)
    for row, source in zip(ids_BS, sources, strict=True):
        row[: len(source)] = source
    return torch.from_numpy(ids_BS), torch.from_numpy(lengths_B)
