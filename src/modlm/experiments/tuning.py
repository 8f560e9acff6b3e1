"""Search for settings by the validation text: runs of `modlm train`, each with settings that Optuna draws.

    DIR/study.log      Optuna's journal: what was tried and what came of it
    DIR/trial-0007/    the run folder of one trial
    DIR/best.toml      the configuration of the best run so far, for `modlm train`

The test text is not looked at. A search goes on where it was stopped or killed: a trial that had not ended is taken up
in its own folder. Trials that are worse than half of the others at the same evaluation are given up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.errors import ConfigError, ModlmError, OutputError, require
from modlm.ground.files import new_file
from modlm.nets.setting_values import parsed
from modlm.training.config_file import Table, assigned, merged, run_config, to_toml, type_of
from modlm.training.journal import JOURNAL, Journal, Line

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

STUDY, SEARCH, BEST = "study.log", "search.json", "best.toml"
FOLDER, FAILURE = "folder", "failure"  # what is noted down of a trial
STATES = {"COMPLETE": "complete", "PRUNED": "given up", "FAIL": "failed"}
STARTUP = 4  # trials that are never given up, so that there is something to compare with

EXAMPLES = "net.dropout=0.2:0.6, optimiser.learning_rate=0.001:0.01:log or net.tied=true,false"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Variation:
    """A setting with a range to draw from, or with values to choose among."""

    path: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()  # as they would stand behind `--set`; none: the range

    def drawn(self, trial: Trial) -> str:
        """What a trial tries, as `--set` takes it."""
        if self.choices:
            value: object = trial.suggest_categorical(self.path, self.choices)
        elif self.whole:
            value = trial.suggest_int(self.path, int(self.low), int(self.high), log=self.log)
        else:
            value = trial.suggest_float(self.path, self.low, self.high, log=self.log)
        return f"{self.path}={value}"


def variation(text: str) -> Variation:
    """What `--vary` says; the setting must be one, and its values of its type."""
    path, sign, values = (part.strip() for part in text.partition("="))
    if not sign or not path or not values:
        raise ConfigError(f"--vary takes NAME=LOW:HIGH, perhaps with :log, or NAME=A,B, not {text!r}: {EXAMPLES}.")
    kind = type_of(path)
    if kind in (int, float) and ":" in values:
        low_text, high_text, *rest = values.split(":")
        low, high = (parsed(text, kind, path=path) for text in (low_text, high_text))
        if rest not in ([], ["log"]):
            raise ConfigError(f"--vary {path}={values}: only :log may follow LOW:HIGH.")
        if not low < high or (rest and not low > 0):
            raise ConfigError(f"--vary {path}={values}: LOW must be less than HIGH, and above 0 with :log.")
        return Variation(path, low=low, high=high, log=bool(rest), whole=kind is int)
    choices = tuple(choice.strip() for choice in values.split(","))
    for choice in choices:
        parsed(choice, kind, path=path)
    if len(set(choices)) < 2:
        raise ConfigError(f"--vary {text} leaves nothing to choose. Give a range or at least two values: {EXAMPLES}.")
    return Variation(path, choices=choices)


def variations(texts: Sequence[str]) -> tuple[Variation, ...]:
    found = tuple(variation(text) for text in texts)
    if len({one.path for one in found}) < len(found):
        raise ConfigError("--vary names a setting twice. Name each once.")
    if not found:
        raise ConfigError(f"There is nothing to vary. Name settings with --vary: {EXAMPLES}.")
    return found


@dataclass(frozen=True, slots=True)
class Tried:
    number: int
    state: str  # complete, given up, or failed
    valid: float  # perplexity of the validation text, the best of its evaluations
    settings: dict[str, Any]
    folder: str


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched: a run, the settings that vary, and the folder in which it happens."""

    table: Table  # the configuration that trials share
    variations: tuple[Variation, ...]
    folder: Path
    device: str = "auto"
    seed: int = 1
    say: Say = lambda message: None

    def run(self, trials: int) -> list[Tried]:
        """Bring the search to so many trials in all; those that were done, the best first."""
        optuna = require("optuna", extra="tune", purpose="Searching for settings")
        run_config(self.table, where="modlm tune")
        self._settle()
        study = self._study(optuna)
        unfinished = [trial for trial in study.trials if _to_go_on(trial, study.trials)]
        for trial in unfinished:
            study.enqueue_trial(trial.params, user_attrs={FOLDER: trial.user_attrs[FOLDER]})
        done = len({trial.user_attrs.get(FOLDER) for trial in study.trials}) - len(unfinished)
        self.say(f"{done} of {trials} trials are done" if done else f"{trials} trials")
        study.optimize(self._objective, n_trials=max(0, trials - done), catch=(ModlmError,))
        return tried(study.trials)

    def _settle(self) -> None:
        """A folder has one search."""
        wanted = json.dumps({"table": {**self.table, "test": ""}, "vary": [str(one) for one in self.variations]})
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self.folder / SEARCH
        if not known.is_file():
            if any(self.folder.iterdir()):
                raise OutputError(f"{self.folder} is not empty and holds no search. Choose another name.")
            with new_file(known) as path:
                path.write_text(wanted, encoding="utf-8")
        elif known.read_text(encoding="utf-8") != wanted:
            raise OutputError(
                f"{self.folder} holds a search with other settings. Give the same again to go on with it, or another "
                f"folder."
            )

    def _study(self, optuna: Any) -> Study:
        from optuna.storages.journal import JournalFileBackend, JournalStorage

        optuna.logging.set_verbosity(optuna.logging.CRITICAL)  # failures are told by `say`
        storage = JournalStorage(JournalFileBackend(str(self.folder / STUDY)))
        study: Study = optuna.create_study(storage=storage, study_name="modlm", load_if_exists=True)
        study.sampler = optuna.samplers.TPESampler(seed=self.seed + len(study.trials), n_startup_trials=STARTUP)
        study.pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=2)
        return study

    def _objective(self, trial: Trial) -> float:
        require("torch", extra="neural", purpose="Training a net")
        from modlm.training.run import train

        folder = self.folder / trial.user_attrs.get(FOLDER, f"trial-{trial.number:04d}")
        trial.set_user_attr(FOLDER, folder.name)
        assignments = [one.drawn(trial) for one in self.variations]
        self.say(f"trial {trial.number}: {' '.join(assignments)}")
        told = _telling(trial, Journal(folder / JOURNAL).lines() if folder.is_dir() else [])
        try:
            config = run_config(merged(assigned(self.table, assignments), {"test": ""}), where="modlm tune")
            valid = train(config, folder, resume=True, device=self.device, watch=told).valid_perplexity
        except ModlmError as error:
            trial.set_user_attr(FAILURE, str(error))
            self.say(f"trial {trial.number} failed: {error}")
            raise
        self.say(f"trial {trial.number}: {valid:.2f}")
        if all(valid <= one.valid for one in tried(trial.study.trials) if one.state == "complete"):
            with new_file(self.folder / BEST) as path:
                path.write_text(to_toml(config), encoding="utf-8")
        return valid


