"""Our models inside flashlight-text's decoders and torchaudio's, and behind the interface that both document."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integrations.spoken import BLANK, HEARD, LABELS, MEANT, SPACE, TEXT, emissions, letter_model, word_model

from modlm.errors import MissingPackageError
from modlm.integrations.flashlight import flashlight_lm
from modlm.model.language_model import LanguageModel

WORDS, LETTERS = word_model(), letter_model()
LEXICON = sorted({word for sentence in TEXT for word in sentence.split()} | {"bat"})
WEIGHT, WORD_SCORE = 0.7, 0.2
SINGLE = 1e-5  # decoders add scores in single precision


@pytest.fixture
def decoder() -> Any:
    return pytest.importorskip("flashlight.lib.text.decoder", reason="flashlight-text is not installed")


def run(search: Any, log_probs_TJ: np.ndarray) -> list[Any]:
    frames = np.ascontiguousarray(log_probs_TJ, dtype=np.float32)
    found: list[Any] = search.decode(frames.ctypes.data, *frames.shape)
    return found


def with_lexicon(decoder: Any, lm: Any, *, weight: float) -> Any:
    trie, start = decoder.Trie(len(LABELS), LABELS.index(SPACE)), lm.start(False)
    for number, word in enumerate(LEXICON):
        spelling = [LABELS.index(letter) for letter in word + SPACE]
        trie.insert(spelling, number, lm.score(start, number)[1])
    trie.smear(decoder.SmearingMode.MAX)
    options = decoder.LexiconDecoderOptions(
        beam_size=50, beam_size_token=len(LABELS), beam_threshold=50.0, lm_weight=weight, word_score=WORD_SCORE,
        unk_score=-1e9, sil_score=0.0, log_add=False, criterion_type=decoder.CriterionType.CTC,
    )  # fmt: skip
    unknown = len(LEXICON)
    return decoder.LexiconDecoder(options, trie, lm, LABELS.index(SPACE), LABELS.index(BLANK), unknown, [], False)


def without_lexicon(decoder: Any, lm: Any, *, weight: float) -> Any:
    options = decoder.LexiconFreeDecoderOptions(
        beam_size=50, beam_size_token=len(LABELS), beam_threshold=50.0, lm_weight=weight, sil_score=0.0, log_add=False,
        criterion_type=decoder.CriterionType.CTC,
    )  # fmt: skip
    return decoder.LexiconFreeDecoder(options, lm, LABELS.index(SPACE), LABELS.index(BLANK), [])


def spoken(result: Any) -> list[str]:
    return [LEXICON[number] for number in result.words if number >= 0]


def letters(result: Any) -> list[str]:
    """The letters of a path, repetitions and blanks taken out; it begins and ends with a bar that was not heard."""
    path = result.tokens[:-1]
    kept = [token for place, token in enumerate(path) if place and token != path[place - 1]]
    return [LABELS[token] for token in kept if LABELS[token] != BLANK]


@pytest.mark.parametrize("recombine", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_words_with_a_lexicon(decoder: Any, recombine: bool, whole: bool) -> None:
    lm = flashlight_lm(WORDS, [*LEXICON, "<unk>"], recombine=recombine, whole=whole)
    frames = emissions(after=" ")
    assert spoken(run(with_lexicon(decoder, lm, weight=0.0), frames)[0]) == HEARD.split()
    results = run(with_lexicon(decoder, lm, weight=WEIGHT), frames)
    assert spoken(results[0]) == MEANT.split()
    assert HEARD.split() in [spoken(result) for result in results]
    for result in results:
        words = spoken(result)
        expected = result.emittingModelScore + WEIGHT * WORDS.score(words) + WORD_SCORE * len(words)
        assert result.score == pytest.approx(expected, abs=SINGLE)


def test_letters_without_a_lexicon(decoder: Any) -> None:
    lm = flashlight_lm(LETTERS, LABELS)
    frames = emissions(after=" ")
    best = run(without_lexicon(decoder, lm, weight=0.0), frames)[0]
    assert "".join(letters(best)) == HEARD.replace(" ", SPACE) + SPACE
    results = run(without_lexicon(decoder, lm, weight=WEIGHT), frames)
    assert "".join(letters(results[0])) == MEANT.replace(" ", SPACE) + SPACE
    for result in results[:10]:
        expected = result.emittingModelScore + WEIGHT * LETTERS.score(letters(result))
        assert result.score == pytest.approx(expected, abs=SINGLE)


def test_hybrids_decode_too(decoder: Any) -> None:
    pytest.importorskip("torch")
    from nets.small_mixtures import mixture_of

    model = mixture_of(TEXT)
    lm = flashlight_lm(model, [*LEXICON, "<unk>"])
    results = run(with_lexicon(decoder, lm, weight=WEIGHT), emissions(after=" "))
    assert results
    for result in results:
        words = spoken(result)
        expected = result.emittingModelScore + WEIGHT * model.score(words) + WORD_SCORE * len(words)
        assert result.score == pytest.approx(expected, abs=1e-4)


def test_a_dictionary_numbers_the_words(decoder: Any) -> None:
    from flashlight.lib.text.dictionary import Dictionary

    lm = flashlight_lm(WORDS, Dictionary(["dog", "the"]))
    assert lm.score(lm.start(False), 1)[1] == pytest.approx(
        float(np.log(WORDS.next_distribution()[WORDS.vocabulary.id("the")]))
    )


def test_old_utterances_are_forgotten(decoder: Any) -> None:
    lm = flashlight_lm(WORDS, [*LEXICON, "<unk>"], streams=2)
    search = with_lexicon(decoder, lm, weight=WEIGHT)

    def starts() -> int:
        gc.collect()
        states = [thing for thing in gc.get_objects() if type(thing).__name__ == "ModlmState"]
        return sum(state.node.parent is None for state in states)

    before = starts()
    for _ in range(6):
        run(search, emissions(after=" "))
    assert starts() <= before + 1  # the one that the lexicon was scored from, and the last two


def test_torchaudio_decodes_with_it(tmp_path: Path) -> None:
    """PyPI's torchaudio is built for CUDA; where its libraries do not load, this skips."""
    try:
        from torchaudio.models.decoder import ctc_decoder
    except (ImportError, OSError):
        pytest.skip("torchaudio is not installed, or not for this torch")
    import torch
    from flashlight.lib.text.dictionary import create_word_dict, load_words

    (tmp_path / "lexicon").write_text("".join(f"{word} {' '.join(word)} {SPACE}\n" for word in LEXICON))
    lm = flashlight_lm(WORDS, create_word_dict(load_words(str(tmp_path / "lexicon"))))
    frames = torch.from_numpy(emissions(after=" ").astype(np.float32))[None]
    search = ctc_decoder(str(tmp_path / "lexicon"), LABELS, lm=lm, nbest=2, lm_weight=WEIGHT, word_score=WORD_SCORE)
    first, second = search(frames)[0]
    assert (first.words, second.words) == (MEANT.split(), HEARD.split())
    gap = WEIGHT * (WORDS.score(MEANT) - WORDS.score(HEARD)) + np.log(0.44 / 0.55)
    assert first.score - second.score == pytest.approx(gap, abs=SINGLE)


