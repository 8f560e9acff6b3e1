"""Rescoring of n-best lists that bring references: folds of sessions, each tested with a model that has not seen it.

    python benchmarks/rescoring.py LISTS.jsonl.xz --work FOLDER [--general MODEL] [--nets]

For each of five folds the language models are trained on the references of three others, weights are tuned on the
fourth, and the fold itself is rescored; so every utterance is tested once. With `--general`, a model of other text is
tried alone and mixed in. `--nets` trains small interpolated and hybrid nets too. Prints a table in Markdown; the folder
keeps the parts of the first fold as files, for commands such as `modlm rescore`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modlm.cli.app import run
from modlm.errors import ModlmError
from modlm.evaluation.error_rate import UNITS, count_errors
from modlm.evaluation.rescored_lists import Measured, choices, measure, sessions_of
from modlm.evaluation.rescoring import Weights, lists_of, log_probs_of, tune
from modlm.formats.lines import text_lines
from modlm.formats.nbest import NBest, log_scores, read_nbest
from modlm.formats.references import references_of
from modlm.ground.arrays import Bools, Floats, Ints
from modlm.model.folder import load
from modlm.model.interpolation import interpolate
from modlm.model.language_model import LanguageModel
from modlm.model.ngram_lm import NgramLM

FOLDS = 5
FREE = {"": ["lm_weight", "word_penalty"], " and place": ["lm_weight", "word_penalty", "rank_weight"]}
NET = ["--order", "3", "--hidden", "50", "--epochs", "10"]


@dataclass(frozen=True)
class Fold:
    """References to train on and to tune on, as files, and which utterances are tuned on and tested."""

    train: Path
    dev: Path
    dev_U: Bools
    test_U: Bools


Maker = Callable[[Fold], LanguageModel]


def makers(asked: argparse.Namespace) -> dict[str, Maker]:
    """Language models by name, made for a fold."""

    def ngram(order: int) -> Maker:
        return lambda fold: NgramLM.fit(fold.train, order)

    def net(kind: str) -> Maker:
        def trained(fold: Fold) -> LanguageModel:
            place = fold.train.parent / f"{kind}-{fold.train.stem}"
            texts = ["--text", str(fold.train), "--valid", str(fold.dev), "-o", str(place)]
            with contextlib.redirect_stdout(io.StringIO()):
                if not (place / "model").is_dir() and run(["train", *texts, "--kind", kind, *NET]):
                    raise ModlmError(f"{place} was not trained.")
            return load(place)

        return trained

    found: dict[str, Maker] = {f"{order}-gram of other sessions": ngram(order) for order in (1, 2, 3, 5)}
    if asked.general:
        general = load(asked.general)
        found["general text"] = lambda fold: general
        found["3-gram mixed with general text"] = lambda fold: (
            interpolate({"domain": NgramLM.fit(fold.train, 3), "general": general}, fold.dev).mixture
        )
    if asked.nets:
        found |= {f"{kind} net over 3-grams": net(kind) for kind in ("interpolated", "hybrid")}
    return found


def folds_of(nbest: NBest, references: tuple[str, ...], sessions_U: Ints, work: Path) -> list[Fold]:
    """Sessions dealt out to folds; the texts of each fold are written."""
    rng = np.random.default_rng(1)
    fold_U = (rng.permutation(int(sessions_U.max()) + 1) % FOLDS)[sessions_U]
    work.mkdir(parents=True, exist_ok=True)
    folds = []
    for k in range(FOLDS):
        test_U, dev_U = fold_U == k, fold_U == (k + 1) % FOLDS
        parts = {"train": ~test_U & ~dev_U, "dev": dev_U}
        for name, part_U in parts.items():
            lines = [references[u] + "\n" for u in np.flatnonzero(part_U)]
            (work / f"{name}{k}.txt").write_text("".join(lines), encoding="utf-8")
        folds.append(Fold(work / f"train{k}.txt", work / f"dev{k}.txt", dev_U, test_U))
    if nbest.format == "jsonl" and len(nbest.utterances) == len(set(nbest.lines.tolist())):
        lines_U = [text for _, text in text_lines(nbest.path)]
        for name, part_U in {"dev": folds[0].dev_U, "test": folds[0].test_U}.items():
            kept = [lines_U[u] + "\n" for u in np.flatnonzero(part_U)]
            (work / f"{name}0.jsonl").write_text("".join(kept), encoding="utf-8")
    return folds


def row(name: str, system: str, found: Measured, weights: list[Floats]) -> str:
    """A line of the table."""
    cells = [name]
    for unit in UNITS:
        rate = found.rates[unit][system]
        cells += [f"{100 * rate.rate:.2f}", f"{100 * rate.low:.2f} – {100 * rate.high:.2f}"]
    if weights:
        change = found.changes["words"]
        cells += [f"{100 * change.difference:+.2f} ({100 * change.low:+.2f} – {100 * change.high:+.2f})"]
        cells += [f"{change.better:.3f}", ", ".join(f"{value:.2f}" for value in np.median(weights, axis=0))]
    return "| " + " | ".join([*cells, *[""] * (8 - len(cells))]) + " |"


def main() -> None:
    """Every model on every fold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--general", type=Path)
    parser.add_argument("--nets", action="store_true")
    parser.add_argument("--draws", type=int, default=1000)
    asked = parser.parse_args()
    nbest = read_nbest(asked.lists)
    references = references_of(nbest)
    sessions_U = sessions_of(nbest.utterances)
    folds = folds_of(nbest, references, sessions_U, asked.work)
    first_H, kind, _ = log_scores(nbest.scores)
    errors = {unit: count_errors(nbest.hypotheses, references, nbest.list_of, unit=unit) for unit in UNITS}
    everything = np.ones(len(nbest.utterances), dtype=bool)
    print(f"{len(everything):,} utterances of {sessions_U.max() + 1:,} sessions; scores are of kind {kind}\n")
    print("| model | WER % | 95% | CER % | 95% | WER, change | better | median weights |")
    print("|---|--:|---|--:|---|---|--:|---|")
    told = False
    for name, make in makers(asked).items():
        scored = [
            lists_of(nbest.hypotheses, nbest.starts, first_H, log_probs_of(make(f), nbest.hypotheses)) for f in folds
        ]
        for more, free in FREE.items():
            chosen_UM, weights = np.zeros((len(everything), 4), dtype=np.int64), list[Floats]()
            for fold, lists in zip(folds, scored, strict=True):
                part, places = lists.part(fold.dev_U)
                distances = errors["words"].distances
                found, _ = tune(part, distances[places], Weights(), free, rng=np.random.default_rng(1))
                weights.append(found.array())
                chosen_UM[fold.test_U] = choices(lists, found.array(), distances)[fold.test_U]
            result = measure(chosen_UM, errors, sessions_U, everything, rng=np.random.default_rng(1), draws=asked.draws)
            if not told:
                for system in ("first pass", "best score", "oracle"):
                    print(row(system, system, result, []))
                told = True
            print(row(name + more, "rescored", result, weights), flush=True)


if __name__ == "__main__":
    main()
