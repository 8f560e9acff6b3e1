"""Draws the figures of README and docs from committed numbers: `make figures`.

docs/images/mixture.svg     what p = D · λ means: the numbers are an example, and the product is computed
docs/images/speed.svg       modlm beside KenLM, from the tables of benchmarks/reports
docs/images/pruning.svg     perplexity against size, from benchmarks/reports/*-pruning.json
docs/images/online.svg      what columns that learn bring, by place in the text, from benchmarks/reports/*-online.json
docs/images/lora.svg        fine-tuning and mixing against processor minutes, from benchmarks/reports/*-lora.json
docs/images/translation.svg what columns bring against pairs of sentences, from benchmarks/reports/*-translation.json

`make figures` also draws docs/reproduction/*.svg (`modlm reproduce all --redraw`) and benchmarks/scale.py's figure.
All share one style, have no background, and read on white as on black. The same numbers give the same bytes.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import matplotlib
import numpy as np

from modlm.experiments.reproduce import figures

ROOT = Path(__file__).parents[1]
REPORTS, IMAGES = ROOT / "benchmarks" / "reports", ROOT / "docs" / "images"
BLUE, ORANGE, GREEN = figures.COLOURS[:3]
FONT = "-apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"

# ---- speed -----------------------------------------------------------------------------------------------------------

BUILD, QUERIES = (REPORTS / f"2026-11-16-against-kenlm-{name}.md" for name in ("build", "resident"))
SPEEDS = (
    ("Build a 5-gram model, 46M words", BUILD, "build", "newswire: wall", False),
    ("Build a 5-gram model, 0.9M words", BUILD, "build", "ptb: wall", False),
    ("Score a file, 2 cores; query has 1", QUERIES, "query", "newswire, newswire.last: in the process, 2 cores", True),
    ("Score a file, 1 core each", QUERIES, "query", "newswire, newswire.last: in the process, 1 core", True),
    ("Score a batch of sentences, 2 cores", QUERIES, "python", "newswire: score_batch, resident, 2 cores", True),
    ("Score sentences one by one", QUERIES, "python", "newswire: score, one by one", True),
    ("Score a small file, modlm eval : query", QUERIES, "query", "ptb, ptb.test.many: modlm eval, 1 core", True),
)


def measured(report: Path, measurement: str, what: str) -> tuple[str, str, float]:
    """Ours, KenLM's and their ratio, from the table of a report."""
    for line in report.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if cells[:2] == [measurement, what]:
            return cells[2], cells[3], float(re.sub("[^0-9.e+-]", "", cells[4]))
    raise SystemExit(f"{report.name} has no row {measurement} | {what}.")


def speed() -> str:
    """Bars: how many times as fast as KenLM; below 1 it is KenLM that is faster."""
    figure, (axes,) = figures.panels(1, 3.3)
    for place, (name, report, *row, is_rate) in enumerate(SPEEDS):
        ours, theirs, ratio = measured(report, *row)
        times = ratio if is_rate else 1 / ratio
        axes.barh(place, times, color=BLUE if times >= 1 else ORANGE, height=0.62)
        axes.annotate(f"{times:.2g} ×  ({ours} : {theirs})", (max(times, 1), place), xytext=(5, 0),
                      textcoords="offset points", va="center", fontsize=8.5)  # fmt: skip
        axes.annotate(name, (0, place), xytext=(-6, 0), textcoords="offset points", ha="right", va="center")
    axes.axvline(1, color=figures.INK, linewidth=1.2)
    axes.set(xlim=(0, 12), yticks=[], xlabel="times as fast as KenLM (ours : KenLM's)")
    axes.set_xticks([0, 1, 2, 4, 6, 8])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)  # lines would run through the numbers
    axes.invert_yaxis()
    return figures.svg(figure, "Speed of modlm beside KenLM")


# ---- pruning ---------------------------------------------------------------------------------------------------------


