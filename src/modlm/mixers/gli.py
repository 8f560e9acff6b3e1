"""Generalised linear interpolation (Hsu 2007): the logit of a column is linear in the features of its own context.

    lambda_k(c) = exp(theta_k · phi_k(c)) / sum_l exp(theta_l · phi_l(c))

phi_k is 1 and the features that the block of column k has for it. It is what a feed-forward net without a hidden layer
would learn if each output saw its own column's counts only. The parameters are found on a held-out text: each pass
finds how likely each column is to have said each word, and moves by a Newton step towards weights that say the same.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Blocks, ColumnLayout, Rows
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids
from modlm.mixers.mixer import Mixer, State
from modlm.store.folder import Folder, Parts

PASSES = 100
RIDGE = 1e-3  # keeps parameters finite that no word depends on, such as those of features that are always the same
LEAST = 1e-7  # nats a word that a pass must gain


class GliMixer(Mixer):
    """Softmax of one linear function a column."""

    kind: ClassVar[str] = "gli"

    def __init__(self, layout: ColumnLayout, theta_P: Floats) -> None:
        if layout.deltas:
            raise ConfigError("Generalised linear interpolation is for dense columns; leave the deltas out.")
        self.places = places_of(layout)
        self.columns, self.theta_P = layout.dense, np.asarray(theta_P, dtype=np.float64)
        expected = sum(1 + len(own) for own in self.places)
        if self.theta_P.shape != (expected,) or not np.isfinite(self.theta_P).all():
            raise ConfigError(
                f"These columns have {expected} parameters, each a number; {self.theta_P.size} are given."
            )

    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """The softmax of the linear functions."""
        logits_BK = np.einsum("bkp,kp->bk", *self._laid_out(features_BF))
        logits_BK -= logits_BK.max(axis=1, keepdims=True)
        return logits_BK - np.log(np.exp(logits_BK).sum(axis=1, keepdims=True)), state_BS

    def _laid_out(self, features_BF: Floats) -> tuple[Floats, Floats]:
        """phi (B, K, P) and theta (K, P), P the most parameters of any column, filled up with zeros."""
        width = 1 + max(len(own) for own in self.places)
        phi_BKP, theta_KP = np.zeros((len(features_BF), self.columns, width)), np.zeros((self.columns, width))
        at = 0
        for k, own in enumerate(self.places):
            phi_BKP[:, k, 0], phi_BKP[:, k, 1 : 1 + len(own)] = 1.0, features_BF[:, own]
            theta_KP[k, : 1 + len(own)] = self.theta_P[at : at + 1 + len(own)]
            at += 1 + len(own)
        return phi_BKP, theta_KP

    @classmethod
    def fitted(cls, layout: ColumnLayout, blocks: Blocks, rows: Rows) -> Self:
        """Weights that make the words of the rows likely."""
        probs_TK = rows.probs_TK[(rows.probs_TK > 0).any(axis=1)]
        features_TF = rows.features_TF[(rows.probs_TK > 0).any(axis=1)]
        one = cls(layout, np.zeros(sum(1 + len(own) for own in places_of(layout))))
        phi_TKP, theta_KP = one._laid_out(features_TF)
        real_KP = np.arange(theta_KP.shape[1]) <= np.array([len(own) for own in one.places])[:, None]
        phi_TX = phi_TKP[:, real_KP]  # X: the parameters of all columns side by side
        column_X = np.repeat(np.arange(one.columns), real_KP.sum(axis=1))
        last = -np.inf
        step_X: Floats = np.zeros(len(column_X))
        for _ in range(PASSES):
            weights_TK = one.weights(features_TF)
            joint_TK = weights_TK * probs_TK
            mean = float(np.log(joint_TK.sum(axis=1)).mean())
            if mean < last:  # one step back, and half of it
                step_X /= 2
                one = cls(layout, one.theta_P - step_X)
                continue
            if mean - last < LEAST:
                break
            last = mean
            posterior_TK = joint_TK / joint_TK.sum(axis=1, keepdims=True)
            weighted_TX = phi_TX * weights_TK[:, column_X]
            gradient_X = (phi_TX * (posterior_TK - weights_TK)[:, column_X]).sum(axis=0)
            curved_XX = (
                np.where(column_X[:, None] == column_X, phi_TX.T @ weighted_TX, 0.0) - weighted_TX.T @ weighted_TX
            )
            curved_XX[np.diag_indices_from(curved_XX)] += RIDGE * len(probs_TK)
            step_X = np.linalg.solve(curved_XX, gradient_X - RIDGE * one.theta_P)
            one = cls(layout, one.theta_P + step_X)
        return one

    def described(self, names: tuple[str, ...]) -> dict[str, Any]:
        """How many parameters it has."""
        return super().described(names) | {"parameters": len(self.theta_P)}

    def parts(self) -> Parts:
        """The parameters."""
        return Parts({}, {"theta": self.theta_P})

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """The parameters that a folder keeps."""
        return stored.checked(lambda: cls(layout, stored.array("theta", np.float64)))


def places_of(layout: ColumnLayout) -> list[list[int]]:
    """The features of each column: its equal part of its block's, or all of them where they cannot be shared out."""
    places: list[list[int]] = []
    for span in layout.spans.values():
        columns, features = (range(each.start, each.stop) for each in (span.columns, span.features))
        width = len(features) // len(columns)
        shared = width * len(columns) == len(features)
        places += [list(features[k * width : (k + 1) * width] if shared else features) for k in range(len(columns))]
    return places
