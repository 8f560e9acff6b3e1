"""The fastest matrix product of this machine, measured with torch: what nets are measured by."""

from __future__ import annotations

import torch

from side_by_side.timing import clocked

SIDES = (1024, 2048)
REPEATS = 5


def gemm_peak(dtype: torch.dtype = torch.float32, *, quick: bool = False) -> float:
    """Floating-point operations a second of the best product of two square matrices."""
    best = 0.0
    for side in (128,) if quick else SIDES:
        left, right = torch.rand(side, side).to(dtype), torch.rand(side, side).to(dtype)
        out = torch.empty(side, side, dtype=dtype)
        multiply = clocked(lambda left=left, right=right, out=out: torch.mm(left, right, out=out))  # type: ignore[misc]
        best = max(best, *(2 * side**3 / multiply() for _ in range(REPEATS + 1)))
    return best
