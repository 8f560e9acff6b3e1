"""Our modified Kneser-Ney, counted, smoothed, compiled and pruned, against the ARPA files of KenLM's lmplz."""

from __future__ import annotations

import lzma
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from modlm.counts.counts import Counts
from modlm.counts.memory import build
from modlm.formats.arpa import ArpaTables, read_arpa
from modlm.ground.arrays import Ids
from modlm.model.ngram.arpa import to_arpa
from modlm.model.ngram.compiled import Compiled, compile_estimates
from modlm.model.ngram.pruning import check_thresholds, prune_by_count
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from small_texts import all_probs

GOLDEN = Path(__file__).parents[1] / "golden"
SMALL = GOLDEN / "small.txt"
PTB = "ptb/ptb.train.txt.xz"
AGREEMENT = 1e-5  # in log10


def counts_of(corpus: Corpus, order: int) -> Counts:
    trie, frequencies = build(corpus.ids, vocab_size=len(corpus.vocabulary), order=order)
    return Counts(corpus.vocabulary, trie, frequencies, sentences=len(corpus))


def trained(
    counts: Counts, *, discounts: Sequence[Sequence[float]] | None = None, prune: Sequence[int] = (0,)
) -> Compiled:
    estimates = estimate(SMOOTHERS["modified-kneser-ney"](), counts, discounts=discounts)
    thresholds = check_thresholds(prune, counts.order)
    uniform = np.full(len(counts.vocabulary), 1 / len(counts.vocabulary))
    compiled = compile_estimates(estimates, counts, lowest=uniform, prune=thresholds, dtype=np.float64)
    return prune_by_count(compiled, counts, thresholds) if any(prune) else compiled


def differences(compiled: Compiled, vocabulary: Vocabulary, tables: ArpaTables) -> list[float]:
    """The largest difference of a log10 probability or backoff, for each order; the n-grams must be the same."""
    from modlm.counts.trie_kernels import descend

    mapping, trie = tables.vocabulary.mapping(vocabulary), compiled.trie
    assert tables.vocabulary.words != () and set(tables.vocabulary.words) == set(vocabulary.words)
    assert [len(rows) for rows in tables.orders] == [trie.size(n) for n in range(1, trie.order + 1)]
    largest = []
    for order, rows in enumerate(tables.orders, 1):
        nodes = np.zeros(len(rows), np.uint32)
        descend(trie.words, trie.first, mapping[rows.ngrams], nodes)
        assert nodes.all(), f"lmplz has a {order}-gram that we have not"
        predicted = rows.ngrams[:, -1] != tables.vocabulary.start
        ours = np.log10(all_probs(compiled)[nodes[predicted]])
        found = [np.max(np.abs(ours - rows.log10_probs[predicted]), initial=0.0)]
        if order < trie.order:
            found.append(np.max(np.abs(np.log10(compiled.nodes["backoff"][nodes]) - rows.log10_backoffs), initial=0.0))
        largest.append(float(max(found)))
    return largest


def last_ngram(ids: Ids, vocabulary: Vocabulary, order: int) -> list[int]:
    """The n-gram that lmplz sorts last: by last word, then the one before it, ..., words numbered as they appear."""
    known, places = np.unique(ids[ids >= 2], return_index=True)
    number = {int(word): int(place) for word, place in zip(known, places, strict=True)} | {vocabulary.start: -2, 1: -1}
    latest = max(known.tolist(), key=lambda word: number[word] if word != vocabulary.start else -2)
    best: list[int] = []
    for place in np.flatnonzero(ids == latest).tolist():
        start = place
        while ids[start] != vocabulary.start:
            start -= 1
        gram = ([vocabulary.start] * order + ids[start : place + 1].tolist())[-order:]
        if not best or [number[w] for w in gram[::-1]] > [number[w] for w in best[::-1]]:
            best = gram
    return best


def lmplz_discounts(counts: Counts, ids: Ids) -> list[list[float]]:
    """The discounts of lmplz, which below the highest order enters the last n-gram with its raw count (kenlm#405)."""
    smoother, used, tables = SMOOTHERS["modified-kneser-ney"](), counts.continuation(), []
    gram = last_ngram(ids, counts.vocabulary, counts.order)
    for n in range(1, counts.order + 1):
        n_r, node = used.counts_of_counts(n, 10**6), counts.node(gram[-n:])
        if n < counts.order and node and gram[-n:].count(counts.vocabulary.start) < 2:
            n_r[used.frequencies[node]] -= 1
            n_r[counts.frequencies[node]] += 1
        tables.append(smoother.discounts(n_r)[0][1:].tolist())
    return tables


