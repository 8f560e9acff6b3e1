"""Documents of a mixed collection scored, beside kenlm + sentencepiece as datatrove calls them; and what ranks last.

    python benchmarks/documents.py --work FOLDER --report reports/DATE-documents.md

Text comes from `natural/` of MODLM_DATA: models are trained on the first half of each corpus, documents are windows of
three to nine sentences of the other half. Known shares of rubbish are mixed in: letters at random, other languages
(messages of programs in European languages, Japanese sentences), source code, boilerplate, and words in a random order.
Ours runs as the command `modlm score --documents` with one worker, theirs as a loop over datatrove's own class that
reads and writes the same JSON lines, each on one core, in turns; ratios are of processor time. Theirs needs
datatrove, sentencepiece and kenlm; without them our own numbers are measured all the same.
"""

from __future__ import annotations

import argparse
import datetime
import gettext
import importlib.util
import json
import lzma
import os
import random
import string
import sys
import sysconfig
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from modlm.experiments.machine import processor
from modlm.text.web import Preparation
from side_by_side.processes import Finished, Shell

SHARES = {"text": 0.7, "gibberish": 0.06, "languages": 0.06, "code": 0.06, "boilerplate": 0.06, "shuffled": 0.06}
CORPORA = ("newswire", "abstracts")
MENU = (
    "Home|About us|Contact|Log in|Sign up|Cart (0)|My account|Search|Privacy policy|Terms of service|Cookie settings|"
    "Share this|Tweet|Pin it|Read more »|Next ›|‹ Previous|Skip to content|Subscribe to our newsletter|Site map|Print|"
    "All rights reserved ©|Follow us on Facebook|Accept all cookies|Add to basket|Free shipping|Copyright|FAQ|Careers|"
    "Help|Download PDF|Email"
).split("|")
LARGE, SMALL = "100000", "5000"  # words that the models know
MODELS = {
    "spelled": ["--max-words", LARGE, "--spelling"], "plain": ["--max-words", LARGE],
    "small-spelled": ["--max-words", SMALL, "--spelling"], "small": ["--max-words", SMALL],
}  # fmt: skip


def sentences(corpus: str, part: str) -> list[str]:
    place = Path(os.environ["MODLM_DATA"]) / "natural" / f"{corpus}.{part}.txt.xz"
    return lzma.decompress(place.read_bytes()).decode().splitlines()


def messages() -> list[str]:
    """What programs that are installed say in other languages."""
    found: list[str] = []
    for catalogue in sorted(Path(sysconfig.get_paths()["purelib"]).glob("sphinx/locale/*/LC_MESSAGES/sphinx.mo")):
        if not catalogue.parts[-3].startswith("en"):
            with catalogue.open("rb") as stream:
                known = gettext.GNUTranslations(stream)._catalog  # type: ignore[attr-defined]
            found += [text for text in known.values() if len(text.split()) > 2]
    return found


def source_code() -> list[str]:
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    return [line for file in files for line in file.read_text(errors="replace").splitlines() if line.strip()]


def window(lines: list[str], rng: random.Random) -> list[str]:
    length = rng.randrange(3, 10)
    begin = rng.randrange(max(1, len(lines) - length))
    return lines[begin : begin + length]


def documents(count: int, held_out: list[list[str]]) -> Iterator[dict[str, Any]]:
    """So many, with what each is; the same whenever they are made."""
    rng = random.Random(20)
    japanese = Path(os.environ["MODLM_DATA"]) / "parallel" / "tanaka.train.ja.txt.xz"
    foreign = [messages(), lzma.decompress(japanese.read_bytes()).decode().splitlines()]
    code = source_code()
    kinds = rng.choices(list(SHARES), list(SHARES.values()), k=count)
    for number, kind in enumerate(kinds):
        lines = window(rng.choice(held_out), rng)
        if kind == "gibberish":
            letters = string.ascii_lowercase + (string.digits if rng.random() < 0.5 else "")
            lines = [
                " ".join("".join(rng.choices(letters, k=rng.randrange(2, 11))) for _ in line.split()) for line in lines
            ]
        elif kind == "languages":
            other = rng.choice(foreign)
            lines = rng.sample(other, min(len(lines), len(other)))
        elif kind == "code":
            lines = window(code, rng) + window(code, rng)
        elif kind == "boilerplate":
            lines = [rng.choice((" | ", " ", " · ")).join(rng.sample(MENU, rng.randrange(4, 12))) for _ in lines]
        elif kind == "shuffled":
            words = [line.split() for line in lines]
            for some in words:
                rng.shuffle(some)
            lines = [" ".join(some) for some in words]
        yield {"id": number, "kind": kind, "text": "\n".join(lines)}


