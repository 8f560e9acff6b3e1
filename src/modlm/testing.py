"""The laws that every column, mixer, smoothing family and body of a net must keep, for anybody to check their own.

    import modlm.testing
    modlm.testing.check_block(MyBlock(vocabulary))

A law that is broken is a `BrokenLawError`, an AssertionError, that says which one and shows the smallest case found.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from modlm.blocks.block import DELTA, NOTHING, Beside, Block, ColumnLayout, one_each
from modlm.blocks.constant import UniformBlock
from modlm.blocks.ngram import NgramBlock
from modlm.counts.counting import count_text
from modlm.errors import ModlmError
from modlm.ground.arrays import Floats, Ids
from modlm.mixers import HeuristicMixer, Mixer, StaticMixer
from modlm.model.folder import load
from modlm.model.mixture import Mixture
from modlm.model.ngram.compiled import compile_estimates
from modlm.smoothing import Smoother, estimate
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from modlm.nets.bodies import Body

TEXT = ("a b c a b d", "a b", "c a b a", "d", "", "b b b a c", "a b c d", "d c b a b")
EXACT = 1e-9
LONGEST = 7  # words in the windows that blocks are asked for


class BrokenLawError(ModlmError, AssertionError):
    """A law that does not hold, with the smallest case in which it does not."""


def check_block(block: Block, *, seed: int = 0) -> None:
    """Columns are distributions, rows are their entries, features are numbers, and a folder gives the block back.

    A block that learns scores a word before it learns it, says the same word by word as along a text, and leaves what
    others remember as it is.
    """
    vocabulary = block.vocabulary
    _law(len(set(block.columns)) == len(block.columns) > 0, "every column has a label of its own", block.columns)
    _law(len(set(block.features)) == len(block.features), "every feature has a label of its own", block.features)
    if block.per_source:
        _check_over_sources(block, _sentences(vocabulary, seed), np.random.default_rng(seed))
    elif block.kind != DELTA:
        for window in _windows(vocabulary, seed):
            _check_columns(block, window)
        ids = _sentences(vocabulary, seed)
        _check_learning(block, np.tile(ids, 3)) if block.reads.learns else _check_rows(block, ids)
    _check_kept(block, _sentences(vocabulary, seed))


def _check_columns(block: Block, window: Ids) -> None:
    said = f"after {_words(block.vocabulary, window)}"
    columns_1JK, features_1F = block.after(window[None])
    _check_proper(block, said, columns_1JK, features_1F)
    longer = np.concatenate((np.full(2, 0, np.uint32), window))
    if block.reads.words <= len(window) and (window != NOTHING).all():
        same = np.array_equal(block.after(longer[None])[0], columns_1JK)
        _law(same, f"words beyond the context of {block.reads.words} do not matter", said)


def _check_proper(block: Block, said: str, columns_1JK: Floats, features_1F: Floats) -> None:
    shape = (1, len(block.vocabulary), len(block.columns))
    _law(columns_1JK.shape == shape, f"columns are B by J by K, here {shape}", f"{said} they are {columns_1JK.shape}")
    _law(bool((columns_1JK >= 0).all()), "no probability is negative", f"{said} the least is {columns_1JK.min():.3g}")
    sums_K = columns_1JK[0].sum(axis=0)
    _law(np.allclose(sums_K, 1, rtol=0, atol=EXACT), "every column sums to 1", f"{said} the sums are {sums_K.tolist()}")
    _law(features_1F.shape == (1, len(block.features)), "features are B by F", f"{said} they are {features_1F.shape}")
    _law(bool(np.isfinite(features_1F).all()), "features are numbers", f"{said} they are {features_1F[0].tolist()}")


def _check_rows(block: Block, ids: Ids) -> None:
    rows, start = block.rows(ids), block.vocabulary.start
    _law(bool((rows.probs_TK[ids == start] == 1).all()), "at <s> probabilities are 1", "they are not")
    _law(bool((rows.features_TF[ids == start] == 0).all()), "at <s> features are 0", "they are not")
    begin = 0
    for place, word in enumerate(ids.tolist()):
        if word == start:
            begin = place
            continue
        window = ids[begin:place][-max(1, block.reads.words) :]
        columns_1JK, features_1F = block.after(window[None])
        said = f"for {block.vocabulary.word(word)!r} after {_words(block.vocabulary, window)}"
        entries = columns_1JK[0, word], rows.probs_TK[place]
        _law(np.allclose(*entries, atol=EXACT), "a row is an entry of each column", f"{said}: {entries}")
        _law(
            np.allclose(features_1F[0], rows.features_TF[place], atol=1e-6), "rows have their context's features", said
        )


def _check_learning(block: Block, ids: Ids) -> None:
    """Word by word, with what is remembered by then; what comes later, the word itself included, is not known."""
    whole, memory_1, places = block.rows(ids), one_each(None, 1), list[tuple[int, Beside]]()
    _law(whole.memory is not None, "the rows of a block that learns come with its memory", "they do not")
    for place, word in enumerate(ids.tolist()):
        places.append((place, Beside(memory=memory_1)))
        memory_1 = block.remember(memory_1, ids[place : place + 1])
        if word == block.vocabulary.start:
            at_start = (whole.probs_TK[place] == 1).all() and (whole.features_TF[place] == 0).all()
            _law(bool(at_start), "at <s> probabilities are 1 and features 0", "they are not")
            places.pop()
    for place, beside in places:  # when all of it has been read: a memory is what it was
        window = ids[max(0, place - max(1, block.reads.words)) : place]
        columns_1JK, features_1F = block.after(window[None], beside)
        said = f"for word {place + 1} of {_words(block.vocabulary, ids)}"
        _check_proper(block, said, columns_1JK, features_1F)
        entries = columns_1JK[0, ids[place]], whole.probs_TK[place]
        law = "a word is scored by what was read before it, and nothing that is read later changes that"
        _law(np.allclose(*entries, atol=EXACT), law, f"{said}: {entries}")
        same = np.allclose(features_1F[0], whole.features_TF[place], atol=1e-6)
        _law(same, "rows have their context's features", said)
    first = block.rows(ids[: len(ids) // 2])
    second = block.rows(ids[len(ids) // 2 :], Beside(memory=first.memory))
    halves = np.concatenate((first.probs_TK, second.probs_TK))
    _law(np.allclose(halves, whole.probs_TK, atol=EXACT), "two parts are the whole", "with the memory passed on")


def _check_over_sources(block: Block, ids: Ids, rng: np.random.Generator) -> None:
    """A distribution for each word of a source, however long it is, and nothing beyond it."""
    if (words := block.source_vocabulary) is None:
        raise BrokenLawError("This law is broken: a block over sources has a source_vocabulary. Found: none.")
    starts = np.append(np.flatnonzero(ids == block.vocabulary.start), len(ids))
    sizes = [(0, 1, 200, 3)[n % 4] for n in range(len(starts) - 1)]
    beside = Beside([rng.integers(0, len(words), size).astype(np.uint32) for size in sizes])
    windows_B1 = np.full((len(sizes), 1), block.vocabulary.start, np.uint32)
    columns_BJS, rows = block.after(windows_B1, beside)[0], block.rows(ids, beside)
    shape = (len(sizes), len(block.vocabulary), max(sizes))
    _law(columns_BJS.shape == shape, f"columns are B by J by S, here {shape}", columns_BJS.shape)
    for n, source in enumerate(beside.sources):
        said, own = f"over {' '.join(words.decode(source[:9]))!r}", slice(starts[n] + 1, starts[n + 1])
        sums_S = columns_BJS[n].sum(axis=0)
        proper = np.allclose(sums_S[: len(source)], 1, rtol=0, atol=EXACT) and bool((columns_BJS[n] >= 0).all())
        _law(proper, "every column sums to 1", f"{said} the sums are {sums_S[:9].tolist()}")
        _law(not columns_BJS[n, :, len(source) :].any(), "there is nothing beyond a source", said)
        _law(np.allclose(columns_BJS[n, ids[own]], rows.probs_TK[own]), "a row is an entry of each column", said)
        features_SF = block.source_features(source)
        right = features_SF.shape == (len(source), len(block.features)) and bool(np.isfinite(features_SF).all())
        _law(right, "features are S by F numbers", f"{said} they are {features_SF.shape}")
    weights_BS, added_BJ = rng.random(columns_BJS.shape[::2]), np.zeros(shape[:2])
    block.to_mix(windows_B1, beside)[1](weights_BS, added_BJ)
    same = np.allclose(added_BJ, np.einsum("bjs,bs->bj", columns_BJS, weights_BS))
    _law(same, "what is added are the columns under their weights", "it is not")


def _check_kept(block: Block, ids: Ids) -> None:
    """Saved and loaded in a mixture; a block that cannot be saved says so itself."""
    flat = {"flat": UniformBlock(block.vocabulary)} if block.kind == DELTA or block.per_source else {}
    layout = ColumnLayout({"mine": block, **flat})
    count = len(layout) + len(layout.over_source)
    mixture = Mixture(block.vocabulary, {"mine": block, **flat}, StaticMixer(np.full(count, 1 / count), layout))
    sources = [np.arange(n % 3, dtype=np.uint32) for n in range(np.count_nonzero(ids == block.vocabulary.start))]
    beside = Beside(sources if block.per_source else ())
    with tempfile.TemporaryDirectory() as folder:
        mixture.save(Path(folder, "model"))
        functions = {"mine": getattr(block, "function", None)}
        again = load(Path(folder, "model"), functions={k: f for k, f in functions.items() if f is not None})
        assert isinstance(again, Mixture)
        same = np.array_equal(again.log_probs(ids, beside), mixture.log_probs(ids, beside))
    _law(same, "what was saved comes back", "a loaded model gives other probabilities")


def check_mixer(mixer: Mixer, layout: ColumnLayout, *, seed: int = 0) -> None:
    """Weights sum to 1 after any context, and contexts do not look at each other."""
    mixer.check(layout)
    rng = np.random.default_rng(seed)
    contexts_BW = rng.integers(0, layout.vocab_size + 1, (9, mixer.reads.words)).astype(np.uint32)
    features_BF: Floats = np.abs(rng.normal(size=(9, layout.features)))
    features_BF[rng.random(features_BF.shape) < 0.5] = 0.0
    state_BS = np.zeros((9, mixer.state_size), np.float32)
    log_weights_BK, after_BS = mixer.log_weights(contexts_BW, features_BF, state_BS)
    _law(log_weights_BK.shape == (9, len(layout)), f"there are {len(layout)} weights", f"{log_weights_BK.shape}")
    sums_B = np.exp(log_weights_BK).sum(axis=1)
    _law(np.allclose(sums_B, 1, atol=1e-5), "weights sum to 1", f"for features {features_BF[0].tolist()}: {sums_B[0]}")
    _law(after_BS.shape == state_BS.shape, f"a state has {mixer.state_size} numbers", f"{after_BS.shape}")
    for row in range(9):
        one = slice(row, row + 1)
        alone, _ = mixer.log_weights(contexts_BW[one], features_BF[one], state_BS[one])
        _law(np.allclose(np.exp(alone), np.exp(log_weights_BK[one]), atol=1e-5), "contexts stand alone", f"row {row}")


def check_smoother(smoother: Smoother) -> None:
    """Columns of every order are proper, D times lambda is the compiled form and sums to 1, parameters come back."""
    for order in (1, 2, 3):
        counts = count_text(list(TEXT), order=order)
        estimates = estimate(smoother, counts)
        for n, table in enumerate(estimates.discounts, start=1):
            proper = all(0 <= loss < r for r, loss in enumerate(table[1:], start=1))
            _law(proper, "a count of r loses at least 0 and less than r", f"order {n}: {table[1:].tolist()}")
        blocks: dict[str, Block] = {"ngram": NgramBlock(estimates), "uniform": UniformBlock(counts.vocabulary)}
        check_block(blocks["ngram"])
        fitted = estimates.smoother
        again = type(fitted)(**json.loads(json.dumps(fitted.parameters())))
        _law(again == fitted, "parameters make the same family again", f"{again} instead of {fitted}")
        mixture = Mixture(counts.vocabulary, blocks, HeuristicMixer(ColumnLayout(blocks), fitted))
        lowest = UniformBlock.distribution(len(counts.vocabulary))
        compiled = compile_estimates(estimates, counts, lowest=lowest, dtype=np.float64)
        for window in _windows(counts.vocabulary, 0):
            whole = mixture.distributions(mixture.state_after(window[None]))[0]
            said = f"order {order}, after {_words(counts.vocabulary, window)}: {whole.sum():.12g}"
            _law(abs(whole.sum() - 1) < EXACT and bool((whole >= 0).all()), "a mixture sums to 1", said)
            if (window != NOTHING).all():
                states = np.zeros(1, np.int64)
                for word in window:
                    states = compiled.advance(states, np.array([word], np.uint32))[0]
                same = np.allclose(compiled.distributions(states)[0], whole, atol=1e-9)
                _law(same, "the compiled form is the mixture", said)


def check_body(body: type[Body], *, size: int = 5, hidden: int = 4, layers: int = 2) -> None:
    """Nothing later changes what came before, and a text in two parts, its state carried over, is the text in one."""
    import torch

    made = body(size, hidden, layers, torch.Generator().manual_seed(1))
    inputs_TBI = torch.randn(6, 3, size, generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        hidden_TBH, state = made(inputs_TBI, None, None)
        shape = (6, 3, hidden)
        _law(tuple(hidden_TBH.shape) == shape, f"hidden vectors are T by B by H, here {shape}", tuple(hidden_TBH.shape))
        _law(tuple(state.shape) == (made.state_rows, 3, hidden), "a state is S by B by H", tuple(state.shape))
        changed = inputs_TBI.clone()
        changed[4:] += 1
        early = made(changed, None, None)[0][:4]
        _law(torch.allclose(early, hidden_TBH[:4], atol=1e-6), "nothing later changes what came before", "step 5 does")
        first, middle = made(inputs_TBI[:3], None, None)
        second, _ = made(inputs_TBI[3:], middle, None)
        both = torch.cat([first, second])
        _law(torch.allclose(both, hidden_TBH, atol=1e-5), "two parts are the whole", "with the state carried over")


def _law(holds: bool, law: str, found: object) -> None:
    if not holds:
        raise BrokenLawError(f"This law is broken: {law}. Found: {found}.")


def _words(vocabulary: Vocabulary, window: Ids) -> str:
    names = [
        "<s>" if word == vocabulary.start else vocabulary.word(word) for word in window.tolist() if word != NOTHING
    ]
    return repr(" ".join(names))


def _windows(vocabulary: Vocabulary, seed: int) -> list[Ids]:
    """Windows of words, shortest first, so that the first that breaks a law is the smallest."""
    rng = np.random.default_rng(seed)
    drawn = [
        rng.integers(0, len(vocabulary), length).astype(np.uint32) for length in range(1, LONGEST) for _ in range(4)
    ]
    start = np.array([vocabulary.start], np.uint32)
    return [start, np.array([NOTHING], np.uint32), *drawn, *(np.concatenate((start, one)) for one in drawn[:8])]


def _sentences(vocabulary: Vocabulary, seed: int) -> Ids:
    """A few sentences of the vocabulary's words, as ids."""
    rng = np.random.default_rng(seed)
    words = vocabulary.words
    lines = [[words[int(n)] for n in rng.integers(0, len(words), length)] for length in (1, 3, 0, 6)]
    named = [[word for word in line if word not in ("<unk>", "</s>", "<s>")] for line in lines]
    return np.asarray(Corpus.from_text([*named, ["nobody-knows-this"]], vocabulary).ids)


__all__ = ["BrokenLawError", "check_block", "check_body", "check_mixer", "check_smoother"]
