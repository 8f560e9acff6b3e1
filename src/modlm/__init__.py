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

if TYPE_CHECKING:
    from modlm.counts.counts import Counts as Counts
    from modlm.model.folder import load as load
    from modlm.model.folder import save as save
    from modlm.model.language_model import LanguageModel as LanguageModel
    from modlm.model.mixture import Mixture as Mixture
    from modlm.model.ngram_lm import NgramLM as NgramLM
    from modlm.model.sampling import Sampling as Sampling
    from modlm.text.corpus import Corpus as Corpus
    from modlm.text.vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

_HOMES = {
    "Corpus": "modlm.text.corpus",
    "Counts": "modlm.counts.counts",
    "LanguageModel": "modlm.model.language_model",
    "Mixture": "modlm.model.mixture",
    "NgramLM": "modlm.model.ngram_lm",
    "Sampling": "modlm.model.sampling",
    "Vocabulary": "modlm.text.vocabulary",
    "load": "modlm.model.folder",
    "save": "modlm.model.folder",
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
