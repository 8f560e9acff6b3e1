"""`modlm ngram`: text or counts to an n-gram model."""

import time
from pathlib import Path
from typing import Annotated, Any

import modlm
from modlm.cli import options
from modlm.cli.options import argument, option, several, text_options
from modlm.cli.outcome import as_typed, refuse_existing
from modlm.cli.printing import describe_perplexity, print_forecast, print_json, print_orders, size
from modlm.errors import ConfigError, choose
from modlm.families import SMOOTHERS
from modlm.ground.files import folder_bytes
from modlm.ground.progress import quietly


def ngram(
    inputs: Annotated[
        list[Path],
        argument(
            "TEXT",
            "Texts (one sentence per line; gz, bz2, xz, zst; - for standard input), count files, counts folders, or "
            "model folders that kept their counts. Several are added up.",
        ),
    ],
    output: options.ModelOutput,
    order: options.Order = None,
    smoothing: Annotated[
        str,
        option(
            "--smoothing NAME",
            f"{', '.join(SMOOTHERS.own)}. Parameters follow a colon: additive:delta=0.1. `modlm families` shows them.",
        ),
    ] = "modified-kneser-ney",
    held_out: Annotated[
        Path | None,
        option("--held-out TEXT", "Text to learn the smoothing's parameters from.  [default: the counts]"),
    ] = None,
    edge: options.Edge = None,
    vocab: options.VocabOption = None,
    tokenizer: options.TokenizerOption = None,
    max_words: options.MaxWords = None,
    min_count: options.MinCount = 1,
    positions: options.Positions = "",
    discounts: Annotated[
        str,
        option(
            "--discounts LIST",
            "What counts of 1, 2, ... lose instead of estimates, e.g. 0.5,1,1.5; a list per order with / between.",
        ),
    ] = "",
    extra: Annotated[str, option("--extra LIST", "What unigrams fall back to: uniform[,unknown].")] = "uniform",
    prune: Annotated[str, option("--prune LIST", "Drop n-grams with counts up to this, per order: 0,0,1.")] = "",
    prune_entropy: Annotated[
        float, option("--prune-entropy X", "Drop n-grams that change perplexity by less, e.g. 1e-8.", min=0.0)
    ] = 0.0,
    spelling: Annotated[
        bool, option("--spelling", "Learn how words are spelled too, so that unknown ones cost their letters.")
    ] = False,
    valid: Annotated[Path | None, option("--valid TEXT", "Report the perplexity of this text.")] = None,
    form: options.Form = None,
    bits: options.Bits = None,
    size: Annotated[
        str | None,
        option(
            "--size BYTES",
            "The compact model with the best perplexity of --valid within so many bytes, such as 10MB: the order and "
            "how much is pruned are found.",
        ),
    ] = None,
    arpa: Annotated[Path | None, option("--arpa FILE", "Also write an ARPA file (.gz compresses it).")] = None,
    counts: Annotated[Path | None, option("--counts DIR", "Also write the raw counts, to add text to later.")] = None,
    engine: options.Engine = None,
    memory: options.Memory = None,
    encoding_errors: options.EncodingErrors = "strict",
    threads: options.Threads = None,
    dry_run: options.DryRun = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Train an n-gram model on text or counts.

    Skip n-grams (--positions) are saved as a mixture.

    \b
    modlm ngram train.txt -o model
    modlm ngram train.txt.gz -o model --order 3 --valid valid.txt --arpa model.arpa
    modlm ngram big.txt -o model --memory 4GB --prune 0,0,1
    modlm ngram train.txt -o small --form compact
    modlm ngram train.txt -o phone --size 3MB --valid valid.txt
    modlm ngram counts-2023 new.txt -o model --counts counts-2024
    modlm ngram train.txt -o model --tokenizer tokenizer.json
    modlm ngram train.txt -o model --max-words 100000 --spelling
    """  # fmt: skip
    from modlm.blocks import CONSTANT_BLOCKS
    from modlm.counts import CountOptions
    from modlm.counts.engine import bytes_of
    from modlm.formats.kinds import kind_of
    from modlm.model.compact_lm import FORMS, CompactLM, in_form
    from modlm.model.folder import card_of
    from modlm.model.ngram.arpa import save_arpa
    from modlm.model.ngram.estimation import check_estimation, mixture_from_counts
    from modlm.model.ngram.readable_counts import counts_of
    from modlm.model.ngram_size import BITS, fitted

    places = several(positions, int, option="--positions", example="4,3,2")
    rows = [row for row in discounts.split("/") if row]
    losses = tuple(several(row, float, option="--discounts", example="0.5,1,1.5") for row in rows)
    constants = several(extra, str, option="--extra", example="uniform,unknown")
    thresholds = several(prune, int, option="--prune", example="0,0,1")
    refuse_existing(output, arpa, counts, force=force)
    for name in constants:
        choose(CONSTANT_BLOCKS, name, what="constant column")
    check_estimation(order, smoothing=smoothing, discounts=losses, prune=thresholds)
    CountOptions.asked(edge=edge or "once", memory=memory)
    if places and (thresholds or prune_entropy):
        raise ConfigError("Skip n-grams (--positions) are saved as a mixture, which cannot be pruned.")
    if form not in (None, "fast") and (form not in FORMS or places):
        raise ConfigError("--form is fast, or compact for models without --positions.")
    if bits is not None and size is None and (form != "compact" or not (thresholds or prune_entropy)):
        raise ConfigError("--bits is for pruned models in the compact form: say --form compact, and how to prune.")
    room = None if size is None else bytes_of(size, "--size", least=1)
    if room is not None and (valid is None or places or thresholds or prune_entropy or form == "fast"):
        raise ConfigError("--size needs a text to choose by (--valid), and chooses itself what to prune.")
    begun = time.perf_counter()
    reading = text_options(vocab, tokenizer, max_words, min_count=min_count, encoding_errors=encoding_errors)
    if dry_run:
        from modlm.model.ngram.forecast import forecast

        if places:
            raise ConfigError("--dry-run knows nothing of skip n-grams (--positions).")
        told = forecast(inputs, reading, order=order or 5, edge=edge or "once")
        print_json({**told, "output": str(output)}) if json else print_forecast(told, output)
        return
    found = counts_of(inputs, reading, order=order, edge=edge, positions=places, engine=engine, memory=memory)
    if counts is not None:
        found.save(counts, overwrite=force)
    found = found.aside(output.absolute().parent)
    smoothed: dict[str, Any] = {"smoothing": smoothing, "held_out": held_out, "discounts": losses or None}
    model: modlm.NgramLM | modlm.Mixture
    with quietly():  # notes stand in the summary
        if places:
            model = mixture_from_counts(found, extra=constants, **smoothed)
        elif room is not None:
            assert valid is not None
            model, chosen = fitted(found, valid, room, bits=bits or BITS, extra=constants, **smoothed)
        elif form == "compact" and not (thresholds or prune_entropy):
            model = CompactLM.from_counts(found, extra=constants, **smoothed)
        else:
            pruned: dict[str, Any] = {"prune": thresholds, "prune_entropy": prune_entropy}
            model = modlm.NgramLM.from_counts(found, extra=constants, **smoothed, **pruned)
            model = model if form is None else in_form(model, form, bits)
    if spelling:
        from modlm.model.spelling import spelling_of

        readable = (
            None if Path("-") in inputs else [path for path in inputs if path.is_file() and kind_of(path) == "text"]
        )
        model.spelling = spelling_of(found, readable or None, reading)
    report = described(model, found) | ({} if room is None else {"size": room, **chosen})
    report["seconds"] = round(time.perf_counter() - begun, 3)
    if valid is not None:
        perplexity = model.perplexity(valid, encoding_errors=encoding_errors)
        report["valid"] = {"text": str(valid), **perplexity.as_dict()}
    title, facts = card_lines(model.vocabulary, inputs, report)
    modlm.save(model, output, card=card_of(title, facts, command=as_typed("ngram")), overwrite=force)
    report["output"], report["bytes"] = str(output), folder_bytes(output)
    if arpa is not None:
        save_arpa(model, arpa, overwrite=force)
        report["arpa"] = str(arpa)
    report["seconds_in_all"] = round(time.perf_counter() - begun, 3)
    print_json(report) if json else print_summary(report)


def described(model: "modlm.NgramLM | modlm.Mixture", counts: "modlm.Counts") -> dict[str, Any]:
    about: dict[str, Any] = {"order": counts.order, "words": len(model.vocabulary), "sentences": counts.sentences}
    about["units"] = model.vocabulary.units
    if isinstance(model, modlm.Mixture):
        estimates = model.blocks["ngram"].estimates  # type: ignore[attr-defined]
        about["smoothing"] = estimates.smoother.name
        about["discounts"] = [table[1:].tolist() for table in estimates.discounts]
        about["notes"] = list(estimates.notes)
        about["positions"] = list(getattr(counts, "positions", range(counts.order - 1, 0, -1)))
        about["ngrams"] = list(counts.trie.sizes)
        return about
    own = model.described()
    return about | {name: own[name] for name in ("order", "smoothing", "discounts", "notes", "ngrams", "prune_entropy")}


def print_summary(report: dict[str, Any]) -> None:
    kind = f"{report['order']}-gram model"
    if "positions" in report:
        kind = f"Skip n-grams at positions {', '.join(map(str, report['positions']))}"
    print(f"{kind}, {report['smoothing']}, {report['words']:,} {report['units']}")
    print_orders(report["ngrams"], report["discounts"])
    for note in report["notes"]:
        print(f"note: {note}")
    for look in report.get("looked_at", ()):
        pruned = f", pruned at {look['prune_entropy']:.2g}" if look["prune_entropy"] else ", exact"
        pruned = f", pruned up to {','.join(map(str, look['prune']))}" if look["prune"] else pruned
        told = f"perplexity {look['perplexity']:.2f}" if "perplexity" in look else "too large"
        print(f"looked at: order {look['order']}{pruned}, {size(look['bytes'])}: {told}")
    if "valid" in report:
        print(f"perplexity of {report['valid']['text']}: {describe_perplexity(report['valid'])}")
    print(f"{report['output']}: {size(report['bytes'])}, trained in {report['seconds']:.1f} s")
    if "arpa" in report:
        print(f"{report['arpa']}: the same model as an ARPA file")


def card_lines(vocabulary: "modlm.Vocabulary", inputs: list[Path], report: dict[str, Any]) -> tuple[str, list[str]]:
    """The title of `card.md` and its facts: what the model was trained on, and its numbers."""
    facts = [
        f"Trained on: {', '.join(path.name for path in inputs)} ({report['sentences']:,} sentences)",
        f"Vocabulary: {report['words']:,} {report['units']}, sha256 {vocabulary.fingerprint}",
        f"N-grams of each order: {', '.join(f'{count:,}' for count in report['ngrams'])}",
    ]
    if "valid" in report:
        facts.append(f"Perplexity of {Path(report['valid']['text']).name}: {describe_perplexity(report['valid'])}")
    return f"{report['order']}-gram model, {report['smoothing']}", facts + [f"Note: {note}" for note in report["notes"]]
