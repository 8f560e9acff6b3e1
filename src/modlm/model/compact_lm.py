"""`CompactLM`: an n-gram model in its compact form, mapped from a folder of a twelfth of the size.

It answers from the bits. What looks at all n-grams (ARPA files, pruning, counts to train on, the columns) takes it
expanded, bit for bit the model that it was made from; that happens once, in memory, when it is first asked for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from modlm.counts.counts import EDGES, Counts, Frequencies
from modlm.errors import ConfigError, nearest
from modlm.ground.arrays import Ints
from modlm.model.language_model import LanguageModel
from modlm.model.ngram.compact import Compact, compact_of, occurrences
from modlm.model.ngram.compact_layout import ROW
from modlm.model.ngram.compiled import Compiled, compile_estimates
from modlm.model.ngram.estimation import NgramSettings, lowest_of
from modlm.model.ngram.parts import PLACE, levels_in, settings_in
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import Estimates
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

FORMS = ("fast", "compact")


@dataclass(frozen=True, slots=True)
class Counted:
    """What is to be known of the counts beside the n-grams."""

    edge: str
    sentences: int
    cut_off: tuple[int, ...]
    dtype: str
    starts: int | None
    """How often `<s>` occurs; None if the occurrences of n-grams do not follow from what the smoothing reads."""


class CompactLM(NgramLM):
    """An n-gram language model in its compact form, with the same states, and the same probabilities to 1e-6."""

    form: Compact
    settings: NgramSettings

    def __init__(
        self, vocabulary: Vocabulary, form: Compact, counted: Counted, settings: NgramSettings, notes: tuple[str, ...]
    ) -> None:  # fmt: skip
        super().__init__(vocabulary, form, settings=settings, notes=notes)
        self.counted = counted

    @classmethod
    def of(cls, model: NgramLM) -> CompactLM:
        """The compact form of a model that has its counts; what comes out of the bits is compared with what went in."""
        if isinstance(model, cls):
            return model
        if (raw := model.counts) is None or model.settings is None:
            raise ConfigError(
                "Only a model that has its counts has a compact form, and this one was pruned or came from a file of "
                "probabilities. Train it without pruning: modlm ngram TEXT -o DIR --form compact."
            )
        estimates, compiled = model.estimates(), model.compiled
        form = compact_of(estimates, np.array(compiled.unigrams), float(compiled.nodes["backoff"][0]))
        starts = int(raw.frequencies[1 + len(model.vocabulary)])
        counted = Counted(raw.edge, raw.sentences, raw.cut_off, str(raw.frequencies.dtype), starts)
        made = cls(model.vocabulary, form, counted, model.settings, model.notes)
        for name, array in made.read.arrays().items():
            if not np.array_equal(array, estimates.counts.arrays()[name]):
                raise ConfigError(
                    "These counts lack n-grams that are inside of longer ones, so they have no compact form."
                )
        if not np.array_equal(made.occurrences(), raw.frequencies):
            counted = replace(counted, starts=None)
        made = cls(model.vocabulary, form, counted, model.settings, model.notes)
        made.spelling = model.spelling
        return made

    @cached_property
    def read(self) -> Counts:
        """The counts that the smoothing reads, expanded."""
        about, (trie, frequencies) = self.counted, self.form.expanded(np.dtype(self.counted.dtype))
        given = {"edge": about.edge, "sentences": about.sentences, "cut_off": about.cut_off}
        return Counts(self.vocabulary, trie, frequencies, **given)  # type: ignore[arg-type]

    def occurrences(self) -> Frequencies:
        """How often each n-gram occurs, as far as that follows from what the smoothing reads."""
        if not self.settings.smoother.continuation:
            return self.read.frequencies
        return occurrences(self.read, self.counted.starts or 0)

    @cached_property
    def counts(self) -> Counts | None:
        """The counts that it was estimated from, expanded, unless they do not follow from those that are kept."""
        return None if self.counted.starts is None else self.read.with_frequencies(self.occurrences())

    def estimates(self) -> Estimates:
        """The smoothed counts, expanded."""
        return Estimates(self.settings.smoother, self.read, self.settings.tables)

    @cached_property
    def compiled(self) -> Compiled:
        """The fast form, expanded."""
        lowest = lowest_of(self.settings.extra, len(self.vocabulary))
        return compile_estimates(self.estimates(), self.read, lowest=lowest, dtype=self.form.dtype)

    def as_ngram(self) -> NgramLM:
        """The same model in its fast form."""
        rest: dict[str, Any] = {"counts": self.counts, "settings": self.settings, "notes": self.notes}
        return self._spelled(NgramLM(self.vocabulary, self.compiled, **rest))

    def resident(self) -> NgramLM:
        """The fast form in memory."""
        return self.as_ngram().resident()

    score = LanguageModel.score

    def described(self) -> dict[str, Any]:
        """As of the fast form."""
        return super().described() | {"form": "compact", "counts": self.counted.starts is not None}

    def parts(self) -> Parts:
        """The bits and the unigrams as arrays, the rest as settings."""
        form = self.form
        about = {"kind": "compact-ngram", "order": form.order, "levels": list(form.levels), "start": form.start}
        about |= {"table": form.table.tolist(), "fallback": form.fallback, "settings": asdict(self.settings)}
        about |= {"counts": asdict(self.counted), "notes": list(self.notes), **self.vocabulary.fingerprints()}
        arrays = {PLACE + "bits": form.data, PLACE + "unigrams": form.unigrams}
        return Parts(about, arrays, self.vocabulary.files())

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> CompactLM:
        """The model that a folder keeps."""
        files, levels = replace(stored, inside=stored.inside + PLACE), levels_in(stored, vocabulary)
        settings, own = settings_in(stored.part("settings"), len(levels) - 2), stored.part("counts")
        form = Compact(
            files.array("bits", np.uint64), _table(stored, len(levels) - 1), levels, stored.whole("start"),
            settings.tables, files.array("unigrams", np.float32, np.float64, length=len(vocabulary)),
            stored.real("fallback"),
        )  # fmt: skip
        if form.start >= levels[-2] or not form.is_sound():
            raise stored.damaged("its table does not fit its bits")
        counted = Counted(
            own.word("edge", EDGES), own.whole("sentences"), own.wholes("cut_off"),
            own.word("dtype", ("uint32", "uint64")), None if own.about.get("starts") is None else own.whole("starts"),
        )  # fmt: skip
        return cls(vocabulary, form, counted, settings, tuple(stored.list_of("notes", str)))

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.vocabulary, self.form, self.counted, self.settings, self.notes)
        return (CompactLM, given) if self.folder is None else super().__reduce__()


def _table(stored: Folder, rows: int) -> Ints:
    table = [replace(stored, about={"table": row}).wholes("table") for row in stored.list_of("table", list)]
    if [len(row) for row in table] != [ROW] * rows:
        raise stored.damaged(f"its table does not have {rows} rows of {ROW} numbers")
    return np.array(table, np.int64)


def in_form(model: LanguageModel, form: str) -> NgramLM:
    """The model in its fast or its compact form; only n-gram models have these."""
    if form not in FORMS:
        raise ConfigError(f"There is no form {form!r}.{nearest(form, FORMS)} Known: {', '.join(FORMS)}.")
    if not isinstance(model, NgramLM):
        raise ConfigError(f"Only n-gram models have a {form} form, and this is a {type(model).__name__}.")
    return CompactLM.of(model) if form == "compact" else model.as_ngram()
