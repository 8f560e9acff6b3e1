"""A text index beside infini-gram's own engine, on the same ids: building, counts, longest matches; finding and copies.

python benchmarks/index.py --text news.txt.xz ... --test test.txt --work FOLDER

infini-gram is the package of that name on PyPI (2.6.0 was tried); without it only our own numbers are printed. Its
index is built by its own program from the ids of ours; with more than 65,000 words (4 bytes an id) that asks for 34 GB
of memory whatever the text, so give --max-words 65000 to compare. Times are processor time unless said otherwise, since
that means the same on a machine that others use too; the two engines answer the same questions in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modlm.blocks.infinite import InfiniteBlock
from modlm.counts.overlap import overlaps
from modlm.counts.suffixes import TextIndex
from modlm.text.corpus import Corpus

END = 2  # as an index stores </s>


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--text", nargs="+", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True, help="a text to ask about")
    parser.add_argument("--work", type=Path, required=True, help="where the indexes go; what is there is used again")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--max-words", type=int, help="know only so many words, as modlm index does")
    parser.add_argument("--questions", type=int, default=20_000, metavar="N")
    return parser.parse_args(given)


def child(command: Sequence[object], **options: Any) -> dict[str, float]:
    """Run a command: seconds, processor seconds, and the largest memory of any child so far."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.perf_counter() - begun, "cpu": cpu, "gigabytes": after.ru_maxrss * 1024 / 1e9}


def width_of(index: TextIndex) -> int:
    """Bytes of an id there."""
    return 2 if len(index.vocabulary) < (1 << 16) - 2 else 4


def build_theirs(index: TextIndex, folder: Path, engine: Any) -> dict[str, float]:
    """infini-gram's files from the ids of ours, suffixes sorted by its own program as its indexing does."""
    folder.mkdir(parents=True)
    program = Path(engine.__file__).with_name("rust_indexing")
    data, width = folder / "tokenized.0", width_of(index)
    with data.open("wb") as stream, (folder / "offset.0").open("wb") as offsets:
        for shard, row in enumerate(index.table_SF):
            ids = index.stored(shard, 0, int(row[2]))
            for begin in np.flatnonzero(ids == 0).tolist():
                offsets.write(np.uint64(stream.tell() + width * begin).tobytes())
            np.where(ids == 0, (1 << 8 * width) - 1, ids).astype(f"<u{width}").tofile(stream)
    size = data.stat().st_size
    ratio = int(np.ceil(np.log2(size) / 8))
    parts, merged = folder / "parts", folder / "merged"
    parts.mkdir()
    merged.mkdir()
    common = ["--data-file", data, "--ratio", ratio, "--token-width", width]
    steps = [
        ["make-part", "--parts-dir", parts, "--start-byte", 0, "--end-byte", size],
        ["merge", "--parts-dir", parts, "--merged-dir", merged, "--num-threads", 1, "--hacksize", 100_000],
        ["concat", "--merged-dir", merged, "--merged-file", folder / "table.0", "--num-threads", 1],
    ]
    told = [child([program, *step, *common]) for step in steps]
    for place in (parts, merged):
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
    return {
        "seconds": sum(one["seconds"] for one in told), "cpu": sum(one["cpu"] for one in told),
        "gigabytes": max(one["gigabytes"] for one in told),
    }  # fmt: skip


