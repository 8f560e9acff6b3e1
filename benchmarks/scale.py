"""Cost against size: counting with each engine, from a million words to all there are; a page, numbers and a figure.

    python benchmarks/scale.py --sizes 1M 3M 10M 30M 95M --work FOLDER [--lmplz PATH]

Texts are the newswire and news corpora of MODLM_DATA, mixed line by line in proportion to their lengths, so that a
smaller text is a sample of a larger one; or those given with --texts. What a run came to is kept in the folder --work,
and not run again by the same command. `--page FILE` writes what follows from the numbers for larger sizes between the
marks of a page such as docs/scale.md; with `--read NUMBERS` nothing is run.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from modlm.ground.cores import allowed_cores
from modlm.ground.files import new_file
from side_by_side import report, scale_page, spark_log
from side_by_side.growth import figure, power
from side_by_side.processes import CommandError, Shell, modlm_command
from side_by_side.sampling import disk_bytes, sampled
from side_by_side.texts import OPENERS, RENAMED

REPORTS = Path(__file__).parent / "reports"
TEXTS = ("newswire/reuters_2006_2013.ptb.txt.xz", "news/cnndm.ptb.txt.xz", "news/enwiki_third.ptb.txt.xz")
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9}
ENGINES = ("memory", "disk", "spark")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=words_of, default=[10**6], metavar="WORDS", help="such as 1M 3M 10M")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="NAME")
    parser.add_argument("--texts", nargs="+", type=Path, metavar="TEXT", help="instead of those of MODLM_DATA")
    parser.add_argument("--order", type=int, default=5, metavar="N")
    parser.add_argument("--memory", default="1GB", metavar="SIZE", help="limit of the disk engine (default: 1GB)")
    parser.add_argument("--master", default="local[*]", metavar="URL", help="of Spark (default: local[*])")
    parser.add_argument("--spark-memory", default="2GB", metavar="SIZE", help="for each process of Spark")
    parser.add_argument("--lmplz", type=Path, metavar="PATH", help="run lmplz -S 1G on the largest text too")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="for texts and results (default: a passing one)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the report (default: reports/DATE-scale.md)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the numbers (default: beside the report)")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="the figure, SVG (default: beside the report)")
    parser.add_argument("--read", type=Path, metavar="NUMBERS", help="run nothing, take these numbers")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the part that follows from numbers into it")
    parser.add_argument("--price", type=float, default=0.05, metavar="X", help="assumed dollars for a core hour")
    return parser.parse_args(given)


def words_of(size: str) -> int:
    """3M is three million."""
    try:
        return int(float(size.rstrip("kMG")) * UNITS.get(size[-1], 1))
    except ValueError:
        raise argparse.ArgumentTypeError(f"a size is a number of words such as 3M, not {size!r}") from None


def mixed(texts: Sequence[Path]) -> Iterator[bytes]:
    """The lines of all texts, taken so that every text is used up at the same time, by its size on disk."""
    sizes = [path.stat().st_size for path in texts]
    with ExitStack() as stack:
        streams = [stack.enter_context(OPENERS.get(path.suffix, lambda p: p.open("rb"))(path)) for path in texts]
        taken, live = [0.0] * len(texts), list(range(len(texts)))
        while live:
            source = min(live, key=lambda one: taken[one] / sizes[one])
            line = streams[source].readline()
            if not line:
                live.remove(source)
                continue
            taken[source] += len(line)
            yield line.replace(b"<unk>", RENAMED).rstrip(b"\r\n") + b"\n"


def cut(texts: Sequence[Path], sizes: Sequence[int], folder: Path) -> dict[int, tuple[str, int]]:
    """A text of each size in the folder: its name and how many words it has."""
    found: dict[int, tuple[str, int]] = {}
    wanted = [size for size in sorted(sizes) if not (folder / f"{size}.txt").exists()]
    if wanted:
        with ExitStack() as stack:
            places = {s: stack.enter_context(new_file(folder / f"{s}.txt")) for s in wanted}
            outputs = {s: stack.enter_context(place.open("wb")) for s, place in places.items()}
            words = 0
            for line in mixed(texts):
                for size in wanted:
                    if words < size:
                        outputs[size].write(line)
                words += len(line.split())
                if words >= wanted[-1]:
                    break
    for size in sorted(sizes):
        with (folder / f"{size}.txt").open("rb") as stream:
            found[size] = (f"{size}.txt", sum(len(line.split()) for line in stream))
    return found


def digest(folder: Path) -> str:
    """One sum over all files of a counts folder."""
    sums = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        sums.update(path.name.encode())
        with path.open("rb") as stream:
            sums.update(hashlib.file_digest(stream, "sha256").digest())
    return sums.hexdigest()


def counted(shell: Shell, engine: str, text: str, words: int, asked: argparse.Namespace) -> dict[str, Any]:
    """One run of one engine."""
    temporary, output, log = (shell.folder / f".{name}" for name in ("temporary", "counts", "events"))
    for place in (temporary, output, log):
        shutil.rmtree(place, ignore_errors=True)
    temporary.mkdir()
    log.mkdir()
    options: list[str | Path] = ["--order", str(asked.order), "--engine", engine, "--temporary", temporary, "--json"]
    if engine == "disk":
        options += ["--memory", asked.memory]
    if engine == "spark":
        conf = spark_log.settings(log) | {"spark.local.dir": str(temporary)}
        options += ["--memory", asked.spark_memory, "--master", asked.master]
        options += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    with sampled(temporary) as sample:
        done = shell.run([*modlm_command(), "count", text, "-o", output, *options], show=False)
    told = json.loads(done.output)
    spark = engine == "spark"
    found = {
        "engine": engine, "words": words, "seconds": done.seconds,
        "cpu_seconds": sample.cpu_seconds if spark else done.cpu_seconds,
        "peak_bytes": sample.memory if spark else done.peak_bytes, "temporary_bytes": sample.disk,
        "text_bytes": (shell.folder / text).stat().st_size, "output_bytes": disk_bytes(output),
        "vocabulary": told["words"], "sentences": told["sentences"], "ngrams": told["ngrams"],
        "sha256": digest(output), "jobs": spark_log.by_title(log) if spark else {},
    }  # fmt: skip
    for place in (temporary, output, log):
        shutil.rmtree(place, ignore_errors=True)
    return found


def beside_lmplz(shell: Shell, lmplz: Path, text: str, words: int, order: int) -> dict[str, Any]:
    """`lmplz -S 1G`, which estimates too and writes an ARPA file, here to nowhere."""
    temporary = shell.folder / ".temporary"
    temporary.mkdir(exist_ok=True)
    command = [lmplz, "-o", str(order), "-S", "1G", "-T", temporary, "--text", text, "--arpa", "/dev/null"]
    with sampled(temporary) as sample:
        done = shell.run(command, show=False)
    shutil.rmtree(temporary, ignore_errors=True)
    return {
        "engine": "lmplz -S 1G", "words": words, "seconds": done.seconds, "cpu_seconds": done.cpu_seconds,
        "peak_bytes": done.peak_bytes, "temporary_bytes": sample.disk,
    }  # fmt: skip


def kept(folder: Path, asked: argparse.Namespace, name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a run came to, in this session or an earlier one that was asked for the same."""
    settings = {key: str(getattr(asked, key)) for key in ("texts", "order", "memory", "master", "spark_memory")}
    place = folder / f"{name}.json"
    if place.is_file():
        found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        if found.pop("settings") == settings:
            return found
    came_to = run()
    write(place, json.dumps({**came_to, "settings": settings}, indent=1) + "\n")
    return came_to