# ---- the interface alone -------------------------------------------------------------------------------------------


class DocumentedLM:
    """What torchaudio documents of CTCDecoderLM: a base class with start, score and finish to fill in."""


class DocumentedState:
    """What it documents of CTCDecoderLMState: states in a tree, told apart by identity."""


CLASSES = (DocumentedLM, DocumentedState)


@pytest.mark.parametrize("recombine", [False, True])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("sentence", ["the cat sat", "zebra the", ""])
def test_steps_add_up_to_the_score_of_the_sentence(sentence: str, whole: bool, recombine: bool) -> None:
    words = ["the", "cat", "sat", "zebra"]
    lm = flashlight_lm(WORDS, words, whole=whole, recombine=recombine, classes=CLASSES)
    state, total = lm.start(False), 0.0
    assert isinstance(lm, DocumentedLM) and isinstance(state, DocumentedState)
    for word in sentence.split():
        state, score = lm.score(state, words.index(word))
        total += score
    assert lm.finish(state)[0] is state
    assert total + lm.finish(state)[1] == pytest.approx(WORDS.score(sentence))


def test_the_same_words_lead_to_the_same_state() -> None:
    lm = flashlight_lm(WORDS, ["the", "cat"], classes=CLASSES)
    start = lm.start(False)
    assert lm.score(start, 0)[0] is lm.score(start, 0)[0]
    assert lm.score(start, 0)[0] is not lm.score(start, 1)[0]


def test_equal_futures_share_a_state_if_asked_for() -> None:
    """A trigram model looks at two words; what stood before "the cat" is forgotten."""
    words = ["the", "cat", "dog", "sat"]
    for recombine in (False, True):
        lm = flashlight_lm(WORDS, words, recombine=recombine, classes=CLASSES)
        start = lm.start(False)
        states = []
        for path in ([2, 0, 1], [3, 0, 1]):
            state = start
            for number in path:
                state = lm.score(state, number)[0]
            states.append(state)
        assert (states[0] is states[1]) == recombine


def test_a_start_with_nothing_has_no_sentence_before_it() -> None:
    lm = flashlight_lm(WORDS, ["the"], classes=CLASSES)
    bare = float(np.log(WORDS.next_distribution(start=False)[WORDS.vocabulary.id("the")]))
    assert lm.score(lm.start(True), 0)[1] == pytest.approx(bare)


def test_a_token_may_be_the_end_of_a_sentence() -> None:
    lm = flashlight_lm(WORDS, ["the", "<eos>"], end="<eos>", classes=CLASSES)
    start = lm.start(False)
    assert lm.score(start, 1)[1] == pytest.approx(lm.finish(start)[1]) == pytest.approx(WORDS.score(""))


def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("flashlight.lib.text.decoder", "torchaudio.models.decoder"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match="decoders"):
        flashlight_lm(WORDS, ["the"])


def test_impossible_words_stay_finite() -> None:
    model: LanguageModel = word_model_without_smoothing()
    lm = flashlight_lm(model, ["zebra", "the"], classes=CLASSES)
    assert np.isfinite(lm.score(lm.start(False), 0)[1])


def word_model_without_smoothing() -> LanguageModel:
    from small_texts import model_of

    return model_of(TEXT, smoothing="maximum-likelihood")
