"""The mixture inside `generate()`: p = lambda_lm p_lm + sum_k lambda_k P_k instead of the model's own distribution.

    processor = MixtureLogitsProcessor.from_folder("adapted")
    model.generate(**inputs, logits_processor=LogitsProcessorList([processor]))

Rows of a batch are independent, so padding at the left, several sequences a prompt and beams are fine. Counts see the
line that is being written: the tokens behind the last line end or special token. Columns that learn have read the whole
row, prompt included, behind what the mixture has observed; what they keep of a row goes on from the row before.
"""

import os
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from modlm.blocks.block import ALONE, Beside
from modlm.errors import ConfigError, require
from modlm.ground.arrays import Ids, Ints
from modlm.integrations.hugging_face.adapted import as_adapted, lm_block, load_adapted
from modlm.integrations.hugging_face.causal_lm import distribution_features
from modlm.integrations.mixture_fusion import mixed
from modlm.model.mixture import Mixture
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END

LogitsProcessor: Any = require("transformers", extra="hf", purpose="A logits processor").LogitsProcessor


class MixtureLogitsProcessor(LogitsProcessor):  # type: ignore[misc]  # transformers is not typed
    """Scores in, log P of the mixture out.

    What processors before it forbade (-inf) stays forbidden, so the rest then sums to less than 1; without any it sums
    to 1 exactly. A mixture that reads hidden vectors needs the model, whose output layer it listens to.
    """

    def __init__(self, adapted: Mixture, model: Any = None) -> None:
        self.adapted = as_adapted(adapted)
        self.block = lm_block(adapted)
        self.name = next(name for name, block in adapted.blocks.items() if block is self.block)
        vocabulary = adapted.vocabulary
        assert isinstance(vocabulary, TokenVocabulary)
        self.ours, self.theirs, self.start = vocabulary.ours, torch.from_numpy(vocabulary.theirs), vocabulary.start
        self.read: Ids = vocabulary.ours.copy()
        """The same, but a line begins at each line end and special token."""
        self.read[[*vocabulary.special, vocabulary.theirs[END]]] = vocabulary.start
        others = (block.reads.words for block in adapted.blocks.values() if block is not self.block)
        self.length = max((1, *others))
        self._memories: dict[bytes, Any] = {}
        """What columns that learn keep of the rows of the last call."""
        self._hidden: Tensor | None = None
        self._hook: Any = None
        if self.block.reading.hidden:
            self._listen(model)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], model: Any = None) -> Self:
        """The processor of an adapted model; the causal language model itself is not loaded."""
        return cls(load_adapted(folder), model)

    def _listen(self, model: Any) -> None:
        if model is None:
            raise ConfigError("This mixture reads the model's hidden vectors, so the processor needs the model itself.")

        def keep(layer: Any, inputs: tuple[Tensor, ...]) -> None:
            self._hidden = inputs[0][:, -1].detach()

        self._hook = model.get_output_embeddings().register_forward_pre_hook(keep)

    def close(self) -> None:
        """Stop listening to the model."""
        if self._hook is not None:
            self._hook.remove()

    @torch.inference_mode()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """log P of every id of the model after each row."""
        log_probs_BV = torch.log_softmax(scores.float(), dim=-1)
        features = [distribution_features(log_probs_BV)]
        if self.block.reading.hidden:
            assert self._hidden is not None and len(self._hidden) == len(scores), "the model has not been run"
            features.append(self._hidden.float())
        probs_BJ = log_probs_BV[:, self.theirs.to(scores.device)].double().exp().cpu().numpy()
        features_BF = torch.cat(features, dim=1).double().cpu().numpy()
        beside = self._beside(input_ids)
        mixed_BJ = mixed(self.adapted, self.windows(input_ids), self.name, probs_BJ, features_BF, beside)
        with np.errstate(divide="ignore"):
            mixed_BV = torch.from_numpy(np.log(mixed_BJ)[:, self.ours]).to(scores)
        return mixed_BV.masked_fill(torch.isneginf(scores), -torch.inf)

    def _beside(self, input_ids: Tensor) -> Beside:
        """What columns that learn have read of each row; a row is one token longer than one of the call before."""
        if not self.adapted.learners:
            return ALONE
        memory_B, kept = np.empty(len(input_ids), object), dict[bytes, Any]()
        for place, tokens in enumerate(input_ids.cpu().numpy()):
            before = self._memories.get(tokens[:-1].tobytes())
            read = self.text(tokens) if before is None else self._words(tokens[-1:])
            memory_B[place] = self.adapted.learned(read, self.adapted.observed if before is None else before)
            kept[tokens.tobytes()] = memory_B[place]
        self._memories = kept
        return Beside(memory=memory_B)

    def text(self, tokens: Ints) -> Ids:
        """A row as a text of ours: `<s> … </s> <s> …`, its last line open; a start token in front is none of it."""
        begun = tokens[1:] if len(tokens) and tokens[0] == self.block.source["start"] else tokens
        return np.append(np.uint32(self.start), self._words(begun))

    def _words(self, tokens: Ints) -> Ids:
        ends = (tokens == self.theirs[END].item()).tolist()
        pairs = ((END, word) if end else (word,) for word, end in zip(self.read[tokens].tolist(), ends, strict=True))
        return np.array([word for pair in pairs for word in pair], np.uint32)

    def windows(self, input_ids: Tensor) -> Ids:
        """The last tokens of each row as our ids, with `<s>` where a line begins."""
        words_BC: Ids = self.read[input_ids[:, -self.length :].cpu().numpy()]
        if input_ids.shape[1] <= self.length:  # nothing stands before the first token
            words_BC = np.insert(words_BC, 0, self.start, axis=1)
        return words_BC
