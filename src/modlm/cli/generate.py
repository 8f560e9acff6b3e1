"""`modlm generate`: sentences drawn from a model."""

from typing import Annotated

import modlm
from modlm.cli.options import ForeignTokenizer, Json, ModelArgument, SourceSentence, option
from modlm.cli.printing import print_json


def generate(
    model: ModelArgument,
    count: Annotated[int, option("-n --count N", "How many sentences.", min=1)] = 5,
    context: Annotated[str, option("--context WORDS", "Words that every sentence starts with.")] = "",
    temperature: Annotated[
        float, option("--temperature X", "Below 1 is safer, above 1 bolder; 0 takes the most probable word.")
    ] = 1.0,
    top_k: Annotated[int, option("--top-k N", "Draw only from the k most probable words; 0 for all.")] = 0,
    top_p: Annotated[float, option("--top-p X", "Draw from the top words of this total probability.")] = 1.0,
    max_words: Annotated[int, option("--max-words N", "Stop a sentence after this many words.")] = 100,
    seed: Annotated[int | None, option("--seed N", "Random seed; the same seed draws the same sentences.")] = None,
    source: SourceSentence = None,
    tokenizer: ForeignTokenizer = None,
    json: Json = False,
) -> None:
    """Draw sentences from a model, one per line.

    \b
    modlm generate model
    modlm generate model --context "the company" --temperature 0.7 --seed 1
    """  # fmt: skip
    import numpy as np

    sampling = modlm.Sampling(temperature=temperature, top_k=top_k, top_p=top_p, max_words=max_words)
    lm = modlm.load(model, tokenizer=tokenizer)
    lm = lm if source is None else lm.given(source)
    rng = np.random.default_rng(seed)
    given = lm.vocabulary.split(context)
    drawn = (lm.vocabulary.join([*given, *lm.generate(sampling, context=context, rng=rng)]) for _ in range(count))
    if json:
        print_json(list(drawn))
        return
    for sentence in drawn:
        print(sentence)
