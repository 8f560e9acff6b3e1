"""A causal language model over texts: the same numbers as from the model itself, whatever is batched with what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs modlm[neural]")
pytest.importorskip("transformers", reason="needs modlm[hf]")

import torch

from modlm import Corpus
from modlm.errors import ConfigError, InputError, VocabularyError
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading, distribution_features, gguf_start
from modlm.integrations.hugging_face.pass_cache import entry_of, parts_of, run_pass
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END
from small_tokenizers import SENTENCES, byte_level


@pytest.fixture(scope="module")
def lm(model_folder: Path) -> CausalLm:
    return CausalLm.load(model_folder)


@pytest.fixture(scope="module")
def corpus(lm: CausalLm) -> Corpus:
    return Corpus.from_text([*SENTENCES, "", "x" * 90], lm.vocabulary)


def test_the_models_ids_are_ours_one_for_one(lm: CausalLm) -> None:
    assert len(lm.vocabulary) == lm.size == 304
    assert sorted(lm.vocabulary.theirs.tolist()) == list(range(304))
    assert lm.start == lm.vocabulary.theirs[END]  # its tokenizer puts nothing before a text


@pytest.mark.parametrize("context", ["sentence", "document"])
def test_log_probabilities_are_those_of_the_model_itself(lm: CausalLm, live: Any, corpus: Corpus, context: str) -> None:
    reading = Reading(context=context, window=40, hidden=True)
    sequences = lm.sequences(corpus.ids, reading)
    np.testing.assert_array_equal(
        np.concatenate(sequences), np.flatnonzero(corpus.ids != corpus.vocabulary.start)
    )  # every token and line end once, in order
    values = lm.along(corpus.ids, sequences, reading)
    at = 0
    for places in sequences:
        assert 1 <= len(places) <= 40
        tokens = [lm.start, *lm.vocabulary.theirs[corpus.ids[places]].tolist()]
        with torch.inference_mode():
            output = live(torch.tensor([tokens[:-1]]), output_hidden_states=True)
        log_probs = torch.log_softmax(output.logits[0], dim=-1)
        own = log_probs[torch.arange(len(places)), torch.tensor(tokens[1:])]
        np.testing.assert_allclose(values[at : at + len(places), 0], own.numpy(), atol=1e-4)
        np.testing.assert_allclose(
            values[at : at + len(places), 1:4], distribution_features(log_probs).numpy(), atol=1e-4
        )
        np.testing.assert_allclose(values[at : at + len(places), 4:], output.hidden_states[-1][0].numpy(), atol=1e-4)
        at += len(places)


def test_windows_that_overlap_read_the_end_of_the_one_before_again(lm: CausalLm, live: Any, corpus: Corpus) -> None:
    reading, window, overlap = Reading(window=30, overlap=10), 30, 10
    sequences = lm.sequences(corpus.ids, reading)
    stream = np.flatnonzero(corpus.ids != corpus.vocabulary.start)
    np.testing.assert_array_equal(np.concatenate(sequences), stream)
    assert [len(places) for places in sequences[:3]] == [30, 20, 20]
    values, tokens = lm.along(corpus.ids, sequences, reading), lm.vocabulary.theirs[corpus.ids[stream]]
    for begin in (window, 2 * window - overlap):
        read = [lm.start, *tokens[begin - overlap : begin + window - overlap]]
        with torch.inference_mode():
            log_probs = torch.log_softmax(live(torch.tensor([read[:-1]])).logits[0], dim=-1)
        own = log_probs[torch.arange(overlap, window), torch.tensor(read[1 + overlap :])]
        np.testing.assert_allclose(values[begin : begin + window - overlap, 0], own.numpy(), atol=1e-4)
    cut = lm.sequences(corpus.ids, Reading(window=500, overlap=400))  # it can see 64, so half of these
    assert [len(places) for places in cut[:2]] == [64, 32]
    for wrong in ({"window": 8, "overlap": 8}, {"overlap": 4, "context": "sentence"}):
        with pytest.raises(ConfigError, match="overlap"):
            Reading(**wrong)  # type: ignore[arg-type]


def test_a_document_is_read_in_windows_of_whole_lines(lm: CausalLm, corpus: Corpus) -> None:
    lengths = [len(ids) - 1 for ids in corpus]
    windows = lm.sequences(corpus.ids, Reading(window=50))
    assert lengths[-1] > 50 >= sum(lengths[:2]) and lengths[4] == 1
    ends = [np.count_nonzero(corpus.ids[places] == END) for places in windows]
    assert ends[:-2] == lines_that_fit(lengths[:-1], 50)
    assert [len(places) for places in windows[-2:]] == [50, lengths[-1] - 50]  # a line that is too long is cut


def lines_that_fit(lengths: list[int], window: int) -> list[int]:
    """How many lines each window takes, if it takes all that fit."""
    found, room = [0], window
    for length in lengths:
        if length > room:
            found.append(0)
            room = window
        found[-1] += 1
        room -= length
    return found


def test_features_of_a_distribution_are_its_top_its_entropy_and_its_gap() -> None:
    log_probs = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0]]).log()
    expected = [[np.log(0.5), 1.5 * np.log(2), np.log(2)], [0.0, 0.0, 20.0]]
    np.testing.assert_allclose(distribution_features(log_probs).numpy(), expected, atol=1e-6)


def test_an_interrupted_pass_goes_on_where_it_stopped(
    lm: CausalLm, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("modlm.integrations.hugging_face.pass_cache.PART", 30)
    reading = Reading(context="sentence")
    entry = entry_of(corpus.ids, lm, reading, fingerprint="weights")
    calls, along = [], CausalLm.along

    def fails_once(self: CausalLm, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return along(self, *arguments)

    monkeypatch.setattr(CausalLm, "along", fails_once)
    with pytest.raises(KeyboardInterrupt):
        run_pass(corpus.ids, lm, reading, entry, title="")
    assert len(list(entry.glob("*.npy"))) == 2
    (entry / "000001.npy").write_bytes(b"half a file")
    found = run_pass(corpus.ids, lm, reading, entry, title="")
    first = len(np.concatenate(parts_of(lm.sequences(corpus.ids, reading))[0]))
    assert found.computed == len(found.values_PX) - first
    again = run_pass(corpus.ids, lm, reading, entry, title="")
    assert again.computed == 0
    np.testing.assert_array_equal(again.values_PX, found.values_PX)
    whole = along(lm, corpus.ids, lm.sequences(corpus.ids, reading), reading)
    np.testing.assert_allclose(found.values_PX, whole, atol=1e-4)
    with_vectors = run_pass(corpus.ids, lm, replace(reading, hidden=True), entry, title="")
    assert with_vectors.computed == len(found.values_PX) and with_vectors.values_PX.shape[1] == 4 + lm.units
    without = run_pass(corpus.ids, lm, reading, entry, title="")
    assert without.computed == 0 and without.values_PX.shape[1] == 4
    np.testing.assert_allclose(without.values_PX, found.values_PX, atol=1e-5)
    assert entry != entry_of(corpus.ids, lm, Reading(), fingerprint="weights")


def test_what_cannot_be_a_model_is_refused(tmp_path: Path, live: Any) -> None:
    with pytest.raises(InputError, match="Nothing is downloaded"):
        CausalLm.load(tmp_path / "none")
    with pytest.raises(InputError, match="transformers cannot read"):
        CausalLm.load(tmp_path)
    with pytest.raises(VocabularyError, match="304 ids"):
        CausalLm(live, TokenVocabulary.from_tokenizer(byte_level(tokens=290)))
    with pytest.raises(ConfigError, match="at least 2"):
        Reading(window=1)


@pytest.mark.parametrize(("asked", "found"), [(True, 2), (False, None), (None, None)])
def test_a_gguf_file_says_which_token_stands_before_a_text(
    asked: bool | None, found: int | None, tmp_path: Path
) -> None:
    gguf = pytest.importorskip("gguf", reason="needs modlm[gguf]")
    writer = gguf.GGUFWriter(tmp_path / "tiny.gguf", "llama")
    writer.add_bos_token_id(2)
    if asked is not None:
        writer.add_add_bos_token(asked)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert gguf_start(tmp_path / "tiny.gguf") == found
