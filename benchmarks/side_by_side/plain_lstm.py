"""The LSTM language model that one would write with PyTorch alone, to measure ours against."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

PADDING = -100  # what CrossEntropyLoss leaves out


class PlainLSTM(nn.Module):
    """Word vectors, `nn.LSTM`, `nn.Linear`, dropout around the LSTM."""

    def __init__(self, vocab_size: int, hidden: int, *, layers: int, dropout: float) -> None:
        super().__init__()
        self.word_vectors = nn.Embedding(vocab_size + 1, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers)
        self.output = nn.Linear(hidden, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, contexts_TB: Tensor) -> Tensor:
        """Logits of all words at all positions (T, B, J)."""
        hidden_TBH, _ = self.lstm(self.dropout(self.word_vectors(contexts_TB)))
        logits_TBJ: Tensor = self.output(self.dropout(hidden_TBH))
        return logits_TBJ


class PlainTraining:
    """ADAM, the loss summed over the batch, gradients cut down to a norm: the settings of our own runs."""

    def __init__(self, net: PlainLSTM, *, learning_rate: float, clip: float) -> None:
        self.net, self.clip = net, clip
        self.loss = nn.CrossEntropyLoss(reduction="sum", ignore_index=PADDING)
        self.optimiser = torch.optim.Adam(net.parameters(), lr=learning_rate)

    def step(self, contexts_TB: Tensor, words_TB: Tensor) -> float:
        """One update; the summed loss."""
        self.net.train()
        self.optimiser.zero_grad()
        logits_TBJ = self.net(contexts_TB)
        loss = self.loss(logits_TBJ.flatten(0, 1), words_TB.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
        self.optimiser.step()
        return float(loss.item())

    def train(self, batches: Sequence[tuple[Tensor, Tensor]]) -> None:
        """One update a batch."""
        for contexts_TB, words_TB in batches:
            self.step(contexts_TB, words_TB)


def multiplications(inputs: int, hidden: int, columns: int, *, layers: int) -> tuple[int, int]:
    """Floating-point operations forward for one position: of the LSTM (padding goes through it too), of the output."""
    first = 2 * 4 * hidden * (inputs + hidden)
    return first + (layers - 1) * 2 * 4 * hidden * 2 * hidden, 2 * hidden * columns
