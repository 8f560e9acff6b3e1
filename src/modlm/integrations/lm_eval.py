"""Any model of ours in EleutherAI's `lm-eval`: `loglikelihood`, `loglikelihood_rolling` and `generate_until`.

    python -m modlm.integrations.lm_eval --model modlm --model_args path=model --tasks wikitext

is the harness's own command with our models known to it. From Python: `simple_evaluate(ModlmLM(path="model"), ...)`.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from modlm.errors import require
from modlm.ground.progress import progress
from modlm.integrations.prompts import continuation, generated, log_probs, text_ids
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.model.sampling import Sampling

PURPOSE = "The lm-eval harness"
LM: Any = require("lm_eval.api.model", extra="lm-eval", purpose=PURPOSE).LM
require("lm_eval.models", extra="lm-eval", purpose=PURPOSE)  # theirs come first: later ones would not be registered
register_model: Any = require("lm_eval.api.registry", extra="lm-eval", purpose=PURPOSE).register_model

LENGTH = 256  # words that are generated unless a task says otherwise


@register_model("modlm")
class ModlmLM(LM):  # type: ignore[misc]  # lm-eval is not typed
    """A model of ours, by its path or as it is."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        model: LanguageModel | None = None,
        seed: int = 1,
        **ignored: Any,
    ) -> None:
        """The harness passes batch sizes and the like along, which do not matter here; `seed` is that of sampling."""
        super().__init__()
        if model is None:
            model = load(path or "")
        self.model, self.rng = model, np.random.default_rng(seed)

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """log P of each continuation after its context, and whether it is the greedy one."""
        return self._answered(
            "loglikelihood", requests, lambda prompt, text: (*continuation(self.model, prompt, text),)
        )

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        """log P of each whole text, line by line; the end of its last line counts only if it is written."""
        return self._answered("loglikelihood_rolling", requests, self._log_prob)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """What the model writes after each context; greedy unless the task samples."""
        return self._answered("generate_until", requests, self._generated)

    def _answered(self, kind: str, requests: list[Any], answer: Callable[..., Any]) -> list[Any]:
        answers: list[Any] = []
        with progress(kind, total=len(requests), unit="requests") as bar:
            for request in requests:
                answers.append(answer(*request.args))
                self.cache_hook.add_partial(kind, request.args, answers[-1])
                bar.advance(1)
        return answers

    def _log_prob(self, text: str) -> float:
        return float(log_probs(self.model, text_ids(self.model, text)).sum())

    def _generated(self, context: str, asked: dict[str, Any]) -> str:
        until = asked.get("until") or ()
        temperature = float(asked.get("temperature") or 0.0) if asked.get("do_sample", True) else 0.0
        top_k, top_p = int(asked.get("top_k") or 0), float(asked.get("top_p") or 1.0)
        sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p)
        most = int(asked.get("max_gen_toks") or asked.get("max_new_tokens") or LENGTH)
        stops = (until,) if isinstance(until, str) else tuple(until)
        return generated(self.model, context, until=stops, most=most, sampling=sampling, rng=self.rng)


def main() -> None:
    require("lm_eval.__main__", extra="lm-eval", purpose=PURPOSE).cli_evaluate()


if __name__ == "__main__":
    main()
