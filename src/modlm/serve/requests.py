"""What clients may send. Unknown fields are refused, so that a misspelt one is noticed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from modlm.serve.limits import MOST_MODELS, MOST_NEXT

LARGEST_SEED = 2**53 - 1  # the integers that JSON carries everywhere

ModelName = Annotated[
    str | None, Field(description="A name that `GET /models` lists; the first model if left out.", examples=["ptb"])
]
Context = Annotated[
    str,
    Field(description="The words before, as they begin a sentence; empty for its start.", examples=["the company"]),
]
Start = Annotated[
    bool, Field(description="Whether the context begins a sentence; false: words from the middle of one.")
]
Score = Annotated[float, Field(allow_inf_nan=False)]


class Request(BaseModel):
    """The base of all requests."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())


class ScoreRequest(Request):
    """Sentences to score, as a list or as a text with one sentence a line."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema.update(oneOf=[{"required": ["sentences"]}, {"required": ["text"]}])
    )

    model: ModelName = None
    sentences: Annotated[
        list[str], Field(min_length=1, description="The sentences.", examples=[["the company said", "it rose"]])
    ] = []  # noqa: RUF012
    text: Annotated[
        str, Field(min_length=1, description="One sentence a line; an empty line is an empty sentence.")
    ] = ""
    words: Annotated[bool, Field(description="Whether each word's own log-probability is wanted.")] = False

    @model_validator(mode="after")
    def _one_of_two(self) -> ScoreRequest:
        if len({"sentences", "text"} & self.model_fields_set) != 1:
            raise ValueError('give either "sentences" or "text"')
        return self


class ExplainRequest(Request):
    """A text to explain word by word."""

    model: ModelName = None
    text: Annotated[str, Field(min_length=1, description="One sentence a line.", examples=["the company said"])]


class WhyRequest(Request):
    """One word after a context."""

    model: ModelName = None
    context: Context = ""
    word: Annotated[
        str, Field(min_length=1, description="The word; `</s>` for the end of the sentence.", examples=["said"])
    ]
    start: Start = True


class NextRequest(Request):
    """A context whose next words are wanted."""

    model: ModelName = None
    context: Context = ""
    k: Annotated[int, Field(ge=1, le=MOST_NEXT, description="How many words.")] = 10
    by_column: Annotated[bool, Field(description="Whether each column's own best words are wanted too.")] = False
    start: Start = True


class GenerateRequest(Request):
    """How words are to be drawn."""

    model: ModelName = None
    context: Context = ""
    temperature: Annotated[
        float, Field(ge=0, le=100, allow_inf_nan=False, description="0 takes the most probable word; above 1 dares.")
    ] = 1.0
    top_k: Annotated[int, Field(ge=0, le=2**31, description="Draw among the k most probable; 0 for all.")] = 0
    top_p: Annotated[
        float, Field(gt=0, le=1, allow_inf_nan=False, description="Draw among words that together have this much.")
    ] = 1.0
    max_words: Annotated[int, Field(ge=1, description="Stop here if the sentence has not ended.")] = 100
    seed: Annotated[int | None, Field(ge=0, le=LARGEST_SEED, description="For the same words again.")] = None
    stream: Annotated[bool, Field(description="Words as server-sent events as they come, or one answer.")] = True


class CompareRequest(Request):
    """Models, and the text that they are compared on."""

    models: Annotated[
        list[str], Field(min_length=1, max_length=MOST_MODELS, description="Names of models; gains are of the second.")
    ]
    text: Annotated[str, Field(min_length=1, description="One sentence a line.", examples=["the company said"])]


class Hypothesis(Request):
    """A hypothesis of an n-best list."""

    text: str
    score: Annotated[
        Score, Field(description="Its score so far, larger is better, such as an acoustic log-likelihood.")
    ] = 0.0


class NbestList(Request):
    """The hypotheses for one utterance or segment."""

    hyps: Annotated[list[Hypothesis], Field(min_length=1)]


class RescoreRequest(Request):
    """N-best lists to put in order."""

    model: ModelName = None
    nbest: Annotated[list[NbestList], Field(min_length=1)]
    lm_weight: Annotated[Score, Field(description="What a natural log-probability counts against the scores.")] = 1.0
    word_penalty: Annotated[Score, Field(description="What each word costs; below 0 it favours long hypotheses.")] = 0.0
