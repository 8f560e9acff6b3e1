"""∞-gram columns: rows and features by brute force, held out as if the fold had never been there, laws, sources."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from modlm.blocks.block import Fold
from modlm.blocks.infinite import InfiniteBlock
from modlm.counts.indexing import index_corpus, index_text
from modlm.errors import ConfigError, VocabularyError
from modlm.testing import check_block
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from modlm.training.rows import fold_ranges

RNG = random.Random(1)
TEXT = [" ".join(RNG.choice("abcde") for _ in range(RNG.randint(0, 9))) for _ in range(200)]
CORPUS = Corpus.from_text(TEXT)


def expected(context: list[str], word: str, least: int) -> tuple[float, list[float]]:
    """P of a word and the features of its context, from the text itself."""
    for begin in range(len(context)):
        own = context[begin:]
        sentences = [["<s>", *line.split(), "</s>"] for line in TEXT]
        seen = [
            line[at + len(own)] for line in sentences for at in range(len(line) - len(own))
            if line[at : at + len(own)] == own
        ]  # fmt: skip
        if len(seen) >= least:
            ids = sorted(map(CORPUS.vocabulary.id, seen))
            taken = min(16, len(ids))
            followers = len({ids[at * (len(ids) - 1) // max(1, taken - 1)] for at in range(taken)})
            features = [math.log1p(len(own)), math.log(len(seen)), math.log(followers), float(len(set(seen)) == 1)]
            return seen.count(word) / len(seen), features
    return 1 / len(CORPUS.vocabulary), [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("longest", [1, 3, 32])
@pytest.mark.parametrize("shards", [1, 2])
def test_rows_are_the_frequencies_after_the_longest_context(longest: int, shards: int, tmp_path: Path) -> None:
    index = index_corpus(CORPUS)
    if shards == 2:
        CORPUS.vocabulary.save(tmp_path / "words.txt")
        index_text(TEXT[:120], tmp_path / "index", vocabulary=Vocabulary.from_file(tmp_path / "words.txt"))
        index = index_text(TEXT[120:], tmp_path / "index", add=True)
    block = InfiniteBlock(index, least=(1, 3, 20), longest=longest)
    corpus = Corpus.from_text([*TEXT[:12], "a b q c d e", "a a a a a a a a"], CORPUS.vocabulary)
    words, begin = [corpus.vocabulary.word(int(one)) for one in corpus.ids], 0
    rows = block.rows(corpus.ids)
    for place, word in enumerate(words):
        if word == "<s>":
            begin = place
            continue
        for column, least in enumerate(block.least):
            prob, features = expected(words[begin:place][-longest:], word, least)
            assert rows.probs_TK[place, column] == pytest.approx(prob)
            if shards == 1 or features[1] < math.log(16):  # samples of several shards are other ones
                assert rows.features_TF[place, 4 * column : 4 * column + 4] == pytest.approx(features)


@pytest.mark.parametrize("least", [(1,), (1, 4, 32), (3,)])
def test_laws(least: tuple[int, ...]) -> None:
    check_block(InfiniteBlock(index_corpus(CORPUS), least=least))
    check_block(InfiniteBlock(index_corpus(CORPUS), least=least, longest=1))


def test_held_out_rows_are_those_of_an_index_without_the_fold() -> None:
    block = InfiniteBlock(index_corpus(CORPUS))
    held_out = block.held_out(CORPUS.ids, CORPUS.starts)
    assert held_out is not None
    for fold in fold_ranges(CORPUS, 4):
        places = np.concatenate([np.arange(*part) for part in fold])
        ids = np.asarray(CORPUS.ids)[places]
        made = np.empty((len(ids), 3), np.float32), np.empty((len(ids), 12), np.float32)
        held_out.copy().fill(Fold(ids), *made)
        rest = Corpus.from_ids(np.delete(np.asarray(CORPUS.ids), places), CORPUS.vocabulary)
        rows = InfiniteBlock(index_corpus(rest)).rows(ids)
        with np.errstate(divide="ignore"):
            assert np.allclose(np.log(rows.probs_TK), made[0], atol=1e-6)
        assert np.allclose(rows.features_TF, made[1], atol=1e-6)
    other = Corpus.from_text(["e d c b a", "a a b b e e"], CORPUS.vocabulary)
    assert block.held_out(other.ids, other.starts) is None


def test_a_fold_is_left_out_of_short_documents_each_sentence_as_often_as_it_has_it(tmp_path: Path) -> None:
    lines = ["a b c", "c b a", "a b c", "b b", "a b c", "a c"]
    (tmp_path / "text.txt").write_text("\n\n".join(lines) + "\n")  # every line is a document
    index = index_text(tmp_path / "text.txt", tmp_path / "index", documents=True)
    fold, rest = (Corpus.from_text(part, index.vocabulary) for part in (lines[:4], lines[4:]))
    held_out = InfiniteBlock(index).held_out(fold.ids, fold.starts)
    assert held_out is not None
    made = np.empty((len(fold.ids), 3), np.float32), np.empty((len(fold.ids), 12), np.float32)
    held_out.fill(Fold(np.asarray(fold.ids)), *made)
    rows = InfiniteBlock(index_corpus(rest)).rows(np.asarray(fold.ids))
    with np.errstate(divide="ignore"):
        assert np.allclose(np.log(rows.probs_TK), made[0], atol=1e-6)
    assert np.allclose(rows.features_TF, made[1], atol=1e-6)


def test_where_a_share_comes_from() -> None:
    corpus = Corpus.from_text(["the cat sat on the mat", "the cat ate", "a cat sat"])
    block = InfiniteBlock(index_corpus(corpus), least=(1, 3))
    window, word = corpus.vocabulary.encode("the cat"), corpus.vocabulary.id("sat")
    longest, common = block.evidence(window, word)
    assert ([corpus.vocabulary.word(one) for one in longest.context], longest.total, longest.followers) == (
        ["the", "cat"],
        2,
        2,
    )
    assert (longest.count, [(hit.line, hit.words) for hit in longest.hits]) == (1, [(1, "the cat sat")])
    assert (common.total, common.count, {hit.line for hit in common.hits}) == (3, 2, {1, 3})  # after "cat"
    assert block.evidence(window, corpus.vocabulary.id("mat"))[0].hits == []
    assert block.evidence(np.array([0], np.uint32), word)[0].context == ()
    (begin, _) = block.evidence(np.array([corpus.vocabulary.start], np.uint32), corpus.vocabulary.id("a"))
    assert (begin.total, begin.count, [(hit.line, hit.words) for hit in begin.hits]) == (3, 1, [(3, "a")])


def test_settings_that_do_not_fit(tmp_path: Path) -> None:
    index_text(["a b"], tmp_path / "index")
    with pytest.raises(VocabularyError, match="modlm index --vocab"):
        InfiniteBlock.configured(Vocabulary.from_words(["a"]), index=str(tmp_path / "index"))
    same = Vocabulary.from_file(tmp_path / "index" / "vocabulary.txt")
    assert InfiniteBlock.configured(same, index=str(tmp_path / "index")).columns[0] == "∞-gram"
    for wrong in ({"least": []}, {"least": [0]}, {"least": [2, 2]}, {"longest": 0}):
        with pytest.raises(ConfigError, match="infinite block"):
            InfiniteBlock.configured(same, index=str(tmp_path / "index"), **wrong)
