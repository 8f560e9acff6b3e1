"""A speech recogniser fused with token n-grams of the domain's text, end to end: word error rates and what fusion costs.

    python benchmarks/speech.py --recogniser FOLDER --work FOLDER            # utterances from the folder MODLM_DATA
    python benchmarks/speech.py ... --general TEXT                           # for the bigram that LODR subtracts
    python benchmarks/speech.py ... --only greedy beam mixture               # some systems
    python benchmarks/speech.py ... --out report.md --json report.json

`moonshine.py` says how to get the recogniser. Every setting of a system is decoded on the dev part; the one with the
fewest word errors (the first of equals, and settings are listed from the mildest) is decoded on the test part, once.
What has been decoded lies in the work folder and is not decoded again, so a run that was interrupted goes on.
Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from beam_search import Fusion, beam_search
from modlm.errors import ConfigError, require
from modlm.evaluation.error_rate import count_errors, drawn_errors, interval, probability_better
from modlm.ground.arrays import Floats, Ints, Singles
from modlm.ground.files import new_file
from modlm.ground.progress import watched
from modlm.integrations.fusion import ShallowFusion, decoder_tokens
from modlm.integrations.mixture_fusion import MixtureFusion, fit_mixture
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.model.ngram_lm import NgramLM
from modlm.text.tokens import TokenVocabulary
from moonshine import END, Listening, Moonshine

BEAM = 4
DRAWS = 10_000
PARTS = ("dev", "test")
Setting = dict[str, Any]
WEIGHTS = (0.1, 0.15, 0.2)
PAIRS = ((0.2, 0.1), (0.3, 0.2), (0.4, 0.3))  # of the domain's n-grams, and of the bigram
SYSTEMS: dict[str, list[Setting]] = {
    "greedy": [{"beam": 1}],
    "beam": [{"beam": BEAM}],
    "log-linear": [{"weight": weight, "bonus": bonus} for weight in WEIGHTS for bonus in (0.0, 0.3)],
    "LODR": [{"weight": weight, "minus": minus, "bonus": bonus} for weight, minus in PAIRS for bonus in (0.0, 0.3)],
    "mixture": [{"mixer": mixer} for mixer in ("static", "gli", "net")],
}


@dataclass(frozen=True)
class Utterance:
    """A recording and what was read."""

    name: str
    audio: Path
    text: str
    part: str


class Decoded(NamedTuple):
    """The n-best texts of each utterance of a part, and processor seconds: of everything, of the fusion in it."""

    texts: list[list[str]]
    scores: list[list[float]]
    seconds: float
    fusion: float


def plain(text: str) -> str:
    """A text as it is compared: lower case, letters and apostrophes only."""
    return " ".join(re.sub(r"[^a-z' ]", " ", text.lower().replace("-", " ")).split())


class Timed:
    """A fusion that counts the processor seconds it takes."""

    def __init__(self, fusion: Fusion) -> None:
        self.fusion, self.seconds = fusion, 0.0

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self.fusion, name)

        def counted(*values: Any) -> Any:
            begun = time.process_time()
            found = inner(*values)
            self.seconds += time.process_time() - begun
            return found

        return counted


class Workshop:
    """The recogniser, the utterances, the models, and what has been decoded so far."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.work, self.data, self.general, self.order = asked.work, asked.data, asked.general, asked.order
        self.work.mkdir(parents=True, exist_ok=True)
        self.net = Moonshine(asked.recogniser)
        lines = (json.loads(line) for line in (self.data / "utterances.jsonl").read_text().splitlines())
        self.utterances = [Utterance(u["id"], self.data / u["audio"], u["text"], u["part"]) for u in lines]
        self.vocabulary = TokenVocabulary.from_tokenizer(self.net.tokenizer)
        self.tokens = decoder_tokens(self.vocabulary, END)

    def of(self, part: str) -> list[Utterance]:
        """The utterances of a part."""
        return [one for one in self.utterances if one.part == part]

    def listening(self, utterance: Utterance) -> tuple[Listening, float]:
        """A decoder for an utterance, and the seconds that its encoder took when it ran."""
        kept = self.work / "encoded" / f"{utterance.name}.npz"
        if not kept.exists():
            soundfile = require("soundfile", extra="speech", purpose="Reading audio")
            audio = soundfile.read(utterance.audio, dtype="float32")[0]
            begun = time.process_time()
            hidden_SH = self.net.encode(audio)
            kept.parent.mkdir(exist_ok=True)
            np.savez(kept, hidden=hidden_SH, samples=len(audio), seconds=time.process_time() - begun)
        found = np.load(kept)
        return self.net.listen(found["hidden"], int(found["samples"])), float(found["seconds"])

    @cached_property
    def domain(self) -> LanguageModel:
        """The n-grams of the domain's text."""
        return self._model(f"domain-{self.order}", self.data / "domain.txt.xz", self.order)

    @cached_property
    def own(self) -> LanguageModel:
        """The bigram that stands for what the recogniser learned of its own training text."""
        if self.general is None:
            raise ConfigError("LODR subtracts a bigram. Name a text of the recogniser's kind with --general.")
        return self._model("general-2", self.general, 2)

    def _model(self, name: str, text: Path, order: int) -> LanguageModel:
        folder = self.work / name
        if not folder.exists():
            NgramLM.fit(text, order, vocabulary=self.vocabulary).save(folder)
        return load(folder)

    def heard(self) -> Iterator[tuple[Ints, Singles]]:
        """The dev sentences as tokens, and what the recogniser expected at each, given the right ones before."""
        back = np.argsort([self.vocabulary.id(name) for name in self.tokens])
        for utterance in self.of("dev"):
            tokens = np.append(back[self.vocabulary.encode(utterance.text)], END)
            yield tokens, self.listening(utterance)[0].along(tokens)

    def fusion(self, setting: Setting) -> Fusion | None:
        """What a setting puts beside the recogniser."""
        if mixer := setting.get("mixer"):
            folder = self.work / f"mixture-{self.order}-{mixer}"
            if not folder.exists():
                fit_mixture(self.domain, self.heard(), self.tokens, mixer=mixer).save(folder)
            return MixtureFusion(load(folder), self.tokens)
        if "weight" not in setting:
            return None
        minus = (self.own, setting["minus"]) if "minus" in setting else None
        return ShallowFusion(self.domain, self.tokens, weight=setting["weight"], minus=minus)

    def decoded(self, part: str, setting: Setting) -> Decoded:
        """A part under a setting, from the work folder if it is there."""
        name = "-".join([part, str(self.order), *(f"{key}={value}" for key, value in sorted(setting.items()))])
        kept = self.work / "decoded" / f"{name}.json"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            found = self._decode(part, setting)
            with new_file(kept) as path:
                path.write_text(json.dumps(found._asdict()), encoding="utf-8")
        return Decoded(**json.loads(kept.read_text(encoding="utf-8")))

    def _decode(self, part: str, setting: Setting) -> Decoded:
        fusion = self.fusion(setting)
        timed = Timed(fusion) if fusion is not None else None
        beam, bonus = setting.get("beam", BEAM), setting.get("bonus", 0.0)
        texts, scores, seconds = list[list[str]](), list[list[float]](), 0.0
        if fusion is not None:  # compile what is compiled when first used
            self._search(self.of(part)[0], fusion, beam, bonus)
        for count, utterance in enumerate(self.of(part), 1):
            begun = time.process_time()
            found, encoder = self._search(utterance, timed, beam, bonus)
            seconds += time.process_time() - begun + encoder
            texts.append([self.vocabulary.join([self.tokens[token] for token in one.tokens]) for one in found])
            scores.append([one.score for one in found])
            if watched():
                print(f"\r{part} {setting}: {count} of {len(self.of(part))}", end="", file=sys.stderr, flush=True)
        return Decoded(texts, scores, seconds, timed.seconds if timed else 0.0)

    def _search(self, utterance: Utterance, fusion: Any, beam: int, bonus: float) -> tuple[Any, float]:
        decoder, encoder = self.listening(utterance)
        return beam_search(decoder, fusion, beam=beam, end=END, most=decoder.most, bonus=bonus), encoder