def measured(asked: argparse.Namespace, texts: Sequence[Path], folder: Path) -> dict[str, Any]:
    """All runs, from the smallest text to the largest; one that fails is told and does not cost the others."""
    shell, runs, failed = Shell(folder), list[dict[str, Any]](), list[str]()
    files = cut(texts, asked.sizes, folder)
    for size, (text, words) in files.items():
        for engine in asked.engines:
            try:
                runs.append(
                    kept(folder, asked, f"{engine}-{size}", partial(counted, shell, engine, text, words, asked))
                )
                print(f"{engine} {words:,} words: {runs[-1]['seconds']:.1f} s", file=sys.stderr)
            except CommandError as error:
                failed.append(f"{engine}, {words:,} words: {str(error).splitlines()[-1]}")
                print(failed[-1], file=sys.stderr)
        if asked.lmplz is not None and size == max(files):
            beside = partial(beside_lmplz, shell, asked.lmplz.resolve(), text, words, asked.order)
            runs.append(kept(folder, asked, f"lmplz-{size}", beside))
    machine = [*report.machine(kenlm_version="as given", bandwidths=[])[:2], f"load average {report.load_average()}"]
    machine.append(
        f"pyspark {report.version('pyspark')}, master {asked.master}; all programs had {len(allowed_cores())} core(s)"
    )
    return {"date": datetime.date.today().isoformat(), "order": asked.order, "memory": asked.memory,
            "spark_memory": asked.spark_memory, "machine": machine, "runs": runs, "failed": failed}  # fmt: skip


def main(given: Sequence[str] | None = None) -> int:
    """Measure, or read what was measured; write the report, the numbers, the figure and the page."""
    asked = arguments(given)
    if asked.read is not None:
        numbers = json.loads(asked.read.read_text(encoding="utf-8"))
    else:
        data = Path(os.environ.get("MODLM_DATA", ""))
        texts = asked.texts or [data / name for name in TEXTS if (data / name).is_file()]
        if not texts:
            print("Name texts with --texts, or a folder with corpora with MODLM_DATA.", file=sys.stderr)
            return 2
        with tempfile.TemporaryDirectory(prefix="modlm-scale-") as passing:
            folder = asked.work or Path(passing)
            folder.mkdir(parents=True, exist_ok=True)
            numbers = measured(asked, [path.resolve() for path in texts], folder.resolve())
    if asked.read is None or asked.out is not None:
        out = asked.out or REPORTS / f"{numbers['date']}-scale.md"
        drawing = asked.figure or out.with_suffix(".svg")
        write(asked.json or out.with_suffix(".json"), json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
        write(drawing, figure(scale_page.series(numbers)))
        write(out, scale_page.markdown(numbers, drawing=drawing.name, fit=power))
    if asked.page is not None:
        page = asked.page.read_text(encoding="utf-8")
        write(asked.page, scale_page.filled(page, numbers, price=asked.price))
    return 1 if numbers["failed"] else 0


def write(path: Path, text: str) -> None:
    """A whole file, or none."""
    with new_file(path) as target:
        target.write_text(text, encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
