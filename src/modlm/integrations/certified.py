"""What a certificate may be about beyond our own models: a folder of `transformers`, a server, a named function."""

import json
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import ConfigError, InputError, require
from modlm.evaluation.subjects import KEPT, NO_SOURCE, Subject, Tokens, lines_of, named_function, subject_of
from modlm.ground.arrays import Floats
from modlm.integrations.hugging_face.lm_block import CausalLmBlock
from modlm.mixers import StaticMixer
from modlm.model.folder import load
from modlm.model.mixture import Mixture
from modlm.text.vocabulary import END_NAME, UNKNOWN_NAME

SECONDS = 60
MOST = 1000  # next words that a server of ours tells at once
LOG_OF_NOTHING = -9999.0  # as OpenAI's answers write it


def any_subject(
    model: str, *, gives: str = "probabilities", ids: bool = False, gguf: str = "", named: str = "", source: Any = None
) -> Subject:
    """What a string names: an address, `module:function`, a folder of `transformers`, or a model of ours."""
    if model.startswith(("http://", "https://")):
        if source is not None:
            raise ConfigError(NO_SOURCE)
        return of_server(model.rstrip("/"), named)
    path = Path(model)
    if ":" in model and not path.exists() and not model.startswith("hf://"):
        return subject_of(named_function(model), name=model, gives=gives, ids=ids, source=source)
    if gguf or (path.is_dir() and (path / "config.json").exists() and not (path / "model.json").exists()):
        return of_transformers(path, gguf, source)
    return subject_of(load(model), name=model, source=source)


def of_transformers(folder: Path, gguf: str = "", source: Any = None) -> Subject:
    """A causal language model as the only column of a mixture, so it answers whatever ours do."""
    for package, extra in (("torch", "neural"), ("transformers", "hf")):
        require(package, extra=extra, purpose="A causal language model")
    from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading

    lm = CausalLm.load(folder, gguf=gguf)
    block = CausalLmBlock.of(lm, Reading(), path=folder, gguf=gguf)
    mixture = Mixture(lm.vocabulary, {"lm": block}, StaticMixer(np.ones(1)))
    subject = subject_of(mixture, name=str(folder), source=source)
    subject.fingerprints["model"] = block.source["sha256"]
    return subject


def of_server(address: str, named: str) -> Subject:
    """A server of ours: whole requests, line by line, and in OpenAI's shape; its lines do not depend on each other."""
    models = {own["name"]: own for own in asked(f"{address}/models")["models"]}
    if (name := named or next(iter(models))) not in models:
        raise InputError(f"{address} has no model {name!r}, but {', '.join(models)}.")
    if models[name]["units"] != "words":
        raise InputError(f"{name} predicts {models[name]['units']}, which a server does not take. Certify its folder.")
    most = int(models[name]["vocab_size"])

    def lines(tokens: Tokens) -> list[list[str]]:
        """The words of each line; the last one may be open."""
        found: list[list[str]] = [[]]
        for at, token in enumerate(tokens):
            if token != END_NAME:
                found[-1].append(token)
            elif at + 1 < len(tokens):
                found.append([])
        return found

    def records(sentences: list[list[str]]) -> list[dict[str, Any]]:
        body = {"model": name, "sentences": [" ".join(words) for words in sentences], "words": True}
        return [word for sentence in asked(f"{address}/score", body)["sentences"] for word in sentence["scores"]]

    def scores(sentences: list[list[str]]) -> list[float]:
        logs = (word["log_prob"] for word in records(sentences))
        return [-np.inf if log is None else float(log) for log in logs]

    def batched(tokens: Tokens) -> Floats:
        return np.array(scores(lines(tokens))[: len(tokens)])

    def stepwise(tokens: Tokens) -> Floats:
        return np.array([log for words in lines(tokens) for log in scores([words])][: len(tokens)])

    def streamed(tokens: Tokens) -> Floats:
        """As OpenAI's completions score prompts, one for each line: those of one prompt would be read on from."""
        prompts = [" ".join(words) + "\n" for words in lines(tokens)]
        body = {"model": name, "prompt": prompts, "echo": True, "max_tokens": 0, "logprobs": 0}
        choices = asked(f"{address}/v1/completions", body)["choices"]
        logs = [log for choice in choices for log in choice["logprobs"]["token_logprobs"]]
        return np.array([-np.inf if log <= LOG_OF_NOTHING else float(log) for log in logs][: len(tokens)])

    places: dict[str, int] = {}

    def distribution(tokens: Tokens) -> Floats:
        context = " ".join(lines((*tokens, ""))[-1][:-1])
        words = asked(f"{address}/next", {"model": name, "context": context, "k": most})["words"]
        row_J = np.zeros(max(most, len(places)))
        for one in words:
            row_J[places.setdefault(one["word"], len(places))] = one["probability"]
        return row_J

    def read(text: Any, count: int) -> Tokens:
        """Words that the model does not know are one word, whose probability counts once."""
        tokens = tuple([word for line in lines_of(text) for word in (*line.split(), END_NAME)][:count])
        told = records(lines(tokens))[: len(tokens)]
        return tuple(token if word["known"] else UNKNOWN_NAME for token, word in zip(tokens, told, strict=True))

    return Subject(
        name=f"{address}, {name}", kind="server", read=read, log_probs=lru_cache(KEPT)(batched), again=batched,
        stepwise=stepwise, streamed=streamed, index=lambda word: places.get(word, places.get(UNKNOWN_NAME, -1)),
        distribution=distribution if most <= MOST else None,
    )  # fmt: skip


def asked(address: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise InputError(f"{address} answered {error.code}: {error.read(400).decode('utf-8', 'replace')}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{address} cannot be asked: {error}. Is a server of modlm running there?") from error
