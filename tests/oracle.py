"""The counting half once more: slow, exact, and sharing nothing with the library.

Sentences (lists of words) go in; counts, discounts, columns of D, fallbacks, weights and probabilities come out as
`Fraction`s in plain dictionaries, each by the definition that its docstring states. Tests on small texts compare the
library with this file; where the two differ, this file is read first, so everything here is written to be read.

An n-gram is a tuple of strings, remotest symbol first, predicted word last; its context is the tuple without that word.
`<s>` stands only in contexts, `</s>` is predicted after the last word, words outside the vocabulary are `<unk>`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

from oracle_discounts import UNDISCOUNTED, estimate_discounts

START, END, UNKNOWN = "<s>", "</s>", "<unk>"

Gram = tuple[str, ...]
Context = tuple[str, ...] | None  # None: the window is too short to hold a context of this order, so it is unseen
Column = dict[str, Fraction]

RAW = (
    "maximum-likelihood",
    "additive",
    "witten-bell",
    "jelinek-mercer",
    "good-turing",
    "absolute",
    "modified-absolute",
)
CONTINUATION = ("kneser-ney", "modified-kneser-ney")
FAMILIES = RAW + CONTINUATION


def bucket(total: int, followers: int) -> int:
    """Jelinek-Mercer's: by the mean count of the followers."""
    return sum(total > bound * followers for bound in (1, 1.25, 1.5, 2, 3, 5, 10, 25))


