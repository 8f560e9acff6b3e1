"""What commands print: tables and numbers for people, JSON for programs; plain text, the same in a file as on a screen.

JSON has no infinity: numbers that are not finite become null.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from modlm.ground.progress import percent

if TYPE_CHECKING:
    from modlm.model.language_model import Explanation, Prediction

BAR = 20  # letters of the longest bar
SHOWN = 0.005  # shares below this are left out
BLOCKS = " ▏▎▍▌▋▊▉█"


def print_json(value: Any) -> None:
    """One JSON value on standard output, and nothing else."""
    json.dump(finite(value), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON cannot hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Aligned columns with a line under their names: the first `left` ones to the left, the others to the right."""
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
    lines.insert(1, ["─" * width for width in widths])
    for line in lines:
        cells = [cell.ljust(widths[k]) if k < left else cell.rjust(widths[k]) for k, cell in enumerate(line)]
        print("  ".join(cells).rstrip())


def print_orders(ngrams: Sequence[int], discounts: Sequence[Sequence[float]]) -> None:
    """N-grams and discounts of each order, discounts up to where they no longer change."""
    rows = []
    for order, (count, row) in enumerate(zip(ngrams, discounts, strict=True), start=1):
        last = max((r for r in range(1, len(row)) if row[r] != row[r - 1]), default=0)
        losses = " ".join(f"{value:.4g}" for value in row[: last + 1]) if any(row) else "–"
        rows.append([f"{order}-grams", f"{count:,}", losses])
    print_table(["order", "n-grams", "discounts of 1, 2, …"], rows)


def print_predictions(predictions: Sequence[Prediction]) -> None:
    """A line for each of the most probable next words, with bars that fit the screen."""
    columns = len(_columns_that_matter(predictions))
    room = shutil.get_terminal_size((100, 24)).columns - 26 - 9 * columns
    print_words(predictions, longest=predictions[0].probability or 1.0, width=max(4, min(BAR, room)))


def print_words(words: Sequence[Prediction | Explanation], *, longest: float = 1.0, width: int = BAR) -> None:
    """A line for each word: its probability, a bar, and the shares of the columns that matter."""
    names = _columns_that_matter(words)
    rows = [
        [
            one.word,
            bar(one.probability / longest, width).ljust(width),
            percent(one.probability),
            *(f"{one.shares[name]:.0%}" if one.shares[name] >= SHOWN else "·" for name in names),
        ]
        for one in words
    ]
    print_table(["word", "", "probability", *names], rows, left=2)


def _columns_that_matter(words: Sequence[Prediction | Explanation]) -> list[str]:
    return [name for name in words[0].shares if any(one.shares[name] >= SHOWN for one in words)]


def bar(share: float, width: int) -> str:
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else "")


def number(value: float, digits: int = 2) -> str:
    """A number with thousands apart; a perplexity that is not finite as it is."""
    if math.isnan(value):
        return "–"
    return f"{value:,.{digits}f}" if math.isfinite(value) else "∞"


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def describe_perplexity(numbers: dict[str, Any]) -> str:
    parts = [number(numbers["perplexity"])]
    if numbers["unknown"]:
        parts.append(f"without unknown words {number(numbers['perplexity_without_unknown'])}")
    if numbers["bytes"]:
        if numbers["text_words"] != numbers["words"]:
            parts.append(f"{number(numbers['perplexity_per_word'])} per word")
        parts.append(f"{numbers['bits_per_byte']:.4f} bits per byte")
    parts.append(f"{numbers['predictions']:,} predictions, {numbers['unknown']:,} unknown")
    return f"{parts[0]} ({'; '.join(parts[1:])})"


def print_forecast(told: dict[str, Any], output: object) -> None:
    from modlm.ground.progress import short, span

    about = "" if told["exact"] else "about "
    print(f"would read {', '.join(told['texts'])}: {about}{size(told['bytes'])}, {about}{told['words']:,} words")
    print(f"would count {about}{short(sum(told['ngrams']))} n-grams of orders 1 to {told['order']}: "
          f"{', '.join(map(short, told['ngrams']))}")  # fmt: skip
    if "parameters" in told:
        print(f"would train {told['parameters']:,} parameters for {told['epochs']:g} epochs at most, at about "
              f"{told['words_per_second']:,.0f} words/s")  # fmt: skip
    seconds = told["seconds"]
    spent = span(seconds) if seconds >= 100 else f"{seconds:.1f} s"
    print(f"would take about {spent}{' at most' if 'epochs' in told else ''}, {size(told['memory'])} of memory, and "
          f"{size(told['disk'])} of disk for {output}")  # fmt: skip
    print(f"Estimates from {told['sample_words']:,} words on this machine, as busy as it is now; nothing was written.")
