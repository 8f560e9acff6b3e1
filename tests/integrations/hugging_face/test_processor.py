"""The mixture in `generate()`: exactly the weighted sum of columns, and the model's own where lambda says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs modlm[neural]")
pytest.importorskip("transformers", reason="needs modlm[hf]")

import torch
from tokenizers import Tokenizer
from transformers import LogitsProcessorList

from modlm import Corpus, Mixture, save
from modlm.blocks import NgramBlock
from modlm.blocks.block import Block, ColumnLayout
from modlm.blocks.infinite import InfiniteBlock
from modlm.blocks.online import OnlineBlock
from modlm.counts import count_text
from modlm.counts.indexing import index_corpus
from modlm.errors import ConfigError
from modlm.integrations.hugging_face.adapted import load_adapted
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading, distribution_features
from modlm.integrations.hugging_face.lm_block import CausalLmBlock
from modlm.integrations.hugging_face.processor import MixtureLogitsProcessor
from modlm.integrations.hugging_face.sources import sourced
from modlm.mixers import StaticMixer
from modlm.nets.config import NetConfig
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.smoothing import SMOOTHERS, estimate
from small_tokenizers import SENTENCES

ORDER = 3
WEIGHTS = (0.4, 0.1, 0.2, 0.3)
Made = Callable[..., Mixture]


@pytest.fixture(scope="module")
def blocks(model_folder: Path) -> Callable[..., dict[str, Block]]:
    lm = CausalLm.load(model_folder)
    counts = count_text(Corpus.from_text(list(SENTENCES), lm.vocabulary), order=ORDER)

    def made(
        smoothing: str = "maximum-likelihood", *, hidden: bool = False, context: str = "sentence"
    ) -> dict[str, Block]:
        reading = Reading(context=context, hidden=hidden)
        ngram = NgramBlock(estimate(SMOOTHERS[smoothing](), counts))
        return {"lm": CausalLmBlock.of(lm, reading, path=model_folder), "ngram": ngram}

    return made


@pytest.fixture(scope="module")
def static(blocks: Callable[..., dict[str, Block]]) -> Made:
    def made(weights: tuple[float, ...] = WEIGHTS) -> Mixture:
        own = blocks()
        return Mixture(own["lm"].vocabulary, own, StaticMixer(np.array(weights)))  # type: ignore[attr-defined]

    return made


@pytest.fixture(scope="module")
def learned(blocks: Callable[..., dict[str, Block]]) -> Made:
    def made(**reading: Any) -> Mixture:
        own = blocks("modified-kneser-ney", **reading)
        layout, config = ColumnLayout(own), NetConfig(body="feedforward", hidden=8, inputs=("counts",))
        net = MixerNet(config, vocab_size=304, features=layout.features, dense=len(layout), delta=False, seed=3)
        return Mixture(own["lm"].vocabulary, own, NetMixer(net))  # type: ignore[attr-defined]

    return made


def tokens_of(text: str, model_folder: Path) -> list[int]:
    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def counted(model_folder: Path) -> Counter[tuple[int, ...]]:
    """Every n-gram of the counted text by the tokenizer's ids: -1 stands before a line, the line end behind it."""
    (end,) = tokens_of("\n", model_folder)
    found: Counter[tuple[int, ...]] = Counter()
    for sentence in SENTENCES:
        line = [-1, *tokens_of(sentence, model_folder), end]
        for last in range(1, len(line)):
            found.update(tuple(line[max(0, last - n) : last + 1]) for n in range(min(ORDER, last + 1)))
    return found


