"""An attention LSTM in plain PyTorch, as a check that the net of benchmarks/translation.py is no weak one.

python attention_net.py TEXTS-AS-JSON HIDDEN EPOCHS PATIENCE OUT: nothing of modlm is used; OUT gets the numbers.
"""

from __future__ import annotations

import collections
import json
import lzma
import math
import random
import sys
import time
from pathlib import Path

import torch
from torch import nn

PAD, UNKNOWN, START, END = range(4)


def lines(path: str) -> list[list[str]]:
    """The words of each line."""
    with lzma.open(path, "rt", encoding="utf-8") if path.endswith(".xz") else Path(path).open(encoding="utf-8") as text:
        return [line.split() for line in text]


def words_of(sentences: list[list[str]]) -> dict[str, int]:
    """All words that occur twice."""
    seen = collections.Counter(word for sentence in sentences for word in sentence)
    known = [word for word, count in seen.most_common() if count > 1]
    return {word: place for place, word in enumerate(["<pad>", "<unk>", "<s>", "</s>", *known])}


class Net(nn.Module):
    """torch's own modules, with their own first parameters."""

    def __init__(self, source: int, target: int, hidden: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(source, hidden), nn.Embedding(target, hidden)
        self.encoder = nn.LSTM(hidden, hidden // 2, bidirectional=True, batch_first=True)
        self.decoder, self.output = nn.LSTM(hidden, hidden, batch_first=True), nn.Linear(hidden, target)
        self.ask, self.join = nn.Linear(hidden, hidden, bias=False), nn.Linear(2 * hidden, hidden)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The summed negative log likelihood."""
        there = torch.arange(x.shape[1])[None] < lengths[:, None]
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.source(x)), lengths, batch_first=True, enforce_sorted=False
        )
        keys = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True)[0]
        mean = (keys * there[..., None]).sum(1) / lengths[:, None]
        hidden, _ = self.decoder(self.dropout(self.target(y[:, :-1])), (mean[None].contiguous(), 0 * mean[None]))
        scores = (self.ask(hidden) @ keys.transpose(1, 2)).masked_fill(~there[:, None], -1e9)
        seen = torch.tanh(self.join(torch.cat([hidden, scores.softmax(-1) @ keys], -1)))
        logits = self.output(self.dropout(seen)[y[:, 1:] != PAD])
        return nn.functional.cross_entropy(logits, y[:, 1:][y[:, 1:] != PAD], reduction="sum")


def batches(source: list[list[int]], target: list[list[int]], most: int) -> list[list[int]]:
    """Sentences of like length together."""
    order = sorted(range(len(target)), key=lambda n: (len(target[n]), len(source[n])))
    made, words = [[]], 0
    for number in order:
        if words >= most:
            made.append([])
            words = 0
        made[-1].append(number)
        words += len(target[number]) - 1
    return made


def tensors(source: list[list[int]], target: list[list[int]], chosen: list[int]) -> tuple[torch.Tensor, ...]:
    """A batch, padded."""
    x = nn.utils.rnn.pad_sequence([torch.tensor(source[n]) for n in chosen], batch_first=True)
    y = nn.utils.rnn.pad_sequence([torch.tensor(target[n]) for n in chosen], batch_first=True)
    return x, torch.tensor([len(source[n]) for n in chosen]), y


def main(texts: dict[str, str], hidden: int, epochs: float, patience: int, out: Path) -> None:
    """Train with Adam; an evaluation that is not the best so far halves the rate, several in a row are the end."""
    torch.manual_seed(1)
    random.seed(1)
    torch.set_num_threads(1)
    known = [words_of(lines(texts[name])) for name in ("source", "text")]
    data = {}
    for part, names in {
        "text": ("source", "text"),
        "valid": ("valid_source", "valid"),
        "test": ("test_source", "test"),
    }.items():
        source, target = (lines(texts[name]) for name in names)
        data[part] = (
            [[known[0].get(word, UNKNOWN) for word in line] for line in source],
            [[START, *(known[1].get(word, UNKNOWN) for word in line), END] for line in target],
        )
    net, train = Net(len(known[0]), len(known[1]), hidden), batches(*data["text"], 1000)
    optimiser = torch.optim.Adam(net.parameters(), 0.002)
    best, journal, taken, worse = {"valid": math.inf}, [], 0, 0
    seconds, half = 0.0, math.ceil(len(train) / 2)
    while worse < patience and taken < epochs * len(train):
        begun = time.process_time()
        if taken % len(train) == 0:
            random.shuffle(train)
            left = list(train)
        net.train()
        for chosen in left[:half]:
            batch = tensors(*data["text"], chosen)
            loss = net(*batch) / (batch[2][:, 1:] != PAD).sum()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
        taken += len(left[:half])
        left = left[half:]
        seconds += time.process_time() - begun
        net.eval()
        found = {"best_epoch": taken / len(train)}
        with torch.no_grad():
            for part in ("valid", "test"):
                nll = sum(float(net(*tensors(*data[part], chosen))) for chosen in batches(*data[part], 4000))
                found[part] = math.exp(nll / sum(len(line) - 1 for line in data[part][1]))
        journal.append((found["best_epoch"], found["valid"]))
        if found["valid"] < best["valid"]:
            best, worse = found, 0
        else:
            worse += 1
            for group in optimiser.param_groups:
                group["lr"] /= 2
        print(found, flush=True)
    done = taken / len(train)
    words = done * sum(len(line) - 1 for line in data["text"][1])
    ended = {"stopped": "patience" if worse == patience else "epochs", "epochs": done, "journal": journal}
    out.write_text(json.dumps({**best, **ended, "words_per_second": words / seconds}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
