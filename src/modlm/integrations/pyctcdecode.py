"""A language model for `pyctcdecode`: everything that its `AbstractLanguageModel` demands, without importing it.

    decoder = pyctcdecode.BeamSearchDecoderCTC(pyctcdecode.Alphabet.build_alphabet(labels), CtcLanguageModel(lm))
    decoder.decode(log_probs_TJ)

Settings mean what they mean there, so values tuned with a KenLM file carry over: `alpha` weighs natural logarithms,
`beta` is added for each word, and `unk_score_offset` is in logarithms of base 10. One thing differs on purpose: after a
trailing space pyctcdecode asks for the end of the sentence with an empty word, which its own class scores as an unknown
word; here it is the end alone. So the score of a beam is always logit score + alpha * lm.score(text) + beta * words.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import ConfigError
from modlm.files import new_file
from modlm.integrations.fusion import one_word
from modlm.model.folder import load
from modlm.model.language_model import LONGEST, LanguageModel, States
from modlm.text.vocabulary import END, RESERVED

LN10 = float(np.log(10.0))
USUAL_LENGTH = 6  # letters, as pyctcdecode has it: longer unknown pieces cost more in proportion
PARAMETERS = {"alpha": float, "beta": float, "unk_score_offset": float, "score_boundary": bool}
SETTINGS_FILE = "modlm_lm.json"
MODEL_FOLDER = "model"


class State:
    """The model after the words of a beam; what was asked from here is remembered."""

    __slots__ = ("after", "end", "row")

    def __init__(self, row: States) -> None:
        self.row = row
        self.after: dict[str, tuple[float, State]] = {}
        self.end: float | None = None


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
            word for word in model.vocabulary.words if word not in RESERVED and (given is None or word in given)
        }
        self._sorted = sorted(self._known)

    @property
    def order(self) -> int:
        """Words of context and one; beams that agree in so many last words are pruned to the best."""
        return int(min(self.model.context_length, LONGEST)) + 1

    def get_start_state(self) -> State:
        """Before the first word: the start of a sentence, or no context at all without `score_boundary`."""
        if self.score_boundary:
            return State(self.model.start(1))
        return State(self.model.state_after(np.zeros((1, 0), dtype=np.uint32)))

    def score_partial_token(self, partial_token: str) -> float:
        """0 for the beginning of a known word, else the unknown word's offset, more for long pieces."""
        place = bisect_left(self._sorted, partial_token)
        if place < len(self._sorted) and self._sorted[place].startswith(partial_token):
            return 0.0
        return self.unk_score_offset * max(1.0, len(partial_token) / USUAL_LENGTH)

    def score(self, prev_state: State, word: str, is_last_word: bool = False) -> tuple[float, State]:
        """alpha * log P(word | state) + beta and the state after it; with the end of the sentence if it is the last."""
        state, score = prev_state, 0.0
        if word:
            log_prob, state = self._after(prev_state, word)
            score = self.alpha * (log_prob + (0.0 if word in self._known else self.unk_score_offset * LN10)) + self.beta
        if is_last_word and self.score_boundary:
            score += self.alpha * self._end(state)
        return score, state

    def _after(self, state: State, word: str) -> tuple[float, State]:
        known = state.after.get(word)
        if known is None:
            spoken = word if word in self._known else "<unk>"
            row, log_prob = one_word(self.model, state.row, self.model.vocabulary.id(spoken))
            known = state.after[word] = (log_prob, State(row))
        return known

    def _end(self, state: State) -> float:
        if state.end is None:
            state.end = one_word(self.model, state.row, END)[1]
        return state.end

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
    def load_from_dir(cls, filepath: str) -> CtcLanguageModel:
        """What `save_to_dir` wrote. pyctcdecode's own `load_from_dir` of decoders reads KenLM files only."""
        place = Path(filepath)
        settings = json.loads((place / SETTINGS_FILE).read_text(encoding="utf-8"))
        return cls(load(place / MODEL_FOLDER), settings.pop("unigrams"), **settings)