@pytest.mark.parametrize("context", ["the company", "the", "", "said\nthe company", "zzzz", "the bank sold"])
def test_scores_become_the_logarithm_of_the_mixture(static: Made, live: Any, model_folder: Path, context: str) -> None:
    (end,) = tokens_of("\n", model_folder)
    ids = [end, *tokens_of(context, model_folder)]
    with torch.inference_mode():
        scores = live(torch.tensor([ids])).logits[:, -1]
    found = MixtureLogitsProcessor(static())(torch.tensor([ids]), scores)[0].double().exp().numpy()

    counts = counted(model_folder)
    line = [-1, *tokens_of(context.rpartition("\n")[2], model_folder)]
    expected = WEIGHTS[0] * torch.softmax(scores[0].double(), dim=0).numpy()
    for n in range(ORDER):
        before = tuple(line[len(line) - n :])
        total = sum(counts[(*before, token)] for token in range(304)) if len(before) == n else 0
        own = [counts[(*before, token)] / total if total else 1 / 304 for token in range(304)]
        expected = expected + WEIGHTS[1 + n] * np.array(own)
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    assert found.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_learned_mixture_is_that_of_its_columns_and_its_net(
    learned: Made, live: Any, model_folder: Path, hidden: bool
) -> None:
    mixture = learned(hidden=hidden)
    processor = MixtureLogitsProcessor(mixture, live)
    (end,) = tokens_of("\n", model_folder)
    ids = torch.tensor([[end, *tokens_of("the company said", model_folder)]])
    with torch.inference_mode():
        output = live(ids, output_hidden_states=True)
        scores, vector = output.logits[:, -1], output.hidden_states[-1][:, -1]
    found = processor(ids, scores)[0].double().exp().numpy()
    processor.close()

    vocabulary, layout = mixture.vocabulary, mixture.layout
    columns_1JK, counts_1F = mixture.blocks["ngram"].after(mixture.window("the company said"))
    log_probs = torch.log_softmax(scores, dim=-1)
    features = [distribution_features(log_probs), *([vector] if hidden else []), torch.tensor(counts_1F).float()]
    with torch.inference_mode():
        state, _ = mixture.mixer.net.hidden(torch.zeros(1, 1, 1).long(), torch.cat(features, dim=1)[None])
        weights_K = mixture.mixer.net.log_weights(state[0])[0].double().exp().numpy()
    assert weights_K.sum() == pytest.approx(1.0) and len(layout) == len(weights_K) == 1 + ORDER
    own_J = log_probs[0].double().exp().numpy()[vocabulary.theirs]  # type: ignore[attr-defined]
    expected_J = weights_K[0] * own_J + columns_1JK[0] @ weights_K[1:]
    np.testing.assert_allclose(found[vocabulary.theirs], expected_J, rtol=1e-4)  # type: ignore[attr-defined]
    assert found.sum() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(mixture.next_distribution("the company said"), expected_J, rtol=1e-3, atol=1e-9)


def test_with_all_weight_on_the_model_it_generates_its_own_text(static: Made, live: Any, model_folder: Path) -> None:
    ids = torch.tensor([tokens_of("the company said", model_folder)])
    options: dict[str, Any] = {"max_new_tokens": 12, "do_sample": False, "attention_mask": torch.ones_like(ids)}
    own = live.generate(ids, **options)
    processor = MixtureLogitsProcessor(static((1.0, 0.0, 0.0, 0.0)))
    assert torch.equal(live.generate(ids, logits_processor=LogitsProcessorList([processor]), **options), own)
    mixed = MixtureLogitsProcessor(static((0.01, 0.0, 0.0, 0.99)))
    assert not torch.equal(live.generate(ids, logits_processor=LogitsProcessorList([mixed]), **options), own)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}], ids=["greedy", "beams"])
@pytest.mark.parametrize("hidden", [False, True])
def test_a_padded_batch_generates_what_each_prompt_does_alone(
    learned: Made, live: Any, model_folder: Path, options: dict[str, int], hidden: bool
) -> None:
    prompts = [tokens_of(text, model_folder) for text in ("the company said it would", "shares")]
    width = max(map(len, prompts))
    padded = torch.tensor([[0] * (width - len(ids)) + ids for ids in prompts])
    mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts])
    processor = MixtureLogitsProcessor(learned(hidden=hidden), live)
    extra: dict[str, Any] = {
        "max_new_tokens": 6, "do_sample": False, "logits_processor": LogitsProcessorList([processor]), **options,
    }  # fmt: skip
    together = live.generate(padded, attention_mask=mask, **extra)[:, width:].tolist()
    for ids, found in zip(prompts, together, strict=True):
        alone = live.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)).long(), **extra)
        expected = alone[0, len(ids) :].tolist()
        assert found[: len(expected)] == expected
    processor.close()


def test_what_others_forbade_stays_forbidden(static: Made) -> None:
    scores = torch.zeros(1, 304)
    scores[0, 7] = -torch.inf
    found = MixtureLogitsProcessor(static())(torch.zeros(1, 0).long(), scores)
    assert torch.isneginf(found[0, 7]) and bool(torch.isfinite(found[0, :7]).all())


