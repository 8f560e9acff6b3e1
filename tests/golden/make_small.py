"""Write small.txt: 300 invented sentences over 40 words, for comparing n-gram estimates with another program's.

    python make_small.py > small.txt

Words follow Zipf's law, and each word prefers a few successors, so that all orders up to five have n-grams that occur
once, twice, three and four times and no discount needs a substitute. The one word that comes first in the last sentence
occurs nowhere else: see README.md.
"""

from __future__ import annotations

import random

SENTENCES = 300
WORDS = 40
SEED = 29


def invented_words(rng: random.Random) -> list[str]:
    """Distinct two-syllable words, the most frequent first."""
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    pairs = [first + second for first in syllables for second in syllables]
    return rng.sample(pairs, WORDS)


def sentences(rng: random.Random) -> list[list[str]]:
    """Walks over the words: mostly to one of the few successors of the word before, else anywhere by frequency."""
    *words, last = invented_words(rng)
    frequency = [1 / rank**1.6 for rank in range(1, WORDS)]
    successors = {word: rng.choices(words, frequency, k=4) for word in words}
    text: list[list[str]] = []
    for _ in range(SENTENCES):
        sentence = rng.choices(words, frequency)
        while rng.random() > 0.16:
            liked = rng.random() < 0.6
            sentence += rng.choices(successors[sentence[-1]]) if liked else rng.choices(words, frequency)
        text.append(sentence)
    text[-1].insert(0, last)
    return text


if __name__ == "__main__":
    for line in sentences(random.Random(SEED)):
        print(" ".join(line))
