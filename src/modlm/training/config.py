"""A run as plain frozen data: which texts, which columns, which net, and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from modlm.counts.counts import EDGES
from modlm.counts.skip import check_positions
from modlm.errors import ConfigError
from modlm.families import BLOCKS, MIXERS
from modlm.nets.config import AT_LEAST_1, NOT_NEGATIVE, POSITIVE, BlockDropoutConfig, NetConfig, check_numbers, one_of
from modlm.smoothing import smoother_of

CONDITIONAL = "conditional"
KINDS = ("neural", "interpolated", "hybrid", CONDITIONAL)
OPTIMISERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "plateau", "cosine")
EXTRA = ("uniform", "unknown")
PRODUCTS = ("float32", "bfloat16")
TRACKING = ("tensorboard", "mlflow", "wandb", "trackio")
ORDER = 5  # of n-grams whose order nobody set


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsConfig:
    """One block of count-based columns: n-gram orders of a text or of counts, or a whole model as one column."""

    text: tuple[str, ...] = ()
    """Texts to count; none, and no counts or model either: the training text, held out fold by fold."""
    source: int = 0
    """Which of the run's texts to count, from 1, together with `text` if that is given; held out fold by fold."""
    counts: tuple[str, ...] = ()
    """A folder of counts, or count files that are taken together, instead of a text."""
    model: str = ""
    """A model folder or ARPA file that serves as one column."""
    order: int = ORDER
    """Words in the longest n-gram; with positions, one more than there are of these."""
    positions: tuple[int, ...] = ()
    """Skip n-grams: the context words to look at, farthest first; 1 is the previous word."""
    smoothing: str = "modified-kneser-ney"
    edge: str = "once"
    """With positions always `repeat`: there is `<s>` as far back as they reach."""
    block: str = ""
    """A block of another kind, made from `settings`."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What that block takes."""

    def __post_init__(self) -> None:
        if self.block:
            BLOCKS.choose(self.block)
        elif self.settings:
            raise ConfigError("columns.settings are for a block of another kind; name it with columns.block.")
        try:
            smoother_of(self.smoothing)
        except ConfigError as error:
            raise ConfigError(f"columns.smoothing: {error}") from None
        one_of("columns.edge", self.edge, tuple(EDGES))
        if sum(map(bool, (self.text, self.counts, self.model, self.block))) > 1:
            raise ConfigError("columns takes one of text, counts, model and block; give each its own block.")
        if self.source and (self.counts or self.model or self.block):
            raise ConfigError(
                "columns.source is counted, alone or with columns.text; leave out counts, model and block."
            )
        if self.source < 0:
            raise ConfigError(f"columns.source counts the run's texts from 1, but is {self.source}.")
        check_numbers("columns.", self, AT_LEAST_1, "order")
        if self.positions:
            self._take_positions()

    def _take_positions(self) -> None:
        """Check the positions, and let order and edge be what they make them."""
        if self.counts or self.model or self.block:
            raise ConfigError(
                "columns.positions tells how to count a text, but counts or a model are given. Leave it out."
            )
        try:
            order = len(check_positions(self.positions)) + 1
        except ConfigError as error:
            raise ConfigError(f"columns.positions: {error}") from None
        if self.order not in (order, ORDER):
            raise ConfigError(
                f"columns.order is {self.order}, but {len(self.positions)} positions make it {order}. Leave it out."
            )
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "edge", "repeat")

    @property
    def held_out(self) -> bool:
        """Whether these are counts of the training text itself, or of a part of it."""
        return self.source > 0 or not (self.text or self.counts or self.model or self.block)


