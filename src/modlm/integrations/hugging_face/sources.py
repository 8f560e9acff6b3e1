"""Where a text that was written in `generate()` comes from: for every token the share of each column, and documents.

output = model.generate(**inputs, logits_processor=LogitsProcessorList([processor]))
for token in sourced(processor, output[0], behind=inputs["input_ids"].shape[1]):
    print(token.text, token.shares, token.documents)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.blocks.infinite import InfiniteBlock
from modlm.counts.suffixes import Hit
from modlm.integrations.hugging_face.processor import MixtureLogitsProcessor
from modlm.model.language_model import normalised

LEAST = 0.05  # the share of a column from which its documents are told


@dataclass(frozen=True, slots=True)
class Sourced:
    """A token and where its probability comes from."""

    text: str
    probability: float
    """In the mixture itself, before temperature and cuts."""
    shares: dict[str, float]
    """By column; they sum to 1."""
    documents: dict[str, list[Hit]]
    """By column of an index that has a share: places where the token followed the same tokens."""


def sourced(processor: MixtureLogitsProcessor, tokens: Any, *, behind: int = 0, limit: int = 3) -> list[Sourced]:
    """The tokens of one row behind the first ones, its prompt; costs one pass of the model over the row.

    The processor's mixture needs its model (`load_adapted(folder, model)`), or finds it where it lay.
    """
    mixture, row = processor.adapted, np.asarray(tokens)
    ids = processor.text(row)
    names, probs_PK, weights_PK = mixture.shares_along(ids)
    parts_PK = probs_PK * weights_PK
    predicted = np.flatnonzero(ids[1:] != processor.start)
    written = predicted[len(predicted) - (len(row) - behind) :]
    shares_PK, found = normalised(parts_PK), list[Sourced]()
    for place in written.tolist():
        word = int(ids[1 + place])
        shares = dict(zip(names, shares_PK[place].tolist(), strict=True))
        documents = {
            names[at + span.start]: seen.hits
            for block, span in indexes(processor)
            for at, seen in enumerate(block.evidence(ids[: 1 + place], word, limit=limit))
            if shares[names[at + span.start]] >= LEAST
        }
        found.append(Sourced(mixture.vocabulary.word(word), float(parts_PK[place].sum()), shares, documents))
    return found


def indexes(processor: MixtureLogitsProcessor) -> list[tuple[InfiniteBlock, slice]]:
    """The columns over text indexes, and where they stand."""
    spans = processor.adapted.layout.spans
    blocks = processor.adapted.dense.items()
    return [(block, spans[name].columns) for name, block in blocks if isinstance(block, InfiniteBlock)]
