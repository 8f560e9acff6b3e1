"""The compact form of n-gram models beside KenLM's tries and tongrams: bytes, exactness, speed. Writes a report.

python benchmarks/compact.py --kenlm FOLDER-WITH-PROGRAMS --tongrams FOLDER-WITH-PROGRAMS [--work FOLDER]

Speeds are CPU seconds of one thread, the best of several turns taken in alternation, so that a busy machine moves both
sides alike. Making, expanding and building, which use all cores, are judged by the clock: the machine must be quiet.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import modlm
from against_kenlm import REPORTS, own_command, work_folder
from modlm.ground.files import new_file
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram_lm import NgramLM
from modlm.text.corpus import Corpus
from side_by_side import report
from side_by_side.findings import Findings, size
from side_by_side.processes import Shell, modlm_command
from side_by_side.texts import DEFAULTS, TEST_COPIES, Texts, default_sources
from side_by_side.tongrams import lookups

DEFAULTS["ptb.valid"] = "ptb/ptb.valid.txt.xz"
TURNS, RANDOM, CONTEXTS, REPEATS = 5, 1_000_000, 512, 20


@dataclass
class Bench:
    """Models and programs in one folder, made when first asked for."""

    folder: Path
    texts: Texts
    shell: Shell
    findings: Findings
    kenlm: Path | None
    tongrams: Path | None

    def model(self, text: str, *how: str) -> Path:
        """The folder of a model of a training text."""
        path = self.folder / f"{text}{'.' + how[-1].strip('-') if how else '.model'}"
        if not path.exists():
            source = self.texts.file("ptb.train" if text == "ptb" else text)
            self.shell.run([*modlm_command(), "ngram", source, "-o", path.name, *how])
        return path

    def small(self, text: str) -> Path:
        """Its compact form."""
        path, fast = self.folder / f"{text}.small", self.model(text)
        if not path.exists():
            self.shell.run([*modlm_command(), "convert", fast.name, path.name, "--form", "compact"])
        return path

    def arpa(self, text: str) -> Path:
        """The model as an ARPA file."""
        path, fast = self.folder / f"{text}.arpa", self.model(text)
        if not path.exists():
            self.shell.run([*modlm_command(), "convert", fast.name, path.name])
        return path

    def trie(self, name: str, *options: str) -> Path:
        """KenLM's trie of an ARPA file."""
        assert self.kenlm is not None
        path = self.folder / f"{name}.trie{''.join(options)}"
        if not path.exists():
            arpa = self.folder / f"{name}.arpa"
            source = arpa if arpa.exists() else self.arpa(name)
            self.shell.run([self.kenlm / "build_binary", "-T", ".", *options, "trie", source.name, path.name])
        return path


