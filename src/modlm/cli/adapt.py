"""`modlm adapt`: a causal language model of Hugging Face, mixed with counts of a text over the same tokens."""

from pathlib import Path
from typing import Annotated, Any

from modlm.cli.options import Force, Json, ModelOutput, Threads, option
from modlm.cli.printing import bar, number, print_json, print_table, size


def adapt(
    hf: Annotated[Path, option("--hf DIR", "A model folder that transformers reads.")],
    text: Annotated[list[Path], option("--text TEXT", "Text to count. Repeatable.")],
    valid: Annotated[Path, option("--valid TEXT", "Text that was not counted, to learn λ from.")],
    output: ModelOutput,
    beside: Annotated[
        list[Path] | None, option("--beside TEXT", "Count this too, in columns of its own. Repeatable.")
    ] = None,
    online: Annotated[int, option("--online N", "Columns of the text read so far, orders 1 to N.", min=0, max=32)] = 0,
    cache: Annotated[int, option("--cache N", "A column of the last N tokens.", min=0)] = 0,
    index: Annotated[list[Path] | None, option("--index DIR", "Columns of a text index. Repeatable.")] = None,
    gguf: Annotated[str, option("--gguf FILE", "The weights: a GGUF file in the folder.")] = "",
    test: Annotated[Path | None, option("--test TEXT", "Text that is only reported.")] = None,
    order: Annotated[int, option("--order N", "Tokens in the longest n-gram.", min=1, max=16)] = 5,
    smoothing: Annotated[str, option("--smoothing NAME", "How to smooth the n-gram columns.")] = "modified-kneser-ney",
    mixer: Annotated[str, option("--mixer learned|static", "Which λ is saved; both are reported.")] = "learned",
    tune_lines: Annotated[
        int, option("--tune-lines N", "Learn λ from the last N lines, not counted; --valid says when to stop.", min=0)
    ] = 0,
    context: Annotated[str, option("--context document|sentence", "Does it see the lines before?")] = "document",
    window: Annotated[int, option("--window N", "How many tokens the model sees at most.", min=2)] = 1024,
    overlap: Annotated[
        int | None, option("--overlap N", "How many of them again in the next window.  [default: a quarter]", min=0)
    ] = None,
    dtype: Annotated[str, option("--dtype float32|bfloat16", "In which the model computes.")] = "float32",
    hidden_state: Annotated[bool, option("--hidden-state", "Let λ read the model's last hidden vector too.")] = False,
    hidden: Annotated[int, option("--hidden N", "Hidden units of the net behind λ.", min=1)] = 64,
    epochs: Annotated[int, option("--epochs N", "Passes over its training rows at most.", min=1)] = 40,
    seed: Annotated[int, option("--seed N", "Random seed for training it.")] = 1,
    device: Annotated[str, option("--device cpu|cuda|mps", "Where the model runs.")] = "cpu",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Mix a causal language model with counts of texts, of the text so far, and with a text index.

    The model stays frozen and is run once over the validation and test texts; what it said is cached, so an interrupted
    command goes on when it is given again. Nothing is downloaded. The folder that is written is a model like any other,
    and MixtureLogitsProcessor.from_folder takes it into generate().

    \b
    modlm adapt --hf smollm2 --text train.txt --valid valid.txt --test test.txt -o adapted
    modlm adapt --hf smollm2 --text train.txt --valid valid.txt --online 5 -o adapted
    modlm eval adapted other.txt
    """  # fmt: skip
    from modlm.cli.outcome import as_typed, refuse_existing, resumable
    from modlm.errors import require
    from modlm.ground.files import folder_bytes

    refuse_existing(output, force=force)
    for package, extra in (("torch", "neural"), ("transformers", "hf")):
        require(package, extra=extra, purpose="Adapting a causal language model")
    from modlm.integrations.hugging_face.adapt import AdaptConfig
    from modlm.integrations.hugging_face.adapt import adapt as adapted
    from modlm.integrations.hugging_face.causal_lm import Reading
    from modlm.integrations.hugging_face.mixer_training import mixer_run
    from modlm.model.folder import card_of, save
    from modlm.training.row_cache import cache_folder

    overlap = (window // 4 if context == "document" else 0) if overlap is None else overlap
    config = AdaptConfig(
        hf=hf, gguf=gguf, text=tuple(text), beside=tuple(beside or ()), online=online, cache=cache,
        index=tuple(index or ()), dtype=dtype, valid=valid, test=test, order=order, smoothing=smoothing, mixer=mixer,
        tune_lines=tune_lines, reading=Reading(context=context, window=window, hidden=hidden_state, overlap=overlap),
        training=mixer_run(hidden_state=hidden_state, hidden=hidden, epochs=epochs, seed=seed), device=device,
    )  # fmt: skip
    resumable(as_typed("adapt"), when=cache_folder().parent / "lm")
    result = adapted(config)
    title = f"{hf.name}, adapted to {', '.join(path.name for path in text)}"
    about = f"A mixture of the frozen causal language model and counts of its tokens up to order {order}; λ is {mixer}"
    report = result.as_dict()
    save(result.model, output, card=card_of(title, [about, *facts(report)]), overwrite=force)
    report |= {"output": str(output), "bytes": folder_bytes(output)}
    print_json(report) if json else print_report(report)


def print_report(report: dict[str, Any]) -> None:
    for text, mixtures in report["texts"].items():
        first = mixtures["lm alone"]
        print(f"{text}: {first['predictions']:,} tokens, {first['text_words']:,} words, {first['bytes']:,} bytes")
        rows = [
            [
                name, number(found["perplexity"]), number(found["perplexity_per_word"]),
                f"{found['bits_per_byte']:.4f}", f"{found['bits_per_byte'] / first['bits_per_byte'] - 1:+.1%}",
            ]
            for name, found in mixtures.items()
        ]  # fmt: skip
        print_table(["", "perplexity of tokens", "of words", "bits/byte", "against lm"], rows)
        print()
    shares = [
        [name, bar(weight, 20).ljust(20), f"{weight:.4f}", f"{report['mean_weights'][name]:.4f}"]
        for name, weight in report["weights"].items()
    ]
    print_table(["column", "", "static λ", "learned λ, mean"], shares, left=2)
    costs = report["costs"]
    speeds = [value for name, value in costs.items() if name.startswith("lm_tokens_per_second")]
    print(
        f"{costs['counted_tokens']:,.0f} tokens counted in {costs['seconds_counting']:.1f} s "
        f"({size(int(costs['counts_bytes']))}); net trained in {costs['seconds_training']:.1f} s; "
        + (f"the model read {min(speeds):,.0f} tokens/s; " if speeds else "the model's pass was cached; ")
        + f"at most {size(int(costs['peak_bytes']))} of memory"
    )
    print(f"{report['output']}: {size(report['bytes'])}")


def facts(report: dict[str, Any]) -> list[str]:
    return [f"{name}: static λ {weight:.4f}" for name, weight in report["weights"].items()] + [
        f"{text}, {name}: {found['bits_per_byte']:.4f} bits per byte, perplexity {found['perplexity']:.2f} per token, "
        f"{found['perplexity_per_word']:.2f} a word"
        for text, mixtures in report["texts"].items()
        for name, found in mixtures.items()
    ]
