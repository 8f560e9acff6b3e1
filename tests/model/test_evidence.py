"""What a compiled form still knows agrees with the counts that it was made from."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks.evidence import counted_evidence
from modlm.blocks.ngram import NgramBlock
from modlm.model.evidence import compiled_evidence
from small_texts import EDGES, TEXTS, model_of


@pytest.mark.parametrize("edge", EDGES)
def test_contexts_followers_and_fallbacks_are_those_of_the_counts(edge: str) -> None:
    model = model_of(TEXTS["random sentences"], order=3, edge=edge)
    block = model.as_mixture().blocks["ngram"]
    assert isinstance(block, NgramBlock)
    for context in ("", "a", "a b", "h g f", "z"):
        window = model.window(context)[0]
        for word in range(len(model.vocabulary)):
            compiled = compiled_evidence(model.compiled, window, word)
            counted = counted_evidence(block.estimates, window, word)
            for ours, theirs in zip(compiled, counted, strict=True):
                assert (ours.order, ours.context, ours.total, ours.kept) == (theirs.order, theirs.context, None, None)
                if ours.order == 1:
                    continue  # every word has a node, seen or not
                assert ours.seen == theirs.seen
                assert ours.followers == theirs.followers
                assert ours.fallback == pytest.approx(theirs.fallback)
                assert (ours.count == 0) == (theirs.count == 0)


def test_a_window_of_nothing_has_the_empty_context() -> None:
    model = model_of(["a b"], order=2)
    one, two = compiled_evidence(model.compiled, np.zeros(0, np.uint32), 2)
    assert (one.context, two.context, two.seen) == ((), (), False)