def folder_bytes(path: Path) -> int:
    """Everything but vocabulary.txt."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and file.name != "vocabulary.txt")


def best(task: Callable[[], object], turns: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """The least time of a task."""
    found = []
    for _ in range(turns):
        begun = clock()
        task()
        found.append(clock() - begun)
    return min(found)


def sizes(bench: Bench, text: str) -> None:
    """Bytes an n-gram."""
    small = bench.small(text)
    fast = bench.model(text)
    count = sum(modlm.load(fast).form.sizes)  # type: ignore[attr-defined]
    theirs = []
    if bench.kenlm is not None:
        for options in (("-a", "64"), ("-q", "8", "-b", "8", "-a", "64")):
            if text == "ptb" or len(options) == 2:
                theirs.append(f"{' '.join(options)}: {bench.trie(text, *options).stat().st_size / count:.2f}")
    ours = f"{size(folder_bytes(small))} instead of {size(folder_bytes(fast))}, {count:,} n-grams"
    bench.findings.judge(
        "size", f"{text}: bytes an n-gram", folder_bytes(small) / count, unit="bytes", ours=ours,
        theirs=f"trie {'; '.join(theirs)}" if theirs else "–", at_most=2.0,
    )  # fmt: skip


def exactness(bench: Bench, text: str) -> None:
    """Probabilities of both forms, and the fast one back."""
    fast, small = modlm.load(bench.model(text)), modlm.load(bench.small(text))
    assert isinstance(fast, NgramLM) and isinstance(small, CompactLM)
    ids = np.asarray(Corpus.from_text(str(bench.texts.path("ptb.test")), fast.vocabulary).ids)
    pairs = [(fast.form.score(ids), small.form.score(ids))]
    rng = np.random.default_rng(0)
    states = rng.integers(0, fast.compiled.contexts, RANDOM)
    states = fast.form.advance(states, rng.integers(0, len(fast.vocabulary), RANDOM).astype(np.uint32))[0]
    words = rng.integers(0, len(fast.vocabulary), RANDOM).astype(np.uint32)
    pairs.append((fast.form.advance(states, words)[2], small.form.advance(states, words)[2]))
    for what, (one, other) in zip(("all of PTB test", f"{RANDOM:,} random queries"), pairs, strict=True):
        far = float(np.max(np.abs(one - other) / one))
        bench.findings.judge(
            "exact", f"{text}, {what}: largest relative difference", far, unit="", ours=f"{far:.2g}", at_most=1e-6
        )
    wall = cpu = np.inf
    for _ in range(TURNS if text == "ptb" else 2):
        small = modlm.load(bench.small(text))
        begun, spent = time.perf_counter(), time.process_time()
        back = small.as_ngram()  # type: ignore[attr-defined]
        wall, cpu = min(wall, time.perf_counter() - begun), min(cpu, time.process_time() - spent)
    count = sum(fast.form.sizes)
    same = all(np.array_equal(a, b) for a, b in zip(back.compiled.arrays, fast.compiled.arrays, strict=True))
    same = same and back.counts is not None and np.array_equal(back.counts.frequencies, fast.counts.frequencies)  # type: ignore[union-attr]
    what = f"{text}: expanded, bit for bit, counts too"
    bench.findings.judge("exact", what, float(same), unit="", ours="yes" if same else "no", at_least=1)
    ours = f"{wall:.2f} s by the clock, {cpu:.2f} s of CPU"
    bench.findings.judge(
        "expand", f"{text}: M n-grams a second on all cores", count / wall / 1e6, unit="M/s", ours=ours, at_least=10
    )


def queries(bench: Bench, text: str) -> None:
    """Words of PTB test, 20 times over, a second, mapped, one thread; KenLM has its trie in memory."""
    small, fast = modlm.load(bench.small(text)), modlm.load(bench.model(text))
    assert isinstance(fast, NgramLM) and isinstance(small, CompactLM)
    ids = np.asarray(Corpus.from_text(str(bench.texts.path("ptb.test.many")), fast.vocabulary).ids)
    times: dict[str, list[float]] = {"ours": [], "fast": [], "trie": []}
    if bench.kenlm is not None:
        trie = bench.trie(text, "-a", "64")
        bench.shell.run(
            [bench.kenlm / "kenlm_benchmark", "-v", "-m", trie.name], stdin=bench.texts.file("ptb.test.many"),
            stdout=f"{text}.ids",
        )  # fmt: skip
    small.form.score(ids, workers=1), fast.form.score(ids, workers=1)
    for _ in range(TURNS):
        times["ours"].append(best(lambda: small.form.score(ids, workers=1)) / len(ids))
        times["fast"].append(best(lambda: fast.form.score(ids, workers=1)) / len(ids))
        if bench.kenlm is not None:
            said = bench.shell.run(
                [bench.kenlm / "kenlm_benchmark", "-q", "-m", trie.name, "-t", "1"], stdin=f"{text}.ids"
            ).output  # fmt: skip
            found = re.search(r"Seconds per query excluding load, CPU: (\S+)", said)
            assert found is not None
            times["trie"].append(float(found[1]))
    ours, quick = min(times["ours"]), min(times["fast"])
    rate = f"{1e-6 / ours:.2f}M/s (fast form {1e-6 / quick:.2f}M/s)"
    theirs = min(times["trie"], default=None)
    bench.findings.judge(
        "query", f"{text}: words a second beside KenLM's trie -a 64", theirs and theirs / ours, ours=rate,
        theirs=f"{1e-6 / theirs:.2f}M/s" if theirs else "–", at_least=0.5,
    )  # fmt: skip
    if text == "ptb":
        missing = (None, "–")
        given = bench.tongrams is not None
        seconds, told = (
            lookups(bench.shell, bench.tongrams, bench.folder, fast, ids[: len(ids) // TEST_COPIES])
            if given
            else missing
        )
        bench.findings.judge(
            "query", "ptb: words a second beside tongrams' lookups of the same n-grams", seconds and seconds / ours,
            ours=rate, theirs=told, at_least=1.0,
        )  # fmt: skip


def distributions(bench: Bench, text: str) -> None:
    """P of every word after a context."""
    small, fast = modlm.load(bench.small(text)), modlm.load(bench.model(text))
    assert isinstance(fast, NgramLM) and isinstance(small, CompactLM)
    ids = np.asarray(Corpus.from_text(str(bench.texts.path("ptb.test")), fast.vocabulary).ids)
    states = np.zeros(CONTEXTS, np.int64)
    for i in range(4):
        states = fast.form.advance(states, ids[i * CONTEXTS : (i + 1) * CONTEXTS])[0]
    small.distributions(states), fast.distributions(states)
    turns = [[best(lambda: one.distributions(states)) for one in (small, fast)] for _ in range(TURNS)]  # noqa: B023
    ours, theirs = (min(times) / CONTEXTS for times in zip(*turns, strict=True))
    bench.findings.judge(
        "distribution", f"{text}, J = {len(fast.vocabulary):,}: times the fast form's", ours / theirs,
        ours=f"{1e6 * ours:.1f} µs", theirs=f"fast form {1e6 * theirs:.1f} µs", at_most=5,
    )  # fmt: skip


def making(bench: Bench, text: str) -> None:
    """The compact form from the fast one, and from counts, as a command."""
    fast = modlm.load(bench.model(text))
    assert isinstance(fast, NgramLM)
    count = sum(fast.form.sizes)
    wall = cpu = np.inf
    for _ in range(TURNS if text == "ptb" else 2):
        begun, spent = time.perf_counter(), time.process_time()
        CompactLM.of(fast)
        wall, cpu = min(wall, time.perf_counter() - begun), min(cpu, time.process_time() - spent)
    ours = f"{wall:.2f} s by the clock, {cpu:.2f} s of CPU"
    bench.findings.judge(
        "make", f"{text}: M n-grams a second on all cores", count / wall / 1e6, unit="M/s", ours=ours, at_least=2
    )
    done = bench.shell.run(
        [*modlm_command(), "convert", bench.model(text).name, f"{text}.made", "--form", "compact", "--force"]
    )
    ratio = done.peak_bytes / folder_bytes(bench.model(text))
    bench.findings.judge(
        "make",
        f"{text}: peak memory beside the fast form's bytes",
        ratio,
        ours=size(done.peak_bytes),
        theirs="the interpreter and its packages are in it",
        at_most=1.2 if text != "ptb" else None,
    )


def foreign(bench: Bench) -> None:
    """A model without counts, from an ARPA file, in 8 bits a probability."""
    arpa, out = bench.arpa("ptb"), bench.folder / "ptb.bits8"
    bench.shell.run([*modlm_command(), "convert", arpa.name, out.name, "--form", "compact", "--bits", "8", "--force"])
    model, test = modlm.load(bench.model("ptb")), str(bench.texts.path("ptb.test"))
    count = sum(model.form.sizes)  # type: ignore[attr-defined]
    one, other = model.perplexity(test).perplexity, modlm.load(out).perplexity(test).perplexity
    bench.findings.judge(
        "foreign",
        "ptb from ARPA, 8 bits: bytes an n-gram",
        folder_bytes(out) / count,
        unit="bytes",
        ours=size(folder_bytes(out)),
        at_most=3,
    )
    bench.findings.judge(
        "foreign",
        "ptb from ARPA, 8 bits: perplexity of PTB test",
        100 * (other / one - 1),
        unit="%",
        ours=f"{other:.2f} instead of {one:.2f}",
        at_most=0.2,
    )


def phone(bench: Bench) -> None:
    """The best models in 3 MB and in the bytes of KenLM's quantised and pruned trie, beside that."""
    theirs, told, sizes = None, "–", ["3MB"]
    if bench.kenlm is not None:
        bench.shell.run(
            [bench.kenlm / "lmplz", "-o", "5", "-S", "1G", "--prune", "0", "0", "1"],
            stdin=bench.texts.file("ptb.train"), stdout="ptb.pruned.arpa",
        )  # fmt: skip
        trie = bench.trie("ptb.pruned", "-q", "8", "-b", "8", "-a", "64")
        said = bench.shell.run([bench.kenlm / "query", "-v", "summary", trie.name], stdin=bench.texts.file("ptb.test"))
        found = re.search(r"Perplexity including OOVs:\s+(\S+)", said.output)
        assert found is not None
        theirs, room = float(found[1]), trie.stat().st_size
        told, sizes = f"{theirs:.2f}, {size(room)}", [*sizes, f"{room >> 10}K"]
    for room in sizes:
        out, text, valid = f"ptb.phone.{room}", bench.texts.file("ptb.train"), bench.texts.file("ptb.valid")
        bench.shell.run([*modlm_command(), "ngram", text, "-o", out, "--size", room, "--valid", valid, "--force"])
        model = modlm.load(bench.folder / out)
        ours = model.perplexity(str(bench.texts.path("ptb.test"))).perplexity
        taken = folder_bytes(bench.folder / out) + (bench.folder / out / "vocabulary.txt").stat().st_size
        bench.findings.judge(
            "phone", f"ptb, --size {room}: perplexity of PTB test beside KenLM's", theirs and ours / theirs,
            ours=f"{ours:.2f}, {size(taken)}", theirs=told, at_most=1.0,
        )  # fmt: skip


