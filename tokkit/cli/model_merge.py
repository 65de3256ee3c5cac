"""`tokkit model merge`: adds a LoRA adapter to the weights of a model."""

from __future__ import annotations

import click

from tokkit.cli import options


@options.command(
    "merge",
    group="model",
    short_help="Merge a LoRA adapter into the weights of a model.",
    examples=("tokkit model merge my-model adapter -o merged",),
)
@click.argument("model", type=options.MODEL, metavar="MODEL")
@click.argument("adapter", type=options.MODEL, metavar="ADAPTER")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option("--force", is_flag=True, help="Replace the model in the output folder.")
def merge(model: str, adapter: str, output: str, force: bool) -> None:
    """Merge the LoRA adapter in the folder ADAPTER (PEFT's format) into the weights of MODEL, and write a new folder.

    Any program can load that folder. Without merging, `tokkit model generate ADAPTER` loads MODEL with the adapter.
    """
    from pathlib import Path

    from tokkit import pipeline
    from tokkit.cli import errors
    from tokkit.cli.inputs import given
    from tokkit.escaping import show
    from tokkit.files.files import refuse_inputs

    refuse_inputs([output, *(Path(output) / name for name in ("config.json", "model.safetensors"))], given())
    pipeline.merge_adapter(model, adapter, output, overwrite=force)
    errors.note(f"{show(output)}: {show(model)} with the adapter {show(adapter)}")