class Oracle:
    """Counts of a text, one smoothing family over them, and the mixture that its fallbacks define.

    order       N; with `positions` it is len(positions) + 1.
    vocabulary  the words that can be predicted, `</s>` and `<unk>` added; None takes the words of the text.
    edge        "once": one `<s>`; n-grams that begin with it keep their raw counts (KenLM, SRILM).
                "repeat": N-1 copies of `<s>`, ordinary symbols (the authors' program).
    positions   (4, 3, 2): the context of order n is the n-1 last-listed positions before the word (1 is the previous
                one), the sentence padded with max(positions) copies of `<s>`; (N-1, ..., 2, 1) is the same as "repeat".
    discounts   per order, a tuple as `estimate_discounts` returns it, or None to estimate; counts stop at 0.
    prune       per order, the largest raw count that is dropped, as `lmplz --prune`; the last value holds for all
                longer orders. `</s>` and `<unk>` are never dropped as unigrams. The whole count of a dropped n-gram
                goes to the fallback; totals, followers, continuation counts and discounts are those before pruning.
    extra       columns after the orders, sharing the last fallback equally: "uniform" (1/J), "unknown" (1 on `<unk>`).
    """

    def __init__(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        order: int = 3,
        vocabulary: Iterable[str] | None = None,
        edge: str = "once",
        positions: Sequence[int] | None = None,
        smoothing: str = "modified-kneser-ney",
        discounts: Sequence[Sequence[Fraction | float] | None] | None = None,
        prune: Sequence[int] | None = None,
        extra: Sequence[str] = ("uniform",),
    ) -> None:
        assert edge in ("once", "repeat")
        assert smoothing in FAMILIES
        assert extra
        self.sentences = [list(sentence) for sentence in sentences]
        self.vocabulary = vocabulary_of(self.sentences if vocabulary is None else [list(vocabulary)])
        self.positions = tuple(range(order - 1, 0, -1)) if positions is None else tuple(positions)
        self.order = len(self.positions) + 1
        self.orders = range(1, self.order + 1)
        self.once = edge == "once" and positions is None
        self.padding = 1 if self.once else max(self.positions, default=0)
        self.smoothing, self.extra, self.prune = smoothing, tuple(extra), tuple(prune or (0,))
        assert list(self.prune) == sorted(self.prune), "an n-gram that is left must not contain one that was dropped"

        self.raw = {n: Counter(self.grams(n, self.sentences)) for n in self.orders}
        self.counts = {n: self.adjusted(n) if smoothing in CONTINUATION else dict(self.raw[n]) for n in self.orders}
        self.after: dict[int, dict[Context, dict[str, int]]] = {n: defaultdict(dict) for n in self.orders}
        for n in self.orders:
            for gram, count in self.counts[n].items():
                self.after[n][gram[:-1]][gram[-1]] = count
        self.given = dict(zip(self.orders, discounts or (), strict=False))
        self.discounts = {
            n: estimate_discounts(smoothing, self.counts_of_counts(n)) if d is None else tuple(Fraction(x) for x in d)
            for n, d in ((n, self.given.get(n)) for n in self.orders)
        }
        self.kept_after = {
            n: {
                c: sum((self.discounted(n, c, word) for word in words), Fraction(0))
                for c, words in self.after[n].items()
            }
            for n in self.orders
        }

    # Contexts and counts

    def known(self, word: str) -> str:
        """The word itself, or `<unk>` for one outside the vocabulary; `<s>` stays, since contexts hold it."""
        return word if word in self.vocabulary or word == START else UNKNOWN

    def window(self, words: Sequence[str], *, start: bool = True) -> Gram:
        """The symbols before a prediction, nearest last: `words` since the sentence start, or exactly `words`."""
        return (START,) * (self.padding if start else 0) + tuple(self.known(word) for word in words)

    def context(self, n: int, window: Gram) -> Context:
        """The context of order n, its n-1 last-listed positions; None where the window does not reach that far."""
        positions = self.positions[self.order - n :]
        if max(positions, default=0) > len(window):
            return None
        return tuple(window[-position] for position in positions)

    def predictions(self, sentences: Iterable[Sequence[str]]) -> Iterator[tuple[Gram, str]]:
        """(window, word) for every word and every sentence end."""
        for sentence in sentences:
            for i, word in enumerate([*sentence, END]):
                yield self.window(sentence[:i]), self.known(word)

    def grams(self, n: int, sentences: Iterable[Sequence[str]]) -> Iterator[Gram]:
        """Every occurrence of an n-gram that ends in a predicted word."""
        for window, word in self.predictions(sentences):
            context = self.context(n, window)
            if context is not None:
                yield (*context, word)

    def adjusted(self, n: int) -> dict[Gram, int]:
        """Kneser-Ney's counts: raw for the highest order, below it the number of distinct one-symbol left extensions.

        The extensions of a skip n-gram are the symbols at the position that order n+1 adds. Under "once" nothing stands
        before `<s>`, so n-grams that begin with it keep their raw counts.
        """
        if n == self.order:
            return dict(self.raw[n])
        extensions = Counter(gram[1:] for gram in self.raw[n + 1])
        begins = {gram: count for gram, count in self.raw[n].items() if self.once and gram[0] == START}
        return {**extensions, **begins}

    def counts_of_counts(self, n: int) -> dict[int, int]:
        """n_r: how many n-gram types of order n have (adjusted) count r."""
        return dict(Counter(self.counts[n].values()))

    def total(self, n: int, context: Context) -> int:
        """c(context): the sum of the counts of its followers; 0 when never seen."""
        return sum(self.after[n].get(context, {}).values())

    def followers(self, n: int, context: Context) -> int:
        """u(context): the number of distinct words after it."""
        return len(self.after[n].get(context, {}))

    # Smoothing: per order a proper distribution and a fallback

    def dropped(self, gram: Gram) -> bool:
        """Whether pruning removes this n-gram, by its raw count."""
        n = len(gram)
        threshold = self.prune[min(n, len(self.prune)) - 1]
        return self.raw[n][gram] <= threshold and gram not in ((END,), (UNKNOWN,))

    def discounted(self, n: int, context: Context, word: str) -> Fraction:
        """The count less its discount; 0 for a dropped or never seen n-gram."""
        count = self.after[n].get(context, {}).get(word, 0)
        if context is None or count == 0 or self.dropped((*context, word)):
            return Fraction(0)
        return max(Fraction(0), count - self.discount(n, count))

    def discount(self, n: int, count: int) -> Fraction:
        """What a count of 1 or more loses."""
        discounts = self.discounts[n]
        return discounts[min(count, len(discounts)) - 1]

    def kept(self, n: int, context: Context) -> Fraction:
        """The sum of the discounted counts after a context."""
        return self.kept_after[n].get(context, Fraction(0))

    def fallback(self, n: int, context: Context) -> Fraction:
        """alpha: the share that discounting and pruning took, 1 - kept/c; 1 when unseen.

        Witten-Bell adds u to the denominator: 1 - c/(c+u) = u/(c+u). Maximum likelihood gives 0 for seen contexts.
        Additive smoothing adds J to it. Jelinek-Mercer's are learned.
        Good-Turing adds 1 where no follower is discounted, all their counts being too large: 1 - c/(c+1) = 1/(c+1).
        """
        if self.kept(n, context) == 0:
            return Fraction(1)
        added = 0
        if self.smoothing == "jelinek-mercer":
            return Fraction(self.alphas[n, bucket(self.total(n, context), self.followers(n, context))])
        if self.smoothing == "additive":
            added = len(self.vocabulary)
        elif self.smoothing == "witten-bell":
            added = self.followers(n, context)
        elif self.smoothing == "good-turing":
            added = int(all(self.discount(n, count) == 0 for count in self.after[n][context].values()))
        return 1 - self.kept(n, context) / (self.total(n, context) + added)

    @cached_property
    def alphas(self) -> dict[tuple[int, int], float]:
        """Jelinek-Mercer's, for each order and bucket: 40 passes of EM over all words, each left out when looked at."""
        alphas: dict[tuple[int, int], float] = defaultdict(lambda: 0.5)
        rows = [self.left_out(window, word) for window, word in self.predictions(self.sentences)]
        for _ in range(40):
            asked, fell = defaultdict(float), defaultdict(float)
            for row in rows:
                steps = [(p, alphas[place] if place else 1.0) for p, place in row]
                below = [1 / len(self.vocabulary)]
                for p, alpha in steps:
                    below.append((1 - alpha) * p + alpha * below[-1])
                left = 1.0
                for n in range(self.order - 1, -1, -1):
                    (p, place), alpha = row[n], steps[n][1]
                    falls = alpha * below[n] / ((1 - alpha) * p + alpha * below[n])
                    if place:
                        asked[place] += left
                        fell[place] += left * falls
                    left *= falls
            alphas.update(
                {place: min(max(fell[place] / asked[place], 1e-4), 1 - 1e-4) for place in asked if asked[place] > 0}
            )
        return alphas

    def left_out(self, window: Gram, word: str) -> list[tuple[float, tuple[int, int] | None]]:
        """For each order P_ML of an occurrence without itself, and its order and bucket; None where that is unseen."""
        row: list[tuple[float, tuple[int, int] | None]] = []
        for n in self.orders:
            context = self.context(n, window)
            count, total = (
                (self.after[n][context][word] - 1, self.total(n, context) - 1) if context is not None else (0, 0)
            )
            followers = self.followers(n, context) - (count == 0)
            row.append((count / total, (n, bucket(total, followers))) if total else (1 / len(self.vocabulary), None))
        return row

    def column(self, n: int, context: Context, word: str) -> Fraction:
        """P_n(word | context): discounted count over kept; 1/J when the context was never seen or has nothing left."""
        if self.kept(n, context) == 0:
            return Fraction(1, len(self.vocabulary))
        return self.discounted(n, context, word) / self.kept(n, context)

    def extra_column(self, name: str, word: str) -> Fraction:
        """The columns that look at no context."""
        return {"uniform": Fraction(1, len(self.vocabulary)), "unknown": Fraction(word == UNKNOWN)}[name]

    # The mixture, p = D . lambda, and the recursion that it must equal

    def columns(self, words: Sequence[str], *, start: bool = True) -> list[Column]:
        """D: orders 1..N, then the extra columns, each over all J words."""
        window = self.window(words, start=start)
        orders = [{w: self.column(n, self.context(n, window), w) for w in self.vocabulary} for n in self.orders]
        return orders + [{w: self.extra_column(name, w) for w in self.vocabulary} for name in self.extra]

    def weights(self, words: Sequence[str], *, start: bool = True) -> list[Fraction]:
        """lambda_n = (1 - alpha_n) prod_{m>n} alpha_m (section 3.1); what is left after order 1 is split equally."""
        window = self.window(words, start=start)
        left, weights = Fraction(1), []
        for n in reversed(self.orders):
            alpha = self.fallback(n, self.context(n, window))
            weights.append(left * (1 - alpha))
            left *= alpha
        return weights[::-1] + [left / len(self.extra)] * len(self.extra)

    def distribution(self, words: Sequence[str], *, start: bool = True) -> Column:
        """p = D . lambda over all J words."""
        columns, weights = self.columns(words, start=start), self.weights(words, start=start)
        return {w: sum((x * d[w] for x, d in zip(weights, columns, strict=True)), Fraction(0)) for w in self.vocabulary}

    def probability(self, word: str, words: Sequence[str], *, start: bool = True) -> Fraction:
        """P_N(word | words) by P_n = (1 - alpha_n) column_n + alpha_n P_{n-1}; P_0 is the mean of the extra columns."""
        word, window = self.known(word), self.window(words, start=start)
        p = sum((self.extra_column(name, word) for name in self.extra), Fraction(0)) / len(self.extra)
        for n in self.orders:
            context = self.context(n, window)
            alpha = self.fallback(n, context)
            p = (1 - alpha) * self.column(n, context, word) + alpha * p
        return p

    def recursion(self, words: Sequence[str], *, start: bool = True) -> Column:
        """The same distribution by the fallback recursion, equation 2 of the paper."""
        return {word: self.probability(word, words, start=start) for word in self.vocabulary}

    def features(self, words: Sequence[str], *, start: bool = True) -> list[tuple[float, ...]]:
        """Per order 1..N: seen, log total, log followers, and log kept for discounted families; all 0 when unseen."""
        window = self.window(words, start=start)
        return [self.feature(n, self.context(n, window)) for n in self.orders]

    def feature(self, n: int, context: Context) -> tuple[float, ...]:
        """The features of one order. A context with nothing kept counts as unseen, as its column does."""
        size = 3 if self.smoothing in UNDISCOUNTED else 4
        if self.kept(n, context) == 0:
            return (0.0,) * size
        values = (self.total(n, context), self.followers(n, context), self.kept(n, context))
        return (1.0, *(math.log(value) for value in values))[:size]

    # Whole texts, and the form that an ARPA file holds (contiguous contexts only)

    def rows(self, sentences: Iterable[Sequence[str]]) -> list[list[Fraction]]:
        """The row of D for each predicted word of a text: one probability per column."""
        return [
            [self.column(n, self.context(n, window), word) for n in self.orders]
            + [self.extra_column(name, word) for name in self.extra]
            for window, word in self.predictions(sentences)
        ]

    def log_probability(self, sentences: Iterable[Sequence[str]]) -> float:
        """Natural log of the probability of a text, every `</s>` included."""
        predictions = self.predictions(sentences)
        return sum(math.log(self.probability(word, window, start=False)) for window, word in predictions)

    def compiled(self, n: int) -> dict[Gram, tuple[Fraction, Fraction]]:
        """(P(word | context), alpha(context word)) of every n-gram that is left: its probability and its backoff.

        Order 1 holds all J words. Contexts made of `<s>` alone stand there for their backoff, with probability 1. An
        n-gram that is no context, as all of the highest order, has backoff 1.
        """
        grams: list[Gram] = [(word,) for word in self.vocabulary]
        if n > 1:
            grams = [gram for gram in self.counts[n] if not self.dropped(gram)]
        entries = {gram: (self.probability(gram[-1], gram[:-1], start=False), self.backoff(gram)) for gram in grams}
        start = (START,) * n
        return entries if n > max(self.padding, 1) else {**entries, start: (Fraction(1), self.backoff(start))}

    def backoff(self, gram: Gram) -> Fraction:
        """alpha of the n-gram taken as a context; 1 for the highest order."""
        return self.fallback(len(gram) + 1, gram) if len(gram) < self.order else Fraction(1)

    def held_out(self, fold: range) -> Oracle:
        """The same model of all sentences but those of a fold, counted from scratch; the vocabulary stays."""
        return Oracle(
            [sentence for i, sentence in enumerate(self.sentences) if i not in fold],
            order=self.order,
            vocabulary=self.vocabulary,
            edge="once" if self.once else "repeat",
            positions=None if self.once else self.positions,
            smoothing=self.smoothing,
            discounts=[self.given.get(n) for n in self.orders],
            prune=self.prune,
            extra=self.extra,
        )


def vocabulary_of(sentences: Iterable[Sequence[str]]) -> list[str]:
    """The J words that can be predicted: those of the sentences, sorted, then `</s>` and `<unk>`."""
    return [*sorted({word for sentence in sentences for word in sentence} - {START, END, UNKNOWN}), END, UNKNOWN]


def static_weights(rows: Iterable[Sequence[float | Fraction]], *, steps: int = 100) -> list[float]:
    """EM for context-free weights (equation 1), from equal ones: each becomes its mean share of the probability.

    A row holds the probabilities that the columns give to one predicted word; rows of zeros only are left out.
    """
    table = [[float(p) for p in row] for row in rows if any(row)]
    weights = [1 / len(table[0])] * len(table[0])
    for _ in range(steps):
        shares = [0.0] * len(weights)
        for row in table:
            p = sum(w * x for w, x in zip(weights, row, strict=True))
            shares = [s + w * x / p for s, w, x in zip(shares, weights, row, strict=True)]
        weights = [share / len(table) for share in shares]
    return weights
