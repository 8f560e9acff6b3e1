"""Compiled models from ARPA tables and back.

Reading: rows in any order become a trie, order by order. Writing: nodes become rows, block by block, in trie order.
Numbers are log10 in the file and plain here; in double precision they read back as the digits that were printed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from modlm.counts.trie import Trie
from modlm.errors import ConfigError, InputError, choose
from modlm.formats.arpa import ArpaRows, ArpaSection, ArpaTables, read_arpa, write_arpa
from modlm.ground.arrays import Bools, Floats, Ids, in_parallel
from modlm.model.language_model import LanguageModel
from modlm.model.ngram import arpa_kernels
from modlm.model.ngram.compiled import Compiled, empty_records, over_contexts
from modlm.model.ngram.padded_starts import log10, node_rows, only_starts, rows_with_one_start
from modlm.model.ngram_lm import NgramLM
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary

log = logging.getLogger("modlm")

LOG10_UNKNOWN = -100.0  # of an <unk> that the file does not have; KenLM's choice
BLOCK = 1 << 18  # rows written at a time
PROPER = 1e-3  # how far a sum of rounded probabilities may be from 1
MAX_NODES = 1 << 32
NEMO_OFFSET = 100  # DEFAULT_TOKEN_OFFSET of nemo.collections.asr.parts.submodules.ngram_lm.constants
SURROGATES = 0xD800  # the first code point that UTF-8 cannot hold


def read_model(path: str | Path) -> NgramLM:
    """The model of an ARPA file, plain or compressed; a warning when its probabilities do not sum to one."""
    vocabulary, compiled = from_arpa(read_arpa(path))
    error = normalisation_error(compiled)
    if error > PROPER:
        log.warning("%s: after some contexts the probabilities do not sum to 1 but are %.2g off", path, error)
    return NgramLM(vocabulary, compiled)


def save_arpa(model: LanguageModel, target: str | Path, *, overwrite: bool = False, tokens: str = "names") -> None:
    """Write an n-gram model as an ARPA file, gzip if the name ends in .gz; no other model has that form."""
    if not isinstance(model, NgramLM):
        raise ConfigError("Only n-gram models have an ARPA form; a mixture has none.")
    vocabulary = choose(TOKENS, tokens, what="way to write tokens")(model.vocabulary)
    if model.spelling is not None:
        log.warning(f"{target}: ARPA files hold no spelling model, so unknown words cost no letters there.")
    to_arpa(model.compiled, vocabulary, Path(target), overwrite=overwrite)


def nemo_names(vocabulary: Vocabulary) -> Vocabulary:
    """The same words, each called by one character: that of the tokenizer's id and an offset, which NeMo takes off."""
    ids = vocabulary.theirs[END + 1 :] if isinstance(vocabulary, TokenVocabulary) else np.full(1, -1)
    if np.any((ids < 0) | (ids >= SURROGATES - NEMO_OFFSET)):
        raise ConfigError(
            f"NeMo's ARPA files hold tokens, ids from 0 to {SURROGATES - NEMO_OFFSET - 1:,}, each as a character; this "
            "model has words, or other ids. Train it with the recogniser's tokenizer: modlm ngram ... --tokenizer FILE"
        )
    return Vocabulary.from_words(chr(token + NEMO_OFFSET) for token in ids.tolist())


TOKENS: dict[str, Callable[[Vocabulary], Vocabulary]] = {"names": lambda vocabulary: vocabulary, "nemo": nemo_names}


