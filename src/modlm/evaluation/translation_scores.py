"""How near translations come to a reference: BLEU and chrF by sacrebleu, and whether a difference could be chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modlm.errors import InputError, require


@dataclass(frozen=True, slots=True)
class TranslationScore:
    """A metric of a set of translations."""

    metric: str
    score: float
    signature: str
    """What sacrebleu did, as papers quote it."""
    p_value: float | None = None
    """Of the difference from the first set, by paired bootstrap; the first has none."""


def score_translations(
    systems: Mapping[str, Sequence[str]], reference: Sequence[str], *, draws: int = 1000, tokenize: str = "none"
) -> dict[str, list[TranslationScore]]:
    """BLEU and chrF of sets of translations by name; each but the first is compared with the first.

    Texts of models are split into words already, so they are not split again unless `tokenize` says how.
    """
    require("sacrebleu", extra="translation", purpose="Scoring translations")
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    for name, lines in systems.items():
        if len(lines) != len(reference):
            raise InputError(
                f"{name} has {len(lines):,} translations, but the reference has {len(reference):,} lines. Give one for "
                f"each."
            )
    metrics: dict[str, Any] = {"BLEU": BLEU(tokenize=tokenize, force=tokenize == "none"), "chrF": CHRF()}
    if len(systems) < 2 or draws < 1:
        return {
            name: [
                TranslationScore(
                    metric, own.corpus_score(list(lines), [list(reference)]).score, str(own.get_signature())
                )
                for metric, own in metrics.items()
            ]
            for name, lines in systems.items()
        }
    named: list[tuple[str, Sequence[str]]] = [(name, list(lines)) for name, lines in systems.items()]
    signatures, found = PairedTest(named, metrics, [list(reference)], "bs", n_samples=draws, n_jobs=1)()
    by_metric: list[tuple[str, Any]] = [
        (key, own) for key, own in found.items() if key != "System"
    ]  # by names that sacrebleu has for them
    return {
        name: [
            TranslationScore(metric, own[place].score, str(signatures[key]), own[place].p_value)
            for metric, (key, own) in zip(metrics, by_metric, strict=True)
        ]
        for place, name in enumerate(systems)
    }
