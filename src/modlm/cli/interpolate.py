"""`modlm interpolate`: one model out of several, or out of the orders of one, with weights tuned to a text."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import modlm
from modlm.cli.options import Force, Json, ModelOutput, Threads, argument, option, several
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import bar, describe_perplexity, number, print_json, print_table, size
from modlm.ground.files import folder_bytes
from modlm.store.manifest import is_folder


def interpolate(
    models: Annotated[
        list[Path], argument("MODEL...", "Model folders, ARPA files or KenLM binaries, and text indexes (modlm index).")
    ],
    tune: Annotated[Path, option("--tune TEXT", "Held-out text that the weights are tuned to.")],
    output: ModelOutput,
    over: Annotated[
        str | None,
        option(
            "--over models|orders|both",
            "Columns: whole models, their orders, or both.  [default: models; orders for a single model]",
        ),
    ] = None,
    extra: Annotated[
        str | None,
        option("--extra LIST", "Constant columns: uniform, unknown, or none.  [default: uniform over orders]"),
    ] = None,
    online: Annotated[
        int,
        option("--online N", "Columns of the text read so far, orders 1 to N; weights look at them.", min=0, max=32),
    ] = 0,
    cache: Annotated[int, option("--cache N", "A column of the last N words that were read.", min=0)] = 0,
    hidden_cache: Annotated[
        int, option("--hidden-cache N", "Columns of what followed places like this one, N words back; of nets.", min=0)
    ] = 0,
    mixer: Annotated[
        str | None,
        option(
            "--mixer static|gli", "The same weights everywhere, or by features.  [default: static; gli with --online]"
        ),
    ] = None,
    vocab: Annotated[Path | None, option("--vocab FILE", "Words to predict.  [default: the first model's]")] = None,
    test: Annotated[Path | None, option("--test TEXT", "Report the perplexity of this text.")] = None,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Mix models linearly, tuned to a text.

    Weights come from expectation maximisation on held-out text. Models may have different words: what a model does
    not know shares what it leaves over. The first model that has a spelling model spells unknown words. With --online
    or --cache the model learns from the text it reads, in its order, after each word is scored; with --hidden-cache
    models with a net look back at where their hidden vectors were like now.

    \b
    modlm interpolate news web --tune valid.txt -o mixed --test test.txt
    modlm interpolate model --over orders --tune valid.txt -o mixed
    modlm interpolate model --online 4 --tune valid.txt -o dictation
    modlm interpolate model index --tune valid.txt -o mixed
    """  # fmt: skip
    from modlm.blocks.cache import CacheBlock
    from modlm.blocks.infinite import InfiniteBlock
    from modlm.blocks.online import OnlineBlock
    from modlm.model.folder import card_of
    from modlm.model.interpolation import block_name
    from modlm.model.interpolation import interpolate as tuned

    refuse_existing(output, force=force)
    over = over or ("models" if len(models) > 1 or online or cache or hidden_cache else "orders")
    learning: dict[str, Any] = {"online": partial(OnlineBlock, order=online)} if online else {}
    learning |= {"cache": partial(CacheBlock, words=cache)} if cache else {}
    mixer = mixer or ("gli" if online else "static")
    listed = "uniform" if extra is None and over == "orders" else extra or ""
    names = several("" if listed == "none" else listed, str, option="--extra", example="uniform,unknown")
    loaded: dict[str, Any] = {}
    for path in models:
        name = block_name(path.resolve().name.removesuffix(".gz").removesuffix(".arpa"), loaded)
        loaded[name] = InfiniteBlock(modlm.TextIndex.open(path)) if is_folder(path, kind="index") else modlm.load(path)
    if hidden_cache:
        loaded |= _with_caches(loaded, hidden_cache)
    words = modlm.Vocabulary.from_file(vocab) if vocab else None
    result = tuned(loaded, tune, over=over, extra=names, vocabulary=words, mixer=mixer, columns=learning)
    history = {"perplexity": result.history[-1], "equal_weights": result.history[0], "steps": len(result.history)}
    report: dict[str, Any] = {"over": over, "mixer": mixer, "weights": result.weights, "alone": result.alone}
    report["spelling"] = result.speller or None
    report["tune"] = {"text": str(tune), **history}
    if test is not None:
        report["test"] = {"text": str(test), **result.mixture.perplexity(test).as_dict()}
    title = f"Mixture ({mixer}) over {over} of {', '.join(path.name for path in models)}"
    modlm.save(result.mixture, output, card=card_of(title, _facts(result.mixture, report)), overwrite=force)
    report |= {"output": str(output), "bytes": folder_bytes(output)}
    print_json(report) if json else _print_report(report)


def _with_caches(models: dict[str, Any], words: int) -> dict[str, Any]:
    """The models with a net, each with its cache."""
    from modlm.errors import ConfigError

    nets = {
        name: model for name, model in models.items() if getattr(model, "mixer", None) and model.mixer.kind == "net"
    }
    if not nets:
        raise ConfigError("--hidden-cache looks at the hidden vectors of a net, but no model here has one.")
    from modlm.nets.hidden_cache import HiddenCacheBlock

    return {name: HiddenCacheBlock(model, words=words) for name, model in nets.items()}


def _facts(mixture: "modlm.Mixture", report: dict[str, Any]) -> list[str]:
    facts = [
        f"Weights tuned on {Path(report['tune']['text']).name}, perplexity {number(report['tune']['perplexity'])}",
        f"Vocabulary: {len(mixture.vocabulary):,} words, sha256 {mixture.vocabulary.fingerprint}",
        *(f"{name}: weight {weight:.4f}" for name, weight in report["weights"].items()),
    ]
    if "test" in report:
        facts.append(f"Perplexity of {Path(report['test']['text']).name}: {number(report['test']['perplexity'])}")
    return facts


def _print_report(report: dict[str, Any]) -> None:
    rows = [
        [name, bar(weight, 20).ljust(20), f"{weight:.4f}", number(report["alone"][name])]
        for name, weight in report["weights"].items()
    ]
    print_table(["column", "", "weight", "perplexity alone"], rows, left=2)
    tune = report["tune"]
    print(
        f"perplexity of {tune['text']}: {number(tune['perplexity'])} "
        f"(with equal weights {number(tune['equal_weights'])}; {tune['steps']} steps)"
    )
    if report["spelling"]:
        print(f"unknown words cost their letters as in {report['spelling']}; tuning leaves letters out")
    if "test" in report:
        print(f"perplexity of {report['test']['text']}: {describe_perplexity(report['test'])}")
    print(f"{report['output']}: {size(report['bytes'])}")
