"""Static mixtures: models, the orders of n-gram models, or both as columns, with weights by EM on a held-out text.

over = "models"   one column for each whole model; vocabularies may differ
over = "orders"   one column for each order of n-gram models that kept their counts
over = "both"     all of these
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS, NgramBlock
from modlm.blocks.block import Beside, Block, Rows
from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError, InputError, VocabularyError, choose
from modlm.families import MIXERS
from modlm.ground.arrays import Floats, Ids
from modlm.mixers import StaticMixer, expectation_maximisation
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.model.scored_text import perplexity_of, read_parts
from modlm.text.vocabulary import Vocabulary

OVER = ("models", "orders", "both")


@dataclass(frozen=True, slots=True)
class Interpolation:
    """A tuned mixture, and how it got there."""

    mixture: Mixture
    weights: dict[str, float]
    """lambda_k by column; where it depends on the context, its mean over the tuning text."""
    alone: dict[str, float]
    """The perplexity of each column by itself on the tuning text; infinite where it gives a word no probability."""
    history: tuple[float, ...]
    """Perplexity of the tuning text before each step of EM, and that of the result."""
    speller: str = ""
    """The model whose spelling model is the mixture's: the first that has one. Tuning leaves letters out."""


def interpolate(
    models: Mapping[str, LanguageModel | Block],
    tune: Any,
    *,
    over: str = "models",
    extra: Sequence[str] = (),
    vocabulary: Vocabulary | None = None,
    mixer: str = "static",
    columns: Mapping[str, Any] | None = None,
) -> Interpolation:
    """Mix named models, or blocks, with weights that maximise the likelihood of a text (a path, sentences, a Corpus).

    The mixture predicts the words of the first model unless another vocabulary is given; `extra` adds constant columns.
    `columns` are further blocks by name, each made of that vocabulary: `{"online": partial(OnlineBlock, order=4)}`. The
    text is read in its order, which is what blocks that learn from it need. `mixer="gli"` has weights that depend on
    the features of each column.
    """
    if not models:
        raise ConfigError("There is nothing to mix. Give at least one model.")
    if over not in OVER:
        raise ConfigError(f"over must be one of {', '.join(OVER)}, but is {over!r}.")
    words = vocabulary or next(iter(models.values())).vocabulary
    blocks = columns_of(models, words, over=over)
    for name in extra:
        blocks[name] = choose(CONSTANT_BLOCKS, name, what="constant column")(words)
    blocks |= {name: make(words) for name, make in (columns or {}).items()}
    count = sum(len(block.columns) for block in blocks.values())
    equal = Mixture(words, blocks, StaticMixer(np.full(count, 1.0 / count)))
    rows = rows_of(equal, tune)
    probs_TK = rows.probs_TK
    if mixer == StaticMixer.kind:
        weights, history = expectation_maximisation(probs_TK)
        tuned, weights_TK = Mixture(words, blocks, StaticMixer(weights)), weights[None]
    else:
        fitted = MIXERS.choose(mixer).fitted(equal.layout, blocks, rows)
        tuned, weights_TK = Mixture(words, blocks, fitted), fitted.weights(rows.features_TF)
        weights, history = weights_TK.mean(axis=0), [_mean_log(probs_TK.mean(axis=1))]
    with np.errstate(divide="ignore"):
        alone = [perplexity_of(mean, 1) for mean in np.log(probs_TK).mean(axis=0).tolist()]
    history.append(_mean_log((probs_TK * weights_TK).sum(axis=1)))
    named = [dict(zip(tuned.layout.names, values, strict=True)) for values in (weights.tolist(), alone)]
    spellings = {name: model.spelling for name, model in models.items() if isinstance(model, LanguageModel)}
    speller = next((name for name, spelling in spellings.items() if spelling), "")
    tuned.spelling = spellings.get(speller)
    return Interpolation(tuned, named[0], named[1], tuple(perplexity_of(mean, 1) for mean in history), speller)


def _mean_log(probs_T: Floats) -> float:
    """Of what has any probability."""
    return float(np.log(probs_T[probs_T > 0]).mean())


def columns_of(models: Mapping[str, LanguageModel | Block], vocabulary: Vocabulary, *, over: str) -> dict[str, Block]:
    """The blocks of a mixture, under names that can stand in a path."""
    blocks: dict[str, Block] = {}
    for name, model in models.items():
        if isinstance(model, Block):
            if model.vocabulary != vocabulary:
                raise VocabularyError(f"The columns of {name} are over other words than the mixture. Use the same.")
            blocks[block_name(name, blocks)] = model
            continue
        if over in ("models", "both"):
            blocks[block_name(name, blocks)] = ModelBlock(model, vocabulary)
        if over in ("orders", "both"):
            if model.vocabulary != vocabulary:
                raise VocabularyError(
                    f"The orders of {name} are over other words than the mixture. Train all models with the same "
                    f"vocabulary, or mix whole models (over = models)."
                )
            for block in ngram_blocks(model):
                blocks[block_name(f"{name}-orders" if over == "both" else name, blocks)] = block
    return blocks


def ngram_blocks(model: LanguageModel) -> list[NgramBlock]:
    """The blocks of a model that have a column for each order."""
    mixture = model.as_mixture() if isinstance(model, NgramLM) else model
    blocks: Mapping[str, Block] = getattr(mixture, "blocks", {})
    found = [block for block in blocks.values() if isinstance(block, NgramBlock)]
    if not found:
        raise ConfigError(f"A {type(model).__name__} without n-gram columns has no orders to mix. Use over = models.")
    return found


def block_name(wanted: str, taken: Mapping[str, object]) -> str:
    """A name that is safe in a path and not taken: letters, digits, dots and dashes."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", wanted).strip("-.") or "model"
    names = (plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken and name not in CONSTANT_BLOCKS)


def rows_of(mixture: Mixture, text: Any, sources: Sequence[Ids] = ()) -> Rows:
    """The row of D, and the features, for every prediction of a text.

    A block over the words of `sources`, which come with the sentences of a Corpus, has one column here: their mean.
    """
    parts, memory = [], None
    for block in read_parts(text, mixture.vocabulary):
        sizes_T = np.array([len(own) for own in Beside(sources).along(block.ids, mixture.vocabulary.start).sources])
        for place, rows in mixture.row_chunks(block.ids, Beside(sources, memory)):
            memory, probs_TK = rows.memory, rows.probs_TK
            if mixture.layout.over_source:
                spans = mixture.layout.parts_of(probs_TK.shape[1] + mixture.layout.deltas)
                sums = [probs_TK[:, spans[name]].sum(axis=1) for name in mixture.layout.over_source]
                even = [own_T / np.maximum(sizes_T[place], 1) for own_T in sums]
                probs_TK = np.column_stack([probs_TK[:, : mixture.layout.dense], *even])
            predicted_T = block.ids[place] != mixture.vocabulary.start
            parts.append(Rows(probs_TK[predicted_T], rows.features_TF[predicted_T]))
    if not parts:
        raise InputError("There are no sentences to tune on. Give a text with one sentence per line.")
    return Rows(np.concatenate([part.probs_TK for part in parts]), np.concatenate([part.features_TF for part in parts]))
