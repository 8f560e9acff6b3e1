"""`modlm align`: parallel text to a translation table and the links between words."""

import math
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from modlm.cli.options import EncodingErrors, Force, Json, MaxWords, MinCount, Threads, argument, option
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import print_json, print_table
from modlm.errors import ConfigError

LINES = (".tsv", ".txt")


def align(
    source: Annotated[Path, argument("SOURCE", "A text, one sentence per line (gz, bz2, xz, zst).")],
    target: Annotated[Path, argument("TARGET", "Its translation, line by line.")],
    output: Annotated[
        Path, option("-o --output TABLE", "The table to write: a folder, or lines if the name has .tsv in it.")
    ],
    alignments: Annotated[
        Path | None, option("--alignments FILE", "Also write the links of each pair, as 0-0 1-2; - for the screen.")
    ] = None,
    symmetrise: Annotated[
        str, option("--symmetrise HOW", "How links of both directions are joined: none, intersection, union, or:")
    ] = "grow-diag-final-and",
    model1: Annotated[int, option("--model1 N", "Iterations of IBM Model 1.", min=1)] = 5,
    hmm: Annotated[int, option("--hmm N", "Iterations of the HMM after them.", min=0)] = 5,
    prior: Annotated[
        float, option("--prior A", "Dirichlet prior on translations; 0 for maximum likelihood.", min=0.0)
    ] = 1e-3,
    least: Annotated[float, option("--least P", "Leave out translations that are less likely.", min=0.0)] = 1e-6,
    max_words: MaxWords = None,
    min_count: MinCount = 1,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn which words translate which from sentences and their translations, line by line.

    The table has P(target word | source word), for columns over a source sentence. It comes from EM: IBM Model 1, then
    the HMM. Pairs with an empty line on one side teach nothing, and have no links. With --alignments, the other
    direction is learned too, unless --symmetrise is none.

    \b
    modlm align train.ja train.en -o lexicon
    modlm align train.ja train.en -o lexicon.tsv --alignments links.txt
    modlm align train.ja train.en -o lexicon --alignments - --symmetrise intersection
    """  # fmt: skip
    from modlm.counts.translation import AlignmentOptions, links_of, pharaoh
    from modlm.counts.translation import align as aligned
    from modlm.counts.translation.links import ONE_WAY, WAYS
    from modlm.formats.output import text_output
    from modlm.text.options import TextOptions
    from modlm.text.parallel import Parallel

    if symmetrise not in WAYS:
        raise ConfigError(f"--symmetrise is one of {', '.join(WAYS)}, not {symmetrise!r}.")
    shown = alignments is not None and str(alignments) == "-"
    if shown and json:
        raise ConfigError("--json and --alignments - both write to standard output. Give the alignments a file.")
    refuse_existing(output, None if shown else alignments, force=force)
    begun, asked = time.perf_counter(), AlignmentOptions(model1=model1, hmm=hmm, prior=prior, least=least)
    reading = TextOptions(max_words=max_words, min_count=min_count, encoding_errors=encoding_errors)
    pairs = Parallel.read(source, target, reading)
    found = aligned(pairs, asked)
    as_lines = any(suffix in LINES for suffix in output.suffixes)
    found.table.write(output, overwrite=force) if as_lines else found.table.save(output, overwrite=force)
    if alignments is not None:
        back = None if symmetrise == ONE_WAY else aligned(pairs.swapped(), asked).links
        lines = (f"{pharaoh(one)}\n" for one in links_of(pairs, found.links, back, way=symmetrise))
        if shown:
            sys.stdout.writelines(lines)
        else:
            with text_output(alignments, overwrite=force) as out:
                out.writelines(line.encode() for line in lines)
    report = {
        "pairs": len(pairs), "left_out": int((~pairs.whole_N).sum()), "source_words": len(pairs.source.vocabulary),
        "target_words": len(pairs.target.vocabulary), "translations": len(found.table.words),
        "perplexity": [math.exp(-one / found.predictions) for one in found.log_likelihoods], "model1": model1,
        "hmm": hmm, "output": str(output), "alignments": str(alignments) if alignments else None,
        "seconds": round(time.perf_counter() - begun, 3),
    }  # fmt: skip
    if json:
        print_json(report)
    elif not shown:
        _print_summary(report)


def _print_summary(report: dict[str, Any]) -> None:
    left = f" ({report['left_out']:,} with an empty side left out)" if report["left_out"] else ""
    print(f"{report['pairs']:,} pairs{left}; ", end="")
    print(f"{report['source_words']:,} source words, {report['target_words']:,} target words")
    steps = {"Model 1": report["model1"], "HMM": report["hmm"]}
    names = [*(f"{name}, {n + 1}" for name, count in steps.items() for n in range(count)), "the end"]
    values = [f"{value:,.2f}" for value in report["perplexity"]]
    print_table(["before iteration", "perplexity of the target"], list(zip(names, values, strict=True)))
    print(f"{report['output']}: {report['translations']:,} translations, in {report['seconds']:.1f} s")
    if report["alignments"]:
        print(f"{report['alignments']}: the links of each pair")
