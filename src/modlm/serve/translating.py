"""`/translate`: sentences out of their sources, and for each word the source words and the blocks that gave it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from modlm.blocks.block import DELTA
from modlm.model.language_model import normalised
from modlm.model.mixture import Mixture
from modlm.model.translation import Beam, Translation, translate
from modlm.serve.library import Served
from modlm.serve.limits import MOST_SOURCE, Limits
from modlm.serve.refusals import too_large
from modlm.serve.texts import check_context, check_sentences, word_count
from modlm.text.vocabulary import END, END_NAME

Record = dict[str, Any]


def check_sources(sources: Sequence[str], beam: Beam, limits: Limits) -> None:
    """Refuse what is no sentence, or whose translations may be longer together than what is generated at once."""
    check_sentences(sources, limits)
    for source in sources:
        check_context(source, name="source", most=MOST_SOURCE)
    most = beam.n_best * sum(beam.most_words(word_count(source)) for source in sources)
    if most > limits.max_new_words:
        raise too_large(
            "too_many_words",
            f"The translations may have {most:,} words, but at most {limits.max_new_words:,} are generated at once. "
            f"Send fewer sentences, or ask for a smaller n_best.",
        )


def translated(served: Served, sources: Sequence[str], beam: Beam) -> list[Record]:
    """The source words and the translations of each sentence."""
    model = served.model
    assert isinstance(model, Mixture) and model.source_vocabulary is not None
    split = model.source_vocabulary.split
    return [
        {"source": split(source), "translations": [*map(partial(_told, model.given(source)), best)]}
        for source, best in zip(sources, translate(model, sources, beam), strict=True)
    ]


def _told(model: Mixture, found: Translation) -> Record:
    """A translation with its words and where they come from."""
    ids = np.array([model.vocabulary.start, *found.ids, END], np.uint32)
    _, probs_TK, weights_TK = model.shares_along(ids)
    parts_TK, deltas = probs_TK * weights_TK, model.layout.deltas
    shares_TK, spans = normalised(parts_TK), model.layout.parts_of(parts_TK.shape[1] + deltas - (deltas > 0))
    over = [spans[name] for name in model.layout.over_source] or [slice(0)]
    blocks = {name: shares_TK[:, span].sum(axis=1) for name, span in spans.items()}
    blocks |= {DELTA: shares_TK[:, -1]} if deltas else {}
    columns = {
        "word": [*found.words, END_NAME],
        "probability": parts_TK.sum(axis=1).tolist(),
        "weights": np.sum([weights_TK[:, span] for span in over], axis=0).tolist(),
        "given": np.sum([shares_TK[:, span] for span in over], axis=0).tolist(),
        "blocks": [dict(zip(blocks, own, strict=True)) for own in np.stack([*blocks.values()], axis=1).tolist()],
    }
    words = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {"text": str(found), "log_prob": found.log_prob, "score": found.score, "words": words}
