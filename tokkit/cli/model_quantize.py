"""`tokkit model quantize`: a causal language model in fewer bits, as a folder that is mapped when it is loaded."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "quantize",
    group="model",
    short_help="Write a model in fewer bits.",
    examples=(
        "tokkit model quantize ./qwen2.5-0.5b -o qwen-int4",
        "tokkit model quantize ./qwen2.5-0.5b -o qwen-int8 --precision int8 --text notes.txt",
    ),
)
@click.argument("model", type=options.MODEL, metavar="FOLDER")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option(
    "--precision", type=click.Choice(["int4", "int8-weight-only", "int8", "bf16"]), default="int4",
    help="How matrices are stored: with a scale for each output (int8) or for every 32 inputs.",
)  # fmt: skip
@click.option("--text", type=options.FILE, help="A text whose perplexity is measured before and after.")
@options.threads
@click.option("--force", is_flag=True, help="Replace a folder that this command wrote.")
@options.as_json
def quantize(
    model: str, output: str, precision: str, text: str | None, threads: int | None, force: bool, json: bool
) -> None:
    """Write the causal language model in FOLDER with matrices in fewer bits, and its tokenizer and configuration.

    Weights are in the layout of the kernels: all commands that take a model take DIR, in its precision, and map it
    without work. Sizes are printed, and with --text the perplexity of both models on a text.
    """
    from pathlib import Path

    from tokkit import pipeline
    from tokkit.cli.inputs import Reading, given
    from tokkit.cli.models import load_generator
    from tokkit.cli.output import say_json, table
    from tokkit.escaping import show
    from tokkit.formats.files import refuse_inputs
    from tokkit.pipeline.packed_folders import JSON, WEIGHTS

    refuse_inputs([output, *(Path(output) / name for name in (JSON, WEIGHTS))], given())
    pipeline.quantize(model, output, precision=precision, overwrite=force)
    size = sum(path.stat().st_size for path in Path(model).glob("*.safetensors"))
    rows: list[dict[str, Any]] = [
        {"model": model, "bytes": size},
        {"model": output, "bytes": (Path(output) / WEIGHTS).stat().st_size},
    ]
    if text is not None:
        from tokkit.pipeline.perplexity import text_score

        read = "".join(Reading().texts(text))
        for row in rows:
            row["perplexity"] = text_score(load_generator(row["model"]), read, threads=threads).perplexity
    if json:
        say_json(rows)
        return
    shown = [
        [show(row["model"]), f"{row['bytes'] / 1e6:,.1f} MB"]
        + ([f"{row['perplexity']:.3f}"] if text is not None else [])
        for row in rows
    ]
    table([("model", "weights", "perplexity")[: len(shown[0])], *map(tuple, shown)])
