"""Settings to vary, as `--vary` writes them: `net.dropout=0.2:0.6`, `net.hidden=50:400:log`, `net.tied=true,false`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modlm.errors import ConfigError
from modlm.nets.setting_values import parsed
from modlm.training.config_file import type_of

if TYPE_CHECKING:
    from optuna.trial import Trial

EXAMPLES = "net.dropout=0.2:0.6, optimiser.learning_rate=0.001:0.01:log or net.tied=true,false"


@dataclass(frozen=True, slots=True)
class Variation:
    """A setting with a range to draw from, or with values to choose among."""

    path: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    """As they would stand behind `--set`; none: the range."""

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
