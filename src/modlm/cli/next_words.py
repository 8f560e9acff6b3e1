"""`modlm next`: the most probable next words, and which columns they come from."""

from typing import Annotated

import modlm
from modlm.cli.options import ForeignTokenizer, Json, ModelArgument, SourceSentence, argument, option
from modlm.cli.printing import print_json, print_predictions


def next_words(
    model: ModelArgument,
    context: Annotated[str, argument("CONTEXT", "The words before, in quotes; none for the start of a sentence.")] = "",
    k: Annotated[int, option("-k N", "How many words.", min=1)] = 10,
    middle: Annotated[bool, option("--middle", "The context does not begin a sentence.")] = False,
    source: SourceSentence = None,
    tokenizer: ForeignTokenizer = None,
    json: Json = False,
) -> None:
    """The most probable next words, and why.

    Shows the probability of each word, and how much of it came from each order (or other column).

    \b
    modlm next model "the company said"
    modlm next model "said it" --middle -k 5 --json
    modlm next runs/ja-en "i am" --source "私 は 元気 で す 。"
    """  # fmt: skip
    lm = modlm.load(model, tokenizer=tokenizer)
    lm = lm if source is None else lm.given(source)
    predictions = lm.next_words(context, k, start=not middle)
    if json:
        print_json([{"word": p.word, "probability": p.probability, "shares": p.shares} for p in predictions])
        return
    unknown = [word for word in lm.vocabulary.split(context) if word not in lm.vocabulary]
    if unknown:
        print(f"not in the vocabulary, so unknown: {' '.join(unknown)}")
    print_predictions(predictions)