def from_arpa(tables: ArpaTables) -> tuple[Vocabulary, Compiled]:
    """The model that the tables hold; `InputError` for n-grams that are there twice or without their context.

    An `<unk>` that is not there gets log10 probability -100, as in KenLM. Sentences begin after the longest run of
    `<s>` that is a context: one, in all files but those of models that pad the left edge. A backoff weight of an n-gram
    that nothing follows is kept, but is not used. Takes 4 bytes more for each n-gram while it runs.
    """
    vocab_size, top = len(tables.vocabulary), tables.max_order
    sizes = [vocab_size + 1, *(len(rows) for rows in tables.orders[1:])]
    levels = (0, 1, *(1 + int(total) for total in np.cumsum(sizes)))
    if levels[-1] > MAX_NODES:
        raise InputError(f"{levels[-1]:,} n-grams; at most {MAX_NODES - 1:,} can be held.", path=tables.path)
    trie = Trie(
        np.zeros(levels[-1], np.uint32), np.zeros(levels[top] + 1, np.uint32), np.zeros(levels[-1], np.uint32), levels
    )
    probs, backoffs = np.zeros(levels[-1]), np.ones(levels[top])
    trie.words[1 : levels[2]], trie.first[0], trie.first[1] = np.arange(vocab_size + 1), 1, levels[2]
    unigrams, words = tables.orders[0], 1 + tables.orders[0].ngrams[:, 0].astype(np.int64)
    probs[words] = _plain(tables, 1, unigrams.log10_probs)
    if top > 1:
        backoffs[words] = _plain(tables, 1, unigrams.log10_backoffs)
    if not tables.has_unknown:
        probs[1 + UNKNOWN] = 10.0**LOG10_UNKNOWN
        log.warning("%s has no <unk>; unknown words get log10 probability %g", tables.path, LOG10_UNKNOWN)
    sorts = in_parallel([partial(_sorted, table.ngrams, vocab_size) for table in tables.orders])
    for order in range(2, top + 1):
        rows = _place(tables, sorts, order, trie)
        begin, end = levels[order], levels[order + 1]
        probs[begin:end] = _plain(tables, order, tables.orders[order - 1].log10_probs[rows])
        if order < top:
            backoffs[begin:end] = _plain(tables, order, tables.orders[order - 1].log10_backoffs[rows])
    nodes, leaves = empty_records(trie, np.float64)
    nodes["prob"][:-1], nodes["backoff"][:-1], leaves["prob"] = probs[: levels[top]], backoffs, probs[levels[top] :]
    begun = (node for node in only_starts(trie) if trie.first[node] < trie.first[node + 1])  # with something after it
    start = max(begun, default=0) if tables.has_start else 0
    return tables.vocabulary, Compiled(trie.words, nodes, leaves, levels, start)


def _plain(tables: ArpaTables, order: int, log10_numbers: Floats) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        numbers = np.asarray(np.power(10.0, log10_numbers))
    if not np.isfinite(numbers).all():
        raise InputError(
            f"a log10 backoff weight of the {order}-grams is {log10_numbers.max():g}, which no number here can hold. "
            "Backoff weights are around 1; estimate the model again.",
            path=tables.path,
        )
    return numbers


def _sorted(ngrams: Ids, vocab_size: int) -> Ids:
    """The rows in the order of their words."""
    assert ngrams.max(initial=0) <= vocab_size, "ids of another vocabulary"
    rows = np.arange(len(ngrams), dtype=np.uint32)
    spare = np.empty_like(rows)
    for column in range(ngrams.shape[1] - 1, -1, -1):
        arpa_kernels.sort_by(ngrams, column, vocab_size, rows, spare)
        rows, spare = spare, rows
    return rows


def _place(tables: ArpaTables, sorts: list[Ids], order: int, trie: Trie) -> Ids:
    """Bring the n-grams of an order into the trie; the row of each of its nodes."""
    ngrams, rows = tables.orders[order - 1].ngrams, sorts[order - 1]
    shorter, shorter_rows = tables.orders[order - 2].ngrams, sorts[order - 2]
    if order == 2:  # every word has a node, whatever the file has
        shorter_rows = np.arange(len(tables.vocabulary) + 1, dtype=np.uint32)
        shorter = shorter_rows[:, None]
    low, high = trie.levels[order - 1], trie.levels[order]
    placed = arpa_kernels.place_followers(ngrams, rows, shorter, shorter_rows, low, high, trie.first)
    if placed < len(rows):
        raise _fault(tables, order, *rows[max(0, placed - 1) : placed + 1].tolist())
    trie.first[high] = trie.levels[order + 1]
    fill = partial(arpa_kernels.fill_followers, ngrams, rows, high, trie.words, trie.first, trie.suffix)
    over_contexts(trie.levels, order, fill)
    return rows


