"""A causal language model as a block: one column, with features of its own distribution.

In a model folder it is a reference: where the model lies, and the sum of its weights. It is loaded when first asked
for, so whoever brings the distributions along (the logits processor) never loads it.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, UNLIMITED, Beside, Block, Reads, Rows, entries
from modlm.errors import ConfigError, InputError, VocabularyError
from modlm.ground.arrays import Floats, Ids
from modlm.ground.files import sha256
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading

SOURCE = ("path", "gguf", "sha256")
WEIGHT_FILES = ("*.safetensors", "*.bin", "*.gguf")


class CausalLmBlock(Block):
    """The column `lm`."""

    kind: ClassVar[str] = "causal-lm"
    columns: tuple[str, ...] = ("lm",)

    def __init__(
        self,
        vocabulary: Vocabulary,
        reading: Reading,
        features: tuple[str, ...],
        *,
        source: dict[str, Any],
        lm: CausalLm | None = None,
    ) -> None:
        """`source` says where it lies: `path`, `gguf`, `start`, `sha256` and `dtype`; `lm` is it, if it is loaded."""
        self.vocabulary, self.reading, self.features, self.source = vocabulary, reading, features, source
        self.reads = Reads(UNLIMITED, document=reading.context == "document")
        self._lm = lm

    @classmethod
    def of(cls, lm: CausalLm, reading: Reading, *, path: Path, gguf: str = "") -> CausalLmBlock:
        """The block of a model that is loaded."""
        source = {"path": str(path.resolve()), "gguf": gguf, "start": lm.start, "sha256": fingerprint(path, gguf)}
        source |= {"dtype": str(lm.model.dtype).removeprefix("torch.")}
        return cls(lm.vocabulary, reading, lm.features(reading), source=source, lm=lm)

    @property
    def lm(self) -> CausalLm:
        """The model; loaded now if it was not yet, from where it lay, if it is still the same."""
        if self._lm is None:
            from modlm.integrations.hugging_face.causal_lm import CausalLm

            path, gguf = Path(self.source["path"]), self.source["gguf"]
            if not path.is_dir():
                raise InputError(
                    "this is where the causal language model of the mixture lay, but it is gone. Put it back, or "
                    "attach the model: modlm.integrations.hugging_face.adapted.load_adapted(FOLDER, model).",
                    path=path,
                )
            if fingerprint(path, gguf) != self.source["sha256"]:
                raise InputError("this causal language model is not the one that the mixture was made with.", path=path)
            self.attach(CausalLm.load(path, gguf=gguf, start=self.source["start"], dtype=self.source["dtype"]))
        assert self._lm is not None
        return self._lm

    def attach(self, lm: CausalLm) -> None:
        """Use this model from now on."""
        if lm.vocabulary != self.vocabulary or lm.features(self.reading) != self.features:
            raise VocabularyError(
                "The causal language model has another tokenizer or size than the one that the mixture was made with. "
                "Give that one."
            )
        self._lm = lm

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """P of each token of a text, and features of the distribution it was drawn from."""
        sequences = self.lm.sequences(ids, self.reading)
        probs_T1, features_TF = np.ones((len(ids), 1)), np.zeros((len(ids), len(self.features)))
        if sequences:
            places, values = np.concatenate(sequences), self.lm.along(ids, sequences, self.reading)
            probs_T1[places] = np.exp(values[:, :1].astype(np.float64))
            features_TF[places] = values[:, 1:]
        return Rows(probs_T1, features_TF)

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        probs_BJ, features_BF = self.lm.after(windows_BC, self.reading)
        return probs_BJ[:, :, None].astype(np.float64), features_BF.astype(np.float64)

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        return entries(*self.after(windows_BC), words_B)

    def parts(self) -> Parts:
        return Parts({**self.source, "reading": asdict(self.reading), "features": list(self.features)})

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        from modlm.integrations.hugging_face.causal_lm import Reading

        if not (features := tuple(stored.list_of("features", str))):
            raise stored.damaged("the features of its causal language model must be a list of names")
        reading, source = stored.part("reading").about, {name: stored.about.get(name) for name in SOURCE}
        source["dtype"] = stored.about.get("dtype", "float32")  # folders of earlier versions do not say
        if not all(isinstance(value, str) for value in source.values()):
            raise stored.damaged("it does not say where its causal language model lies")
        return cls(
            vocabulary,
            stored.checked(lambda: Reading(**reading), (TypeError, ConfigError)),
            features,
            source={**source, "start": stored.whole("start")},
        )


def fingerprint(path: Path, gguf: str = "") -> str:
    """One sum over the configuration and all weights of a model folder."""
    names = [gguf] if gguf else sorted(file.name for kind in WEIGHT_FILES for file in path.glob(kind))
    names += ["config.json"] if (path / "config.json").is_file() else []
    sums = [f"{name} {sha256(path / name)}" for name in names]
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()