def in_turns(tasks: dict[str, Callable[[], object]], rounds: int = 3) -> dict[str, float]:
    """The best processor time of each task."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            begun = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - begun)
    return best


def questions(index: TextIndex, count: int, rng: random.Random) -> list[list[int]]:
    """Rows of 1 to 10 stored ids out of one sentence of the index, every third with a word changed."""
    asked, size = list[list[int]](), int(index.table_SF[0, 2])
    while len(asked) < count:
        place, length = rng.randrange(size - 12), rng.randint(1, 10)
        words = index.stored(0, place, place + length).tolist()
        if len(words) == length and 0 not in words and END not in words:
            if len(asked) % 3 == 0:
                words[rng.randrange(length)] = rng.randrange(3, len(index.vocabulary))
            asked.append(words)
    return asked


def planted(index: TextIndex, work: Path, rng: random.Random, count: int = 1000) -> dict[str, int]:
    """Copies of 8 words of the index in a text of words that never stand so, with other line breaks."""
    words, places, size = list[str](), 0, int(index.table_SF[0, 2])
    while places < count:
        place = rng.randrange(size - 40)
        ids = [one for one in index.stored(0, place, place + 40).tolist() if one != END]
        if 0 not in ids and len(ids) >= 8:
            words += [*index.vocabulary.decode(np.array(ids[:8]) - 1), "never-heard-of"]
            places += 1
    lines = list[str]()
    while words:
        cut = rng.randint(1, 13)
        lines.append(" ".join(words[:cut]))
        words = words[cut:]
    (work / "planted.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = overlaps(index, work / "planted.txt")
    eights = sum(stretch.length == 8 for stretch in found.stretches)
    return {"planted": count, "found": eights, "others": len(found.stretches) - eights}


def main(given: Sequence[str] | None = None) -> None:
    """Measure, and print one JSON object."""
    asked = arguments(given)
    rng = random.Random(1)
    told: dict[str, Any] = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    ours = asked.work / "ours"
    if not ours.exists():
        command = [sys.executable, "-m", "modlm", "index", *asked.text, "-o", ours, "--memory", asked.memory]
        command += ["--max-words", asked.max_words] if asked.max_words else []
        told["build"] = child(command)
    index = TextIndex.open(ours)
    size = sum(file.stat().st_size for file in ours.iterdir())
    told |= {"words": index.words, "sentences": index.sentences, "bytes a word": size / index.words}

    corpus = Corpus.from_text(asked.test, index.vocabulary)
    ids = np.asarray(corpus.ids)
    block = InfiniteBlock(index, longest=1000)
    predicted = int(np.count_nonzero(ids != index.vocabulary.start))
    block.contexts_along(ids, 1)
    block.rows(ids)
    alone = in_turns({"walk": lambda: block.contexts_along(ids, 1), "rows": lambda: block.rows(ids)})
    told["longest matches a second"] = predicted / alone["walk"]
    told["rows of three columns with features a second"] = predicted / alone["rows"]

    asked_for = questions(index, asked.questions, rng)
    arrays = [np.array(words, np.uint32) - np.uint32(1) for words in asked_for]
    texts = [" ".join(index.vocabulary.decode(words)) for words in arrays[:1000]]
    index.find(texts[0])
    told["milliseconds of a find with 10 places"] = (
        1000 * in_turns({"find": lambda: [*map(index.find, texts)]})["find"] / len(texts)
    )
    overlaps(index, asked.test)
    told["seconds of an overlap"] = in_turns({"overlap": lambda: overlaps(index, asked.test)}, 1)["overlap"]
    told["overlap"] = {"words": (copied := overlaps(index, asked.test)).words, "covered": copied.covered}
    told["planted copies"] = planted(index, asked.work, rng)
    try:
        import infini_gram.engine as engine
    except ImportError:
        print(json.dumps(told, indent=1))
        return
    theirs = asked.work / "theirs"
    if not theirs.exists():
        told["build of infini-gram's"] = build_theirs(index, theirs, engine)
    told["bytes a word of infini-gram's"] = sum(file.stat().st_size for file in theirs.iterdir()) / index.words
    other = engine.InfiniGramEngine(
        str(theirs), eos_token_id=0, vocab_size=len(index.vocabulary) + 2, token_dtype=f"u{8 * width_of(index)}"
    )
    told |= compare(index, block, other, asked_for, ids)
    print(json.dumps(told, indent=1))


def compare(
    index: TextIndex, block: InfiniteBlock, other: Any, asked: list[list[int]], ids: np.ndarray
) -> dict[str, Any]:
    """Equal counts, and the speed of both, question by question; then longest matches along a text."""
    from modlm.counts import suffix_kernels

    row, tables = index.table_SF[0], index.tables
    stored = [np.array(words, np.uint32) for words in asked]

    def within(words: np.ndarray) -> int:
        low, high = suffix_kernels.search(tables, row, words, 0, len(words))
        return int(high - low)

    equal = sum(within(mine) == other.count(words)["count"] for mine, words in zip(stored, asked, strict=True))
    speed = in_turns({"ours": lambda: [*map(within, stored)], "theirs": lambda: [*map(other.count, asked)]})
    start, text = index.vocabulary.start, ids[: 1 + np.flatnonzero(ids == 1)[min(1000, np.count_nonzero(ids == 1) - 1)]]
    lengths_T, counts_T, ranges_TS2 = block.contexts_along(text, 1)
    totals_T = (ranges_TS2[:, :, 1] - ranges_TS2[:, :, 0]).sum(axis=1)
    prompts, begin = list[tuple[int, list[int], int]](), 0
    for place, word in enumerate(text.tolist()):
        begin = place if word == start else begin
        if word != start:
            before = [END if one == start else one + 1 for one in text[begin:place].tolist()]
            prompts.append((place, before, word + 1))
    same = different = 0
    for place, before, word in prompts:
        answer = other.infgram_prob(before, word)
        mine = (int(lengths_T[place]), int(totals_T[place]), int(counts_T[place]))
        if mine[0] == 0 or (
            mine[0] == 1 and before[-1] == END
        ):  # theirs goes on to single words, and counts ends of documents
            continue
        if mine == (answer["suffix_len"], answer["prompt_cnt"], answer["cont_cnt"]):
            same += 1
        else:
            different += 1
    walked = in_turns({
        "ours": lambda: block.contexts_along(text, 1),
        "theirs": lambda: [other.infgram_prob(before, word) for _, before, word in prompts],
    })  # fmt: skip
    return {
        "questions": len(asked), "equal counts": equal,
        "microseconds of a count": {name: 1e6 * cpu / len(asked) for name, cpu in speed.items()},
        "longest matches": same + different, "equal longest matches": same,
        "longest matches a second beside it": {name: len(prompts) / cpu for name, cpu in walked.items()},
    }  # fmt: skip


if __name__ == "__main__":
    main()
