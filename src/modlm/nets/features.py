"""Count features as a net takes them: centred by their training mean, whitened (ZCA), or raw.

Steady features, which are the same after every context, come in as their mean: within a fold of the training text they
are constant and so would name the fold, and with it perhaps the source of a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from modlm.errors import ConfigError
from modlm.ground.arrays import AnyFloats, Bools, Floats, Singles
from modlm.nets.config import NORMALISATIONS, one_of

PIECE = 1 << 18  # rows read at a time: texts of any length are mapped from disk
LIVE = "live_F"
RIDGE = 0.01  # added to variances before their root is taken, as the paper's program did


@dataclass(frozen=True, slots=True)
class FeatureScaling:
    """features -> (features - mean) @ matrix; without a matrix only the mean is taken off."""

    mean_F: Singles
    matrix_FF: Singles | None = None
    steady_F: Bools | None = None
    """True where a feature counts as being at its mean always; none: nowhere."""

    def __post_init__(self) -> None:
        if self.matrix_FF is not None and self.matrix_FF.shape != (len(self.mean_F), len(self.mean_F)):
            raise ConfigError(
                f"Features have {len(self.mean_F)} means, but a whitening matrix of shape {self.matrix_FF.shape}. "
                f"Fit both on the same text."
            )

    @staticmethod
    def raw(features: int) -> FeatureScaling:
        """Features as they are."""
        return FeatureScaling(np.zeros(features, dtype=np.float32))

    @staticmethod
    def fit(
        features_TF: AnyFloats,
        kind: str,
        *,
        counted_T: Bools | None = None,
        steady_F: Bools | None = None,
        add_up: Callable[[Floats], Floats] | None = None,
    ) -> FeatureScaling:
        """The scaling for a training text, every position weighing the same; `counted_T` leaves positions out.

        Where the text is shared out, `add_up` makes the sums of one part those of the whole text.
        """
        one_of("net.features", kind, NORMALISATIONS)
        if kind == "raw":
            return replace(FeatureScaling.raw(features_TF.shape[1]), steady_F=steady_F)
        mean_F, covariance_FF = _moments(features_TF, counted_T, add_up)
        if kind == "centred":
            return FeatureScaling(mean_F.astype(np.float32), steady_F=steady_F)
        if steady_F is not None:
            covariance_FF[steady_F] = covariance_FF[:, steady_F] = 0
        variances_F, vectors_FF = np.linalg.eigh(covariance_FF)
        scales_F = 1 / np.sqrt(np.maximum(variances_F, 0) + RIDGE)
        matrix_FF = ((vectors_FF * scales_F) @ vectors_FF.T).astype(np.float32)
        return FeatureScaling(mean_F.astype(np.float32), matrix_FF, steady_F)


def _moments(
    features_TF: AnyFloats, counted_T: Bools | None, add_up: Callable[[Floats], Floats] | None
) -> tuple[Floats, Floats]:
    """Mean and covariance, in double precision; zeros for an empty text."""
    size = features_TF.shape[1]
    total, sums_F, products_FF = 0, np.zeros(size), np.zeros((size, size))
    for start in range(0, len(features_TF), PIECE):
        piece = np.asarray(features_TF[start : start + PIECE], dtype=np.float64)
        if counted_T is not None:
            piece = piece[counted_T[start : start + PIECE]]
        total += len(piece)
        sums_F += piece.sum(axis=0)
        products_FF += piece.T @ piece
    if add_up is not None:
        sums = add_up(np.concatenate(([float(total)], sums_F, products_FF.ravel())))
        total, sums_F, products_FF = int(sums[0]), sums[1 : 1 + size], sums[1 + size :].reshape(size, size)
    mean_F = sums_F / max(total, 1)
    return mean_F, products_FF / max(total, 1) - np.outer(mean_F, mean_F)


class ScaledFeatures(nn.Module):
    """A FeatureScaling as a step of a net; its arrays are saved with the net's parameters."""

    mean_F: Tensor
    live_F: Tensor
    matrix_FF: Tensor | None

    def __init__(self, scaling: FeatureScaling) -> None:
        super().__init__()
        matrix_FF, live_F = scaling.matrix_FF, np.ones(len(scaling.mean_F), dtype=np.float32)
        if scaling.steady_F is not None:
            live_F[scaling.steady_F] = 0
        self.register_buffer("mean_F", torch.tensor(scaling.mean_F, dtype=torch.float32))
        self.register_buffer(LIVE, torch.tensor(live_F))
        self.register_buffer("matrix_FF", None if matrix_FF is None else torch.tensor(matrix_FF, dtype=torch.float32))

    def forward(self, features_TBF: Tensor) -> Tensor:
        """Scaled features."""
        centred_TBF = (features_TBF - self.mean_F) * self.live_F
        return centred_TBF if self.matrix_FF is None else centred_TBF @ self.matrix_FF


def of_this_version(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a net; in one that was saved by an earlier version all features are live, as they were then."""
    added = {
        name.removesuffix("mean_F") + LIVE: torch.ones_like(mean_F)
        for name, mean_F in tensors.items()
        if name.endswith("scaled.mean_F")
    }
    return added | dict(tensors)