def prepare(work: Path, count: int, training: int | None, *, beside_theirs: bool) -> None:
    """Texts, documents, our models, theirs; what lies there already is used."""
    halves = {corpus: sentences(corpus, "train") for corpus in CORPORA}
    first = [line for lines in halves.values() for line in lines[: len(lines) // 2][:training]]
    if not (work / "documents.jsonl").exists():
        held_out = [lines[len(lines) // 2 :] for lines in halves.values()]
        with (work / "documents.jsonl").open("w") as stream:
            for record in documents(count, held_out):
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    shell = Shell(work)
    for name, normalize in (("words", "words"), *([("ccnet", "ccnet")] if beside_theirs else [])):
        if not (work / f"train.{name}.txt").exists():
            (work / f"train.{name}.txt").write_text("\n".join([*Preparation(normalize)(first), ""]))
    modlm = [sys.executable, "-m", "modlm"]
    for folder, more in MODELS.items():
        if not (work / folder).exists():
            shell.run([*modlm, "ngram", "train.words.txt", "-o", folder, *more])
    if beside_theirs and not (work / "pieces.arpa").exists():
        import sentencepiece

        sentencepiece.SentencePieceTrainer.train(
            input=str(work / "train.ccnet.txt"), model_prefix=str(work / "pieces"),
            vocab_size=300 if training else 32000, input_sentence_size=200_000, shuffle_input_sentence=True,
            num_threads=2, minloglevel=2,
        )  # fmt: skip
        model = sentencepiece.SentencePieceProcessor(model_file=str(work / "pieces.model"))
        with (work / "train.pieces.txt").open("w") as stream:
            for line in (work / "train.ccnet.txt").read_text().splitlines():
                stream.write(" ".join(model.encode_as_pieces(line)).replace("<s>", "s") + "\n")
        shell.run([*modlm, "ngram", "train.pieces.txt", "-o", "pieces", "--arpa", "pieces.arpa", "--force"])


def theirs_is_here() -> bool:
    return all(importlib.util.find_spec(name) for name in ("datatrove", "kenlm", "sentencepiece"))


def theirs(work: Path, limit: int) -> None:
    """A process of its own: datatrove's class over the files, one document after the other."""
    import kenlm
    import sentencepiece
    from datatrove.utils.perplexity import KenlmModel, SentencePiece

    model = KenlmModel("here", "en")
    model._model = kenlm.Model(str(work / "pieces.arpa"))
    model._tokenizer = SentencePiece("here", "en")
    model._tokenizer._model = sentencepiece.SentencePieceProcessor(model_file=str(work / "pieces.model"))
    with (work / "documents.jsonl").open() as stream, (work / "theirs.jsonl").open("w") as out:
        for line in islice(stream, limit):
            record = json.loads(line)
            found = {"id": record["id"], "perplexity": model.get_perplexity(record["text"])}
            out.write(json.dumps(found) + "\n")


def area(good: np.ndarray, bad: np.ndarray) -> float:
    """How often a document of rubbish has the higher perplexity of a pair; half for equal ones."""
    ordered = np.sort(good)
    below, upto = np.searchsorted(ordered, bad, "left"), np.searchsorted(ordered, bad, "right")
    return float((below + upto).mean() / 2 / len(good))


def perplexities(path: Path) -> np.ndarray:
    with path.open() as stream:
        return np.array([json.loads(line)["perplexity"] or np.inf for line in stream])


def ours(shell: Shell, model: str, files: list[str], out: str, stdin: str = "") -> Finished:
    command = [sys.executable, "-m", "modlm", "score", model, *files, "--documents", "--normalize", "words"]
    shell.run(["rm", "-f", out], show=False)
    return shell.run([*command, "--id", "id", "--workers", "1", "--threads", "1", "-o", out], threads=1, stdin=stdin)


def measured(work: Path, asked: argparse.Namespace) -> list[str]:
    shell = Shell(work)
    page = [line for name in asked.parts for line in [*MEASURES[name](work, shell, asked), ""]]
    return [*page, "## Commands", "", *(f"    {command}" for command in shell.commands)]


def speed(work: Path, shell: Shell, asked: argparse.Namespace) -> list[str]:
    count = asked.documents
    page = ["## Documents a second of one core", "", "| | processor seconds | documents/s |", "|---|--:|--:|"]
    runs: dict[str, list[float]] = {"ours": [], "theirs": []}
    (work / "none.jsonl").write_text('{"id": 0, "text": "a"}\n')
    for _ in range(asked.repetitions):
        runs["ours"].append(ours(shell, "spelled", ["documents.jsonl"], "ours.jsonl").cpu_seconds)
        if asked.beside_theirs:
            seconds = [
                shell.run([sys.executable, __file__, "--work", ".", "--theirs", str(n)], threads=1).cpu_seconds
                for n in (asked.theirs_documents, 1)
            ]
            runs["theirs"].append((seconds[0] - seconds[1]) * count / asked.theirs_documents)
    start = ours(shell, "spelled", ["none.jsonl"], "none.out").cpu_seconds
    best = {name: min(found) for name, found in runs.items() if found}
    for name, seconds in best.items():
        page.append(f"| {name} | {seconds:.1f} | {count / seconds:,.0f} |")
    page += ["", f"Ours has its start of {start:.1f} s in it; theirs is without its start, and from the first "
             f"{asked.theirs_documents:,} documents. {asked.repetitions} repetitions in turns, the best."]  # fmt: skip
    if "theirs" in best:
        ratio = best["theirs"] / best["ours"]
        page += ["", f"**{ratio:.1f} × as many documents a second (aim: 3 ×): {'yes' if ratio >= 3 else 'no'}.**"]
    return page


def ranking(work: Path, shell: Shell, asked: argparse.Namespace) -> list[str]:
    page = ["## What ranks last", "", "Area under the curve for telling rubbish from text by perplexity.", ""]
    with (work / "documents.jsonl").open() as stream:
        kinds = np.array([json.loads(line)["kind"] for line in stream])
    columns = {}
    for folder, (_, words, *spelling) in MODELS.items():
        ours(shell, folder, ["documents.jsonl"], f"{folder}.jsonl")
        columns[f"ours, {int(words):,} words, {'--spelling' if spelling else 'without'}"] = f"{folder}.jsonl"
    if asked.beside_theirs:
        shell.run([sys.executable, __file__, "--work", ".", "--theirs", str(asked.documents)], threads=1)
        columns["KenLM + sentencepiece"] = "theirs.jsonl"
    found = {name: perplexities(work / file) for name, file in columns.items()}
    page += ["| | share | " + " | ".join(found) + " |", "|---" + "|--:" * (len(found) + 1) + "|"]
    for kind in [*list(SHARES)[1:], "all"]:
        chosen = kinds != "text" if kind == "all" else kinds == kind
        areas = [f"{area(values[kinds == 'text'], values[chosen]):.4f}" for values in found.values()]
        page.append(f"| {kind} | {chosen.mean():.1%} | {' | '.join(areas)} |")
    return page


def memory(work: Path, shell: Shell, asked: argparse.Namespace) -> list[str]:
    told = "Large files and standard input have the model taken into memory, small files leave it mapped."
    page = ["## Memory", "", told, "", "| documents | file: peak MB | standard input: peak MB |", "|--:|--:|--:|"]
    lines = (work / "documents.jsonl").read_text().splitlines(keepends=True)
    for size in asked.memory:
        (work / "some.jsonl").write_text("".join(islice(cycle(lines), size)))
        found = [ours(shell, "spelled", ["some.jsonl"], "some.out")]
        found.append(ours(shell, "spelled", ["-"], "some.out", "some.jsonl"))
        page.append(f"| {size:,} | {' | '.join(f'{one.peak_bytes / 1e6:.0f}' for one in found)} |")
    (work / "some.jsonl").unlink()
    return page


MEASURES = {"speed": speed, "ranking": ranking, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--training", type=int, help="sentences of each corpus to train on; all of its first half")
    parser.add_argument("--theirs-documents", type=int, default=20_000, help="of which their speed is taken")
    parser.add_argument("--theirs", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--without-theirs", dest="beside_theirs", action="store_false", default=theirs_is_here())
    asked = parser.parse_args()
    if asked.theirs is not None:
        theirs(asked.work, asked.theirs)
        return
    asked.work.mkdir(parents=True, exist_ok=True)
    asked.work = asked.work.resolve()
    prepare(asked.work, asked.documents, asked.training, beside_theirs=asked.beside_theirs)
    shares = ", ".join(f"{kind} {share:.0%}" for kind, share in SHARES.items())
    about = f"{asked.documents:,} documents: {shares}. {processor()}; shared with other work, so read the ratios."
    page = [f"# Documents, {datetime.date.today()}", "", about, "", *measured(asked.work, asked)]
    text = "\n".join([*page, ""]).replace(sys.executable, "python").replace(str(Path(__file__).parent), "benchmarks")
    if asked.report:
        asked.report.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