def _telling(trial: Trial, lines: Sequence[Line]) -> Callable[[Line], None]:
    """What tells Optuna of evaluations, after those of a trial that is taken up, and gives up one that falls behind."""
    from optuna import TrialPruned

    evaluations = count()

    def report(line: Line) -> None:
        value = line["valid_perplexity"]
        trial.report(value if isinstance(value, float) else float("inf"), next(evaluations))

    def watch(line: Line) -> None:
        report(line)
        if trial.should_prune():
            raise TrialPruned

    for line in lines:
        report(line)
    return watch


def _to_go_on(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> bool:
    """Whether a trial was stopped or killed and nobody took it up since."""
    cut_off = trial.state.name in ("RUNNING", "FAIL") and FOLDER in trial.user_attrs and FAILURE not in trial.user_attrs
    later = [other for other in trials if other.number > trial.number]
    return cut_off and all(other.user_attrs.get(FOLDER) != trial.user_attrs[FOLDER] for other in later)


def tried(trials: Sequence[FrozenTrial]) -> list[Tried]:
    """The trials that came to an end, the best first."""
    found = [
        Tried(
            trial.number, STATES[trial.state.name], min([*trial.intermediate_values.values(), float("inf")]),
            dict(trial.params), trial.user_attrs[FOLDER],
        )
        for trial in trials
        if trial.state.name in STATES and not (trial.state.name == "FAIL" and FAILURE not in trial.user_attrs)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one.state != "complete", one.valid))
