"""`modlm rescore`: n-best lists in a new order, weights tuned on a development part, errors before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modlm.cli.options import Force, Json, ModelArgument, Threads, option, several

if TYPE_CHECKING:
    from modlm.evaluation.rescored_lists import Prepared
    from modlm.evaluation.rescoring import Weights


def rescore(
    model: ModelArgument,
    nbest: Annotated[
        Path,
        typer.Argument(metavar="NBEST", help="N-best lists: a file (packed or not, - for stdin), or ESPnet's folder."),
    ],
    lm_weight: Annotated[
        float | None, option("--lm-weight X", "Of the model's log-probability.  [default: tuned, else 1]")
    ] = None,
    word_penalty: Annotated[
        float | None, option("--word-penalty X", "Added for each word.  [default: tuned, else 0]")
    ] = None,
    rank_weight: Annotated[
        float | None, option("--rank-weight X", "Of the logarithm of the place in the list.  [default: 0]")
    ] = None,
    use_rank: Annotated[
        bool | None,
        option(
            "--use-rank/--no-rank",
            "Tune the weight of the place in the list too.  [default: if lists are not in the order of scores]",
            show_default=False,
        ),
    ] = None,
    tune: Annotated[
        Path | None, option("--tune REF", "References, where NBEST has none: `utterance words`, or in order.")
    ] = None,
    dev: Annotated[
        str, option("--dev SHARE|NBEST", "Tune on this share of the sessions and measure on the rest, or on lists.")
    ] = "0.5",
    session: Annotated[
        str | None, option("--session REGEX", "The session in an utterance's name.  [default: all but its last number]")
    ] = None,
    unit: Annotated[str, option("--unit words|characters", "Errors to tune to.")] = "words",
    output: Annotated[Path | None, option("-o --output FILE", "Write the lists in their new order.")] = None,
    best: Annotated[Path | None, option("--best FILE", "Write the best hypothesis of each utterance.")] = None,
    form: Annotated[str, option("--format auto|jsonl|kaldi|moses", "Of NBEST.")] = "auto",
    scores: Annotated[
        str,
        option(
            "--scores auto|log|probability|cost|none",
            "What scores in NBEST are; costs are negated, none takes all as 0.",
        ),
    ] = "auto",
    score_file: Annotated[
        list[Path] | None, option("--score-file FILE", "`name score` lines for Kaldi-style text; may come again.")
    ] = None,
    score_scale: Annotated[str, option("--score-scale LIST", "What each score file is multiplied by.")] = "",
    draws: Annotated[int, option("--draws", "Bootstrap draws for the intervals; 0 for none.", min=0)] = 1000,
    seed: Annotated[int, option("--seed", "Of the parts, the search and the bootstrap.", min=0)] = 1,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Rescore n-best lists: first-pass score + lm-weight * log P + word-penalty * words.

    With references, in NBEST or from --tune, weights that are not given are tuned to the fewest errors on a development
    part (whole sessions), and word and character error rates are reported for the rest. If any weight is given and
    --tune is not, nothing is tuned. Without references the best hypotheses are printed, unless they are written.

    \b
    modlm rescore model lists.jsonl -o rescored.jsonl
    modlm rescore model nbest.txt --score-file ac_cost --score-file lm_cost --score-scale=-0.1,-1 --tune text
    modlm rescore model test.nbest.gz --dev dev.nbest.gz --tune ref.txt
    modlm rescore model lists.jsonl --lm-weight 0.6 --word-penalty 1 --best hyp.txt
    """  # fmt: skip
    from modlm.cli.outcome import refuse_existing, wrote
    from modlm.cli.rescoring import Parts, as_report, print_report, ranked, tuned_weights, weights_given
    from modlm.evaluation.rescored_lists import prepare, refuse_shared
    from modlm.formats.nbest import read_nbest
    from modlm.model.folder import load

    refuse_existing(output, best, force=force)
    share = _share(dev)
    scales = several(score_scale, float, option="--score-scale", example="-0.1,-1")
    reading: dict[str, Any] = {"form": form, "scored": scores != "none"}
    lists = read_nbest(nbest, score_files=score_file or (), scales=scales, **reading)
    other = None if share is not None else read_nbest(Path(dev), **reading)
    if other is not None:
        refuse_shared(lists, other)
    lm = load(model)
    main = prepare(lm, lists, references=tune, scores=scores, session=session)
    held = None if other is None else prepare(lm, other, references=tune, scores=main.scores, session=session)
    given, free = weights_given(
        lm_weight,
        word_penalty,
        rank_weight,
        use_rank=ranked(main, use_rank),
        tuning=bool((held or main).errors),
        asked=tune is not None or bool(use_rank),
    )
    parts = Parts(main, held, share, seed=seed, tuning=bool(free))
    weights = tuned_weights(parts, given, free, unit=unit)
    report = as_report(parts, weights, free, unit=unit, draws=draws)
    written = _write(main, weights, output, best)
    for path in written:
        wrote(path)
    report["output"] = [str(path) for path in written]
    print_report(report, main, weights, json=json)


def _share(dev: str) -> float | None:
    """The share, or nothing where it is the name of a file."""
    try:
        return float(dev)
    except ValueError:
        return None


def _write(prepared: Prepared, weights: Weights, output: Path | None, best: Path | None) -> list[Path]:
    from modlm.evaluation.rescoring import LM
    from modlm.formats.nbest_writer import write_best, write_nbest

    totals_H = prepared.lists.totals(weights.array())
    if output is not None:
        write_nbest(prepared.nbest, output, prepared.lists.features_HF[:, LM], totals_H)
    if best is not None:
        write_best(prepared.nbest, best, prepared.lists.best(weights.array()))
    return [path for path in (output, best) if path is not None]
