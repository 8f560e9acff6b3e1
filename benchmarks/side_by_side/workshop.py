"""The work folder: texts, the models that both programs make of them, and the rules of a run."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import modlm
from modlm import NgramLM
from side_by_side.findings import Findings, size
from side_by_side.processes import Finished, Shell, modlm_command
from side_by_side.texts import Texts

ORDER = 5
THREADS = 2
TRAINING = {"ptb": "ptb.train", "newswire": "newswire", "wide": "wide"}
"""Models and the texts they are made of."""
PROGRAMS = ("lmplz", "build_binary", "query", "kenlm_benchmark")


@dataclass
class Workshop:
    """Everything that a measurement needs."""

    texts: Texts
    shell: Shell
    findings: Findings
    kenlm: Path | None = None
    """The folder with KenLM's programs."""
    quick: bool = False
    asked_repetitions: int | None = None
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What `modlm ngram --json` said about each model."""

    def repetitions(self, usual: int) -> int:
        """How often to measure."""
        return 1 if self.quick else self.asked_repetitions or usual

    def settle(self) -> None:
        """Have everything written, so that nobody waits for what the other wrote."""
        if not self.quick:
            os.sync()

    def models(self, *names: str) -> list[str]:
        """Those of the models whose texts were given; the others get a remark."""
        for name in names:
            if not self.texts.has(TRAINING[name]):
                self.findings.remark(f"No text was given for the {name} model, so its measurements are missing.")
        return [name for name in names if self.texts.has(TRAINING[name])]

    # ---- ours ----------------------------------------------------------------------------------------------------

    def ours(self, name: str) -> Path:
        """Our model folder, made if need be."""
        folder = self.texts.folder / f"{name}.model"
        if not folder.exists():
            self.build_ours(name)
        return folder

    def load(self, name: str) -> NgramLM:
        """Our model, opened."""
        return cast("NgramLM", modlm.load(self.ours(name)))

    def build_ours(self, name: str) -> Finished:
        """Train anew."""
        target = self.texts.folder / f"{name}.model"
        shutil.rmtree(target, ignore_errors=True)
        text = self.texts.file(TRAINING[name])
        self.settle()
        command = [*modlm_command(), "ngram", text, "-o", target.name, "--order", str(ORDER), "--json"]
        done = self.shell.run(command, threads=THREADS)
        self.reports[name] = json.loads(done.output)
        return done

    def ours_bytes(self, name: str) -> int:
        """The size of our model folder."""
        return sum(path.stat().st_size for path in self.ours(name).rglob("*") if path.is_file())

    # ---- theirs --------------------------------------------------------------------------------------------------

    def program(self, name: str) -> Path:
        """One of KenLM's programs."""
        assert self.kenlm is not None
        return self.kenlm / name

    def theirs(self, name: str) -> Path | None:
        """KenLM's probing binary, made if need be; None without KenLM's programs."""
        if self.kenlm is None:
            self.findings.remark("KenLM's programs were not given (--kenlm), so everything beside them is missing.")
            return None
        binary = self.texts.folder / f"{name}.probing"
        if not binary.exists():
            self.build_theirs(name)
        return binary

    def build_theirs(self, name: str) -> tuple[Finished, Finished]:
        """Train anew: lmplz, then build_binary."""
        arpa, binary = f"{name}.arpa", f"{name}.probing"
        text = self.texts.file(TRAINING[name])
        for file in (arpa, binary):
            (self.texts.folder / file).unlink(missing_ok=True)
        self.settle()
        options = ["-o", str(ORDER), "-S", "4G", "-T", ".", "--text", text, "--arpa", arpa]
        if self.quick:
            options.append("--discount_fallback")  # tiny texts have no counts of counts
        estimated = self.shell.run([self.program("lmplz"), *options])
        built = self.shell.run([self.program("build_binary"), "probing", arpa, binary])
        (self.texts.folder / arpa).unlink()
        return estimated, built

    @cached_property
    def _module(self) -> Any:
        try:
            import kenlm
        except ImportError:
            self.findings.remark(
                "The kenlm package is not installed (extra: peers), so everything beside it is missing."
            )
            return None
        return kenlm

    @property
    def module(self) -> Any:
        """The kenlm package; None without it."""
        return self._module

    def their_model(self, name: str) -> Any:
        """KenLM's model opened in Python; None if that cannot be."""
        binary = self.theirs(name)
        return self.module.Model(str(binary)) if binary is not None and self.module is not None else None

    # ---- facts ---------------------------------------------------------------------------------------------------

    def describe_texts(self) -> None:
        """Note the sizes of the texts that were used."""
        for path in sorted(self.texts.folder.glob("*.txt")):
            self.findings.facts.append(f"{path.name}: {size(path.stat().st_size)}")
