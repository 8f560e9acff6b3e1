"""OpenAI's requests and answers as `/v1` takes and gives them, and vLLM's for tokens, which lm-eval asks for.

Fields that mean nothing here are taken if they say nothing and refused otherwise, so that none is ignored in silence.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from modlm.serve.answers import AnswerPart
from modlm.serve.requests import LARGEST_SEED, Finite, ModelName, Source, config, told

TokenId = Annotated[int, Field(ge=0, le=2**31)]
Ids = Annotated[list[TokenId], Field(min_length=1)]
Stop = Annotated[str, Field(min_length=1)]


class StreamOptions(BaseModel):
    """What a stream tells besides its text."""

    model_config = config()
    include_usage: Annotated[bool, told("Whether the numbers of tokens come as a last event.")] = False
    include_obfuscation: Annotated[bool, told("Has no meaning here.")] = False


class CompletionRequest(BaseModel):
    """OpenAI's request for completions. A null is as if the field were not there."""

    model_config = config({"prompt": "the company", "max_tokens": 8, "temperature": 0.7, "seed": 1, "logprobs": 2})
    model: ModelName = None
    prompt: Annotated[
        str | Annotated[list[str], Field(min_length=1)] | Ids | Annotated[list[Ids], Field(min_length=1)],
        told("A text, texts, the ids of tokens, or several lists of them."),
    ] = ""
    max_tokens: Annotated[int, told("0 to score the prompt alone, with `echo`.", ge=0, le=2**31)] = 16
    temperature: Annotated[Finite, told("0 takes the most probable word.", ge=0, le=100)] = 1.0
    top_p: Annotated[Finite, told("Draw among the most probable that together have this much.", gt=0, le=1)] = 1.0
    top_k: Annotated[int, told("Draw among the k most probable; not in OpenAI's.", ge=0, le=2**31)] = 0
    n: Annotated[int, told("Completions of each prompt.", ge=1, le=128)] = 1
    stop: Annotated[
        Stop | Annotated[list[Stop], Field(max_length=16)], told("Texts to end before, such as a line end.")
    ] = Field(default_factory=list)
    seed: Annotated[int | None, told("For the same again.", ge=0, le=LARGEST_SEED)] = None
    source: Source = None
    echo: Annotated[bool, told("Whether the prompt stands before its completion, with its logprobs.")] = False
    logprobs: Annotated[int | None, told("Of each token, and so many of the most probable ones.", ge=0, le=100)] = None
    stream: Annotated[bool, told("As server-sent events while it is written.")] = False
    stream_options: Annotated[StreamOptions, told("Of a stream.")] = StreamOptions()
    user: Annotated[str, told("Has no meaning here.")] = ""
    best_of: Annotated[Literal[1], told("Only 1.")] = 1
    suffix: Annotated[Literal[""], told("Only empty.")] = ""
    frequency_penalty: Annotated[Finite, told("Only 0.", ge=0, le=0)] = 0.0
    presence_penalty: Annotated[Finite, told("Only 0.", ge=0, le=0)] = 0.0
    logit_bias: Annotated[dict[str, float], told("Only empty.", max_length=0)] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given

    @property
    def prompts(self) -> list[str | list[int]]:
        given: Any = self.prompt
        return [given] if isinstance(given, str) or isinstance(given[0], int) else given

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop


class TokenizeRequest(BaseModel):
    """A text whose tokens are wanted; as vLLM takes it."""

    model_config = config({"prompt": "the company said"})
    model: ModelName = None
    prompt: Annotated[str, told("The text; `<s>` or `</s>` alone gives the id of that boundary.")]
    add_special_tokens: Annotated[bool, told("Whether `<s>` comes first.")] = False


class Logprobs(AnswerPart):
    """What is told of tokens; natural logarithms, -9999 for that of 0."""

    tokens: list[str]
    token_logprobs: Annotated[list[float | None], told("Null for a `<s>` that was given.")]
    top_logprobs: list[dict[str, float] | None] | None
    text_offset: Annotated[list[int], told("Where each token begins in `text`.")]


class CompletionChoice(AnswerPart):
    """One completion."""

    index: Annotated[int, told("The prompt's place times n, plus which of its completions.")]
    text: str
    logprobs: Logprobs | None
    finish_reason: Annotated[Literal["stop", "length"] | None, told("Null in a stream that goes on.")]


class Usage(AnswerPart):
    """Numbers of tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionsAnswer(AnswerPart):
    """OpenAI's completions."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage | None


class OpenAiModel(AnswerPart):
    """A model as OpenAI lists it."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class OpenAiModels(AnswerPart):
    """OpenAI's list of models."""

    object: Literal["list"]
    data: list[OpenAiModel]


class TokenizeAnswer(AnswerPart):
    """The tokens of a text."""

    tokens: list[int]
    count: int
    max_model_len: Annotated[int, told("Words that one request may hold.")]


class TokenizerAnswer(AnswerPart):
    """The tokens that begin and end a line."""

    tokenizer_class: str
    bos_token: str
    eos_token: str


class OpenAiErrorBody(AnswerPart):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiErrorAnswer(AnswerPart):
    """Every answer of `/v1` that is not a success has OpenAI's form."""

    error: OpenAiErrorBody
