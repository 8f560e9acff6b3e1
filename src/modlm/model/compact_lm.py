"""`CompactLM`: an n-gram model in its compact form, mapped from a folder of a twelfth of the size.

It answers from the bits. A model that has its counts keeps those; any other keeps its probabilities. What looks at all
n-grams (ARPA files, pruning, counts to train on, the columns) takes it expanded, bit for bit the model that it was made
from; that happens once, in memory, when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from modlm.counts.counts import EDGES, MOST, Counts
from modlm.counts.skip import SkipCounts
from modlm.errors import ConfigError, ModlmError, nearest
from modlm.ground.arrays import AnyFloats, Ints
from modlm.model.language_model import LanguageModel
from modlm.model.ngram.compact import Compact, occurrences
from modlm.model.ngram.compact_layout import ROW
from modlm.model.ngram.compact_making import compacted, compacted_as_given
from modlm.model.ngram.compiled import Compiled, compile_estimates, unigrams_of
from modlm.model.ngram.estimation import DEFAULT_SMOOTHING, NgramSettings, estimated, lowest_of, settings_of
from modlm.model.ngram.parts import PLACE, levels_in, settings_in
from modlm.model.ngram_lm import NgramLM
from modlm.model.sampling import Sampling
from modlm.smoothing import Estimates, Smoother
from modlm.store.folder import Folder, Parts
from modlm.store.npy import equal
from modlm.text.sources import Text
from modlm.text.vocabulary import Vocabulary

SENTENCES = 400  # drawn to see what fewer bits cost
MOST_BITS = 16
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
    """An n-gram language model in its compact form: the same states, if it has counts, and probabilities to 1e-6."""

    form: Compact

    def __init__(
        self, vocabulary: Vocabulary, form: Compact, counted: Counted | None, settings: NgramSettings | None,
        notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(vocabulary, form, settings=settings, notes=notes)
        self.counted = counted
        """None if it was made from probabilities."""

    @classmethod
    def of(cls, model: NgramLM, bits: int | None = None) -> CompactLM:
        """The compact form of a model.

        Without counts (pruned, or from an ARPA file) it keeps probabilities and backoffs. With `bits`, probabilities
        are rounded to fewer than 2^`bits` of an order, and backoffs keep the sums; a note then says by how much that
        raises the perplexity of text that the model writes.
        """
        if isinstance(model, cls) and bits is None:
            return model
        if model.counts is not None and model.settings is not None:
            if bits is not None:
                raise ConfigError(
                    "This model has its counts, from which its compact form is exact, and smaller than with fewer bits "
                    "a number. Leave out the bits."
                )
            lowest = np.array(model.compiled.unigrams), float(model.compiled.nodes["backoff"][0])
            made = cls._counted(model.estimates(), model.counts, model.settings, lowest, model.notes)
        else:
            made = cls._given(model, bits)
        made.spelling = model.spelling
        return made

    @classmethod
    def from_counts(  # type: ignore[override]
        cls, counts: Counts, *, smoothing: str | Smoother = DEFAULT_SMOOTHING, held_out: Text | None = None,
        discounts: Sequence[Sequence[float]] | None = None, extra: Sequence[str] = ("uniform",),
    ) -> CompactLM:  # fmt: skip
        """Smooth counts, without ever making the fast form; what is as large as mapped counts goes to files, too."""
        estimates = estimated(counts, smoothing, held_out, discounts, extra)
        lowest = unigrams_of(estimates, lowest_of(extra, len(counts.vocabulary)))
        return cls._counted(estimates, counts, settings_of(estimates, extra), lowest, estimates.notes)

    @classmethod
    def _counted(
        cls, estimates: Estimates, raw: Counts, settings: NgramSettings, lowest: tuple[AnyFloats, float],
        notes: tuple[str, ...],
    ) -> CompactLM:  # fmt: skip
        if isinstance(raw, SkipCounts):
            raise ConfigError("Skip n-grams have no compact form. Use them as a block of a mixture.")
        read, starts = estimates.counts, int(raw.frequencies[1 + len(raw.vocabulary)])
        follow = not settings.smoother.continuation or equal(occurrences(read, starts), raw.frequencies)
        levels, start = read.trie.levels, read.start_context[0]
        form = Compact(*compacted(estimates), levels, start, estimates.discounts, *lowest)
        kind = str(raw.frequencies.dtype)
        counted = Counted(raw.edge, raw.sentences, raw.cut_off, kind, starts if follow else None)
        return cls(raw.vocabulary, form, counted, settings, notes)

    @classmethod
    def _given(cls, model: NgramLM, bits: int | None) -> CompactLM:
        compiled = model.compiled
        if compiled.order == 1:
            raise ConfigError("A model of unigrams without counts has no compact form: it has nothing but its words.")
        if bits is not None and not 2 <= bits <= MOST_BITS:
            raise ConfigError(f"Probabilities can have 2 to {MOST_BITS} bits, but bits is {bits}.")
        data, table, trie, start = compacted_as_given(compiled, model.vocabulary, bits)
        lowest = np.array(compiled.unigrams), float(compiled.nodes["backoff"][0])
        made = cls(model.vocabulary, Compact(data, table, trie.levels, start, (), *lowest), None, model.settings)
        made.notes = (*model.notes, *([made._loss(model, bits)] if bits is not None else []))
        return made

    def _loss(self, model: NgramLM, bits: int) -> str:
        """By how much the perplexity rises, on sentences drawn from the model itself."""
        rng = np.random.default_rng(0)
        drawn = [list(model.generate(Sampling(unknown=True), rng=rng)) for _ in range(SENTENCES)]
        ratio = self.perplexity(drawn).perplexity / model.perplexity(drawn).perplexity
        return (
            f"{bits} bits per probability: perplexity {100 * (ratio - 1):+.3f} %, on {SENTENCES} sentences that the "
            "exact model wrote"
        )

    @cached_property
    def read(self) -> Counts:
        """The counts that the smoothing reads, expanded."""
        about = self.counted
        assert about is not None
        given = {"edge": about.edge, "sentences": about.sentences, "cut_off": about.cut_off}
        return Counts(self.vocabulary, self.form.trie(), self.form.frequencies(np.dtype(about.dtype)), **given)  # type: ignore[arg-type]

    @cached_property
    def counts(self) -> Counts | None:
        """The counts that it was estimated from, expanded, unless they do not follow from those that are kept."""
        if self.settings is None or self.counted is None or self.counted.starts is None:
            return None
        if not self.settings.smoother.continuation:
            return self.read
        return self.read.with_frequencies(occurrences(self.read, self.counted.starts))

    def estimates(self) -> Estimates:
        """The smoothed counts, expanded."""
        if self.counted is None or self.settings is None:
            return super().estimates()
        return Estimates(self.settings.smoother, self.read, self.settings.tables)

    @cached_property
    def compiled(self) -> Compiled:
        """The fast form, expanded."""
        if self.form.levels[-1] > MOST:
            raise ModlmError(
                f"{self.form.levels[-1]:,} n-grams: the fast form ends at {MOST:,}, the compact one answers."
            )
        if self.settings is None or self.counted is None:
            return self.form.compiled()
        lowest = lowest_of(self.settings.extra, len(self.vocabulary))
        return compile_estimates(self.estimates(), self.read, lowest=lowest, dtype=self.form.dtype)

    @property
    def bytes(self) -> int:
        """What its folder takes, but for some thousand bytes of settings."""
        texts = sum(len(text) for text in self.vocabulary.files().values())
        return self.form.data.nbytes + self.form.unigrams.nbytes + texts

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
        kept = self.counted is not None and self.counted.starts is not None
        return super().described() | {"form": "compact", "counts": kept}

    def parts(self) -> Parts:
        """The bits and the unigrams as arrays, the rest as settings."""
        form = self.form
        about = {"kind": "compact-ngram", "order": form.order, "levels": list(form.levels), "start": form.start}
        about |= {"table": form.table.tolist(), "fallback": form.fallback, "notes": list(self.notes)}
        about |= {"settings": asdict(self.settings) if self.settings else None, **self.vocabulary.fingerprints()}
        about["counts"] = asdict(self.counted) if self.counted else None
        arrays = {PLACE + "bits": form.data, PLACE + "unigrams": form.unigrams}
        return Parts(about, arrays, self.vocabulary.files())

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> CompactLM:
        """The model that a folder keeps."""
        files, levels = replace(stored, inside=stored.inside + PLACE), levels_in(stored, vocabulary)
        settings = settings_in(stored.part("settings"), len(levels) - 2) if stored.about.get("settings") else None
        counted = _counted_in(stored.part("counts")) if stored.about.get("counts") else None
        form = Compact(
            files.array("bits", np.uint64), _table(stored, len(levels) - 1), levels, stored.whole("start"),
            settings.tables if settings and counted else (),
            files.array("unigrams", np.float32, np.float64, length=len(vocabulary)), stored.real("fallback"),
        )  # fmt: skip
        if form.start >= levels[-2] or not form.is_sound():
            raise stored.damaged("its table does not fit its bits")
        if form.given == (settings is not None and counted is not None):
            raise stored.damaged("it has neither counts with settings nor probabilities, or both")
        return cls(vocabulary, form, counted, settings, tuple(stored.list_of("notes", str)))

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.vocabulary, self.form, self.counted, self.settings, self.notes)
        return (CompactLM, given) if self.folder is None else super().__reduce__()


def _counted_in(stored: Folder) -> Counted:
    return Counted(
        stored.word("edge", EDGES), stored.whole("sentences"), stored.wholes("cut_off"),
        stored.word("dtype", ("uint32", "uint64")),
        None if stored.about.get("starts") is None else stored.whole("starts"),
    )  # fmt: skip


def _table(stored: Folder, rows: int) -> Ints:
    table = [replace(stored, about={"table": row}).wholes("table") for row in stored.list_of("table", list)]
    if [len(row) for row in table] != [ROW] * rows:
        raise stored.damaged(f"its table does not have {rows} rows of {ROW} numbers")
    return np.array(table, np.int64)


def in_form(model: LanguageModel, form: str, bits: int | None = None) -> NgramLM:
    """The model in its fast or its compact form; only n-gram models have these."""
    if form not in FORMS:
        raise ConfigError(f"There is no form {form!r}.{nearest(form, FORMS)} Known: {', '.join(FORMS)}.")
    if not isinstance(model, NgramLM):
        raise ConfigError(f"Only n-gram models have a {form} form, and this is a {type(model).__name__}.")
    return CompactLM.of(model, bits) if form == "compact" else model.as_ngram()