EIGHT_BITS = "trie, 8 bits"


def pruning() -> str:
    """Curves: perplexity of the test text against the size of the model on disk."""
    newest = max(REPORTS.glob("*-pruning.json"))
    models = json.loads(newest.read_text("utf-8"))["models"]
    by_entropy = [one for one in models if "--prune " not in one["options"]]
    by_count = [one for one in models if one["options"] == "" or "--prune " in one["options"]]
    figure, (axes,) = figures.panels(1, 3.6)
    curves = {
        "by entropy (--prune-entropy)": by_entropy,
        "by counts (--prune)": by_count,
        "by counts, in KenLM's trie of 8 bits": [one["kenlm"][EIGHT_BITS] for one in by_count if one["kenlm"]],
    }
    for place, (label, picked) in enumerate(curves.items()):
        points = sorted((one["bytes"] / 1e6, one["perplexity"]) for one in picked)
        look = {"color": figures.COLOURS[place], "linestyle": figures.STYLES[place], "marker": figures.MARKS[place]}
        if points:
            axes.plot(*zip(*points, strict=True), label=label, **look)
    axes.set(xscale="log", xlabel="MB on disk", ylabel="PTB test perplexity")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xticks([1, 2, 5, 10, 20, 50])
    axes.legend(frameon=False)
    return figures.svg(figure, "Perplexity against size when a 5-gram model is pruned")


# ---- columns that learn ----------------------------------------------------------------------------------------------


def online() -> str:
    """Curves: bits gained a prediction, against how much of the text was read before."""
    models = json.loads(max(REPORTS.glob("*-online.json")).read_text("utf-8"))["models"]
    figure, (axes,) = figures.panels(1, 3.6)
    axes.axhline(0, color="#888888", linewidth=0.8)
    for place, one in enumerate(models):
        middles = [(max(part["from"], 30) * part["to"]) ** 0.5 for part in one["gain"]]
        look = {"color": figures.COLOURS[place], "linestyle": figures.STYLES[place], "marker": figures.MARKS[place]}
        axes.plot(middles, [part["bits"] for part in one["gain"]], label=one["name"], **look)
    axes.set(xscale="log", xlabel="words of the text read before", ylabel="bits gained per prediction")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False)
    return figures.svg(figure, "What online columns and a cache gain, by place in the text")


# ---- fine-tuning -----------------------------------------------------------------------------------------------------

MIXED = {"learned": "counts", "learned, with the text so far": "counts and the text so far"}


def lora() -> str:
    """A curve: bits per byte by minutes of fine-tuning; points: the mixture with the model, and with the tuned one."""
    found = json.loads(max(REPORTS.glob("*-lora.json")).read_text("utf-8"))
    figure, (axes,) = figures.panels(1, 3.8)
    curve = [(point["minutes"], point["test"]) for point in found["curve"]]
    curve = [(0.0, found["mixture"]["test"]["lm alone"]), *(point for point in curve if point[0])]
    axes.plot(*zip(*curve, strict=True), label=f"LoRA, rate {found['rate']:g}", color=BLUE, marker=figures.MARKS[0])
    for other in (one for one in found["tried"] if "test" in one and one["rate"] != found["rate"]):
        look = {"color": BLUE, "marker": figures.MARKS[3], "linestyle": "--"}
        ends = (0.0, other["minutes"]), (curve[0][1], other["test"])
        axes.plot(*ends, label=f"LoRA, rate {other['rate']:g}", **look)
    for own, label, colour, before in (
        (found["mixture"], "{}", ORANGE, 0.0),
        (found["both"], f"LoRA, rate {found['rate']:g}, then {{}}", GREEN, curve[-1][0]),
    ):
        if own:
            minutes = before + sum(spent for name, spent in own["minutes"].items() if name != "reading test")
            for place, (name, what) in enumerate(MIXED.items(), start=1):
                look = {"color": colour, "marker": figures.MARKS[place], "linestyle": "none"}
                axes.plot(minutes, own["test"][name], label=label.format(what), **look)
    axes.set(xlabel="processor minutes", ylabel="bits per byte of the test lines", xlim=(-0.5, None))
    axes.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    return figures.svg(figure, "Fine-tuning with LoRA beside mixing with counts")


