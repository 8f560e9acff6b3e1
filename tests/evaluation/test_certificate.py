"""Every family of ours is certified; models that are wrong are rejected, each with its smallest counterexample."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import modlm
import wrong_models
from contracts.test_blocks import BUILDERS
from kenlm_files import EXACT, FOLDER, PROBING, TRIES
from modlm.blocks import NgramBlock, UniformBlock
from modlm.blocks.block import ColumnLayout
from modlm.blocks.copy import CopyBlock
from modlm.blocks.lexicon import LexiconBlock
from modlm.counts import count_text
from modlm.counts.translation.estimation import estimate_table
from modlm.evaluation.certificate import BROKEN, HOLDS, LAWS, UNTESTED, Certificate, Law, verdict_of
from modlm.evaluation.subjects import subject_of
from modlm.families import MIXERS, SMOOTHERS
from modlm.mixers import StaticMixer
from modlm.model.compact_lm import CompactLM
from modlm.model.mixture import Mixture
from modlm.model.ngram.estimation import heuristic_mixture
from modlm.smoothing import estimate
from modlm.text.parallel import Parallel
from small_pairs import pairs
from small_texts import counts_of, model_of

TEXT = ["a b c a b d", "a b", "", "c a b a", "d", "b b q b a c", "a b c d", "d c b a b"]
FEW: dict[str, Any] = {"positions": 12, "tokens": 40}


def statuses(found: Certificate) -> dict[str, str]:
    return {verdict.law: verdict.status for verdict in found.verdicts}


def accepted(model: Any) -> Certificate:
    found = modlm.certify(model, TEXT, **FEW)
    assert found.holds, [verdict for verdict in found.verdicts if verdict.status == BROKEN]
    assert set(statuses(found).values()) == {HOLDS}
    return found


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_every_smoothing_family_is_accepted(smoothing: str) -> None:
    accepted(model_of(TEXT, smoothing=smoothing))


@pytest.mark.parametrize("mixer", [name for name in MIXERS if name != "net"])
def test_every_mixer_is_accepted_over_every_kind_of_column(mixer: str) -> None:
    from contracts.test_mixers import mixture_of

    accepted(mixture_of(counts_of(TEXT), mixer, "kneser-ney", ("uniform", "unknown"), model=True))


@pytest.mark.parametrize("builder", sorted(BUILDERS))
def test_every_kind_of_column_is_accepted(builder: str) -> None:
    counts = counts_of(TEXT)
    blocks = {"own": BUILDERS[builder](counts), "unigram": NgramBlock(estimate(SMOOTHERS["witten-bell"](), counts))}
    columns = len(ColumnLayout(blocks))
    accepted(Mixture(counts.vocabulary, blocks, StaticMixer(np.full(columns, 1 / columns))))


def test_skipped_words_are_accepted() -> None:
    accepted(heuristic_mixture(estimate(SMOOTHERS["kneser-ney"](), count_text(TEXT, positions=(3, 2)))))


def test_compact_forms_are_accepted_also_of_probabilities_without_counts() -> None:
    model = model_of(TEXT, dtype=np.float32)
    for one in (model, model.pruned(1e-3)):
        accepted(CompactLM.of(one))
    accepted(CompactLM.of(model_of(TEXT).pruned(1e-6), 8))


@pytest.mark.parametrize("name", [*PROBING, *TRIES])
def test_kenlms_binaries_are_accepted_but_for_sums_where_numbers_were_rounded_or_left_out(name: str) -> None:
    model = modlm.load(FOLDER / name)
    if name in EXACT:
        accepted(model)
    else:
        broken = {law for law, status in statuses(modlm.certify(model, TEXT, **FEW)).items() if status != HOLDS}
        assert broken <= {"normalised"}


@pytest.mark.parametrize("source", ["f1 8 f3", "nobody knows f2", ""])
def test_a_model_of_translations_is_accepted_beside_a_source(source: str) -> None:
    pytest.importorskip("torch")
    from small_pairs import conditional

    model, _ = conditional()
    assert {"lexicon", "copy", "delta"} <= model.blocks.keys()
    text = ["e1 8 e3", "e2", "", "e3 e4 7"]
    found = modlm.certify(model.given(source), text, **FEW)
    assert set(statuses(found).values()) == {HOLDS}, found.verdicts
    assert "torch" in found.versions


NETS = [
    "feedforward over counts", "feedforward hybrid, 3 words", "rnn over counts and words",
    "gru hybrid, 2 layers and words", "lstm without columns", "lstm tied, another model as a column",
    "lstm over documents",
]  # fmt: skip


@pytest.mark.parametrize("kind", NETS)
def test_every_body_of_a_net_is_accepted(kind: str) -> None:
    pytest.importorskip("torch")
    from nets.small_mixtures import SETTINGS, mixture_of

    accepted(mixture_of(**SETTINGS[kind]))


def test_a_transformer_is_accepted() -> None:
    pytest.importorskip("torch")
    from nets.small_mixtures import mixture_of

    accepted(mixture_of(body="transformer", hidden=8))


def test_a_model_that_learns_as_it_reads_is_accepted() -> None:
    from modlm.blocks.constant import UniformBlock
    from small_readers import SoFar

    vocabulary = counts_of(TEXT).vocabulary
    blocks = {"so-far": SoFar(vocabulary), "uniform": UniformBlock(vocabulary)}
    accepted(Mixture(vocabulary, blocks, StaticMixer(np.full(len(ColumnLayout(blocks)), 0.5))))


@pytest.mark.parametrize(
    ("law", "wrong", "gives"),
    [
        *((law, one, "probabilities") for law, every in wrong_models.PROBABILITIES.items() for one in every),
        *((law, one, "log-probabilities") for law, every in wrong_models.SCORES.items() for one in every),
        *((law, one, "probabilities") for law, every in wrong_models.BOTH.items() for one in every),
    ],
    ids=lambda one: getattr(one, "__name__", None) or str(one),
)
def test_wrong_ones_are_rejected_with_a_counterexample(law: str, wrong: Any, gives: str) -> None:
    model = wrong() if isinstance(wrong, type) else wrong
    found = modlm.certify(model, TEXT, gives=gives, **FEW)
    assert not found.holds
    assert statuses(found)[law] == BROKEN
    broken = next(verdict for verdict in found.verdicts if verdict.law == law)
    assert broken.counterexample is not None and broken.counterexample["found"]
    assert broken.worst > broken.limit


@pytest.mark.parametrize(("law", "wrong"), [(law, one) for law, every in wrong_models.OURS.items() for one in every])
def test_models_whose_ways_disagree_are_rejected(law: str, wrong: type[modlm.NgramLM]) -> None:
    model = model_of(TEXT)
    model.__class__ = wrong
    found = modlm.certify(model, TEXT, **FEW)
    assert {name for name, status in statuses(found).items() if status == BROKEN} == {law}


def beside_sources(mixer: type[StaticMixer], model: type[Mixture]) -> tuple[Mixture, Parallel]:
    """A mixture with columns over the words of a source, and its pairs."""
    both = Parallel.read(*pairs(12, 3))
    words = both.target.vocabulary
    table = LexiconBlock(estimate_table(both))
    blocks = {"lexicon": table, "copy": CopyBlock(both.source.vocabulary, words), "uniform": UniformBlock(words)}
    return model(words, blocks, mixer(np.array([0.2, 0.5, 0.3]), ColumnLayout(blocks))), both


def test_a_conditional_model_is_accepted_beside_the_sources_of_its_text() -> None:
    model, both = beside_sources(StaticMixer, Mixture)
    found = modlm.certify(model, both.target, source=pairs(12, 3)[0], **FEW)
    assert found.holds and set(statuses(found).values()) == {HOLDS}
    assert found.fingerprints["source"] == both.source.fingerprint


@pytest.mark.parametrize(
    ("broken", "mixer", "model"),
    [
        ({"normalised"}, wrong_models.EverySourceWordForItself, Mixture),
        ({"scores", "learning", "ways"}, StaticMixer, wrong_models.SourceOfTheLineBefore),
    ],
)
def test_wrong_conditional_models_are_rejected(
    broken: set[str], mixer: type[StaticMixer], model: type[Mixture]
) -> None:
    own, both = beside_sources(mixer, model)
    found = modlm.certify(own, both.target, source=pairs(12, 3)[0], **FEW)
    assert broken <= {name for name, status in statuses(found).items() if status == BROKEN}
    assert modlm.certify(own, both.target, source=[""] * len(both), **FEW).holds, "without sources nothing is seen"


def test_sources_are_refused_where_nothing_reads_them_or_lines_are_missing() -> None:
    with pytest.raises(modlm.ModlmError, match="Only models of ours"):
        modlm.certify(wrong_models.counted, TEXT, source=TEXT, **FEW)
    with pytest.raises(modlm.ModlmError, match="reads no source"):
        modlm.certify(model_of(TEXT), TEXT, source=TEXT, **FEW)
    with pytest.raises(modlm.ModlmError, match="has 2 lines"):
        modlm.certify(beside_sources(StaticMixer, Mixture)[0], TEXT, source=["f1", "f2"], **FEW)


def test_there_are_at_least_twelve_wrong_ones() -> None:
    kinds = (wrong_models.PROBABILITIES, wrong_models.SCORES, wrong_models.BOTH, wrong_models.OURS)
    assert sum(len(every) for kind in kinds for every in kind.values()) >= 12


def test_an_honest_function_is_accepted_and_what_it_cannot_show_is_untested() -> None:
    found = modlm.certify(wrong_models.counted, TEXT, **FEW)
    assert found.holds
    assert statuses(found) == {law.name: UNTESTED for law in LAWS} | {"normalised": HOLDS, "repeatable": HOLDS}


def test_of_scores_alone_normalisation_is_untested() -> None:
    honest = wrong_models.scored(lambda before, word, behind: wrong_models.counted(before)[word])
    found = modlm.certify(honest, TEXT, gives="log-probabilities", **FEW)
    assert found.holds
    assert statuses(found) == {
        "normalised": UNTESTED, "scores": UNTESTED, "causal": HOLDS, "learning": HOLDS, "repeatable": HOLDS,
        "ways": UNTESTED,
    }  # fmt: skip


def test_counterexamples_are_small() -> None:
    found = modlm.certify(wrong_models.look_ahead_by_one, TEXT, gives="log-probabilities", **FEW)
    broken = next(verdict for verdict in found.verdicts if verdict.law == "causal")
    assert broken.counterexample is not None
    assert broken.counterexample["before"] == ()
    assert len(broken.counterexample["behind"]) == 1


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_no_law_asks_for_more_than_two_whole_distributions_a_position(law: Law) -> None:
    class Counting(wrong_models.Both):
        asked = 0
        log_probs = staticmethod(wrong_models.scored(lambda before, word, behind: wrong_models.counted(before)[word]))

        def probabilities(self, before: list[str]) -> wrong_models.Row:
            self.asked += 1
            return super().probabilities(before)

    model = Counting()
    subject = subject_of(model)
    stream = subject.read(TEXT, 40)
    verdict_of(law, subject, stream, range(10), 1, 1e-4)
    assert model.asked <= 2 * 10


def test_ids_and_arrays() -> None:
    found = modlm.certify(lambda before: np.full(7, 1 / 7), ["3 1 2", "6 6"], ids=True, **FEW)
    assert found.holds and found.tokens == 5


def test_the_same_seed_gives_the_same_certificate_and_json_holds_it() -> None:
    one, two = (modlm.certify(wrong_models.top_k_cut, TEXT, seed=3, **FEW) for _ in range(2))
    assert one == two
    assert json.loads(json.dumps(one.as_dict()))["holds"] is False


def test_a_function_that_fails_says_on_what() -> None:
    with pytest.raises(modlm.ModlmError, match="ZeroDivisionError"):
        modlm.certify(lambda before: 1 / 0, TEXT, **FEW)
    with pytest.raises(modlm.ModlmError, match="one for each"):
        modlm.certify(lambda text: [0.0], TEXT, gives="log-probabilities", **FEW)
    with pytest.raises(modlm.ModlmError, match="too little text"):
        modlm.certify(wrong_models.counted, [], **FEW)
