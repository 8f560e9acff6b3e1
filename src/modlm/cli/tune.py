"""`modlm tune`: a search for settings, judged by the validation text alone."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from modlm.cli.options import Json, Threads, TrainingText, argument, option
from modlm.cli.outcome import resumable
from modlm.cli.printing import number, print_json, print_table
from modlm.cli.train import check_device, settings_table


def tune(
    config: Annotated[str | None, argument("CONFIG", "A TOML file or a preset, as for modlm train.")] = None,
    *,
    output: Annotated[Path, option("-o --output DIR", "The folder to write the search into.")],
    vary: Annotated[
        list[str] | None,
        option("--vary A.B=LOW:HIGH", "A range (LOW:HIGH:log for a log scale), or A.B=X,Y. Repeatable."),
    ] = None,
    trials: Annotated[int, option("--trials N", "Runs in total, including those already done.", min=1)] = 20,
    text: TrainingText = None,
    valid: Annotated[Path | None, option("--valid TEXT", "Text that decides which settings are best.")] = None,
    changes: Annotated[list[str] | None, option("--set A.B=C", "A setting that all trials share. Repeatable.")] = None,
    device: Annotated[str, option("--device auto|cpu|cuda|mps", "Where nets run.")] = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Search for good settings of modlm train.

    Each trial is a run with settings drawn by Optuna (tree-structured Parzen estimators), judged by the perplexity of
    the validation text; a test text is not looked at. Trials that do worse than half of the others so far are given up.
    DIR gets the run folder of each trial and best.toml, which modlm train takes. The same command again goes on with a
    search that was stopped or killed, and adds trials when more are asked for.

    \b
    modlm tune modern/ptb-hybrid --text ptb.train.txt --valid ptb.valid.txt -o tuned --trials 12 \\
        --vary net.dropout=0.2:0.6 --vary optimiser.learning_rate=0.001:0.01:log --set schedule.epochs=10
    modlm train tuned/best.toml -o runs/best --test ptb.test.txt --epochs 60
    """  # fmt: skip
    from modlm.experiments.tuning import BEST, Search, variations
    from modlm.training.config_file import check_files, run_config

    check_device(device)
    table = settings_table(config, {"text": text or None, "valid": valid}, changes or [])
    varied = variations(vary or [])
    check_files(run_config(table, where="modlm tune"))
    resumable("the same command", when=output)
    found = Search(table, varied, output, device, say=lambda message: print(message, file=sys.stderr)).run(trials)
    if json:
        print_json([asdict(one) for one in found])
        return
    paths = [one.path for one in varied]
    rows = [
        [str(one.number), one.state, number(one.valid), *(_shown(one.settings.get(p)) for p in paths)] for one in found
    ]
    print_table(["trial", "", "valid", *paths], rows)
    if (output / BEST).is_file():
        print(f"the best: modlm train {output / BEST} -o DIR")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