def _fault(tables: ArpaTables, order: int, *rows: int) -> InputError:
    """Why the last of some sorted rows has no place: it is there twice, or its context is not there."""
    table = tables.orders[order - 1]
    ngram = table.ngrams[rows[-1]]
    names = [*tables.vocabulary.words, "<s>"]
    words = [names[word] for word in ngram.tolist()]
    if len(rows) == 2 and np.array_equal(table.ngrams[rows[0]], ngram):
        message = (
            f"the {order}-gram {' '.join(words)!r} is there twice; it stands on line {table.line(rows[0])} already. "
            "Keep one of the two rows, and correct the count."
        )
    else:
        message = (
            f"the {order}-gram {' '.join(words)!r} has no context: {' '.join(words[:-1])!r} is not among the "
            f"{order - 1}-grams. Every n-gram's words but the last must be an n-gram too, since it carries the backoff "
            "weight; a tool that prunes must keep it."
        )
    return InputError(message, path=tables.path, line=table.line(rows[-1]))


def normalisation_error(compiled: Compiled, *, contexts: int = 64) -> float:
    """How far from 1 the probabilities after a context sum to, at most, over contexts spread over the whole model."""
    trie = compiled.trie
    seen: Bools = trie.first[:-1] < trie.first[1:]
    seen[0] = True
    nodes = np.flatnonzero(seen)
    nodes = nodes[np.unique(np.linspace(0, len(nodes) - 1, contexts).astype(np.int64))]
    sums = [compiled.distributions(nodes[i : i + 1]).sum(dtype=np.float64) for i in range(len(nodes))]
    return float(np.max(np.abs(np.array(sums) - 1.0)))


def to_arpa(compiled: Compiled, vocabulary: Vocabulary, path: str | Path, *, overwrite: bool = True) -> None:
    """Write the model as an ARPA file, gzip if the name ends in .gz.

    A model with several `<s>` at the left edge is written with one, and gives the same scores (`padded_starts`).
    """
    assert len(vocabulary) == compiled.vocab_size
    write_arpa(path, vocabulary, arpa_sections(compiled), overwrite=overwrite)


def arpa_sections(compiled: Compiled) -> list[ArpaSection]:
    """The rows of each order, made as they are asked for."""
    trie, starts = compiled.trie, 1 + compiled.vocab_size  # the first node that begins with `<s>`; so do all after it
    padded, sections = trie.order > 1 and len(only_starts(trie)) > 1, []
    for order in range(1, trie.order + 1):
        low, high = trie.levels[order : order + 2]
        at_start = [rows_with_one_start(compiled, order)] if padded else []
        high = starts if padded else high
        count = high - low + sum(len(rows.ngrams) for rows in at_start)
        sections.append(ArpaSection(count, chain(_blocks(compiled, order, low, high), at_start)))
        starts = int(trie.first[starts]) if order < trie.order else starts
    return sections


def _blocks(compiled: Compiled, order: int, low: int, high: int) -> Iterator[ArpaRows]:
    top = order == compiled.trie.order
    for begin in range(low, high, BLOCK):
        end = min(high, begin + BLOCK)
        backoffs = None if top else log10(compiled.nodes["backoff"][begin:end])
        probs = log10(compiled.probs_of(np.arange(begin, end)))
        yield ArpaRows(node_rows(compiled.trie, order, begin, end), probs, backoffs)
