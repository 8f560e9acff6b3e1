"""Conditional mixtures on a small parallel corpus: perplexity, BLEU and chrF by columns, beside a plain net.

python benchmarks/translation.py --runs FOLDER --rows 1 2 3 4 5 6 plain --out benchmarks/reports/DATE-translation.md
python benchmarks/translation.py --runs FOLDER --rows 1 4 --pairs 50000 10000 5000
python benchmarks/translation.py --runs FOLDER --speed

--data has tanaka.{train,dev,test}.{ja,en}.txt.xz (default: parallel in MODLM_DATA). A run that is there already is not
run again, and one that was stopped goes on. Every row has the same net and settings, and trains until validation stops
improving: the rate is halved at each evaluation (two an epoch) that is not the best so far, and several such in a row
end the run.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import modlm
from modlm.blocks.block import Beside
from modlm.evaluation.translation_scores import score_translations
from modlm.formats.lines import text_lines
from modlm.mixers.static import expectation_maximisation
from modlm.model.mixture import Mixture
from modlm.model.scored_text import with_source
from modlm.text.corpus import Corpus
from modlm.training.config import RunConfig
from modlm.training.config_file import run_config
from modlm.training.journal import JOURNAL, Journal

OVER_SOURCE = {"lexicon": {"block": "lexicon"}, "copy": {"block": "copy"}}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "1": ("δ, attention LSTM", {"kind": "neural"}),
    "2": ("δ + target n-grams", {"kind": "conditional", "columns": {"ngram": {}}}),
    "3": ("δ + lexicon", {"kind": "conditional", "columns": {"lexicon": OVER_SOURCE["lexicon"]}}),
    "4": ("δ + lexicon + copy + n-grams, block dropout", {"kind": "conditional"}),
    "5": ("as 4 without block dropout", {"kind": "conditional", "block_dropout": {"rate": 0.0}}),
}
STATIC = "6"
PLAIN = "plain"
HALVED = {"learning_rate": 0.003, "schedule": "plateau", "decay": 0.5, "wait": 1}
TOGETHER = 10  # batches that one row trains on before it is the other's turn, when speeds are compared


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MODLM_DATA", "."), "parallel"))
    parser.add_argument("--runs", type=Path, required=True, metavar="FOLDER", help="where runs are kept")
    parser.add_argument("--rows", nargs="+", default=["1", "4"], choices=[*ROWS, STATIC, PLAIN])
    parser.add_argument("--pairs", type=int, nargs="+", default=[50_000], metavar="N", help="the first N pairs")
    parser.add_argument("--epochs", type=float, default=40.0, metavar="X", help="at most")
    parser.add_argument("--patience", type=int, default=4, metavar="N", help="evaluations without a better one")
    parser.add_argument("--swap", action="store_true", help="translate English to Japanese")
    parser.add_argument("--speed", action="store_true", help="time rows 1 and 4 in turns and do nothing else")
    parser.add_argument("--hidden", type=int, default=200, metavar="N")
    parser.add_argument("--products", default="bfloat16", help="as the setting of this name")
    parser.add_argument("--names", default="tanaka.{part}.{side}.txt.xz", help="of the files")
    parser.add_argument("--finished", action="store_true", help="tell of the runs that are there, and train none")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page; a .json of the same name has the numbers")
    return parser.parse_args(given)


def texts(asked: argparse.Namespace, pairs: int) -> dict[str, str]:
    """The texts of a run by the names of its settings; the training text cut to so many pairs."""
    sides = {"": "ja", "source": "en"} if asked.swap else {"": "en", "source": "ja"}
    found = {}
    for setting, part in {"text": "train", "valid": "dev", "test": "test"}.items():
        for kind, side in sides.items():
            path = asked.data / asked.names.format(part=part, side=side)
            if part == "train":
                cut = asked.runs / f"{pairs}.{side}"
                if not cut.exists():
                    asked.runs.mkdir(parents=True, exist_ok=True)
                    lines = [line for _, line in text_lines(path, blank=True)][:pairs]
                    cut.write_text("\n".join(lines) + "\n", encoding="utf-8")
                path = cut
            name = setting if not kind else "source" if setting == "text" else f"{setting}_source"
            found[name] = str(path)
    return found


def config_of(asked: argparse.Namespace, row: str, pairs: int) -> RunConfig:
    """The run of a row."""
    return run_config({
        **texts(asked, pairs), **ROWS[row][1], "products": asked.products, "net": {"hidden": asked.hidden},
        "optimiser": HALVED, "schedule": {"epochs": asked.epochs, "patience": asked.patience},
    })  # fmt: skip


def run_of(asked: argparse.Namespace, row: str, pairs: int) -> Path:
    """Its folder."""
    return Path(asked.runs / f"row{row}-{pairs}{'-swapped' if asked.swap else ''}")


def trained(asked: argparse.Namespace, row: str, pairs: int) -> dict[str, Any]:
    """Train a row, or take the run that is there; its result, and the model's translations of the test text."""
    own, run = texts(asked, pairs), run_of(asked, row, pairs)
    if not (run / "result.json").exists():
        from modlm.training.run import train

        train(config_of(asked, row, pairs), run, resume=run.exists(), device="cpu")
    result = json.loads((run / "result.json").read_text("utf-8"))
    lm, said = modlm.load(run), run / "test.out"
    sources = [line for _, line in text_lines(Path(own["test_source"]), blank=True)]
    if not said.exists():
        lines = [str(best[0]) for best in lm.translate(sources)]
        said.write_text("\n".join(lines) + "\n", encoding="utf-8")
    journal = [(line["epoch"], line["valid_perplexity"]) for line in Journal(run / JOURNAL).lines()]
    return {
        "row": row, "pairs": pairs, "columns": ROWS[row][0], "epochs": result["epochs"], "stopped": result["stopped"],
        "best_epoch": result["best"]["epoch"], "valid": result["valid_perplexity"], "test": result["test_perplexity"],
        "dense": result["best"]["test_dense_mass"], "words_per_second": result["words_per_second"],
        "seconds": result["seconds"], "journal": journal,
        "translated": [line for _, line in text_lines(said, blank=True)],
    }  # fmt: skip


