"""`modlm translate`: sentences out of their sources, by a model that was trained with sources."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from modlm.cli.options import Json, ModelArgument, Threads, argument, option
from modlm.cli.printing import number, print_json, print_table


def translate(
    model: ModelArgument,
    file: Annotated[Path, argument("FILE", "Source sentences, one per line; - for standard input.")] = Path("-"),
    beam: Annotated[
        int, option("--beam N", "Hypotheses kept at every step; 1 takes the best word each time.", min=1)
    ] = 5,
    n_best: Annotated[
        int, option("--n-best N", "Translations of each sentence, at most as many as the beam.", min=1)
    ] = 1,
    length_penalty: Annotated[
        float,
        option("--length-penalty X", "0 compares hypotheses by log P, which favours short ones; 1 is usual.", min=0),
    ] = 1.0,
    longest: Annotated[float, option("--longest X", "Words at most per word of the source; ten more are free.")] = 2.0,
    unknown: Annotated[
        str,
        option(
            "--unknown replace|keep|never",
            "<unk>: what the lexicon has for the source word it comes from, or that word; as it is; or never said.",
        ),
    ] = "replace",
    reference: Annotated[
        Path | None, option("--reference TEXT", "How it should be: print BLEU and chrF instead of the translations.")
    ] = None,
    against: Annotated[
        Path | None, option("--against TEXT", "With --reference: other translations to compare with, by bootstrap.")
    ] = None,
    tokenize: Annotated[str, option("--tokenize NAME", "With --reference: how sacrebleu splits words.")] = "none",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Translate sentences with a model trained with --source.

    One translation a line; with --n-best lines in Moses' form, `number ||| words ||| log P ||| score`. The JSON has the
    place of the source word each word comes from too, counted from 1; 0 where the net said it by itself.

    \b
    modlm translate runs/ja-en test.ja > test.out
    echo "私 は 元気 で す 。" | modlm translate runs/ja-en --n-best 5
    modlm translate runs/ja-en test.ja --reference test.en --against baseline.out --json
    """  # fmt: skip
    from modlm.formats.lines import text_lines
    from modlm.model.folder import load

    lm = load(model)
    settings: dict[str, Any] = {"n_best": n_best, "length_penalty": length_penalty, "longest": longest}
    lines = (line for _, line in text_lines(file, blank=True))
    found = lm.translate(lines, width=beam, unknown=unknown, **settings)
    if reference is not None:
        from modlm.evaluation.translation_scores import score_translations

        systems = {} if against is None else {str(against): [line for _, line in text_lines(against, blank=True)]}
        systems[str(model)] = [str(best[0]) for best in found]
        known = [line for _, line in text_lines(reference, blank=True)]
        scores = score_translations(systems, known, tokenize=tokenize)
        report = {name: [asdict(own) for own in every] for name, every in scores.items()}
        print_json(report) if json else _print_scores(report)
    elif json:
        keys = ("log_prob", "score", "places")
        print_json([[{"text": str(one), **{key: getattr(one, key) for key in keys}} for one in best] for best in found])
    else:
        for place, best in enumerate(found):
            for one in best:
                print(
                    one if n_best == 1 else f"{place} ||| {one} ||| {one.log_prob:.4f} ||| {one.score:.4f}", flush=True
                )


def _print_scores(scores: dict[str, list[dict[str, Any]]]) -> None:
    def cell(own: dict[str, Any]) -> str:
        chance = "" if own["p_value"] is None else f" (p = {number(own['p_value'], 4)})"
        return f"{own['score']:.2f}{chance}"

    print_table(["translations", "BLEU", "chrF"], [[name, *map(cell, every)] for name, every in scores.items()])
    print("; ".join(f"{own['metric']} {own['signature']}" for own in next(iter(scores.values()))))