# ---- translation -----------------------------------------------------------------------------------------------------

MEASURES = {"test perplexity": lambda one: one["test"], "BLEU": lambda one: one["scores"][0]["score"]}
GAINS = {"test perplexity": "{1:+.0%}", "BLEU": "{0:+.2f}"}  # of the net alone


def translation() -> str:
    """Bars: perplexity and BLEU of the test text by pairs to train on, of the net alone and with all columns."""
    found = json.loads(max(REPORTS.glob("*-translation.json")).read_text("utf-8"))
    rows = {(one["row"], one["pairs"]): one for one in found if one["row"] in ("1", "4")}
    sizes = sorted({size for _, size in rows})
    figure, panels = figures.panels(2, 5.2)
    for axes, (name, told) in zip(panels, MEASURES.items(), strict=True):
        values = {row: [told(rows[row, size]) for size in sizes] for row in ("1", "4")}
        for place, (row, label) in enumerate({"1": "deltas alone", "4": "lexicon, copy, n-grams and deltas"}.items()):
            at = np.arange(len(sizes)) + 0.4 * place - 0.2
            axes.bar(at, values[row], 0.36, color=figures.COLOURS[1 - place], label=label)
            for x, value, alone in zip(at, values[row], values["1"], strict=True):
                gain = GAINS[name].format(value - alone, value / alone - 1).replace("-", "−")
                text = f"{value:.2f}" if row == "1" else f"{gain}\n{value:.2f}"
                axes.annotate(text, (x, value), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=9)
        axes.set(ylabel=name)
        axes.margins(y=0.2)
    panels[-1].set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    panels[-1].set(xlabel="pairs of sentences")
    panels[0].legend(frameon=False)
    return figures.svg(figure, "Perplexity and BLEU of translations against the size of the training text")


# ---- p = D · λ -------------------------------------------------------------------------------------------------------

WORDS = ("it", "the", "that", "profit", "</s>")
NGRAMS = {
    "1-gram": (0.15, 0.45, 0.15, 0.05, 0.20),
    "2-gram": (0.40, 0.20, 0.25, 0.05, 0.10),
    "3-gram": (0.70, 0.10, 0.20, 0.00, 0.00),
}
LAMBDA = (0.05, 0.15, 0.35, 0.20, 0.05, 0.05, 0.14, 0.01)
CELL, GAP, TOP = 46, 4, 60


