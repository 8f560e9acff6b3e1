"""`modlm demo`: the tour."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

from modlm.cli.options import Threads, option
from modlm.cli.printing import print_predictions, print_table, print_words
from modlm.ground.progress import quietly


def demo(
    output: Annotated[Path, option("-o --output DIR", "The folder to write.")] = Path("demo"),
    threads: Threads = None,
    force: Annotated[bool, option("--force", "Overwrite DIR even if it is not an earlier demo.")] = False,
    texts: Annotated[Path | None, option("--texts DIR", "Only write the texts into this folder.")] = None,
) -> None:
    """A tour of a few minutes on text that ships with Python.

    Trains every n-gram family, then a neural model, neurally interpolated n-grams and a hybrid of both; prints their
    perplexity, speed and size, some predictions, and where the hybrid's come from; and writes an HTML report.
    Writes a model of each kind (demo/ngram, demo/neural, demo/interpolated, demo/hybrid; the last three are runs),
    demo/report.html and demo/text (train, valid and test, to try more on).

    \b
    modlm demo
    modlm serve demo
    modlm next demo/hybrid "return true if"
    modlm demo --texts texts
    """  # fmt: skip
    if texts is not None:
        print_texts(texts, overwrite=force)
        return
    from modlm.experiments.demo import KINDS, SENTENCE, run_demo
    from modlm.experiments.demo_report import COLUMNS

    with quietly():  # notes stand in the summary
        result = run_demo(output, say=lambda text: print(text, flush=True), overwrite=force)
    print("\nOne of each kind")
    print_table(COLUMNS, [row.cells for row in result.rows if row.label in KINDS])
    print(f"\nBest on the validation part: {result.best.label}. Its next words, with the share of each column:")
    for context, predictions in result.predictions:
        print(f"\n{context} ...")
        print_predictions(predictions)
    print(f"\n{SENTENCE}\nword by word, with {result.explained.label}: the share of each column in its probability")
    print_words(result.explanation)
    print(
        f"\n{output / 'report.html'}: the same with plots; {output / result.folder}: the best ({result.seconds:.0f} s)"
    )
    modlm = "modlm" if shutil.which("modlm") else sys.argv[0]
    print(f'Try: {modlm} next {output / result.folder} "{result.predictions[0][0]}"')
    print(f"Open all of them in a browser: {modlm} serve {output}")


def print_texts(target: Path, *, overwrite: bool) -> None:
    from modlm.experiments.demo_text import write_texts

    sources = write_texts(target, overwrite=overwrite)
    everything = sources["reference"] + sources["library"]
    rows = [
        [str(folder), *(f"{sum(len(sentence.split()) for sentence in part):,}" for part in (t.train, t.valid, t.test))]
        for folder, t in ((target, everything), *((target / name, text) for name, text in sources.items()))
    ]
    print_table(["words in", "train.txt", "valid.txt", "test.txt"], rows)
