"""`tokkit model merge`: a model with an adapter in its weights."""

from __future__ import annotations

import click

from tokkit.cli import options


@options.command(
    "merge",
    group="model",
    short_help="Add an adapter (LoRA) to the weights of a model.",
    examples=("tokkit model merge my-model adapter -o merged",),
)
@click.argument("model", type=options.MODEL, metavar="MODEL")
@click.argument("adapter", type=options.MODEL, metavar="ADAPTER")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option("--force", is_flag=True, help="Replace the model in the output folder.")
def merge(model: str, adapter: str, output: str, force: bool) -> None:
    """Write the folder of MODEL with the LoRA of the folder ADAPTER, in PEFT's format, added to its weights.

    Any program reads the folder; without merging, `tokkit model generate ADAPTER` loads MODEL and adds the adapter.
    """
    from pathlib import Path

    from tokkit import pipeline
    from tokkit.cli import errors
    from tokkit.cli.inputs import given
    from tokkit.escaping import show
    from tokkit.formats.files import refuse_inputs

    refuse_inputs([output, *(Path(output) / name for name in ("config.json", "model.safetensors"))], given())
    pipeline.merge_adapter(model, adapter, output, overwrite=force)
    errors.note(f"{show(output)}: {show(model)} with the adapter {show(adapter)}")