def pipeline(bench: Bench) -> None:
    """Text to compact model with counts on disk; the fast form is never there."""
    source = bench.texts.file("newswire")
    done = bench.shell.run(
        [*modlm_command(), "ngram", source, "-o", "newswire.piped", "--form", "compact", "--memory", "1GB", "--force"]
    )  # fmt: skip
    same = folder_bytes(bench.folder / "newswire.piped") / folder_bytes(bench.small("newswire"))
    bench.findings.judge(
        "pipeline",
        "newswire, --memory 1GB --form compact: peak memory",
        done.peak_bytes / 2**30,
        unit="GiB",
        ours=f"{size(done.peak_bytes)}, {done.cpu_seconds:.0f} s of CPU; bytes {same:.4f} × the model made in memory",
        at_most=1.0,
    )


def building(bench: Bench) -> None:
    """Text to the fast form beside lmplz and build_binary; lmplz's ARPA file is what KenLM's trie is made from."""
    source = bench.texts.file("newswire")
    ours = bench.shell.run([*modlm_command(), "ngram", source, "-o", "newswire.model", "--force"])
    told = f"{size(ours.peak_bytes)}, {ours.seconds:.0f} s by the clock, {ours.cpu_seconds:.0f} s of CPU"
    theirs, binary = None, None
    if bench.kenlm is not None:
        arpa = ["-T", ".", "--text", source, "--arpa", "newswire.arpa"]
        theirs = bench.shell.run([bench.kenlm / "lmplz", "-o", "5", "-S", "4G", *arpa])
        binary = bench.shell.run(
            [bench.kenlm / "build_binary", "-T", ".", "probing", "newswire.arpa", "newswire.probing"]
        )
        (bench.folder / "newswire.probing").unlink()
    seconds = [one.seconds for one in (theirs, binary) if one]
    said = (
        f"lmplz -S 4G {size(theirs.peak_bytes)}, {seconds[0]:.0f} s; build_binary {seconds[1]:.0f} s" if theirs else "–"
    )
    ratio = theirs and ours.peak_bytes / theirs.peak_bytes
    bench.findings.judge(
        "build", "newswire, fast form: peak memory beside lmplz's", ratio, ours=told, theirs=said, at_most=1.0
    )
    ratio = ours.seconds / sum(seconds) if seconds else None
    bench.findings.judge(
        "build", "newswire, fast form: time beside lmplz and build_binary", ratio, ours=told, theirs=said, at_most=0.2
    )