def static(asked: argparse.Namespace, pairs: int) -> dict[str, Any]:
    """Row 6: the net of row 1 and the parts of row 4, each as it is alone, under one weight each by EM on dev."""
    own = texts(asked, pairs)
    net, parts = (modlm.load(run_of(asked, row, pairs)) for row in ("1", "4"))
    assert isinstance(net, Mixture) and isinstance(parts, Mixture)
    columns = {}
    for name in ("valid", "test"):
        text = Corpus.from_text(Path(own[name]), net.vocabulary)
        both = with_source(net, text, Path(own[f"{name}_source"]))
        ids, beside = np.asarray(text.ids), Beside(both.sources)
        found = [np.exp(net.log_probs(ids, beside))]
        lengths_T = np.maximum(np.array([len(s) for s in beside.along(ids, net.vocabulary.start).sources]), 1)
        for block_name, block in parts.dense.items():
            probs_TK = block.rows(ids, Beside(both.sources)).probs_TK
            found += [probs_TK.sum(1) / lengths_T] if block_name in OVER_SOURCE else list(probs_TK.T)
        columns[name] = np.stack(found, 1)[ids != net.vocabulary.start]
    weights, _ = expectation_maximisation(columns["valid"])
    perplexity = {name: math.exp(-np.log(own_TK @ weights).mean()) for name, own_TK in columns.items()}
    return {"row": STATIC, "pairs": pairs, "columns": "static EM over the net of 1 and the parts of 4", **perplexity,
            "weights": weights.tolist()}  # fmt: skip


def plain(asked: argparse.Namespace, pairs: int) -> dict[str, Any]:
    """The net of row 1 in plain PyTorch, in a process of its own."""
    said = run_of(asked, PLAIN, pairs).with_suffix(".json")
    if not said.exists():
        own, place = texts(asked, pairs), Path(__file__).with_name("side_by_side") / "attention_net.py"
        command = [sys.executable, place, json.dumps(own), asked.hidden, asked.epochs, asked.patience, said]
        subprocess.run([*map(str, command)], check=True)
    return {"row": PLAIN, "pairs": pairs, "columns": "the net of 1 in plain PyTorch", **json.loads(said.read_text())}


