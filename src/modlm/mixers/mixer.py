"""What a mixer is: features of contexts in, weights over the columns out."""

from __future__ import annotations

from typing import ClassVar, Protocol

from modlm.arrays import Floats
from modlm.blocks.block import Parts


class Mixer(Protocol):
    """lambda(c), as far as the features of c determine it."""

    kind: ClassVar[str]

    def weights(self, features_BF: Floats) -> Floats:
        """One row of weights for each context; rows sum to 1."""
        ...

    def parts(self) -> Parts:
        """What a model folder keeps of it."""
        ...
