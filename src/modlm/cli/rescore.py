"""`modlm rescore`: n-best lists in a new order, weights tuned on a development part, errors before and after."""

import math
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from modlm.cli.options import Force, Json, ModelArgument, Threads, argument, option, several
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import print_json, print_table
from modlm.errors import ConfigError
from modlm.ground.progress import percent

RATES = ("wer", "cer")
SCORES = {"log": "logarithms", "probability": "probabilities", "cost": "costs", "none": "not looked at"}


def rescore(
    model: ModelArgument,
    nbest: Annotated[Path, argument("NBEST", "N-best lists: a file (- for stdin; gz and such), or ESPnet's folder.")],
    lm_weight: Annotated[
        float | None, option("--lm-weight X", "Weight of the model's log-probability.  [default: tuned, else 1]")
    ] = None,
    word_penalty: Annotated[
        float | None, option("--word-penalty X", "Added for each word.  [default: tuned, else 0]")
    ] = None,
    rank_weight: Annotated[float | None, option("--rank-weight X", "Weight of log(place).  [default: 0]")] = None,
    use_rank: Annotated[
        bool | None,
        option(
            "--use-rank/--no-rank",
            "Tune the weight of the place in the list too.  [default: if lists are not in the order of scores]",
            show_default=False,
        ),
    ] = None,
    tune: Annotated[Path | None, option("--tune REF", "References: `utterance words`, or in order.")] = None,
    dev: Annotated[str, option("--dev SHARE|NBEST", "Tune on this share of sessions, or on other lists.")] = "0.5",
    session: Annotated[
        str | None, option("--session REGEX", "Session names.  [default: all but the last number]")
    ] = None,
    unit: Annotated[str, option("--unit words|characters", "Which errors to minimise.")] = "words",
    output: Annotated[Path | None, option("-o --output FILE", "Write the lists in their new order.")] = None,
    best: Annotated[Path | None, option("--best FILE", "Write the best hypothesis of each utterance.")] = None,
    form: Annotated[str, option("--format auto|jsonl|kaldi|moses", "Format of NBEST.")] = "auto",
    scores: Annotated[
        str,
        option(
            "--scores auto|log|probability|cost|none",
            "What scores in NBEST are; costs are negated, none takes all as 0.",
        ),
    ] = "auto",
    score_file: Annotated[list[Path] | None, option("--score-file FILE", "`name score` lines. Repeatable.")] = None,
    score_scale: Annotated[str, option("--score-scale LIST", "What each score file is multiplied by.")] = "",
    draws: Annotated[int, option("--draws N", "Bootstrap draws for the intervals; 0 for none.", min=0)] = 1000,
    seed: Annotated[int, option("--seed N", "Random seed of the split, the search and the bootstrap.", min=0)] = 1,
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
    from modlm.evaluation.rescored_lists import DEVELOPMENT, TEST, prepare, refuse_shared
    from modlm.evaluation.rescored_lists import rescore as rescored
    from modlm.evaluation.rescoring import LM
    from modlm.formats.nbest import read_nbest
    from modlm.formats.nbest_writer import best_lines, write_best, write_nbest
    from modlm.model.folder import load

    refuse_existing(output, best, force=force)
    scales = several(score_scale, float, option="--score-scale", example="-0.1,-1")
    reading: dict[str, Any] = {"form": form, "scored": scores != "none"}
    lists = read_nbest(nbest, score_files=score_file or (), scales=scales, **reading)
    try:
        share = float(dev)
    except ValueError:
        share = None  # the name of a file
    other = None if share is not None else read_nbest(Path(dev), **reading)
    if other is not None:
        refuse_shared(lists, other)
    lm = load(model)
    main = prepare(lm, lists, references=tune, scores=scores, session=session)
    held = None if other is None else prepare(lm, other, references=tune, scores=main.scores, session=session)
    weights = {"lm_weight": lm_weight, "word_penalty": word_penalty, "rank_weight": rank_weight}
    given = {name: value for name, value in weights.items() if value is not None}
    for name, value in given.items():
        if not math.isfinite(value):
            raise ConfigError(f"--{name.replace('_', '-')} must be a finite number, but is {value}.")
    found = rescored(
        main, held or share or 0.0, given=given, tune_others=tune is not None or bool(use_rank),
        use_rank=use_rank, unit=unit, draws=draws, seed=seed,
    )  # fmt: skip
    weights_F = found.weights.array()
    best_U = main.lists.best(weights_F)
    if output is not None:
        write_nbest(main.nbest, output, main.lists.features_HF[:, LM], main.lists.totals(weights_F))
    if best is not None:
        write_best(main.nbest, best, best_U)
    report: dict[str, Any] = {
        "utterances": len(main.lists), "sessions": int(main.sessions_U.max()) + 1,
        "hypotheses": len(main.nbest.hypotheses), "format": main.nbest.format, "scores": main.scores,
        "floor": main.floor or None, "unknown": main.unknown, "impossible": main.impossible,
        "weights": asdict(found.weights), "tuned": found.tuned, "unit": unit, "seed": seed,
    }  # fmt: skip
    measured = {name: part.as_dict() for name, part in found.measured.items()}
    written = [str(path) for path in (output, best) if path is not None]
    silent = TEST not in measured and not written
    if json:
        pairs = zip(main.nbest.utterances, best_U.tolist(), strict=True) if silent else ()
        hypotheses = [{"utt": utterance, "hyp": main.nbest.hypotheses[place]} for utterance, place in pairs]
        print_json(report | measured | {"output": written} | ({"best": hypotheses} if silent else {}))
        return
    if silent:
        for line in best_lines(main.nbest, best_U):
            print(line)
        return
    _print_lists(report, str(main.nbest.path), measured.get(DEVELOPMENT))
    _print_measured(measured)
    for name in written:
        print(f"wrote {name}")


def _print_lists(report: dict[str, Any], path: str, tuned_on: dict[str, Any] | None) -> None:
    floor = f", 0 taken as {report['floor']:.3g}" if report["floor"] else ""
    scores = f"scores are {SCORES[report['scores']]}{floor}"
    print(f"{path}: {_counted(report)}, {report['hypotheses']:,} hypotheses; {scores}")
    print(f"words that the model does not know: {percent(report['unknown'])}")
    if report["impossible"]:
        print(f"hypotheses to which the model gives probability 0: {report['impossible']:,}")
    shown = ", ".join(f"{name.replace('_', '-')} {value:.4g}" for name, value in report["weights"].items() if value)
    how = ""
    if tuned_on:
        how = f" (tuned on {_counted(tuned_on)} to {'WER' if report['unit'] == 'words' else 'CER'})"
    print(f"weights: {shown or 'none'}{how}")


def _print_measured(measured: dict[str, dict[str, Any]]) -> None:
    found = [part[rate] for part in measured.values() for rate in RATES]
    unsorted = any(own["best_score"]["errors"] != own["first_pass"]["errors"] for own in found)
    systems = ["first_pass", *(["best_score"] if unsorted else []), "rescored", "oracle"]
    for name, part in measured.items():
        title = name if len(measured) > 1 else "errors"
        print(f"\n{title}: {_counted(part)}, {part['changed']:,} changed")
        rows = []
        for system in systems:
            own = [part[rate][system] for rate in RATES]
            cells = [(f"{100 * one['rate']:.2f}", _interval(*one["interval"])) for one in own]
            rows.append([system.replace("_", " "), *chain.from_iterable(cells)])
        print_table(["", *chain.from_iterable((f"{rate.upper()} %", "95% interval") for rate in RATES)], rows)
        for rate in RATES:
            change, better = part[rate]["change"], part[rate]["change"]["probability_better"]
            low, high = change["interval"]
            drawn = f" ({_interval(low, high, '+')}), better with probability {better:.3f}"
            print(f"{rate.upper()} {100 * change['difference']:+.2f}{drawn if better == better else ''}")


def _counted(part: dict[str, Any]) -> str:
    return f"{part['utterances']:,} utterances of {part['sessions']:,} sessions"


def _interval(low: float, high: float, sign: str = "") -> str:
    return f"{100 * low:{sign}.2f} – {100 * high:{sign}.2f}" if low == low else "–"
