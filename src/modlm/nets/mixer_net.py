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
from modlm.nets.initial import ATTENDED, NEVER
from modlm.nets.inputs import Inputs
from modlm.nets.mixture_loss import ALL_ON, Cases, mixture_nll
from modlm.nets.output import Output

LEAST = -1e3  # the log of a probability that is 0, whose gradient is a number


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
        over_source: tuple[int, int] = (0, 0),
        scaling: FeatureScaling | None = None,
        seed: int = 0,
    ) -> None:
        """`over_source`: blocks that have a column for each word of the source, and features of such a word."""
        super().__init__()
        if dense == 0 and not delta:
            raise ConfigError("A net needs columns to mix, but has neither dense nor delta columns. Add a block.")
        if config.tied and not delta:
            raise ConfigError("net.tied needs delta columns, which this model has not. Leave tied out.")
        generator = torch.Generator().manual_seed(seed)
        self.config, self.vocab_size, self.dense, self.delta = config, vocab_size, dense, delta
        body, self.over_source = BODIES[config.body], over_source[0]
        self.points = bool(getattr(body, "points", False))  # any module may be a body
        if self.over_source and not self.points:
            raise ConfigError(
                f"Columns for the words of a source need a body that attends to them, but net.body is {config.body}. "
                f"Set net.body = attention."
            )
        self.inputs = Inputs(
            config, vocab_size=vocab_size, features=features, scaling=scaling, generator=generator,
            length=ATTENDED if self.points else 1.0,
        )  # fmt: skip
        source = (
            {"words": config.source_words, "encoder": config.encoder, "columns": over_source} if self.points else {}
        )
        self.body = body(self.inputs.size, config.hidden, config.layers, generator, **source)
        self.reads_source = bool(getattr(self.body, "reads_source", False))
        if self.reads_source and config.context == "document":
            raise ConfigError("A body that reads sources takes sentences one by one. Set net.context = sentence.")
        deltas = vocab_size if delta else 0
        self.output = Output(
            config.hidden,
            dense + self.over_source,
            deltas,
            tied=config.tied,
            projected=config.projected,
            generator=generator,
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
        source_features_BSF: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """What the body makes of each position (T, B, H), and the state after the last.

        Contexts are the last `words` words before each position, the nearest last; `<s>` is id J. A part that is not
        among the net's inputs is not looked at. No state: zeros. `sources` are the source sentences of the B sentences,
        for a body that reads them; where their words have columns, the logits of these stand behind the H units.
        """
        given: dict[str, object] = {"sources": sources} if self.reads_source else {}
        given |= {"source_features_BSF": source_features_BSF} if self.points else {}
        hidden_TBH, state_SBH = self.body(self.inputs(contexts_TBW, features_TBF, dropout), state_SBH, dropout, **given)
        return hidden_TBH, state_SBH

    def nll(
        self,
        hidden_PX: Tensor,
        log_probs_PD: Tensor,
        words_P: Tensor,
        cases: Cases = ALL_ON,
        *,
        source_log_probs_PX: Tensor | None = None,
        products: torch.dtype | None = None,
    ) -> tuple[Tensor, Tensor]:
        """-log p of each word (with gradients where they are on) and the weight on dense columns (without).

        `products` is the type of numbers in which vectors of contexts and of columns meet; none: their own. Columns for
        words of the source are folded, block by block: their logits make their weights among themselves.
        """
        weight_KH, bias_K = self._output()
        hidden_PH, logits_PGS = self._parted(hidden_PX)
        folded = None
        if self.over_source:
            assert source_log_probs_PX is not None
            given = source_log_probs_PX if source_log_probs_PX.shape[1] else torch.full_like(logits_PGS, LEAST)
            log_probs_PGS = given.view(logits_PGS.shape).clamp(min=LEAST)
            all_PG = logits_PGS.logsumexp(-1)
            folded = (all_PG, (logits_PGS + log_probs_PGS).logsumexp(-1) - all_PG)
        hidden_PH = self.output.project(hidden_PH)
        if products is not None:
            hidden_PH, weight_KH = hidden_PH.to(products), weight_KH.to(products)
        return mixture_nll(hidden_PH, weight_KH, bias_K, log_probs_PD, words_P, cases, delta=self.delta, folded=folded)

    def log_weights(self, hidden_PX: Tensor) -> Tensor:
        """log lambda for every column (P, K): dense ones, those of the source's words block by block, deltas."""
        weight_KH, bias_K = self._output()
        hidden_PH, logits_PGS = self._parted(hidden_PX)
        logits_PK = torch.addmm(bias_K, self.output.project(hidden_PH), weight_KH.t())
        if self.over_source:
            own, deltas = slice(self.dense, self.dense + self.over_source), slice(self.dense + self.over_source, None)
            own_PGS = (logits_PK[:, own, None] + logits_PGS).masked_fill(logits_PGS <= NEVER, -torch.inf)
            over_PX = own_PGS[..., : self._places(hidden_PX)].flatten(1)
            logits_PK = torch.cat([logits_PK[:, : self.dense], over_PX, logits_PK[:, deltas]], 1)
        return torch.log_softmax(logits_PK, dim=-1)

    def _places(self, hidden_PX: Tensor) -> int:
        """S: words of the longest source."""
        return (hidden_PX.shape[1] - self.config.hidden) // max(1, self.over_source)

    def _parted(self, hidden_PX: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden vectors, and the logits of columns for source words (P, G, S), at least one of each block."""
        hidden_PH, logits_PX = hidden_PX[:, : self.config.hidden], hidden_PX[:, self.config.hidden :]
        if logits_PX.shape[1] == 0:
            logits_PX = hidden_PX.new_full((len(hidden_PX), self.over_source), NEVER)
        return hidden_PH, logits_PX.view(len(hidden_PX), self.over_source, -1 if self.over_source else 0)

    def _output(self) -> tuple[Tensor, Tensor]:
        vectors = self.inputs.word_vectors[: self.vocab_size] if self.config.tied else None
        weight_KH, bias_K = self.output(vectors)
        return weight_KH, bias_K
