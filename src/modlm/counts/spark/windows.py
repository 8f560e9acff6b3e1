"""Windows of words in Spark: counted and sorted.

A window is the `order` words that begin at a position, cut at the sentence end, packed into 64-bit keys as in
`disk_kernels`; so the disk engine's writer makes the trie from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modlm.counts.disk_runs import packing
from modlm.counts.spark import functions as F
from modlm.text.vocabulary import END

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
        return [f"key{k}" for k in range(packing(self.order, self.vocab_size)[1] - 1)]

    def counted(self, sentences: DataFrame, *others: str) -> DataFrame:
        """The windows at all positions of sentences with `ids`, each once for each value of the others; sorted.

        What comes out are the keys, the others and `count`. Spark has no numbers without a sign to sort keys by.
        """
        copies = 1 if self.edge == "once" else max(1, self.order - 1)
        padded = F.concat(F.array_repeat(F.lit(self.vocab_size), copies), "ids", F.array(F.lit(END)))
        framed = sentences.select(*others, padded.alias("ids"))
        at = framed.select(*others, "ids", F.explode(F.sequence(F.lit(0), F.size("ids") - 1)).alias("at"))
        words = [F.coalesce(F.get("ids", F.col("at") + n) + 1, F.lit(0)).cast("long") for n in range(self.order)]
        keys, fields = [], 64 // self.bits
        for k, name in enumerate(self.keys):
            key = F.lit(0).cast("long")
            for word in words[k * fields : (k + 1) * fields]:
                key = F.shiftleft(key, self.bits).bitwiseOR(word)
            keys.append(key.alias(name))
        once = at.select(*others, *keys).groupBy(*self.keys, *others).agg(F.count("*").alias("count"))
        return once.orderBy(*(F.col(key).bitwiseXOR(F.lit(SIGN).cast("long")) for key in self.keys))