# ---- numbers ---------------------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """A system: its setting, how many were tried on dev, errors of each utterance, and times."""

    system: str
    setting: Setting
    tried: int
    errors: dict[str, Ints]
    lengths: dict[str, Ints]
    share: float
    """Of the time of decoding, encoder included, on the test part."""

    def rate(self, part: str) -> float:
        """Word errors for each word."""
        return float(self.errors[part].sum() / self.lengths[part].sum())


def errors_of(shop: Workshop, part: str, found: Decoded) -> tuple[Ints, Ints]:
    """Word errors of the best texts, and the words of the references."""
    references = [plain(one.text) for one in shop.of(part)]
    counted = count_errors([plain(best[0]) for best in found.texts], references, np.arange(len(references)))
    return counted.distances, counted.lengths


def measured(shop: Workshop, system: str, settings: list[Setting]) -> Measured:
    """The best setting on dev, decoded on test."""
    on_dev = [errors_of(shop, "dev", shop.decoded("dev", setting)) for setting in settings]
    best = int(np.argmin([errors.sum() for errors, _ in on_dev]))
    found = shop.decoded("test", settings[best])
    errors, lengths = errors_of(shop, "test", found)
    counts = {"dev": on_dev[best][0], "test": errors}, {"dev": on_dev[best][1], "test": lengths}
    return Measured(system, settings[best], len(settings), *counts, found.fusion / found.seconds)


