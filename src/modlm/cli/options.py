"""Arguments and options that several commands share, and how lists in them are written."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from modlm.errors import ConfigError

if TYPE_CHECKING:
    from modlm.text.options import TextOptions

T = TypeVar("T")


def option(names: str, meaning: str, **rules: Any) -> Any:
    """An option as help pages show it, `-o --output DIR`: its names, then what stands for its value, if anything."""
    words = names.split(" ")
    flags = [word for word in words if word.startswith("-")]
    return typer.Option(*flags, metavar=" ".join(words[len(flags) :]) or None, help=meaning, **rules)


def argument(name: str, meaning: str) -> Any:
    return typer.Argument(metavar=name, help=meaning)


def _set_threads(count: int | None) -> int | None:
    if count is not None:
        os.environ["MODLM_THREADS"] = str(count)  # what `modlm.ground.arrays.threads` reads
        os.environ["OMP_NUM_THREADS"] = str(count)  # what torch reads when it is imported
    return count


ModelArgument = Annotated[Path, argument("MODEL", "A model folder, a run folder, an ARPA file or a KenLM binary.")]
Json = Annotated[bool, option("--json", "Print JSON, and only that, on standard output.")]
DryRun = Annotated[bool, option("--dry-run", "Say what would be read, counted, trained and needed, and do nothing.")]
Force = Annotated[bool, option("--force", "Overwrite what is there already.")]
Threads = Annotated[int | None, option("--threads N", "Threads.  [default: all cores]", min=1, callback=_set_threads)]
Source = Annotated[
    Path | None, option("--source TEXT", "The source of each line of the text, for models that read one.")
]
SourceSentence = Annotated[
    str | None, option("--source SENTENCE", "The source of what is said, for models that read one; it may be empty.")
]
TrainingText = Annotated[list[Path] | None, option("--text TEXT", "Text to train on. Repeatable: each is a source.")]
VocabOption = Annotated[Path | None, option("--vocab FILE", "Words to know, one per line; all others are unknown.")]
MaxWords = Annotated[int | None, option("--max-words N", "Know only the N most frequent words.", min=1)]
MinCount = Annotated[int, option("--min-count N", "Know only words that occur at least N times.", min=1)]
TokenizerOption = Annotated[
    Path | None,
    option("--tokenizer PATH", "A tokenizer.json, its folder, or a SentencePiece .model: model its tokens, not words."),
]
ForeignTokenizer = Annotated[
    Path | None,
    option("--tokenizer PATH", "For an ARPA file or KenLM binary of tokens: tokenizer.json, its folder, or sp.model."),
]
ModelOutput = Annotated[Path, option("-o --output DIR", "The model folder to write.")]
EncodingErrors = Annotated[str, option("--encoding-errors strict|replace", "If not UTF-8: stop, or read U+FFFD.")]
Form = Annotated[
    str | None,
    option("--form fast|compact", "Fast to ask, or a twelfth of the bytes.  [default: fast, or as it is]"),
]
Bits = Annotated[
    int | None,
    option(
        "--bits N",
        "Of each probability in the compact form of a model without counts, such as a pruned one; 8 cost little, and "
        "how much is told.  [default: exact]",
        min=2,
        max=16,
    ),
]
Order = Annotated[
    int | None,
    option("--order N", "Words in the longest n-gram.  [default: 5, or that of counts given]", min=1, max=16),
]
Edge = Annotated[
    str | None,
    option(
        "--edge once|repeat",
        "One <s> per sentence (as KenLM), or order - 1 (as the paper).  [default: once, or that of counts given]",
    ),
]
Positions = Annotated[
    str,
    option(
        "--positions LIST",
        "Skip n-grams, in memory only: the context words to look at, farthest first; 1 is the previous word. 4,3,2 "
        "leaves it out. --order does not count.",
    ),
]
Master = Annotated[
    str | None,
    option(
        "--master URL",
        "For the engine spark, its master: spark://HOST:PORT, yarn, local[4], ...  [default: MODLM_MASTER, or what "
        "Spark's own settings say, or local[*]]",
    ),
]
Conf = Annotated[list[str] | None, option("--conf KEY=VALUE", "A setting of Spark, such as spark.executor.cores=4.")]
Engine = Annotated[
    str | None,
    option(
        "--engine memory|disk|spark", "Where to count; the files are the same.  [default: memory, disk with --memory]"
    ),
]
Memory = Annotated[str | None, option("--memory SIZE", "About how much to use, such as 2GB; per process with Spark.")]


def several(text: str, kind: Callable[[str], T], *, option: str, example: str) -> tuple[T, ...]:
    try:
        return tuple(kind(item.strip()) for item in text.split(",")) if text else ()
    except ValueError:
        message = f"{option} takes numbers with commas between, such as {example}, not {text!r}."
        raise typer.BadParameter(message) from None


def text_options(vocab: Path | None, tokenizer: Path | None, max_words: int | None, **others: Any) -> "TextOptions":
    """How to read texts: with the words of --vocab or the tokens of --tokenizer, if one of them is given."""
    from modlm.text.options import TextOptions
    from modlm.text.tokens import TokenVocabulary
    from modlm.text.vocabulary import Vocabulary

    if (vocab or tokenizer) and (max_words is not None or others["min_count"] > 1):
        raise ConfigError(
            "--vocab and --tokenizer say what to know. Leave out --max-words and --min-count, which choose words."
        )
    if vocab and tokenizer:
        raise ConfigError("--tokenizer brings its own tokens. Leave out --vocab.")
    tokens = TokenVocabulary.from_tokenizer(tokenizer) if tokenizer else None
    words = Vocabulary.from_file(vocab) if vocab else tokens
    return TextOptions(vocabulary=words, max_words=max_words, **others)


def spark_settings(conf: list[str] | None) -> dict[str, str]:
    for setting in conf or []:
        if "=" not in setting or not setting.startswith("spark."):
            raise ConfigError(f"--conf takes a setting of Spark, spark.NAME=VALUE, not {setting!r}.")
    return dict(setting.split("=", 1) for setting in conf or [])
