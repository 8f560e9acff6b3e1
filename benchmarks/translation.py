"""Conditional mixtures on a small parallel corpus: perplexity, BLEU and chrF by columns, beside a plain net.

python benchmarks/translation.py --runs FOLDER --rows 1 2 3 4 5 6 --out benchmarks/reports/DATE-translation.md

--data has tanaka.{train,dev,test}.{ja,en}.txt.xz (default: parallel in MODLM_DATA). A run that is there already is not
run again, and one that was stopped goes on. Every row has the same net, settings and number of epochs.
"""

from __future__ import annotations

import argparse
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


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MODLM_DATA", "."), "parallel"))
    parser.add_argument("--runs", type=Path, required=True, metavar="FOLDER", help="where runs are kept")
    parser.add_argument("--rows", nargs="+", default=["1", "4"], choices=[*ROWS, STATIC, PLAIN])
    parser.add_argument("--pairs", type=int, nargs="+", default=[50_000], metavar="N", help="the first N pairs")
    parser.add_argument("--epochs", type=float, default=10.0, metavar="X")
    parser.add_argument("--hidden", type=int, default=200, metavar="N")
    parser.add_argument("--products", default="bfloat16", help="as the setting of this name")
    parser.add_argument("--names", default="tanaka.{part}.{side}.txt.xz", help="of the files")
    parser.add_argument("--finished", action="store_true", help="tell of the runs that are there, and train none")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page; a .json of the same name has the numbers")
    return parser.parse_args(given)


def texts(asked: argparse.Namespace, pairs: int) -> dict[str, str]:
    """The texts of a run by the names of its settings; the training text cut to so many pairs."""
    sides = {"": "en", "source": "ja"}
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


def trained(asked: argparse.Namespace, row: str, pairs: int) -> dict[str, Any]:
    """Train a row, or take the run that is there; its result, and the model's translations of the test text."""
    own, run = texts(asked, pairs), asked.runs / f"row{row}-{pairs}"
    if not (run / "result.json").exists():
        table = {
            **own, **ROWS[row][1], "products": asked.products, "net": {"hidden": asked.hidden},
            "schedule": {"epochs": asked.epochs, "patience": 0},
        }  # fmt: skip
        from modlm.training.config_file import run_config
        from modlm.training.run import train

        train(run_config(table), run, resume=run.exists(), device="cpu")
    result = json.loads((run / "result.json").read_text("utf-8"))
    lm, said = modlm.load(run), run / "test.out"
    begun, sources = time.process_time(), [line for _, line in text_lines(Path(own["test_source"]), blank=True)]
    if not said.exists():
        lines = [str(best[0]) for best in lm.translate(sources)]
        said.write_text("\n".join(lines) + "\n", encoding="utf-8")
        (run / "seconds.json").write_text(json.dumps(time.process_time() - begun))
    return {
        "row": row, "pairs": pairs, "columns": ROWS[row][0], "epochs": result["epochs"], "seconds": result["seconds"],
        "valid": result["valid_perplexity"], "test": result["test_perplexity"], "best_epoch": result["best"]["epoch"],
        "dense": result["best"]["test_dense_mass"], "words_per_second": result["words_per_second"],
        "translated": [line for _, line in text_lines(said, blank=True)],
    }  # fmt: skip


def static(asked: argparse.Namespace, pairs: int) -> dict[str, Any]:
    """Row 6: the net of row 1 and the parts of row 4, each as it is alone, under one weight each by EM on dev."""
    own = texts(asked, pairs)
    net, parts = (modlm.load(asked.runs / f"row{row}-{pairs}") for row in ("1", "4"))
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
    said = asked.runs / f"plain-{pairs}.json"
    if not said.exists():
        own, place = texts(asked, pairs), Path(__file__).with_name("side_by_side") / "attention_net.py"
        command = [sys.executable, place, json.dumps(own), asked.hidden, asked.epochs, said]
        subprocess.run([*map(str, command)], check=True)
    return {"row": PLAIN, "pairs": pairs, "columns": "the net of 1 in plain PyTorch", **json.loads(said.read_text())}


def page(found: list[dict[str, Any]], asked: argparse.Namespace) -> str:
    """The numbers as Markdown."""
    told = (
        f"{datetime.date.today()}, {platform.machine()}, one thread. {asked.hidden} units, one layer, Adam with a "
        f"cosine schedule from 0.006 to 0 over the epochs, dropout 0.3, batches of 1,000 words, words seen once are "
        f"unknown, products in {asked.products}, beam 5. Settings are those of `--kind conditional` and the same for "
        f"every row."
    )
    lines = ["# Conditional mixtures: translation", "", told, ""]
    for pairs in sorted({one["pairs"] for one in found}, reverse=True):
        heads = ["row", "columns", "epochs", "perplexity, dev", "test", "under row 1", "BLEU", "chrF"]
        heads += ["weight on dense columns", "words/s"]
        lines += [f"## {pairs:,} pairs", "", f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * (len(heads) - 2)]
        rows = [one for one in found if one["pairs"] == pairs]
        first = next((one for one in rows if one["row"] == "1"), None)
        for one in rows:
            less = f"{1 - one['test'] / first['test']:.1%}" if first and one is not first else "–"
            scores = [_score(own) for own in one.get("scores", [])] or ["–", "–"]
            dense, speed = one.get("dense"), one.get("words_per_second")
            epochs = f"{one['epochs']:g}" if "epochs" in one else "–"
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
    asked, found = arguments(given), list[dict[str, Any]]()
    for pairs in asked.pairs:
        for row in asked.rows:
            if asked.finished and row in ROWS and not (asked.runs / f"row{row}-{pairs}" / "result.json").exists():
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
