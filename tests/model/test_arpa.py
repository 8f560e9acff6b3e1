"""Compiled models from ARPA tables and back: any order of rows, holes, exact digits, padded starts."""

from __future__ import annotations

import gzip
import logging
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError, InputError
from modlm.formats import ArpaOrder, ArpaRows, ArpaTables, read_arpa
from modlm.model.ngram.arpa import arpa_sections, from_arpa, nemo_names, normalisation_error, read_model, to_arpa
from modlm.model.ngram.compiled import Compiled
from modlm.model.ngram.pruning import prune_by_entropy
from modlm.model.ngram_lm import NgramLM
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import Vocabulary
from small_texts import EDGES, all_probs, flat_ids, model_of
from small_tokenizers import byte_level

GOLDEN = Path(__file__).parents[1] / "golden"
RANDOM = random.Random(6)
TEXT = [" ".join(RANDOM.choices("abcdef", [9, 6, 4, 2, 1, 1], k=RANDOM.randint(0, 7))) for _ in range(40)]
OTHER = [" ".join(RANDOM.choices("abcdefz", k=RANDOM.randint(0, 9))) for _ in range(60)]

# P(c | a b) and all that begins with <s> is there, but not "b c", and "c a" only after "a b c".
HOLES = """\\data\\
ngram 1=6
ngram 2=4
ngram 3=3
ngram 4=1

\\1-grams:
-1.5\t<unk>
-0.5\tc\t-0.7
-99\t<s>\t-0.5
-0.9\t</s>
-0.6\ta\t-0.3
-0.7\tb\t-0.2

\\2-grams:
-0.5\tc a\t-0.15
-0.4\t<s> a\t-0.1
-0.55\ta b\t-0.25
-0.6\tc c

\\3-grams:
-0.35\ta b c\t-0.45
-0.2\t<s> a b
-0.1\tc a b

\\4-grams:
-0.05\ta b c a

\\end\\
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.arpa"
    path.write_text(text)
    return path


def log10_scores(compiled: Compiled, vocabulary: Vocabulary, sentence: str) -> np.ndarray:
    ids = np.array([vocabulary.start, *vocabulary.encode(sentence), 1], np.uint32)
    return np.log10(compiled.score(ids)[1:])


def tables_of(model: NgramLM | Compiled, vocabulary: Vocabulary) -> ArpaTables:
    """The sections of a model as tables, without the rounding that writing brings."""
    orders = []
    for order, section in enumerate(arpa_sections(model.compiled if isinstance(model, NgramLM) else model), 1):
        nothing = ArpaRows(np.empty((0, order), np.uint32), np.empty(0), np.empty(0))
        blocks = [nothing, *section.blocks]
        ngrams = np.concatenate([block.ngrams for block in blocks])
        assert len(ngrams) == section.count
        backoffs = [np.zeros(len(b.ngrams)) if b.log10_backoffs is None else b.log10_backoffs for b in blocks]
        probs = [block.log10_probs for block in blocks]
        orders.append(ArpaOrder(ngrams, np.concatenate(probs), np.concatenate(backoffs)))
    return ArpaTables(vocabulary, tuple(orders), has_unknown=True, has_start=True, path=Path("memory"))


def shuffled(tables: ArpaTables, seed: int) -> ArpaTables:
    orders = []
    for rows in tables.orders:
        places = np.random.default_rng(seed).permutation(len(rows))
        orders.append(ArpaOrder(rows.ngrams[places], rows.log10_probs[places], rows.log10_backoffs[places]))
    return ArpaTables(tables.vocabulary, tuple(orders), tables.has_unknown, tables.has_start, tables.path)


# Reading


def test_a_model_with_holes_backs_off_over_them(tmp_path: Path) -> None:
    vocabulary, compiled = from_arpa(read_arpa(written(tmp_path, HOLES)))
    assert log10_scores(compiled, vocabulary, "a b c a b") == pytest.approx(
        [
            -0.4,  # <s> a
            -0.2,  # <s> a b
            -0.35,  # <s> a b c is not there, a b c is; <s> a b has no backoff
            -0.05,  # a b c a
            -0.1,  # b c a b and "b c a" are not there; c a b is
            -0.25 - 0.2 - 0.9,  # c a b has no backoff: a b, then b, then </s>
        ]
    )


def test_a_missing_suffix_gives_way_to_the_next_shorter(tmp_path: Path) -> None:
    vocabulary, compiled = from_arpa(read_arpa(written(tmp_path, HOLES)))
    trie = compiled.trie
    names = {0: ""}
    for order in range(1, trie.order + 1):
        nodes = range(trie.levels[order], trie.levels[order + 1])
        names |= {
            n: " ".join(vocabulary.decode(row)) for n, row in zip(nodes, trie.ngrams(order).tolist(), strict=True)
        }
    suffixes = {names[node]: names[int(trie.suffix[node])] for node in range(1, len(trie))}
    assert suffixes["a b c"] == "c"
    assert suffixes["a b c a"] == "c a"
    assert suffixes["<s> a b"] == "a b"


@pytest.mark.parametrize("name", ["small.o3.arpa", "small.o5.arpa", "small.o3.prune0-1-2.arpa"])
def test_the_order_of_rows_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = read_arpa(GOLDEN / name)
    _, expected = from_arpa(tables)
    monkeypatch.setenv("MODLM_THREADS", "3")
    _, found = from_arpa(shuffled(tables, 3))
    assert (found.trie.levels, found.start) == (expected.trie.levels, expected.start)
    for one, other in zip(found.arrays, expected.arrays, strict=True):
        assert np.array_equal(one, other)


def test_a_compiled_model_comes_back_as_the_same_arrays() -> None:
    model = model_of(TEXT, order=4)
    _, back = from_arpa(tables_of(model, model.vocabulary))
    assert (back.trie.levels, back.start) == (model.compiled.trie.levels, model.compiled.start)
    for name in ("words", "first", "suffix"):
        assert np.array_equal(getattr(back.trie, name), getattr(model.compiled.trie, name))
    assert all_probs(back)[1:-1] == pytest.approx(all_probs(model.compiled)[1:-1], rel=1e-14)
    assert back.nodes["backoff"][1:-1] == pytest.approx(model.compiled.nodes["backoff"][1:-1], rel=1e-14)


@st.composite
def backoff_models(draw: st.DrawFn) -> dict[tuple[int, ...], tuple[float, float]]:
    """Any n-grams over a, b, `</s>`, `<unk>` and `<s>` (4) with their contexts; log10 numbers that prove nothing."""
    grams = draw(st.sets(st.lists(st.integers(0, 3), min_size=2, max_size=4).map(tuple), max_size=12))
    grams |= {(4, *gram[1:]) for gram in grams if sum(gram) % 2}
    grams |= {gram[:n] for gram in grams for n in range(1, len(gram))} | {(word,) for word in range(5)}
    numbers = st.integers(-300, -1).map(lambda n: n / 100)
    return {gram: (draw(numbers), draw(numbers)) for gram in sorted(grams)}


@given(backoff_models(), st.lists(st.integers(0, 3), max_size=12))
def test_any_model_scores_by_the_backoff_rule(
    entries: dict[tuple[int, ...], tuple[float, float]], text: list[int]
) -> None:
    longest = max(len(gram) for gram in entries)
    followed = {gram[:-1] for gram in entries}
    # a weight of what nothing follows is not used: give none
    entries = {gram: (p, b if gram in followed else 0.0) for gram, (p, b) in entries.items()}

    def query(gram: tuple[int, ...]) -> float:
        return entries[gram][0] if gram in entries else entries.get(gram[:-1], (0, 0))[1] + query(gram[1:])

    orders = []
    for n in range(1, longest + 1):
        grams = [gram for gram in entries if len(gram) == n]
        values = np.array([entries[gram] for gram in grams])
        orders.append(ArpaOrder(np.array(grams, np.uint32), values[:, 0], values[:, 1]))
    vocabulary = Vocabulary.from_words(["a", "b"])
    tables = ArpaTables(vocabulary, tuple(orders), has_unknown=True, has_start=True, path=Path("memory"))
    _, compiled = from_arpa(shuffled(tables, len(text)))
    ids = np.array([4, *text], np.uint32)
    expected = [query(tuple(ids[max(0, i - longest + 1) : i + 1].tolist())) for i in range(1, len(ids))]
    assert np.log10(compiled.score(ids)[1:]) == pytest.approx(expected)


def test_repeated_ngrams_and_missing_contexts_are_named(tmp_path: Path) -> None:
    twice = HOLES.replace("ngram 3=3", "ngram 3=4").replace("-0.1\tc a b", "-0.1\tc a b\n-0.3\ta b c")
    with pytest.raises(InputError, match="'a b c' is there twice"):
        from_arpa(read_arpa(written(tmp_path, twice)))
    without = HOLES.replace("-0.1\tc a b", "-0.1\tb c c")
    with pytest.raises(InputError, match="'b c c' has no context: 'b c'"):
        from_arpa(read_arpa(written(tmp_path, without)))
    with pytest.raises(InputError, match="no context"):
        read_model(written(tmp_path, without))


def test_an_unknown_word_that_the_file_has_not_is_as_unlikely_as_for_kenlm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = HOLES.replace("-1.5\t<unk>\n", "").replace("ngram 1=6", "ngram 1=5")
    with caplog.at_level(logging.WARNING, "modlm"):
        vocabulary, compiled = from_arpa(read_arpa(written(tmp_path, text)))
    assert "no <unk>" in caplog.text
    assert log10_scores(compiled, vocabulary, "zebra")[0] == pytest.approx(-0.5 - 100)


def test_a_file_without_start_begins_with_the_empty_context(tmp_path: Path) -> None:
    text = "\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-1\t<unk>\n-0.3\t</s>\n-0.5\ta\t-0.1\n\n"
    text += "\\2-grams:\n-0.2\ta </s>\n\n\\end\\\n"
    vocabulary, compiled = from_arpa(read_arpa(written(tmp_path, text)))
    assert compiled.start == 0
    assert log10_scores(compiled, vocabulary, "a") == pytest.approx([-0.5, -0.2])


@pytest.mark.parametrize("order", [1, 2])
def test_models_of_low_order(tmp_path: Path, order: int) -> None:
    model = model_of(TEXT, order=order)
    to_arpa(model.compiled, model.vocabulary, tmp_path / "model.arpa")
    ids = flat_ids(model, OTHER)
    assert read_model(tmp_path / "model.arpa").compiled.score(ids) == pytest.approx(model.compiled.score(ids), rel=1e-6)


def test_a_backoff_weight_too_large_for_any_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="log10 backoff weight of the 2-grams is 400"):
        from_arpa(read_arpa(written(tmp_path, HOLES.replace("-0.25", "400"))))


def test_improper_models_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert normalisation_error(from_arpa(read_arpa(GOLDEN / "small.o3.arpa"))[1], contexts=10**6) < 1e-5
    with caplog.at_level(logging.WARNING, "modlm"):
        read_model(written(tmp_path, HOLES))
    assert "do not sum to 1" in caplog.text


# Writing


@pytest.mark.parametrize("name", ["small.o3.arpa", "small.o5.arpa", "small.o3.prune0-1-2.arpa"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_reading_and_writing_keeps_every_digit(tmp_path: Path, name: str, suffix: str) -> None:
    vocabulary, compiled = from_arpa(read_arpa(GOLDEN / name))
    target = tmp_path / f"again.arpa{suffix}"
    to_arpa(compiled, vocabulary, target)
    data = gzip.decompress(target.read_bytes()) if suffix else target.read_bytes()
    assert sorted(data.splitlines()) == sorted((GOLDEN / name).read_bytes().splitlines())


def test_a_model_with_holes_keeps_them(tmp_path: Path) -> None:
    tables = read_arpa(written(tmp_path, HOLES))
    to_arpa(from_arpa(tables)[1], tables.vocabulary, tmp_path / "again.arpa")
    again = read_arpa(tmp_path / "again.arpa")
    for one, other in zip(tables.orders, again.orders, strict=True):
        rows = [
            sorted(
                (vocabulary.decode(gram), p, b)
                for gram, p, b in zip(rows.ngrams, rows.log10_probs, rows.log10_backoffs, strict=True)
            )
            for vocabulary, rows in ((tables.vocabulary, one), (again.vocabulary, other))
        ]
        assert rows[0] == rows[1]


def test_probability_zero_is_written_as_minus_99(tmp_path: Path) -> None:
    model = model_of(["a b", "a"], order=2, smoothing="maximum-likelihood")
    to_arpa(model.compiled, model.vocabulary, tmp_path / "model.arpa")
    assert "-99\t<unk>\t0\n" in (tmp_path / "model.arpa").read_text()
    assert all_probs(read_model(tmp_path / "model.arpa").compiled)[1] == pytest.approx(1e-99)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("order", [2, 3, 4, 6])
@pytest.mark.parametrize("threshold", [0.0, 1e-4, 1e-3, 1e-2])
def test_one_start_symbol_scores_like_the_padding_it_stands_for(edge: str, order: int, threshold: float) -> None:
    model = model_of(TEXT, order=order, edge=edge, smoothing="witten-bell" if edge == "repeat" else "kneser-ney")
    compiled = prune_by_entropy(model.compiled, threshold) if threshold else model.compiled
    tables = tables_of(compiled, model.vocabulary)
    start = len(model.vocabulary)
    assert all((rows.ngrams[:, 1:] != start).all() for rows in tables.orders)
    _, single = from_arpa(tables)
    for text in (TEXT, OTHER, ["", "z", "a z a"]):
        ids = flat_ids(model, text)
        assert single.score(ids) == pytest.approx(compiled.score(ids), rel=1e-12)
    after = np.array([single.start]), np.array([compiled.start])
    assert single.distributions(after[0]) == pytest.approx(compiled.distributions(after[1]), rel=1e-12)


def test_a_padded_model_written_to_a_file_scores_the_same(tmp_path: Path) -> None:
    model = model_of(TEXT, order=4, edge="repeat", extra=("uniform", "unknown"))
    to_arpa(model.compiled, model.vocabulary, tmp_path / "model.arpa")
    assert "<s> <s>" not in (tmp_path / "model.arpa").read_text()
    ids = flat_ids(model, OTHER)
    assert read_model(tmp_path / "model.arpa").compiled.score(ids) == pytest.approx(model.compiled.score(ids), rel=1e-5)


def test_a_file_that_pads_its_starts_is_read_as_it_is_meant(tmp_path: Path) -> None:
    text = "\\data\\\nngram 1=4\nngram 2=2\nngram 3=1\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.4\n-0.3\t</s>\n-0.5\ta\n\n"
    text += "\\2-grams:\n-99\t<s> <s>\t-0.2\n-0.6\t<s> a\n\n\\3-grams:\n-0.1\t<s> <s> a\n\n\\end\\\n"
    vocabulary, compiled = from_arpa(read_arpa(written(tmp_path, text)))
    assert log10_scores(compiled, vocabulary, "a") == pytest.approx([-0.1, -0.3])
    assert log10_scores(compiled, vocabulary, "") == pytest.approx([-0.2 - 0.4 - 0.3])


def test_ids_that_have_no_character_are_refused() -> None:
    vocabulary = TokenVocabulary.from_tokenizer(byte_level(), size=0xD800 - 99)
    with pytest.raises(
        ConfigError, match=r"ids from 0 to 55,195, each as a character; this model has words, or other ids"
    ):
        nemo_names(vocabulary)
