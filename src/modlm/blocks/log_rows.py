"""Log rows of D in single precision: what nets read, from any block."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from modlm.arrays import Ids
from modlm.blocks.block import ALONE, Beside, Block, ColumnLayout

Singles = NDArray[np.float32]


def log_rows(blocks: Mapping[str, Block], ids: Ids, beside: Beside = ALONE) -> tuple[Singles, Singles]:
    """At every position of a text the log of its row of D (-inf where it is 0) and the features, blocks side by side.

    At `<s>`, which is never predicted, both are 0.
    """
    layout = ColumnLayout(blocks)
    log_probs_TK = np.empty((len(ids), layout.dense), np.float32)
    features_TF = np.empty((len(ids), layout.features), np.float32)
    for name, span in layout.spans.items():
        blocks[name].log_rows(ids, log_probs_TK[:, span.columns], features_TF[:, span.features], beside)
    return log_probs_TK, features_TF