def speed(asked: argparse.Namespace, pairs: int, turns: int = 12) -> dict[str, Any]:
    """Words trained on per processor second by rows 1 and 4, which take turns on the same batches."""
    import torch

    from modlm.training.distributed import Processes
    from modlm.training.texts import prepare
    from modlm.training.trainer import Trainer

    torch.set_num_threads(1)
    trainers, alone = {}, Processes(device=torch.device("cpu"))
    for row in ("1", "4"):
        config = config_of(asked, row, pairs)
        if "lexicon" in config.columns:  # how good a table is does not matter here
            quick = dataclasses.replace(config.columns["lexicon"], settings={"model1": 1, "hmm": 0})
            config = dataclasses.replace(config, columns=config.columns | {"lexicon": quick})
        trainers[row] = Trainer(config, *prepare(config, alone), asked.runs, alone)
    spent: dict[str, list[float]] = {row: [] for row in trainers}
    for turn in range(turns + 1):
        for row, trainer in trainers.items():
            begun, words = time.process_time(), trainer.run_state.words
            for _ in range(TOGETHER):
                trainer.step()
            if turn:  # the first warms up
                spent[row].append((trainer.run_state.words - words) / (time.process_time() - begun))
    ratios = [own / first for first, own in zip(*spent.values(), strict=True)]
    return {
        "pairs": pairs, "products": asked.products, "turns": turns, "ratio": float(np.median(ratios)),
        "ratios": [min(ratios), max(ratios)],
        "words_per_second": {row: float(np.median(own)) for row, own in spent.items()},
    }  # fmt: skip


def page(found: list[dict[str, Any]], asked: argparse.Namespace) -> str:
    """The numbers as Markdown."""
    way = "English to Japanese" if asked.swap else "Japanese to English"
    told = (
        f"{datetime.date.today()}, {platform.machine()}, one thread. {way}, {asked.hidden} units, one layer, Adam, "
        f"dropout 0.3, batches of 1,000 words, words seen once are unknown, products in {asked.products}, beam 5. Two "
        f"evaluations an epoch; the learning rate of {HALVED['learning_rate']} is halved at each that is not the best "
        f"so far, and {asked.patience} such in a row end a run. The rest is as in `--kind conditional`, and all of it "
        f"the same for every row."
    )
    lines = ["# Conditional mixtures: translation", "", told, ""]
    for pairs in sorted({one["pairs"] for one in found}, reverse=True):
        heads = ["row", "columns", "best epoch, of", "perplexity, dev", "test", "under row 1", "BLEU", "chrF"]
        heads += ["weight on dense columns", "words/s"]
        lines += [f"## {pairs:,} pairs", "", f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * (len(heads) - 2)]
        rows = [one for one in found if one["pairs"] == pairs]
        first = next((one for one in rows if one["row"] == "1"), None)
        for one in rows:
            less = f"{1 - one['test'] / first['test']:.1%}" if first and one is not first else "–"
            scores = [_score(own) for own in one.get("scores", [])] or ["–", "–"]
            dense, speed = one.get("dense"), one.get("words_per_second")
            epochs = f"{one['best_epoch']:.1f}, {one['epochs']:.1f}" if "epochs" in one else "–"
            cells = [one["row"], one["columns"], epochs, f"{one['valid']:.2f}", f"{one['test']:.2f}", less, *scores]
            cells += ["–" if dense is None else f"{dense:.2f}", "–" if speed is None else f"{speed:,.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    lines += ["p: of the difference from row 1, paired bootstrap of 1,000 draws by sacrebleu (tokens as they are).", ""]
    return "\n".join(lines)


def _score(own: dict[str, Any]) -> str:
    return f"{own['score']:.2f}" + ("" if own["p_value"] is None else f" (p = {own['p_value']:.3f})")


def main(given: Sequence[str] | None = None) -> None:
    """Run, and print or write the page."""
    os.environ.setdefault("MODLM_THREADS", "1")
    asked, found = arguments(given), list[dict[str, Any]]()
    if asked.speed:
        print(json.dumps([speed(asked, pairs) for pairs in asked.pairs], indent=1))
        return
    for pairs in asked.pairs:
        for row in asked.rows:
            run = run_of(asked, row, pairs)
            there = run.with_suffix(".json") if row == PLAIN else run / "result.json"
            if asked.finished and row != STATIC and not there.exists():
                continue
            make = {STATIC: static, PLAIN: plain}.get(row)
            found.append(make(asked, pairs) if make else trained(asked, row, pairs))
        own = {one["row"]: one for one in found if one["pairs"] == pairs and "translated" in one}
        reference = [line for _, line in text_lines(Path(texts(asked, pairs)["test"]), blank=True)]
        scores = score_translations({row: one.pop("translated") for row, one in own.items()}, reference)
        for row, every in scores.items():
            own[row]["scores"] = [{"metric": s.metric, "score": s.score, "p_value": s.p_value} for s in every]
    told = page(found, asked)
    if asked.out:
        asked.out.write_text(told, encoding="utf-8")
        asked.out.with_suffix(".json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(told)


if __name__ == "__main__":
    main()
