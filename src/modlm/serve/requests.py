"""What clients may send. Unknown fields are refused, so that a misspelt one is noticed; numbers are never strings."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from modlm.serve.limits import MOST_BEAM, MOST_MODELS, MOST_NEXT

LARGEST_SEED = 2**53 - 1  # the integers that JSON carries everywhere


def told(meaning: str, **rules: Any) -> Any:
    """A field with what its documentation says of it."""
    return Field(description=meaning, **rules)


ModelName = Annotated[str | None, told("A name that `GET /models` lists; the first model there if left out.")]
Context = Annotated[str, told("The words before; empty for the start of a sentence.")]
Start = Annotated[bool, told("Whether the context begins a sentence; false for words from the middle of one.")]
Text = Annotated[
    str,
    told("One sentence per line, words with spaces between; an empty line is an empty one.", min_length=1),
]
Session = Annotated[
    str | None,
    told("A session that `POST /observe` began; what it has observed counts.", pattern=r"^[A-Za-z0-9_.@+-]{1,100}$"),
]
Source = Annotated[
    str | None,
    told("The sentence that another one comes from, for models that read one, and for them alone; it may be empty."),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def config(*examples: dict[str, Any], **more: Any) -> ConfigDict:
    """Settings of a request, with examples for its documentation."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": list(examples), **more})


class ScoreRequest(BaseModel):
    """Sentences to score: a list, or a text with one sentence per line. Give one of the two."""

    model_config = config(
        {"text": "the company said\nit rose", "words": True},
        {"sentences": ["the company said", "it rose"]},
        oneOf=[{"required": ["sentences"]}, {"required": ["text"]}],
    )
    model: ModelName = None
    sentences: Annotated[list[str], told("The sentences.", min_length=1)] = Field(default_factory=list)
    text: Text = ""
    source: Source = None
    session: Session = None
    words: Annotated[bool, told("Whether every word's own log-probability is wanted.")] = False

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if len({"sentences", "text"} & self.model_fields_set) != 1:
            raise ValueError('Give either "sentences" or "text".')
        return self


class ExplainRequest(BaseModel):
    """A text to explain word by word."""

    model_config = config({"text": "the company said it rose"})
    model: ModelName = None
    text: Text
    source: Source = None
    session: Session = None


class ObserveRequest(BaseModel):
    """A text to learn from."""

    model_config = config({"text": "the company said it rose", "session": "mine"})
    model: ModelName = None
    text: Text
    session: Annotated[Session, told("Which session learns; one begins if there is none of this name, or no name.")] = (
        None
    )


class ForgetRequest(BaseModel):
    """A session to end."""

    model_config = config({"session": "mine"})
    model: ModelName = None
    session: Annotated[str, told("A session that `POST /observe` began.", pattern=r"^[A-Za-z0-9_.@+-]{1,100}$")]


class WhyRequest(BaseModel):
    """One word after a context."""

    model_config = config({"context": "the company", "word": "said"})
    model: ModelName = None
    context: Context = ""
    word: Annotated[str, told("One word; `</s>` for the end of the sentence.", min_length=1)]
    start: Start = True
    source: Source = None


class NextRequest(BaseModel):
    """A context whose next words are wanted."""

    model_config = config({"context": "the company", "k": 5, "by_column": True})
    model: ModelName = None
    context: Context = ""
    k: Annotated[int, told("How many words.", ge=1, le=MOST_NEXT)] = 10
    by_column: Annotated[bool, told("Whether each column's own best words are wanted too.")] = False
    start: Start = True
    source: Source = None
    session: Session = None


class GenerateRequest(BaseModel):
    """How words are to be drawn."""

    model_config = config({"context": "the company", "temperature": 0.7, "max_words": 20, "seed": 1, "stream": False})
    model: ModelName = None
    context: Context = ""
    temperature: Annotated[
        Finite, told("Below 1 plays safe, above 1 dares; 0 takes the most probable word.", ge=0, le=100)
    ] = 1.0
    top_k: Annotated[int, told("Draw among the k most probable words; 0 for all.", ge=0, le=2**31)] = 0
    top_p: Annotated[Finite, told("Draw among the most probable words that together have this much.", gt=0, le=1)] = 1.0
    max_words: Annotated[int, told("Stop here if the sentence has not ended.", ge=1, le=2**31)] = 100
    seed: Annotated[int | None, told("For the same words again.", ge=0, le=LARGEST_SEED)] = None
    source: Source = None
    session: Session = None
    stream: Annotated[bool, told("Words as server-sent events while they come, or one answer.")] = True


class CompareRequest(BaseModel):
    """Models, and the text that they are compared on."""

    model_config = config({"models": ["kn", "wb"], "text": "the company said it rose"})
    models: Annotated[
        list[str],
        Field(
            min_length=1, max_length=MOST_MODELS, description="Names of models; the second is set against the first."
        ),
    ]
    text: Text
    source: Annotated[Source, told("For those of the models that read one; all others are asked as ever.")] = None


class TranslateRequest(BaseModel):
    """Sentences to translate, by a model that reads sources."""

    model_config = config({"model": "ja-en", "source": "彼 は 認め た 。", "beam": 5, "n_best": 2})
    model: ModelName = None
    source: Annotated[
        str | Annotated[list[str], Field(min_length=1)], told("A sentence, or several: words with spaces between.")
    ]
    beam: Annotated[int, told("Hypotheses that are kept at every step; 1 is fastest.", ge=1, le=MOST_BEAM)] = 5
    n_best: Annotated[int, told("Translations of each sentence, at most as many as `beam`.", ge=1, le=MOST_BEAM)] = 1
    length_penalty: Annotated[Finite, told("0 prefers short sentences, more prefers longer ones.", ge=0, le=100)] = 1.0
    unknown: Annotated[
        Literal["replace", "keep", "never"],
        told("`<unk>`: say what the source word is in the lexicon, or that word; keep it; or never say it."),
    ] = "replace"
    session: Session = None


class Hypothesis(BaseModel):
    """One way to read an utterance."""

    model_config = config()
    text: Annotated[str, told("Its words.")]
    score: Annotated[Finite, told("What it has so far, such as an acoustic log-likelihood; more is better.")] = 0.0


class NbestList(BaseModel):
    """The hypotheses for one utterance."""

    model_config = config()
    hyps: Annotated[list[Hypothesis], Field(min_length=1)]


class RescoreRequest(BaseModel):
    """N-best lists to put in order."""

    model_config = config(
        {
            "nbest": [
                {"hyps": [{"text": "the company set", "score": -3.1}, {"text": "the company said", "score": -3.4}]}
            ],
            "lm_weight": 0.8,
        }
    )
    model: ModelName = None
    nbest: Annotated[list[NbestList], Field(min_length=1)]
    source: Source = None
    session: Session = None
    lm_weight: Annotated[Finite, told("What a natural log-probability counts beside the scores.")] = 1.0
    word_penalty: Annotated[Finite, told("Added for each word; above 0 favours long hypotheses.")] = 0.0
    rank_weight: Annotated[
        Finite, told("Times the logarithm of the place in the list; below 0 favours what stood in front.")
    ] = 0.0