def usual_columns(texts: int, kind: str = "hybrid") -> dict[str, ColumnsConfig]:
    """The count blocks of a run that lists none: `ngram`, or with several texts one for each, `ngram1`, `ngram2`, …

    A conditional model has `lexicon` and `copy` besides.
    """
    over_source = {name: ColumnsConfig(block=name) for name in ("lexicon", "copy") if kind == CONDITIONAL}
    if kind == "neural" or texts < 2:
        return {} if kind == "neural" else {"ngram": ColumnsConfig(), **over_source}
    return {f"ngram{source}": ColumnsConfig(source=source) for source in range(1, texts + 1)} | over_source


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserConfig:
    """How parameters move."""

    kind: str = "adam"
    learning_rate: float = 0.001
    weight_decay: float = 0.0
    lazy: bool = False
    """Whether Adam leaves word vectors that a batch does not read, and their moments, as they are."""
    clip: float = 5.0
    """The norm to which gradients of the loss, summed over the batch, are cut down; 0 does not."""
    schedule: str = "constant"
    """constant; plateau: times `decay` when validation gets no better; cosine: down to 0 at the end of the run."""
    decay: float = 0.5
    wait: int = 1
    """Plateau: evaluations in a row without a better one before the rate falls, and before it falls again."""
    warmup: int = 0
    """Words over which the learning rate grows from 0."""
    average: int = 0
    """Words after which parameters count half in the average that is evaluated and kept; 0: no average."""

    def __post_init__(self) -> None:
        one_of("optimiser.kind", self.kind, OPTIMISERS)
        one_of("optimiser.schedule", self.schedule, SCHEDULES)
        check_numbers("optimiser.", self, POSITIVE, "learning_rate")
        check_numbers("optimiser.", self, NOT_NEGATIVE, "weight_decay", "clip", "warmup", "average")
        check_numbers("optimiser.", self, AT_LEAST_1, "wait")
        if not 0 < self.decay <= 1:
            raise ConfigError(f"optimiser.decay must be above 0 and at most 1, but is {self.decay}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleConfig:
    """How long a run takes and when it looks at the validation text."""

    epochs: float = 20.0
    """Passes over the training text at most."""
    minutes: float = 0.0
    """Training time at most, counted over all resumed parts; 0: no limit."""
    evaluate_every: int = 0
    """Words between evaluations; 0: twice an epoch."""
    patience: int = 6
    """Evaluations without a better one before a run ends; 0: never."""
    least_epochs: float = 0.0
    """Passes over the training text before patience can end a run."""
    checkpoint_seconds: float = 60.0
    """Time between checkpoints; one is written at every evaluation too."""
    batch_words: int = 512
    """Words in a batch, padding counted, as long as it holds more than one sentence."""
    evaluation_words: int = 4096
    """The same for evaluation."""
    steps: int = 35
    """context = document: words through which gradients go back."""

    def __post_init__(self) -> None:
        check_numbers("schedule.", self, POSITIVE, "epochs", "batch_words", "evaluation_words", "steps")
        times = ("minutes", "evaluate_every", "patience", "least_epochs", "checkpoint_seconds")
        check_numbers("schedule.", self, NOT_NEGATIVE, *times)


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyConfig:
    """The words that can be predicted: those of a file, or of the training text."""

    file: str = ""
    tokenizer: str = ""
    """A tokenizer.json or a folder with one: its tokens are predicted instead of words."""
    max_words: int = 0
    """The most frequent so many; 0: all."""
    min_count: int = 1

    def __post_init__(self) -> None:
        if self.tokenizer and (self.file or self.max_words or self.min_count > 1):
            raise ConfigError("vocabulary.tokenizer brings its own tokens. Leave out file, max_words and min_count.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything a run is determined by."""

    kind: str = "hybrid"
    text: tuple[str, ...]
    """One text or several; each is a source of its own, and every fold takes a part of each."""
    valid: str
    test: str = ""
    source: tuple[str, ...] = ()
    """What the lines of `text` were made from, line by line, in as many files: the source of each, if it has one."""
    valid_source: str = ""
    test_source: str = ""
    seed: int = 1
    folds: int = 10
    """Parts of the training text; each gets its rows from the counts of all the others."""
    encoding_errors: str = "strict"
    """Bytes of a text that are not UTF-8: `strict` is an error, `replace` takes them for U+FFFD."""
    extra: tuple[str, ...] = EXTRA
    """Constant columns."""
    products: str = "float32"
    """Numbers that the output layer multiplies while training. Where the processor multiplies them itself, bfloat16
    takes half the time or less; elsewhere it may take longer. Parameters and evaluations stay in float32."""
    tracking: tuple[str, ...] = ()
    """Where curves go besides the journal: tensorboard, mlflow, wandb, trackio."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    columns: dict[str, ColumnsConfig] = field(default_factory=dict)
    """Count blocks by name; interpolated and hybrid models without any get one for each text."""
    mixer: str = "net"
    """Where the weights come from: the net below, or a mixer that is fitted to the validation text at once."""
    net: NetConfig = field(default_factory=NetConfig)
    block_dropout: BlockDropoutConfig = field(default_factory=BlockDropoutConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)

    def __post_init__(self) -> None:
        for name in ("text", "source"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        one_of("kind", self.kind, KINDS)
        one_of("mixer", self.mixer, tuple(MIXERS))
        if self.mixer != "net" and self.kind != "interpolated":
            raise ConfigError(
                f"mixer = {self.mixer} has no weights for delta columns. Set kind = interpolated, or a net."
            )
        for name, block in self.columns.items():
            if block.source > len(self.text):
                raise ConfigError(
                    f"columns.{name}.source is {block.source}, but the run has {len(self.text)} texts. Name as many "
                    f"with text = [...] or --text."
                )
        self._check_sources()
        one_of("encoding_errors", self.encoding_errors, ("strict", "replace"))
        one_of("products", self.products, PRODUCTS)
        for name in self.extra:
            one_of("extra", name, EXTRA)
        for name in self.tracking:
            one_of("tracking", name, TRACKING)
        if self.folds < 2:
            raise ConfigError(f"folds must be at least 2, but is {self.folds}.")
        if self.kind == "neural" and (self.columns or "counts" in self.net.inputs):
            raise ConfigError(
                "A neural model has no count columns. Take kind = hybrid, or leave columns and counts out."
            )
        if self.kind == "interpolated" and self.net.tied:
            raise ConfigError("net.tied needs delta columns, which an interpolated model has not.")

    def _check_sources(self) -> None:
        """Either all texts come with a source, or none does and nothing asks for one."""
        reading = self.mixer == "net" and self.net.body == "attention"
        if not self.source:
            if reading or self.kind == CONDITIONAL:
                found = f"kind = {self.kind}" if self.kind == CONDITIONAL else "net.body = attention"
                raise ConfigError(f"{found} reads a source. Name it with source = 'FILE', or with --source FILE.")
            return
        if len(self.source) != len(self.text):
            raise ConfigError(
                f"source names {len(self.source)} files, but text names {len(self.text)}. Give one for each."
            )
        for name in ("valid", "test"):
            if getattr(self, name) and not getattr(self, f"{name}_source"):
                raise ConfigError(
                    f"{name}_source is missing: {name} needs a source as text does. Name it with {name}_source = "
                    f"'FILE', or with --{name}-source FILE."
                )
