"""What clients get: the shapes of all answers, for their documentation and for tests.

Answers are made as plain data and written at once; these models are not on that way. Logarithms are natural. A
logarithm of 0 and an infinite perplexity have no number in JSON: they are null, and `impossible` counts the words.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from modlm.serve.requests import told

LogProb = Annotated[float | None, told("Natural logarithm of the probability; null if that is 0.")]
Perplexity = Annotated[float | None, told("exp of the mean negative log-probability; null if infinite, or of nothing.")]
Probability = Annotated[float, Field(ge=0)]
Unknown = Annotated[int, told("Words that are not in the vocabulary; each was scored as `<unk>`.")]
Impossible = Annotated[int, told("Words and ends of sentences that have probability 0.")]
Weight = Annotated[float, told("lambda_k(c), the column's weight in the mixture.")]
Share = Annotated[float, told("lambda_k P_k / P: how much of the probability the column gave.")]


class AnswerPart(BaseModel):
    """The base of all answers: exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(AnswerPart):
    """What went wrong."""

    code: Annotated[str, told("For programs.", examples=["unknown_model"])]
    message: Annotated[str, told("What was found, the rule, the way out.")]


class ErrorAnswer(AnswerPart):
    """Every answer that is not a success has this form."""

    error: ErrorBody


class Sums(AnswerPart):
    """One sentence under one model, its end included."""

    log_prob: LogProb
    perplexity: Perplexity
    unknown: Unknown


class Totals(Sums):
    """The whole text under one model."""

    model: str
    perplexity_without_unknown: Perplexity
    predictions: Annotated[int, told("Words, and one end for each sentence.")]
    impossible: Impossible


class WordScore(AnswerPart):
    """One word, or the end of a sentence, `</s>`."""

    word: str
    log_prob: LogProb
    known: bool
    start: Annotated[int | None, told("Of a token: its first character in the sentence.")] = None
    end: Annotated[int | None, told("Of a token: the character behind its last.")] = None


class SentenceScore(Sums):
    """One sentence, its end included."""

    words: int
    impossible: Impossible
    scores: Annotated[list[WordScore], told("If `words` was asked for; the last is `</s>`.")] = []


class ScoreAnswer(Totals):
    """Scores of sentences, each on its own, and of all together."""

    sentences: list[SentenceScore]


class ObserveAnswer(AnswerPart):
    """A session that has learned."""

    model: str
    session: Annotated[str, told("Its name, for other requests.")]
    words: Annotated[int, told("Words of this request.")]
    observed: Annotated[int, told("Words that the session has observed in all.")]
    expires: Annotated[float, told("Seconds without use after which it ends.")]


class ForgetAnswer(AnswerPart):
    """A session that has ended."""

    model: str
    session: str
    forgotten: Annotated[int, told("Words that it had observed.")]


class ExplainedWord(AnswerPart):
    """P(w | c) = sum over columns of weight times column. The lists are in the order of the answer's `columns`."""

    word: str
    known: bool
    probability: Probability
    columns: Annotated[list[float], told("P_k(w | c).")]
    weights: Annotated[list[float], told("lambda_k(c); they sum to 1, but for the delta columns of others.")]
    shares: Annotated[list[float], told("lambda_k P_k / P; they sum to 1.")]


class ExplainedSentence(Sums):
    """The words of a sentence and its end."""

    words: list[ExplainedWord]


class ExplainAnswer(Totals):
    """A text, word by word and column by column."""

    columns: Annotated[list[str], told("The columns' names, in the order of all lists below.")]
    sentences: list[ExplainedSentence]


class WhySource(AnswerPart):
    """A place of an indexed text from which a share comes."""

    source: Annotated[str, told("The file that was indexed.")]
    document: Annotated[int, told("The document's number in the index, from 0.")]
    line: Annotated[int, told("The line of the file, from 1.")]
    before: str
    words: Annotated[str, told("The context and the word, as they stand there.")]
    after: str


