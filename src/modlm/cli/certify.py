"""`modlm certify`: is a model a language model? A certificate, or the smallest counterexample."""

from pathlib import Path
from typing import Annotated, Any

import typer

from modlm.cli.options import Force, Json, Source, Threads, argument, option
from modlm.cli.printing import print_json, print_table

MARKS = {"holds": "✓", "broken": "✗", "untested": "–"}


def certify(
    model: Annotated[str, argument("MODEL", "A model, a folder of transformers, http://…, or module:function.")],
    text: Annotated[Path, argument("TEXT", "One sentence per line.")],
    output: Annotated[
        Path | None, option("-o --output FILE", "Write the certificate: .json, or .html to look at.")
    ] = None,
    positions: Annotated[int, option("--positions N", "Positions to try each law at.", min=1)] = 25,
    tokens: Annotated[int, option("--tokens N", "Tokens of the text to draw them from: the first ones.", min=2)] = 256,
    seed: Annotated[int, option("--seed N", "Which positions are drawn, and how tails are shuffled.")] = 1,
    tolerance: Annotated[
        float, option("--tolerance NATS", "How far two logarithms of one number may be apart.")
    ] = 1e-4,
    gives: Annotated[
        str,
        option("--gives probabilities|log-probabilities", "A function of the words before, or of a whole text?"),
    ] = "probabilities",
    ids: Annotated[
        bool, option("--ids", "For a function: the text holds token ids, and so does what it is given.")
    ] = False,
    gguf: Annotated[str, option("--gguf FILE", "For a folder of transformers: its GGUF file.")] = "",
    source: Source = None,
    named: Annotated[str, option("--model NAME", "For a server: which of its models.  [default: the first]")] = "",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Try the laws of a language model on positions of a text, and print a certificate.

    Distributions sum to 1, scores are what they say, nothing later changes what came before, a word is scored before it
    is learned, and every way to ask gives the same. The exit code is 1 if a law is broken, with the smallest
    counterexample that was found. What a model cannot be asked for is untested.

    \b
    modlm certify model test.txt
    modlm certify runs/ja-en test.en --source test.ja
    modlm certify http://localhost:8765 test.txt
    modlm certify entry:next_probabilities test.txt -o certificate.html
    modlm certify entry:score test.txt --gives log-probabilities
    """  # fmt: skip
    from modlm.cli.outcome import refuse_existing
    from modlm.evaluation.certificate import certify as certified
    from modlm.experiments.certificate_page import write
    from modlm.integrations.certified import any_subject

    refuse_existing(output, force=force)
    subject = any_subject(model, gives=gives, ids=ids, gguf=gguf, named=named, source=source)
    found = certified(subject, text, positions=positions, tokens=tokens, seed=seed, tolerance=tolerance)
    if output is not None:
        write(found, output)
    print_json(found.as_dict()) if json else _print(found.as_dict())
    if not found.holds:
        raise typer.Exit(1)


def _print(found: dict[str, Any]) -> None:
    where = f"{found['positions']} of {found['tokens']} positions of {found['text']}, seed {found['seed']}"
    print(f"{found['model']} ({found['kind']}): {where}")
    rows = [
        [MARKS[one["status"]], one["says"], one["status"], str(one["positions"] or "–"), f"{one['worst']:.2g}"]
        for one in found["verdicts"]
    ]
    print_table(["", "law", "", "cases", "worst"], rows, left=3)
    for one in found["verdicts"]:
        if case := one["counterexample"]:
            before, behind = (" ".join(map(str, case[part])) or "nothing" for part in ("before", "behind"))
            shown = f"after {before!r}, at {case['word']!r}, followed by {behind!r}: {case['found']}"
            print(f"\n{one['law']}, the smallest counterexample: {shown}")
        elif one["note"]:
            print(f"{one['law']}: {one['note']}")
    print("\nNo law is broken." if found["holds"] else "\nThis is no language model.")
