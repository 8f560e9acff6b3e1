"""Word alignment beside eflomal (Östling and Tiedemann 2016) and fast_align (Dyer et al. 2013): how many links agree.

    pip install eflomal
    python benchmarks/alignment.py SOURCE TARGET                     # gz, bz2, xz, zst or plain, line by line
    python benchmarks/alignment.py SOURCE TARGET --fast-align PROGRAM --pairs 5000 --out report.md

All run IBM Model 1 alone, in both directions: eflomal samples from the posterior of a Bayesian model, so beside how far
it agrees stands how far it agrees with another run of itself, which nobody can expect more than; fast_align estimates
by EM as ours does, here under the same prior. Then Model 1 followed by the HMM: ours and eflomal's; fast_align has no
HMM, and beside ours stands its usual model, which is drawn to the diagonal (-d -o).
Agreement is F1 of the links; `same` is the share of predicted words with the same link, none among them. Seconds are
processor seconds of all threads.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from modlm.counts.translation import AlignmentOptions, align, links_of
from modlm.errors import MissingPackageError
from modlm.ground.files import new_file
from modlm.text.corpus import Corpus
from modlm.text.parallel import Parallel

Links = list[set[tuple[int, int]]]
MODELS = {"Model 1": (1, {"hmm": 0}), "HMM": (2, {"hmm": 5})}
# Its last iteration learns nothing, so of 6 five do.
FAST_ALIGN = {"Model 1": ("-v", "-a", "0.001", "-I", "6"), "HMM": ("-v", "-d", "-o", "-I", "6")}


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--pairs", type=int, default=0, help="the first so many pairs alone")
    parser.add_argument("--fast-align", type=Path, metavar="PROGRAM", help="another peer, built from its source")
    parser.add_argument("--out", type=Path, help="write the report here too")
    asked = parser.parse_args(arguments)
    if importlib.util.find_spec("eflomal") is None:
        raise MissingPackageError("The peer needs the package 'eflomal', which is not installed: pip install eflomal")
    pairs = Parallel.read(asked.source, asked.target)
    if asked.pairs:
        pairs = Parallel(pairs.source[: asked.pairs], pairs.target[: asked.pairs])
    align(Parallel(pairs.source[:2], pairs.target[:2]))  # compiled before anything is measured
    text = "\n".join(report(pairs, asked.source.name, asked.target.name, asked.fast_align))
    print(text)
    if asked.out is not None:
        with new_file(asked.out) as place:
            place.write_text(text + "\n", encoding="utf-8")
    return 0


def report(pairs: Parallel, source: str, target: str, fast_align: Path | None) -> Iterator[str]:
    """The lines of the report."""
    yield f"# Word alignment beside its peers: {source} and {target}\n"
    yield f"{len(pairs):,} pairs, {pairs.source.words:,} and {pairs.target.words:,} words; {os.cpu_count()} cores.\n"
    yield "| model | direction | peer | F1 | same | peer and itself: F1 | same | ours, s | peer, s |"
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|"
    for name, (level, settings) in MODELS.items():
        sampled, spent = measured(lambda level=level: eflomal_links(pairs, level))
        again = eflomal_links(pairs, level)
        for direction, way in enumerate((pairs, pairs.swapped())):
            found, seconds = measured(lambda way=way, settings=settings: align(way, AlignmentOptions(**settings)))
            links: Links = [set(map(tuple, own.tolist())) for own in links_of(way, found.links)]
            if direction:
                links = [{(i, j) for j, i in own} for own in links]
            head = f"| {name} | {'target → source' if direction else 'source → target'}"
            cells = " | ".join(
                f"{number:.3f}"
                for own in (links, again[direction])
                for number in agreement(own, sampled[direction], way.target, 1 - direction)
            )
            yield f"{head} | eflomal | {cells} | {seconds:.1f} | {spent:.1f} (both directions) |"
            if fast_align:
                options = (*FAST_ALIGN[name], *(["-r"] if direction else []))
                theirs, took = measured(lambda options=options: fast_align_links(pairs, fast_align, options))
                cells = " | ".join(f"{number:.3f}" for number in agreement(links, theirs, way.target, 1 - direction))
                yield f"{head} | fast_align {' '.join(options)} | {cells} | – | – | {seconds:.1f} | {took:.1f} |"


def texts_of(pairs: Parallel) -> list[list[str]]:
    """The lines of both sides."""
    return [
        [" ".join(corpus.vocabulary.decode(sentence[1:-1])) for sentence in corpus]
        for corpus in (pairs.source, pairs.target)
    ]


def links_in(text: str) -> Links:
    """The links of each line, in Pharaoh's format."""
    return [{tuple(map(int, link.split("-"))) for link in line.split()} for line in text.split("\n")[:-1]]  # type: ignore[misc]


def fast_align_links(pairs: Parallel, program: Path, options: Sequence[str]) -> Links:
    """Those of fast_align."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as text:
        text.writelines(f"{source} ||| {target}\n" for source, target in zip(*texts_of(pairs), strict=True))
        text.flush()
        done = subprocess.run([program, "-i", text.name, *options], check=True, capture_output=True, text=True)
    return links_in(done.stdout)


def eflomal_links(pairs: Parallel, level: int) -> tuple[Links, Links]:
    """eflomal's links of both directions, as (source place, target place)."""
    import eflomal

    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder, name)) for name in ("forward", "reverse")]
        texts = [[f"{line}\n" for line in lines] for lines in texts_of(pairs)]
        eflomal.Aligner(model=level).align(*texts, links_filename_fwd=names[0], links_filename_rev=names[1])
        forward, reverse = (links_in(Path(name).read_text()) for name in names)
    return forward, reverse


def agreement(ours: Links, theirs: Links, predicted: Corpus, side: int) -> tuple[float, float]:
    """F1 of the links, and the share of words of the predicted side (1 for the target) with the same link or none."""
    common = sum(len(a & b) for a, b in zip(ours, theirs, strict=True))
    odd = sum(len({link[side] for link in a ^ b}) for a, b in zip(ours, theirs, strict=True))
    return 2 * common / max(1, sum(map(len, ours)) + sum(map(len, theirs))), 1 - odd / max(1, predicted.words)


def measured(task: Callable[[], Any]) -> tuple[Any, float]:
    """What a task gives, and its processor seconds, those of processes it starts among them."""
    before, result = spent(), task()
    return result, spent() - before


def spent() -> float:
    """Processor seconds until now."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


if __name__ == "__main__":
    sys.exit(main())