def mixture() -> str:
    """The matrix, the weights and their product after the words "the company said"."""
    table = np.column_stack([*NGRAMS.values(), np.eye(len(WORDS))])
    labels = [*NGRAMS, *(f"δ {word}" for word in WORDS)]
    product = table @ LAMBDA
    middle = TOP + len(LAMBDA) * CELL / 2
    top = middle - len(WORDS) * CELL / 2
    left, dense = 330, len(NGRAMS) * CELL
    right = left + table.shape[1] * CELL + 3 * CELL
    parts = [_text(24, 28, "after “the company said”", size=17, weight=600, anchor="start")]
    for row, word in enumerate(WORDS):
        y = top + row * CELL
        parts.append(_text(108, y + CELL / 2, word, size=16, anchor="end"))
        parts.append(_bar(120, y, 150 * product[row], f"{product[row]:.3f}", GREEN))
        for column, value in enumerate(table[row]):
            x = left + column * CELL + (GAP * 3 if column >= len(NGRAMS) else 0)
            parts.append(_cell(x, y, value, BLUE if column < len(NGRAMS) else ORANGE))
    for place, (label, weight) in enumerate(zip(labels, LAMBDA, strict=True)):
        y = TOP + place * CELL
        colour = BLUE if place < len(NGRAMS) else ORANGE
        parts.append(_bar(right, y, 260 * weight, f"{weight:.2f}", colour))
        parts.append(_text(right - 8, y + CELL / 2, label, size=13, anchor="end"))
    parts += [
        _text(150, top - 22, "p", size=24, weight=700),
        _text(left + (table.shape[1] * CELL + 12) / 2, top - 62, "D", size=24, weight=700),
        _text(right + 40, TOP - 22, "λ(c)", size=24, weight=700),
        _text(300, middle, "=", size=30),
        _text(right - 2 * CELL - 12, middle, "·", size=40, weight=700),
        _brace(left, dense, top - 12, "counts: n-grams", BLUE),
        _brace(left + dense + 12, len(WORDS) * CELL, top - 12, "a net: one column per word", ORANGE),
        _text(left + (table.shape[1] * CELL + 12) / 2, top + len(WORDS) * CELL + 30,
              "every column is a distribution: it sums to 1", size=14),
        _text(150, top + len(WORDS) * CELL + 30, "the next word", size=14),
        _text(right + 40, TOP + len(LAMBDA) * CELL + 20, "weights for this context, sum 1", size=14),
    ]  # fmt: skip
    width, height = right + 190, TOP + len(LAMBDA) * CELL + 44
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="{FONT}" fill="{figures.INK}">\n<title>p = D · λ: the next word as a mixture of '
        f"distributions</title>\n{''.join(parts)}</svg>\n"
    )


def _text(x: float, y: float, text: str, *, size: int, anchor: str = "middle", weight: int = 400) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" dy="0.35em" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(text)}</text>\n"
    )


def _bar(x: float, y: float, length: float, text: str, colour: str) -> str:
    bar = f'<rect x="{x:g}" y="{y + 9:g}" width="{max(length, 1):.1f}" height="{CELL - 18}" rx="3" fill="{colour}"/>\n'
    return bar + _text(x + max(length, 1) + 8, y + CELL / 2, text, size=13, anchor="start")


def _cell(x: float, y: float, value: float, colour: str) -> str:
    """A cell of D: its number, and a bar as long as it is probable."""
    side = CELL - GAP
    drawn = (
        f'<rect x="{x:g}" y="{y:g}" width="{side}" height="{side}" rx="5" fill="{colour}" fill-opacity="0.08" '
        f'stroke="{colour}" stroke-opacity="0.45"/>\n'
    )
    if not value:
        return drawn
    place = f'x="{x + 5:g}" y="{y + side - 13:g}" width="{(side - 10) * value:.1f}" height="8" rx="2"'
    bar = f'<rect {place} fill="{colour}"/>\n'
    return drawn + bar + _text(x + side / 2, y + 15, f"{value:.2f}" if value < 1 else "1", size=13)


def _brace(x: float, width: float, y: float, text: str, colour: str) -> str:
    line = f'<path d="M{x:g} {y:g} h{width - GAP:g}" stroke="{colour}" stroke-width="3" fill="none"/>\n'
    return line + _text(x + (width - GAP) / 2, y - 16, text, size=14)


# ---- all -------------------------------------------------------------------------------------------------------------


def main() -> None:
    """Write every figure, and say which changed."""
    with matplotlib.rc_context(figures.STYLE):
        made: dict[Path, str] = {IMAGES / "speed.svg": speed(), IMAGES / "pruning.svg": pruning()}
        made[IMAGES / "online.svg"] = online()
        made[IMAGES / "lora.svg"] = lora()
        made[IMAGES / "translation.svg"] = translation()
    for path, text in (made | {IMAGES / "mixture.svg": mixture()}).items():
        same = path.is_file() and path.read_text("utf-8") == text
        path.write_text(text, "utf-8")
        print(f"{path.relative_to(ROOT)}{'' if same else ': new'}")


if __name__ == "__main__":
    main()