class WhyColumn(AnswerPart):
    """One column. Those of n-gram blocks have an order and what was counted; null is what a model does not know."""

    column: str
    probability: Annotated[Probability, told("P_k(w | c).")]
    weight: Weight
    share: Share
    order: int = 0
    context: Annotated[list[str], told("The words that this order looks at, farthest first.")] = []
    seen: Annotated[bool, told("Whether that context was seen; if not, the column is uniform.")] = False
    total: Annotated[float | None, told("c(context).")] = None
    followers: Annotated[int | None, told("u(context): different words after it.")] = None
    kept: Annotated[float | None, told("What discounting left of the total.")] = None
    fallback: Annotated[float | None, told("alpha(context): passed on to the next shorter context.")] = None
    count: Annotated[int | None, told("c(context word), counted as the total is.")] = None
    counted: Annotated[str | None, told("`occurrences`, or `continuations` (Kneser-Ney): words before.")] = None
    occurrences: Annotated[int | None, told("How often the n-gram occurs in the training text.")] = None
    sources: Annotated[list[WhySource], told("Of columns over a text index: places where the word came so.")] = []


class WhyBlock(AnswerPart):
    """Neighbouring columns that belong together."""

    name: str
    kind: Annotated[str, told("ngram, infinite, model, lexicon, copy, uniform, unknown, or delta: the net's own.")]
    weight: Weight
    share: Share
    columns: list[WhyColumn]
    smoothing: str | None = None
    note: Annotated[str, told("What is not known about this block, and why.")] = ""
    inside: Annotated["WhyInside | None", told("If the block is a whole model: what it says itself.")] = None


class WhyInside(AnswerPart):
    """A probability and the blocks that it comes from."""

    context: Annotated[list[str], told("The words that the model looks at, `<s>` for the start.")]
    probability: Probability
    dense_mass: Annotated[float | None, told("The weight of all columns but the net's own; null without such.")]
    blocks: list[WhyBlock]


class WhyAnswer(WhyInside):
    """Why a word has its probability."""

    model: str
    word: str
    known: bool
    rank: Annotated[int, told("1 for the most probable word after the context; equal ones share a rank.")]
    vocab_size: Annotated[int, told("How many words the model chooses from.")]


class ColumnWord(AnswerPart):
    """A word, with the probability that a model or a column gives it."""

    word: str
    probability: Probability
    text: Annotated[str | None, told("Of a token: what it adds to the text; empty for a part of a character.")] = None


class NextWord(ColumnWord):
    """A possible next word."""

    shares: Annotated[dict[str, float], told("By column; they sum to 1.")]


class ColumnWords(AnswerPart):
    """What one column would predict by itself."""

    weight: Weight
    words: list[ColumnWord]


class NextRow(AnswerPart):
    """A row of D: one word in every column. Times the columns' weights it is the word's probability."""

    word: str
    columns: Annotated[list[Probability], told("P_k(w | c), in the order of the answer's `columns`.")]
    text: Annotated[str | None, told("Of a token: what it adds to the text.")] = None


class NextAnswer(AnswerPart):
    """The most probable next words, of the mixture and of each column."""

    model: str
    words: list[NextWord]
    columns: Annotated[dict[str, ColumnWords], told("If `by_column` was asked for.")] = {}
    rows: Annotated[list[NextRow], told("With `by_column`: rows of D, of the words above and each column's best.")] = []


class GenerateAnswer(AnswerPart):
    """Words that were drawn; the probabilities are the model's own, before temperature and cuts."""

    model: str
    words: list[ColumnWord]
    text: Annotated[str, told("The context and the words.")]
    reason: Annotated[str, told("Why it ended: end, max_words, timeout or shutdown.")]


