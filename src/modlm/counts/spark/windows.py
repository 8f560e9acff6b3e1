"""Windows of words in Spark: counted, sorted, and cut into the n-grams that they begin with.

A window is the `order` words that begin at a position, cut at the sentence end, packed into 64-bit keys as in
`disk_kernels`; so the disk engine's writer makes the trie from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modlm.counts.disk_runs import packing
from modlm.text.vocabulary import END

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SIGN = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows are packed, and Spark's expressions for it."""

    order: int
    vocab_size: int
    edge: str

    @property
    def bits(self) -> int:
        """Of a word in a key."""
        return packing(self.order, self.vocab_size)[0]

    @property
    def keys(self) -> list[str]:
        """The names of the columns with keys."""
        return [f"key{k}" for k in range(packing(self.order, self.vocab_size)[1] - 1)]

    @property
    def fields(self) -> int:
        """Words that fit into a key."""
        return 64 // self.bits

    def of_sentences(self, sentences: DataFrame, *others: str) -> DataFrame:
        """A row for the window at each position of sentences with `ids`, beside the other columns named."""
        from pyspark.sql import functions as F

        copies = 1 if self.edge == "once" else max(1, self.order - 1)
        padded = F.concat(F.array_repeat(F.lit(self.vocab_size), copies), "ids", F.array(F.lit(END)))
        framed = sentences.select(*others, padded.alias("ids"))
        at = framed.select(*others, "ids", F.explode(F.sequence(F.lit(0), F.size("ids") - 1)).alias("at"))
        words = [F.coalesce(F.get("ids", F.col("at") + n) + 1, F.lit(0)).cast("long") for n in range(self.order)]
        return at.select(*others, *self.packed(words))

    def packed(self, words: list[Column]) -> list[Column]:
        """Keys from `word + 1` of each place, 0 behind the end."""
        from pyspark.sql import functions as F

        columns = []
        for k, name in enumerate(self.keys):
            key = F.lit(0).cast("long")
            for word in words[k * self.fields : (k + 1) * self.fields]:
                key = F.shiftleft(key, self.bits).bitwiseOR(word)
            columns.append(key.alias(name))
        return columns

    def word(self, n: int) -> Column:
        """`word + 1` at place n (from 0) of a packed window, 0 behind its end."""
        from pyspark.sql import functions as F

        k, place = divmod(n, self.fields)
        behind = min(self.fields, self.order - k * self.fields) - 1 - place
        mask = F.lit((1 << self.bits) - 1).cast("long")
        return F.shiftrightunsigned(self.keys[k], self.bits * behind).bitwiseAND(mask)

    def words(self) -> list[Column]:
        """All places of a packed window."""
        return [self.word(n) for n in range(self.order)]

    def in_order(self) -> list[Column]:
        """What to sort by: keys as numbers without a sign, which Spark does not have."""
        from pyspark.sql import functions as F

        return [F.col(key).bitwiseXOR(F.lit(SIGN).cast("long")) for key in self.keys]


def counted(windows: DataFrame, by: list[str], order: list[Column]) -> DataFrame:
    """Each window once with its `count`, sorted."""
    from pyspark.sql import functions as F

    return windows.groupBy(*by).agg(F.count("*").alias("count")).orderBy(*order)


def ngrams(windows: DataFrame, how: Windows) -> DataFrame:
    """Every n-gram of orders 1..N: `n`, its keys, its frequency `raw`, and in how many left contexts it occurs, `left`.

    A window begins with as many n-grams as it has words. One that ends in `<s>` does not occur.
    """
    from pyspark.sql import functions as F

    n = F.col("n")
    words, start = how.words(), how.vocab_size + 1
    unpacked = windows.select("count", F.array(*words).alias("words"))
    long = unpacked.select(
        "count", "words", F.explode(F.sequence(F.lit(1), F.size(F.array_remove("words", 0)))).alias("n")
    )
    cut = [F.when(n > place, F.get("words", F.lit(place))).otherwise(0).cast("long") for place in range(how.order)]
    frequency = F.when(F.get("words", n - 1) == start, 0).otherwise(F.col("count"))
    found = (
        long.select("n", *how.packed(cut), frequency.alias("raw"))
        .groupBy("n", *how.keys)
        .agg(F.sum("raw").cast("long").alias("raw"))
    )
    shorter = found.filter((n > 1) & (F.col("raw") > 0)).select(
        (n - 1).alias("n"), *how.packed([*words[1:], F.lit(0).cast("long")]), F.lit(0).cast("long").alias("raw"),
        F.lit(1).cast("long").alias("left"),
    )  # fmt: skip
    both = found.withColumn("left", F.lit(0).cast("long")).unionByName(shorter)
    return both.groupBy("n", *how.keys).agg(F.sum("raw").alias("raw"), F.sum("left").alias("left"))


def continued(how: Windows) -> Column:
    """The frequency that Kneser-Ney smooths, as `Counts.continuation` defines it."""
    from pyspark.sql import functions as F

    kept = F.col("n") == how.order
    if how.edge == "once":
        kept = kept | (how.word(0) == how.vocab_size + 1)
    return F.when(kept, F.col("raw")).otherwise(F.col("left"))
