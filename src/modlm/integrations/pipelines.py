"""Scores of documents in other people's pipelines: one class that adds columns to a batch, and a step for datatrove.

    dataset.map(AddScores("model"), batched=True)                    # Hugging Face datasets
    ray_dataset.map_batches(AddScores, fn_constructor_args=["model"])  # Ray; a DataFrame as NeMo Curator has it, too
    pipeline = [JsonlReader("in"), datatrove_step("model", max_perplexity=800), JsonlWriter("out")]

A model that is given by its path is loaded where it is used, once a process, so these can be sent to workers.
"""

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from modlm.errors import InputError, require
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.model.scored_documents import BATCH, Prepare, score_texts

COLUMNS = ("perplexity", "bits_per_byte", "words", "unknown", "sentences")


class AddScores:
    """A batch in, the same batch with the columns of `COLUMNS` out: a mapping of columns, or a DataFrame."""

    def __init__(
        self,
        model: LanguageModel | str | os.PathLike[str],
        *,
        field: str = "text",
        prepare: Prepare | None = None,
        tokenizer: str | os.PathLike[str] | None = None,
    ) -> None:
        """`tokenizer`: for a KenLM binary or an ARPA file of tokens, such as CCNet's `.sp.model`."""
        self.model = model if isinstance(model, LanguageModel) else str(model)
        self.field, self.prepare, self.tokenizer = field, prepare, tokenizer

    @cached_property
    def _loaded(self) -> LanguageModel:
        model = self.model
        return load(model, tokenizer=self.tokenizer, resident=True) if isinstance(model, str) else model

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_loaded"}

    def columns(self, texts: Iterable[str]) -> dict[str, Any]:
        """The new columns, as arrays; NaN for documents without words."""
        given = [str(text) for text in texts]
        scores = score_texts(self._loaded, self.prepare(given) if self.prepare else given)
        return {name: np.asarray(getattr(scores, name)) for name in COLUMNS}

    def __call__(self, batch: Any) -> Any:
        if self.field not in batch:
            raise InputError(
                f"The batch has no column {self.field!r} but {', '.join(map(str, batch))}. Say with field= where the "
                f"text is; datasets.map needs batched=True."
            )
        if isinstance(batch[self.field], str):
            raise InputError("This is one document, not a batch of them. Call datasets.map with batched=True.")
        found = self.columns(batch[self.field])
        if hasattr(batch, "assign"):  # a DataFrame
            return batch.assign(**found)
        return {**batch, **found}


def datatrove_step(
    model: str | os.PathLike[str],
    *,
    max_perplexity: float | None = None,
    prepare: Prepare | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    batch: int = BATCH,
) -> Any:
    """A pipeline step that adds the scores to the metadata of documents and drops those above a perplexity."""
    base = require("datatrove.pipeline.base", extra="pipelines", purpose="A step of datatrove").PipelineStep
    adding = AddScores(model, prepare=prepare, tokenizer=tokenizer)

    class ModlmScores(base):  # type: ignore[misc, valid-type]
        name, type = "modlm scores", "🔻 - FILTER"

        def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
            documents = iter(data)
            while some := list(islice(documents, batch)):
                with self.track_time("batch"):
                    found = adding.columns([document.text for document in some])
                for place, document in enumerate(some):
                    self.stat_update("total")
                    document.metadata |= {name: found[name][place].item() for name in COLUMNS}
                    if max_perplexity is None or document.metadata["perplexity"] <= max_perplexity:
                        self.stat_update("forwarded")
                        yield document
                    else:
                        self.stat_update("dropped")

    return ModlmScores()
