"""A corpus in, a tokenizer's file out: `tokkit train`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tokkit.cli import options

MODELS = ("bbpe",)


def _sizes(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[int, ...]:
    """Return the sizes of all values, each a number or several apart by commas, without repeats."""
    try:
        return tuple(dict.fromkeys(int(size) for value in values for size in value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{','.join(values)!r} is no number of tokens, nor several apart by commas") from None


def _known_model(_: click.Context, __: click.Parameter, model: str) -> str:
    if model not in MODELS:
        raise click.BadParameter(f"{model!r} is not among the models that can be trained: {', '.join(MODELS)}")
    return model


def _apart_by_commas(_: click.Context, __: click.Parameter, values: Sequence[str]) -> list[str]:
    return [path for value in values for path in value.split(",") if path]


@options.command("train", short_help="Learn a vocabulary from text.")
@click.argument("inputs", nargs=-1, type=options.FILE, metavar="[INPUT]...")
@click.option("-o", "--output", "output", type=options.FILE, metavar="FILE", help="Where to write; - is stdout.")
@click.option("--model", "--model_type", "model", default="bbpe", callback=_known_model, help="The model: bbpe.")
@click.option(
    "--vocab-size",
    "--vocab_size",
    "vocab_size",
    multiple=True,
    callback=_sizes,
    metavar="N[,N...]",
    show_default="32000; 2000 for the bundled corpus",
    help="Tokens to learn, special tokens and the 256 bytes counted. Several sizes (1000,4000, or the option again) "
    "take one training, and give files with the size in their names.",
)
@click.option(
    "--pattern",
    "--split",
    "pattern",
    default="gpt2",
    callback=options.not_empty,
    metavar="NAME|REGEX",
    help="What cuts text into pieces, which no token crosses: gpt2, r50k, cl100k, o200k, llama3, qwen2, qwen3.5, "
    "tekken, kimi-k2, deepseek-v3, none, or a pattern of your own.",
)
@click.option(
    "--special-token", "special_token", multiple=True, metavar="TEXT", help="A special token; repeat for more."
)
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, help="Merge only pairs that occur as often.")
@click.option("--max-token-length", type=click.IntRange(min=2), metavar="BYTES", help="Make no token longer than this.")
@click.option(
    "--unit",
    type=click.Choice(["line", "paragraph", "file"]),
    default="line",
    help="What a document is; no token spans two.",
)
@options.field
@options.threads
@click.option("--num_threads", type=click.IntRange(min=1), hidden=True)
@options.input_errors
@click.option(
    "--counts",
    type=options.FILE,
    metavar="FILE",
    help='Train from words with counts instead: lines of word, tab and count, or a .json object {"word": count}.',
)
@click.option(
    "--format",
    type=click.Choice(["tokenizer.json", "tiktoken", "gpt2"]),
    show_default="by the name of FILE",
    help="Format to write; gpt2 is a directory: vocab.json, merges.txt, added_tokens.json.",
)
@click.option("--input", multiple=True, callback=_apart_by_commas, hidden=True)
@click.option("--model_prefix", hidden=True)
@options.force
@options.progress
@options.as_json
def command(inputs: tuple[str, ...], input: list[str], json: bool, **chosen: Any) -> None:
    """Train a tokenizer on text files (.txt, .jsonl, plain or as .gz, .bz2, .xz), globs, or - for stdin.

    Without INPUT it trains on the small corpus that comes with tokkit and writes tokkit-demo.json. Of
    sentencepiece's options, --input, --model_prefix, --vocab_size, --model_type and --num_threads are understood.
    """
    from tokkit.cli import training
    from tokkit.cli.progress import Progress

    paths = [*inputs, *input]
    job = training.plan(paths, chosen)
    with Progress(chosen["progress"]) as progress:
        result = training.run(job, progress)
    training.report(job, result, as_json=json)
