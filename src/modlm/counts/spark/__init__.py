"""The spark engine: counting as jobs of Apache Spark, on this machine or a cluster; the same files as from the others.

All work on words and n-grams is done by Spark's own functions in the JVM, so machines of a cluster need nothing but
Spark. What comes out of a job is a sorted Parquet table in a working folder; the program that asked reads it part by
part into the arrays of `Counts`.
"""

from __future__ import annotations

from modlm.counts.spark.counting import SparkTally, count, spark_tally

__all__ = ["SparkTally", "count", "spark_tally"]