class TranslatedWord(AnswerPart):
    """A word of a translation, or its end, `</s>`, and where it comes from."""

    word: str
    probability: Annotated[
        Probability, told("P(word | the words before, the source); of `<unk>` where it was replaced.")
    ]
    weights: Annotated[list[float], told("lambda of the columns over each source word; empty without such columns.")]
    given: Annotated[list[float], told("The share of the probability that came from there.")]
    blocks: Annotated[dict[str, float], told("The share of each block of columns, delta the net's own; they sum to 1.")]


class TranslationRecord(AnswerPart):
    """One translation; log_prob is that of the words that the model chose, before any `<unk>` was replaced."""

    text: str
    log_prob: LogProb
    score: Annotated[float | None, told("Puts translations in order: log_prob over ((5 + n) / 6) ** length_penalty.")]
    words: list[TranslatedWord]


class TranslatedSentence(AnswerPart):
    """A source and its translations, the best first."""

    source: Annotated[list[str], told("Its words.")]
    translations: list[TranslationRecord]


class TranslateAnswer(AnswerPart):
    """Translations of sentences."""

    model: str
    sentences: list[TranslatedSentence]


class ComparedWord(AnswerPart):
    """One word under all models, in the order of the answer's `models`."""

    word: str
    log_probs: list[float | None]
    known: list[bool]


class ComparedSentence(AnswerPart):
    """One sentence under all models."""

    words: list[ComparedWord]
    models: list[Sums]


class Change(AnswerPart):
    """What a word, over all its occurrences, gained (above 0) or lost under the second model."""

    word: str
    occurrences: int
    bits: float


class CompareAnswer(AnswerPart):
    """A text under several models."""

    models: list[Totals]
    sentences: list[ComparedSentence]
    gained: list[Change]
    lost: list[Change]


class RescoredHypothesis(AnswerPart):
    """A hypothesis, in the place where it was sent."""

    log_prob: LogProb
    score: Annotated[
        float | None,
        told("score + lm_weight log_prob + word_penalty words + rank_weight log(place); null: no number."),
    ]
    words: int


class RescoredList(AnswerPart):
    """One n-best list."""

    best: Annotated[int, told("The place of the best hypothesis, from 0.")]
    text: Annotated[str, told("The best hypothesis.")]
    order: Annotated[list[int], told("All places, the best first; equal scores keep their order.")]
    hyps: list[RescoredHypothesis]


class RescoreAnswer(AnswerPart):
    """N-best lists in a new order."""

    model: str
    lists: list[RescoredList]


class ModelEntry(AnswerPart):
    """A model that is served."""

    name: str
    kind: Annotated[str, told("n-gram, mixture, neural, interpolated or hybrid.")]
    units: Annotated[str, told("What it predicts: words, or tokens of its own tokenizer.")]
    vocab_size: int
    context_length: Annotated[int | None, told("Words that a prediction looks at; null: the sentence.")]
    columns: list[str]
    source: Annotated[bool, told("Whether it reads a source sentence, so that requests have to send one.")]
    learns: Annotated[bool, told("Whether it learns from what it reads, so that it has sessions.")]
    described: Annotated[dict[str, Any], told("Its settings, as `modlm inspect` shows them.")]


class RunEntry(AnswerPart):
    """A training run that is watched."""

    name: str
    finished: bool


class RunsAnswer(AnswerPart):
    """The runs given with --run."""

    runs: list[RunEntry]


class ModelsAnswer(RunsAnswer):
    """All that is served."""

    models: list[ModelEntry]
    version: str
    limits: dict[str, float]


class RunAnswer(RunEntry):
    """Lines of a journal."""

    after: Annotated[int, told("The number of the first line here; 0 if the journal is shorter than asked.")]
    next: Annotated[int, told("What `after` should be the next time.")]
    lines: Annotated[list[dict[str, Any]], told("One object for each evaluation of the run.")]


class HealthAnswer(AnswerPart):
    """The server is up."""

    status: str
    version: str
    uptime: Annotated[float, told("Seconds since the start.")]
