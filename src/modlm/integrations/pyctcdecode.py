"""A language model for `pyctcdecode`: everything that its `AbstractLanguageModel` demands, without importing it.

    decoder = pyctcdecode.BeamSearchDecoderCTC(pyctcdecode.Alphabet.build_alphabet(labels), CtcLanguageModel(lm))
    decoder.decode(log_probs_TJ)

Settings mean what they mean there, so values tuned with a KenLM file carry over: `alpha` weighs natural logarithms,
`beta` is added for each word, and `unk_score_offset` is in logarithms of base 10. One thing differs on purpose: after a
trailing space pyctcdecode asks for the end of the sentence with an empty word, which its own class scores as an unknown
word; here it is the end alone. So the score of a beam is always logit score + alpha * lm.score(text) + beta * words.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from modlm.errors import ConfigError
from modlm.ground.files import new_file
from modlm.integrations.steps import Node, Steps
from modlm.model.folder import load
from modlm.model.language_model import LONGEST, LanguageModel
from modlm.text.vocabulary import RESERVED, UNKNOWN

LN10 = math.log(10.0)
USUAL_LENGTH = 6  # letters, as pyctcdecode has it: longer unknown pieces cost more in proportion
PARAMETERS = {"alpha": float, "beta": float, "unk_score_offset": float, "score_boundary": bool}
SETTINGS_FILE = "modlm_lm.json"
MODEL_FOLDER = "model"


class CtcLanguageModel:
    """Any of our models as pyctcdecode's language model; words are all that the model knows, or those given."""

    def __init__(
        self,
        model: LanguageModel,
        unigrams: Iterable[str] | None = None,
        *,
        alpha: float = 0.5,
        beta: float = 1.5,
        unk_score_offset: float = -10.0,
        score_boundary: bool = True,
    ) -> None:
        self.model = model
        self.alpha, self.beta, self.unk_score_offset = alpha, beta, unk_score_offset
        self.score_boundary = score_boundary
        given = None if unigrams is None else set(unigrams)
        self._known = {
            word: place
            for place, word in enumerate(model.vocabulary.words)
            if word not in RESERVED and (given is None or word in given)
        }
        self._sorted = sorted(self._known)
        self._steps = Steps(model)

    @property
    def order(self) -> int:
        """Words of context and one; beams that agree in so many last words are pruned to the best."""
        return int(min(self.model.context_length, LONGEST)) + 1

    def get_start_state(self) -> Node:
        """Before the first word: the start of a sentence, or no context at all without `score_boundary`."""
        return self._steps.start(nothing=not self.score_boundary)

    def score_partial_token(self, partial_token: str) -> float:
        """0 for the beginning of a known word, else the unknown word's offset, more for long pieces."""
        place = bisect_left(self._sorted, partial_token)
        if place < len(self._sorted) and self._sorted[place].startswith(partial_token):
            return 0.0
        return self.unk_score_offset * max(1.0, len(partial_token) / USUAL_LENGTH)

    def score(self, prev_state: Node, word: str, is_last_word: bool = False) -> tuple[float, Node]:
        """alpha * log P(word | state) + beta and the state after it; with the end of the sentence if it is the last."""
        state, score = prev_state, 0.0
        if word:
            known = self._known.get(word, UNKNOWN)
            state, log_prob = self._steps.after(prev_state, known)
            offset = self.unk_score_offset * LN10 if known == UNKNOWN else 0.0
            score = self.alpha * (log_prob + offset) + self.beta
        if is_last_word and self.score_boundary:
            score += self.alpha * self._steps.log_prob(state)
        return score, state

    def reset_params(self, **params: Any) -> None:
        """Change alpha, beta, unk_score_offset or score_boundary; None leaves one as it is."""
        for name, value in params.items():
            if value is None:
                continue
            if name not in PARAMETERS:
                raise ConfigError(f"There is no setting {name!r}. There are: {', '.join(PARAMETERS)}.")
            setattr(self, name, PARAMETERS[name](value))

    def save_to_dir(self, filepath: str) -> None:
        """The model and its settings in an existing folder; `load_from_dir` reads them."""
        place = Path(filepath)
        self.model.save(place / MODEL_FOLDER)
        settings = {name: getattr(self, name) for name in PARAMETERS}
        with new_file(place / SETTINGS_FILE) as file:
            file.write_text(json.dumps({**settings, "unigrams": self._sorted}, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load_from_dir(cls, filepath: str) -> Self:
        """What `save_to_dir` wrote. pyctcdecode's own `load_from_dir` of decoders reads KenLM files only."""
        place = Path(filepath)
        settings = json.loads((place / SETTINGS_FILE).read_text(encoding="utf-8"))
        return cls(load(place / MODEL_FOLDER), settings.pop("unigrams"), **settings)