@pytest.mark.parametrize(
    ("name", "order", "prune"),
    [("small.o3.arpa", 3, (0,)), ("small.o5.arpa", 5, (0,)), ("small.o3.prune0-1-2.arpa", 3, (0, 1, 2))],
)
def test_every_probability_and_backoff_is_that_of_lmplz(name: str, order: int, prune: tuple[int, ...]) -> None:
    corpus = Corpus.from_text(SMALL)
    compiled = trained(counts_of(corpus, order), prune=prune)
    assert max(differences(compiled, corpus.vocabulary, read_arpa(GOLDEN / name))) < AGREEMENT


def test_the_order_of_sentences_moves_nothing_but_the_discounts_of_lmplz() -> None:
    lines = SMALL.read_text().splitlines()
    corpus = Corpus.from_text([line.split() for line in sorted(lines, key=lambda line: "suru" in line.split())])
    counts, golden = counts_of(corpus, 3), read_arpa(GOLDEN / "small.o3.reordered.arpa")
    assert max(differences(trained(counts), corpus.vocabulary, golden)) > 0.01
    theirs = trained(counts, discounts=lmplz_discounts(counts, corpus.ids))
    assert max(differences(theirs, corpus.vocabulary, golden)) < AGREEMENT


def test_what_we_write_reads_back_as_lmplz_s_numbers(tmp_path: Path) -> None:
    corpus = Corpus.from_text(SMALL)
    compiled = trained(counts_of(corpus, 5))
    to_arpa(compiled, corpus.vocabulary, tmp_path / "ours.arpa")
    written = {line for line in (tmp_path / "ours.arpa").read_text().splitlines() if line.startswith("ngram ")}
    assert written == {
        line for line in (GOLDEN / "small.o5.arpa").read_text().splitlines() if line.startswith("ngram ")
    }
    ours, theirs = read_arpa(tmp_path / "ours.arpa"), read_arpa(GOLDEN / "small.o5.arpa")
    for mine, golden in zip(ours.orders, theirs.orders, strict=True):
        rows = {tuple(ours.vocabulary.decode(row)): place for place, row in enumerate(mine.ngrams)}
        places = [rows[tuple(theirs.vocabulary.decode(row))] for row in golden.ngrams]
        assert mine.log10_probs[places] == pytest.approx(golden.log10_probs, abs=AGREEMENT)
        assert mine.log10_backoffs[places] == pytest.approx(golden.log10_backoffs, abs=AGREEMENT)


# All of the Penn Treebank, when it and KenLM's programs are here


@pytest.fixture(scope="module")
def lmplz() -> Path:
    folder = os.environ.get("MODLM_KENLM_BIN", "")
    if not folder:
        pytest.skip("MODLM_KENLM_BIN does not name the folder with KenLM's programs")
    if not (Path(folder) / "lmplz").is_file():
        pytest.skip(f"MODLM_KENLM_BIN is {folder!r}, which has no lmplz")
    return Path(folder) / "lmplz"


@pytest.fixture(scope="module")
def treebank(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The training text with `<unk>` renamed, since lmplz refuses it."""
    text = lzma.decompress((data_folder / PTB).read_bytes()).decode()
    path = tmp_path_factory.mktemp("ptb") / "ptb.train.txt"
    path.write_text(text.replace("<unk>", "UNK"))
    return path


@pytest.mark.long
@pytest.mark.parametrize("prune", [(0,), (0, 0, 1)])
def test_the_treebank_gives_what_lmplz_gives(
    treebank: Path, lmplz: Path, tmp_path: Path, prune: tuple[int, ...]
) -> None:
    arpa = tmp_path / "lmplz.arpa"
    with treebank.open("rb") as text, arpa.open("wb") as out:
        command = [lmplz, "-o", "5", "-S", "1G", "-T", tmp_path, "--prune", *(str(n) for n in prune)]
        subprocess.run(command, stdin=text, stdout=out, stderr=subprocess.DEVNULL, check=True)
    corpus, tables = Corpus.from_text(treebank), read_arpa(arpa)
    counts = counts_of(corpus, 5)
    theirs = trained(counts, discounts=lmplz_discounts(counts, corpus.ids), prune=prune)
    assert max(differences(theirs, corpus.vocabulary, tables)) < AGREEMENT
    ours = differences(trained(counts, prune=prune), corpus.vocabulary, tables)
    assert max(ours) < 1e-3  # the fault moves one unigram between counts of counts