def test_a_saved_mixture_comes_back_without_the_model_and_scores_with_it(
    static: Made, learned: Made, live: Any, tmp_path: Path, model_folder: Path
) -> None:
    for number, mixture in enumerate((static(), learned(), learned(hidden=True))):
        save(mixture, tmp_path / f"adapted-{number}")
        adapted = load_adapted(tmp_path / f"adapted-{number}")
        assert adapted.blocks["lm"]._lm is None  # type: ignore[attr-defined]
        ids, scores = torch.tensor([tokens_of("the bank", model_folder)]), torch.randn(1, 304)
        with torch.inference_mode():
            live(ids)
        pair = [MixtureLogitsProcessor(one, live) for one in (mixture, adapted)]
        for processor in pair:
            processor._hidden = torch.ones(1, 16)
        torch.testing.assert_close(pair[0](ids, scores), pair[1](ids, scores), rtol=0, atol=0)
        for processor in pair:
            processor.close()
        attached = load_adapted(tmp_path / f"adapted-{number}", live)
        expected = mixture.score_batch(list(SENTENCES))
        np.testing.assert_allclose(attached.score_batch(list(SENTENCES)), expected, rtol=1e-5)
        np.testing.assert_allclose(adapted.score_batch(list(SENTENCES)), expected, rtol=1e-5)


@pytest.mark.parametrize("context", ["sentence", "document"])
def test_states_carry_lines_along_where_documents_are_read(learned: Made, context: str) -> None:
    mixture = learned(context=context)
    ids = Corpus.from_text(["the bank", "", "shares fell"], mixture.vocabulary).ids
    states, found = mixture.start(), [0.0]
    for word in ids[1:]:
        states, log_prob = mixture.advance(states, np.array([word], np.uint32))
        found.append(float(log_prob[0]))
    np.testing.assert_allclose(found, mixture.log_probs(ids), atol=1e-4)
    assert mixture.reads.document == (context == "document")
    alone = mixture.log_probs(Corpus.from_text(["shares fell"], mixture.vocabulary).ids)
    assert np.allclose(found[-len(alone) :], alone, atol=1e-4) == (context == "sentence")


@pytest.fixture
def learning(blocks: Callable[..., dict[str, Block]]) -> Mixture:
    """With counts of the text so far, and an index of the counted text."""
    own = blocks(context="document")
    vocabulary = own["lm"].vocabulary
    index = index_corpus(Corpus.from_text(list(SENTENCES), vocabulary))  # type: ignore[arg-type]
    own |= {"online": OnlineBlock(vocabulary, order=2), "infinite": InfiniteBlock(index, least=(1,))}
    return Mixture(vocabulary, own, StaticMixer(np.array([0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2])))


def test_columns_that_learn_have_read_the_row_so_far(learning: Mixture, live: Any, model_folder: Path) -> None:
    processor, (end,) = MixtureLogitsProcessor(learning), tokens_of("\n", model_folder)
    tokens = [end, *tokens_of("the company said\nthe company said it", model_folder)]
    for length in range(4, len(tokens) + 1):  # as generate() goes on, a token at a time
        row = torch.tensor([tokens[:length], tokens[:length]])
        with torch.inference_mode():
            scores = live(row).logits[:, -1]
        found = processor(row, scores)[0].double().exp().numpy()
        text = processor.text(row[0].numpy())
        whole = learning.distributions(learning.state_after(text[None]))[0]
        np.testing.assert_allclose(found, whole[learning.vocabulary.ours], atol=2e-5)  # type: ignore[attr-defined]
    fresh = MixtureLogitsProcessor(learning)(row, scores)[0].double().exp().numpy()
    np.testing.assert_allclose(found, fresh, rtol=1e-6)


def test_a_text_that_was_written_says_where_each_token_comes_from(
    learning: Mixture, live: Any, model_folder: Path
) -> None:
    processor, (end,) = MixtureLogitsProcessor(learning), tokens_of("\n", model_folder)
    prompt = torch.tensor([[end, *tokens_of(SENTENCES[0][:12], model_folder)]])
    written = live.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, min_new_tokens=8, do_sample=False,
        logits_processor=LogitsProcessorList([processor]),
    )  # fmt: skip
    found = sourced(processor, written[0], behind=prompt.shape[1])
    assert len(found) == 8
    for token in found:
        assert sum(token.shares.values()) == pytest.approx(1.0)
    told = [hit for token in found for hits in token.documents.values() for hit in hits]
    assert told and all(hit.words for hit in told)


def test_a_mixture_without_a_causal_model_is_refused(blocks: Callable[..., dict[str, Block]]) -> None:
    own = {"ngram": blocks()["ngram"]}
    mixture = Mixture(own["ngram"].vocabulary, own, StaticMixer(np.full(3, 1 / 3)))  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="modlm adapt"):
        MixtureLogitsProcessor(mixture)
