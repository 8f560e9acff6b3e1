"""modlm: mixture-of-distributions language models.

    P(w | c) = sum_k lambda_k(c) * P_k(w | c)

    >>> import modlm
    >>> lm = modlm.NgramLM.fit(["a b c", "a b d"], order=2)
    >>> [p.word for p in lm.next_words("a", k=1)]
    ['b']

Names are imported when they are first used, so `import modlm` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from modlm.errors import ModlmError
from modlm.ground.deferred import defer_kernels

if TYPE_CHECKING:
    from modlm.blocks.function import FunctionBlock as FunctionBlock
    from modlm.counts.counts import Counts as Counts
    from modlm.counts.indexing import index_text as index_text
    from modlm.counts.suffixes import TextIndex as TextIndex
    from modlm.evaluation.certificate import certify as certify
    from modlm.families import register as register
    from modlm.model.folder import load as load
    from modlm.model.folder import save as save
    from modlm.model.language_model import LanguageModel as LanguageModel
    from modlm.model.mixture import Mixture as Mixture
    from modlm.model.ngram_lm import NgramLM as NgramLM
    from modlm.model.sampling import Sampling as Sampling
    from modlm.text.corpus import Corpus as Corpus
    from modlm.text.vocabulary import Vocabulary as Vocabulary
    from modlm.training.from_python import Attention as Attention
    from modlm.training.from_python import Block as Block
    from modlm.training.from_python import Cache as Cache
    from modlm.training.from_python import Delta as Delta
    from modlm.training.from_python import FeedForward as FeedForward
    from modlm.training.from_python import Gru as Gru
    from modlm.training.from_python import Kind as Kind
    from modlm.training.from_python import Lstm as Lstm
    from modlm.training.from_python import Model as Model
    from modlm.training.from_python import Ngram as Ngram
    from modlm.training.from_python import Online as Online
    from modlm.training.from_python import Rnn as Rnn
    from modlm.training.from_python import Transformer as Transformer
    from modlm.training.from_python import Uniform as Uniform
    from modlm.training.from_python import Unknown as Unknown
    from modlm.training.from_python import train as train

__version__ = "0.1.0"

defer_kernels()

_HOMES = {
    "Attention": "modlm.training.from_python",
    "Block": "modlm.training.from_python",
    "Cache": "modlm.training.from_python",
    "Corpus": "modlm.text.corpus",
    "Counts": "modlm.counts.counts",
    "Delta": "modlm.training.from_python",
    "FeedForward": "modlm.training.from_python",
    "FunctionBlock": "modlm.blocks.function",
    "Gru": "modlm.training.from_python",
    "Kind": "modlm.training.from_python",
    "LanguageModel": "modlm.model.language_model",
    "Lstm": "modlm.training.from_python",
    "Mixture": "modlm.model.mixture",
    "Model": "modlm.training.from_python",
    "Ngram": "modlm.training.from_python",
    "NgramLM": "modlm.model.ngram_lm",
    "Online": "modlm.training.from_python",
    "Rnn": "modlm.training.from_python",
    "Sampling": "modlm.model.sampling",
    "TextIndex": "modlm.counts.suffixes",
    "Transformer": "modlm.training.from_python",
    "Uniform": "modlm.training.from_python",
    "Unknown": "modlm.training.from_python",
    "Vocabulary": "modlm.text.vocabulary",
    "certify": "modlm.evaluation.certificate",
    "index_text": "modlm.counts.indexing",
    "load": "modlm.model.folder",
    "register": "modlm.families",
    "save": "modlm.model.folder",
    "train": "modlm.training.from_python",
}

__all__ = ["ModlmError", "__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'modlm' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
