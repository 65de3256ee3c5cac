"""`tokkit model quantize`: quantizes a model to a folder whose weights are memory-mapped when it is loaded."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "quantize",
    group="model",
    short_help="Quantize a model: store its weights in fewer bits.",
    examples=(
        "tokkit model quantize ./qwen2.5-0.5b -o qwen-int4",
        "tokkit model quantize ./qwen2.5-0.5b -o qwen-int8 --precision int8 --text notes.txt",
        "tokkit model quantize sentence-transformers/all-MiniLM-L6-v2 -o minilm-int8 --precision int8",
    ),
)
@click.argument("model", type=options.MODEL)
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option(
    "--precision", type=click.Choice(["int4", "int8-weight-only", "int8", "bf16"]),
    help="How matrices are stored. int8 has one scale per output, int4 and int8-weight-only one per 32 inputs. "
    "Default: int4; for a GGUF file, the blocks that it has.",
)  # fmt: skip
@click.option("--text", type=options.FILE, help="Measure both models on this text.")
@options.threads
@click.option("--force", is_flag=True, help="Replace a folder that this command wrote.")
@options.as_json
def quantize(
    model: str, output: str, precision: str | None, text: str | None, threads: int | None, force: bool, json: bool
) -> None:
    """Quantize the matrices of MODEL, and write them with its tokenizer and configuration to a folder.

    MODEL is a folder, a GGUF file, or a name in the hub's cache: a decoder, an encoder–decoder, an encoder or a
    classifier. All commands that take a model can load the new folder. Its weights are in the kernels' own layout, so
    they are memory-mapped, not converted.

    The sizes are printed. --text also measures the loss of quality: for a model that generates text, the perplexity
    before and after (an encoder–decoder needs lines of source, tab, target); for an encoder, the cosine between vectors
    before and after; for a classifier, the differences of the scores (lines, or pairs separated by a tab).
    """
    from pathlib import Path

    from tokkit import pipeline
    from tokkit.cli.inputs import Reading, given
    from tokkit.cli.output import say_json
    from tokkit.files.files import refuse_inputs
    from tokkit.pipeline.loading import found
    from tokkit.pipeline.packed_folders import JSON, WEIGHTS

    refuse_inputs([output, *(Path(output) / name for name in (JSON, WEIGHTS))], given())
    source = Path(found(model))
    pipeline.quantize(source, output, precision=precision, overwrite=force)
    rows: list[dict[str, Any]] = [
        {"model": model, "bytes": _bytes(source)},
        {"model": output, "bytes": (Path(output) / WEIGHTS).stat().st_size},
    ]
    if text is not None:
        from tokkit.pipeline.quality import compared

        read = "".join(Reading().texts(text))
        found_in = compared(pipeline.load(source), pipeline.load(output), read, threads=threads)
        rows = [row | measures for row, measures in zip(rows, found_in, strict=True)]
    if json:
        say_json(rows)
    else:
        _print(rows)


def _bytes(source: Any) -> int:
    """Return the size of a model's weights in bytes."""
    if source.is_file():
        from tokkit.files.gguf_tensors import read_gguf

        return sum(tensor.data.nbytes for tensor in read_gguf(source).tensors.values())
    return sum(path.stat().st_size for path in source.rglob("*.safetensors"))


def _print(rows: list[dict[str, Any]]) -> None:
    from tokkit.cli.output import table
    from tokkit.escaping import show

    names = list(dict.fromkeys(name for row in rows for name in row if name not in ("model", "bytes")))
    shown = [
        (show(row["model"]), f"{row['bytes'] / 1e6:,.1f} MB", *(_number(name, row.get(name)) for name in names))
        for row in rows
    ]
    table([("model", "weights", *(name.replace("_", " ") for name in names)), *shown])


def _number(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if name == "perplexity" else f"{value:.5f}"