PARTS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "build": (building, ("newswire",)),
    "size": (sizes, ("ptb", "newswire")),
    "exact": (exactness, ("ptb", "newswire")),
    "query": (queries, ("ptb", "newswire")),
    "distribution": (distributions, ("ptb", "newswire")),
    "make": (making, ("ptb", "newswire")),
    "foreign": (foreign, ("ptb",)),
    "phone": (phone, ("ptb",)),
    "pipeline": (pipeline, ("newswire",)),
}
"""What is measured, and of which texts."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and write the report; 1 when a measurement failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kenlm", type=Path, help="the folder with lmplz, build_binary, query and kenlm_benchmark")
    parser.add_argument("--tongrams", type=Path, help="the folder with build_trie and lookup_perf_test")
    parser.add_argument("--work", type=Path, help="keep texts and models there, and use them again")
    parser.add_argument("--texts", nargs="+", default=["ptb", "newswire"], choices=["ptb", "newswire"])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, help="measure only these")
    parser.add_argument("--out", type=Path, help="the report (default: reports/DATE-compact.md)")
    given = sys.argv[1:] if arguments is None else arguments
    asked, begun = parser.parse_args(given), time.perf_counter()
    date, findings, failed = datetime.date.today().isoformat(), Findings(), False
    before = report.load_average()
    with work_folder(asked.work) as folder:
        programs = [path.resolve() if path else None for path in (asked.kenlm, asked.tongrams)]
        bench = Bench(folder, Texts(folder, default_sources()), Shell(folder), findings, *programs)
        for text in asked.texts:
            for part in asked.parts:
                task, texts = PARTS[part]
                if text not in texts:
                    continue
                known = len(findings.bars)
                try:
                    task(bench, text) if len(texts) > 1 else task(bench)
                except Exception as error:
                    traceback.print_exc()
                    said = str(error).replace(f"{folder}/", "")[:300]
                    findings.remark(f"**A measurement stopped: {type(error).__name__}: {said}**")
                    failed = True
                for bar in findings.bars[known:]:
                    print(bar.line(), file=sys.stderr)
        commands = list(bench.shell.commands)
    machine = [*report.machine(kenlm_version="given" if asked.kenlm else "not given", bandwidths=())]
    machine.append(f"load average before: {before}, after: {report.load_average()}")
    for name, path in (("--kenlm", asked.kenlm), ("--tongrams", asked.tongrams)):
        if path is None:
            findings.remark(f"{name} was not given: the bars beside its programs are not measured.")
    findings.remark(f"The whole run took {time.perf_counter() - begun:.0f} s (models that were there were used again).")
    page = report.plain_page(
        findings,
        title=f"The compact form, {date}",
        command=own_command(given).replace("against_kenlm", "compact"),
        commands=commands,
        machine=machine,
    )
    out = asked.out or REPORTS / f"{date}-compact.md"
    with new_file(out) as target:
        target.write_text(page, encoding="utf-8")
    print(f"wrote {out}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