def reduction(drawn_D: Floats, base_D: Floats) -> Floats:
    """How much fewer errors there are, relatively, in each draw."""
    return 1.0 - drawn_D / np.where(base_D > 0, base_D, 1.0)


def needed(one: Measured, base: Measured, *, power: float = 0.84, level: float = 1.96) -> int:
    """Utterances like these at which a difference as large would be seen with 80 % power at the 5 % level."""
    fewer = base.errors["test"] - one.errors["test"]
    spread = float(np.std(fewer, ddof=1)) / max(abs(float(np.mean(fewer))), 1e-12)
    return int(np.ceil(((power + level) * spread) ** 2))


def table(found: list[Measured], rng: np.random.Generator) -> tuple[list[str], list[dict[str, Any]]]:
    """Rows in Markdown and for programs; intervals from drawing the test utterances again, alike for all systems."""
    errors_UM = np.stack([one.errors["test"] for one in found], axis=1)
    drawn_DM = drawn_errors(errors_UM, found[0].lengths["test"], rng=rng, draws=DRAWS)
    lines = ["| system | setting | tried on dev | dev WER % | test WER % | 95 % | fewer errors than greedy | than beam | "
             "better than beam | utterances needed | fusion |", "|---|---|--:|--:|--:|---|---|---|--:|--:|--:|"]  # fmt: skip
    rows = []
    places = {one.system: place for place, one in enumerate(found)}
    for place, one in enumerate(found):
        low, high = interval(drawn_DM[:, place])
        row: dict[str, Any] = {
            "system": one.system, "setting": one.setting, "tried": one.tried, "dev": one.rate("dev"),
            "test": one.rate("test"), "interval": [low, high], "fusion_share": one.share,
            "errors": int(one.errors["test"].sum()), "words": int(one.lengths["test"].sum()),
        }  # fmt: skip
        against = {}
        for base in ("greedy", "beam"):
            if base in places and base != one.system and not (base == "beam" and one.system == "greedy"):
                base_D = drawn_DM[:, places[base]]
                less = interval(reduction(drawn_DM[:, place], base_D))
                whole = 1 - one.rate("test") / found[places[base]].rate("test")
                row[f"fewer_than_{base}"] = [whole, *less]
                against[base] = f"{100 * whole:.1f} % ({100 * less[0]:.1f} – {100 * less[1]:.1f})"
                row[f"better_than_{base}"] = probability_better(drawn_DM[:, place], base_D)
        if "beam" in against:
            row["needed"] = needed(one, found[places["beam"]])
        setting = ", ".join(f"{key} {value}" for key, value in one.setting.items())
        cells = [
            one.system, setting, str(one.tried), f"{100 * row['dev']:.2f}", f"{100 * row['test']:.2f}",
            f"{100 * low:.2f} – {100 * high:.2f}", against.get("greedy", ""), against.get("beam", ""),
            f"{row['better_than_beam']:.3f}" if "beam" in against else "", str(row.get("needed", "")),
            f"{100 * one.share:.1f} %" if one.share else "",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
        rows.append(row)
    return lines, rows


def main(arguments: list[str] | None = None) -> int:
    """Decode, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder: Callable[[str], Path] = Path
    parser.add_argument("--recogniser", type=folder, required=True, help="where both packages were unzipped")
    parser.add_argument("--work", type=folder, required=True, help="keeps encoded audio, models and what was decoded")
    parser.add_argument("--data", type=folder, default=Path(os.environ.get("MODLM_DATA", ".")) / "speech")
    parser.add_argument("--general", type=folder, help="a text, one sentence a line, for the bigram of LODR")
    parser.add_argument("--order", type=int, default=5, help="of the domain's n-grams")
    parser.add_argument("--only", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--out", type=folder)
    parser.add_argument("--json", type=folder)
    asked = parser.parse_args(arguments)
    shop = Workshop(asked)
    found = [measured(shop, system, SYSTEMS[system]) for system in asked.only]
    lines, rows = table(found, np.random.default_rng(1))
    print("\n".join(lines))
    for path, text in ((asked.out, "\n".join(lines) + "\n"), (asked.json, json.dumps(rows, indent=1) + "\n")):
        if path is not None:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
