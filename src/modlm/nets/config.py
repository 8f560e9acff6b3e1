"""What a net is made of, as plain frozen data, without torch; the defaults are the paper's (section 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from modlm.errors import ConfigError, nearest
from modlm.families import BODIES

INPUTS = ("counts", "word")
ENCODERS = ("lstm", "transformer")
NORMALISATIONS = ("centred", "whitened", "raw")
CONTEXTS = ("sentence", "document")
EXACT = "exact"


def one_of(path: str, value: str, known: tuple[str, ...]) -> None:
    """An error that names the setting, the value and the nearest right one."""
    if value not in known:
        shown = repr(value if len(value) <= 80 else f"{value[:77]}...")
        raise ConfigError(f"{path} is {shown}, which is unknown.{nearest(value, known)} Known: {', '.join(known)}.")


POSITIVE = ("be above 0", lambda value: value > 0)
NOT_NEGATIVE = ("not be negative", lambda value: value >= 0)
AT_LEAST_1 = ("be at least 1", lambda value: value >= 1)
SHARE = ("be between 0 and 1", lambda value: 0 <= value <= 1)
PART = ("be at least 0 and less than 1", lambda value: 0 <= value < 1)


def check_numbers(table: str, config: object, rule: tuple[str, Callable[[float], bool]], *names: str) -> None:
    """An error that names the first of these settings which breaks a rule, and its value."""
    for name in names:
        if not rule[1](getattr(config, name)):
            raise ConfigError(f"{table}{name} must {rule[0]}, but is {getattr(config, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetConfig:
    """The net that turns a context into logits over the columns of D."""

    body: str = "lstm"
    """A member of the family of bodies; `modlm families bodies` lists them."""
    hidden: int = 200
    """Units in each layer."""
    layers: int = 1
    inputs: tuple[str, ...] = ("counts", "word")
    """`counts` (C in the paper): features of the count columns; `word` (R): vectors of the words before."""
    words: int = 1
    """How many previous words are given as vectors, side by side."""
    word_size: int = 0
    """Length of a word vector; 0 takes that of the hidden layer."""
    features: str = "centred"
    """How count features come in: centred by their training mean, whitened (ZCA), or raw."""
    dropout: float = 0.0
    """Share of inputs and outputs of the body that are dropped while training; never the recurrent state."""
    input_dropout: float = -1.0
    """The share of inputs, if it is to be another; below 0: as `dropout`."""
    locked: bool = False
    """Whether a sentence keeps what is dropped from its first step to its last (variational dropout)."""
    word_dropout: float = 0.0
    """Share of words whose vectors are dropped throughout a batch."""
    weight_dropout: float = 0.0
    """Share of recurrent weights that are dropped throughout a batch (weight-drop)."""
    tied: bool = False
    """Whether the delta columns' output vectors are the word vectors (needs word_size = hidden)."""
    projected: bool = False
    """Whether hidden vectors pass through a square matrix before they meet shared word vectors (needs tied)."""
    context: str = "sentence"
    """`document` carries the recurrent state over to the next sentence."""
    encoder: str = "lstm"
    """What reads the source, for a body with attention: an LSTM from both sides, or a Transformer."""
    source_words: int = 0
    """Words of the source vocabulary; a run finds out itself."""

    def __post_init__(self) -> None:
        one_of("net.body", self.body, tuple(BODIES))
        one_of("net.features", self.features, NORMALISATIONS)
        one_of("net.context", self.context, CONTEXTS)
        one_of("net.encoder", self.encoder, ENCODERS)
        for name in self.inputs:
            one_of("net.inputs", name, INPUTS)
        if not self.inputs or len(set(self.inputs)) < len(self.inputs):
            raise ConfigError(f"net.inputs must name counts, word or both once, but is {list(self.inputs)}.")
        check_numbers("net.", self, AT_LEAST_1, "hidden", "layers", "words")
        check_numbers("net.", self, NOT_NEGATIVE, "word_size", "source_words")
        check_numbers("net.", self, PART, "dropout", "word_dropout", "weight_dropout")
        if not self.input_dropout < 1:
            raise ConfigError(f"net.input_dropout must be less than 1, but is {self.input_dropout}.")
        if self.tied and self.word_length != self.hidden:
            raise ConfigError(
                f"net.tied shares word vectors with the output, so net.word_size ({self.word_length}) must be "
                f"net.hidden ({self.hidden}). Leave word_size out, or tied."
            )
        if self.body == "attention" and self.encoder == "lstm" and self.hidden % 2:
            raise ConfigError(
                f"net.hidden is {self.hidden}, but an encoder reads from both sides with half of the units each."
            )
        if self.projected and not self.tied:
            raise ConfigError(
                "net.projected lies between the body and word vectors shared by net.tied, which is off; output vectors "
                "of their own need no such matrix. Set net.tied = true, or leave projected out."
            )
        if self.context == "document" and self.body == "feedforward":
            raise ConfigError("net.context = document carries a recurrent state, which a feedforward net has not.")

    @property
    def context_words(self) -> int:
        """How many words before a position are read at all."""
        return self.words if "word" in self.inputs else 0

    @property
    def word_length(self) -> int:
        """Length of a word vector."""
        return self.word_size or self.hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDropoutConfig:
    """Train some examples without the count-based columns (section 5.2 of the paper)."""

    rate: float = 0.0
    """Share of training examples on which one of the groups is switched off; the paper's hybrids use 0.5."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Names of blocks that are switched off together; none: all n-gram and model blocks in one group."""
    per: str = "example"
    """Draw for every `example` (position), as the paper says, or once a time `step` for the whole batch; `exact` draws
    nothing and takes at every position the mean of the losses with and without the groups."""
    decay: float = 1.0
    """The rate is multiplied by this after every epoch."""

    def __post_init__(self) -> None:
        one_of("block_dropout.per", self.per, ("example", "step", EXACT))
        check_numbers("block_dropout.", self, SHARE, "rate", "decay")
