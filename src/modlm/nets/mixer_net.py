"""The net of a mixture: words before and count features in; lambda over the columns of D, and the loss, out.

Columns stand in the order of D: the dense ones first, then, in models with delta columns, one for each of the J words.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from modlm.errors import ConfigError
from modlm.families import BODIES
from modlm.ground.arrays import Ids
from modlm.nets.config import NetConfig
from modlm.nets.dropout import Dropout
from modlm.nets.features import FeatureScaling
from modlm.nets.inputs import Inputs
from modlm.nets.mixture_loss import ALL_ON, Cases, mixture_nll
from modlm.nets.output import Output


class MixerNet(nn.Module):
    """lambda(c) by a net (section 3.2 of the paper): inputs, body, and a softmax over all columns.

    Two nets of one `seed` begin with the same parameters; no global random state is used.
    """

    def __init__(
        self,
        config: NetConfig,
        *,
        vocab_size: int,
        features: int,
        dense: int,
        delta: bool,
        scaling: FeatureScaling | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if dense == 0 and not delta:
            raise ConfigError("A net needs columns to mix, but has neither dense nor delta columns. Add a block.")
        if config.tied and not delta:
            raise ConfigError("net.tied needs delta columns, which this model has not. Leave tied out.")
        generator = torch.Generator().manual_seed(seed)
        self.config, self.vocab_size, self.dense, self.delta = config, vocab_size, dense, delta
        self.inputs = Inputs(config, vocab_size=vocab_size, features=features, scaling=scaling, generator=generator)
        self.body = BODIES[config.body](self.inputs.size, config.hidden, config.layers, generator)
        if self.body.reads_source and config.context == "document":
            raise ConfigError("A body that reads sources takes sentences one by one. Set net.context = sentence.")
        deltas = vocab_size if delta else 0
        self.output = Output(
            config.hidden, dense, deltas, tied=config.tied, projected=config.projected, generator=generator
        )

    @property
    def state_shape(self) -> tuple[int, int]:
        """Rows and units of the state of one sentence; no rows in a feedforward net."""
        return self.body.state_rows, self.config.hidden

    def hidden(
        self,
        contexts_TBW: Tensor,
        features_TBF: Tensor | None,
        state_SBH: Tensor | None = None,
        *,
        dropout: Dropout | None = None,
        sources: Sequence[Ids] = (),
    ) -> tuple[Tensor, Tensor]:
        """What the body makes of each position (T, B, H), and the state after the last.

        Contexts are the last `words` words before each position, the nearest last; `<s>` is id J. A part that is not
        among the net's inputs is not looked at. No state: zeros. `sources` are the source sentences of the B sentences,
        for a body that reads them.
        """
        given = {"sources": sources} if self.body.reads_source else {}
        hidden_TBH, state_SBH = self.body(self.inputs(contexts_TBW, features_TBF, dropout), state_SBH, dropout, **given)
        return hidden_TBH, state_SBH

    def nll(
        self,
        hidden_PH: Tensor,
        log_probs_PD: Tensor,
        words_P: Tensor,
        cases: Cases = ALL_ON,
        *,
        products: torch.dtype | None = None,
    ) -> tuple[Tensor, Tensor]:
        """-log p of each word (with gradients where they are on) and the weight on dense columns (without).

        `products` is the type of numbers in which vectors of contexts and of columns meet; none: their own.
        """
        weight_KH, bias_K = self._output()
        hidden_PH = self.output.project(hidden_PH)
        if products is not None:
            hidden_PH, weight_KH = hidden_PH.to(products), weight_KH.to(products)
        return mixture_nll(hidden_PH, weight_KH, bias_K, log_probs_PD, words_P, cases, delta=self.delta)

    def log_weights(self, hidden_PH: Tensor) -> Tensor:
        """log lambda for every column (P, K)."""
        weight_KH, bias_K = self._output()
        return torch.log_softmax(torch.addmm(bias_K, self.output.project(hidden_PH), weight_KH.t()), dim=-1)

    def _output(self) -> tuple[Tensor, Tensor]:
        vectors = self.inputs.word_vectors[: self.vocab_size] if self.config.tied else None
        weight_KH, bias_K = self.output(vectors)
        return weight_KH, bias_K
