"""Rescored lists and best hypotheses written as text: in the format they came in, best first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from modlm.formats.nbest import NBest
from modlm.formats.output import text_output
from modlm.ground.arrays import Floats, Ints


def write_nbest(nbest: NBest, path: Path, log_probs_H: Floats, totals_H: Floats) -> None:
    """All hypotheses, each list by falling total (equal ones in their old order)."""
    order = np.lexsort((-totals_H, nbest.list_of))
    lines = {"jsonl": _json, "kaldi": _kaldi, "moses": _moses}[nbest.format](nbest, order, log_probs_H, totals_H)
    _write(path, lines)


def write_best(nbest: NBest, path: Path, best_U: Ints) -> None:
    """One line for each utterance: `utterance words`; for Moses the words alone, as its tools read them."""
    _write(path, best_lines(nbest, best_U))


def _write(path: Path, lines: Iterator[str]) -> None:
    with text_output(path, overwrite=True) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode())


def best_lines(nbest: NBest, best_U: Ints) -> Iterator[str]:
    for utterance, place in zip(nbest.utterances, best_U.tolist(), strict=True):
        words = nbest.hypotheses[place]
        yield words if nbest.format == "moses" else f"{utterance} {words}".rstrip()


def _json(nbest: NBest, order: Ints, log_probs_H: Floats, totals_H: Floats) -> Iterator[str]:
    for utterance, begin, end in zip(nbest.utterances, nbest.starts[:-1], nbest.starts[1:], strict=True):
        entries = [
            {**nbest.kept[h], "lm_log_prob": float(log_probs_H[h]), "total": float(totals_H[h])}
            for h in order[begin:end]
        ]
        yield json.dumps({"utt": utterance, **nbest.kept_of[utterance], "nbest": entries}, ensure_ascii=False)


def _kaldi(nbest: NBest, order: Ints, log_probs_H: Floats, totals_H: Floats) -> Iterator[str]:
    for utterance, begin, end in zip(nbest.utterances, nbest.starts[:-1], nbest.starts[1:], strict=True):
        for number, h in enumerate(order[begin:end].tolist(), start=1):
            yield f"{utterance}-{number} {totals_H[h]:.6f} {nbest.hypotheses[h]}".rstrip()


def _moses(nbest: NBest, order: Ints, log_probs_H: Floats, totals_H: Floats) -> Iterator[str]:
    lists = nbest.list_of
    for h in order.tolist():
        features, more = nbest.kept[h]
        scores = f"{features} modlm= {log_probs_H[h]:.6f}".strip(), f"{totals_H[h]:.6f}"
        yield " ||| ".join([nbest.utterances[lists[h]], nbest.hypotheses[h], *scores, *more])
