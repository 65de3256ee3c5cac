"""`tokkit model finetune`: trains an encoder on pairs of texts, or on labelled texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.pipeline import TrainedModel, TrainingProgress

MANY_STEPS = 1_000_000
"""Maximum steps with --minutes; the time ends earlier."""


@options.command(
    "finetune",
    group="model",
    short_help="Fine-tune an encoder on pairs of texts or labelled texts.",
    examples=(
        "tokkit model finetune pairs.jsonl --from all-MiniLM-L6-v2 -o my-vectors",
        "tokkit model finetune labelled.tsv --task labels --from all-MiniLM-L6-v2 -o my-classifier --epochs 5",
        "tokkit model finetune labelled.tsv --task labels --freeze --lr 1e-3 --from my-bert -o my-classifier",
        "tokkit model finetune labelled.tsv --task labels --from my-bert -o my-adapter --lora 8 --lr 1e-3",
        "tokkit model finetune pairs.jsonl --from all-MiniLM-L6-v2 -o my-vectors --resume",
    ),
)
@click.argument("data", nargs=-1, required=True, type=options.FILE, metavar="DATA...")
@click.option(
    "--from", "start", required=True, type=options.MODEL, metavar="DIR", help="The folder of the encoder to start from."
)
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option(
    "--task", type=click.Choice(["pairs", "labels"]), default="pairs",
    help="What a row is: texts that belong together, or a text and its label.",
)  # fmt: skip
@options.lora
@click.option(
    "--freeze", is_flag=True, help="With --task labels: train only the head, and leave the encoder unchanged."
)
@click.option("--batch", type=click.IntRange(min=1), default=32, metavar="N", help="Batch size: rows per step.")
@click.option("--epochs", type=click.IntRange(min=1), default=3, metavar="N", help="Passes over the rows.")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Number of steps, instead of --epochs.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Maximum training time in minutes.")
@click.option(
    "--max-length", type=click.IntRange(min=1), metavar="N", help="Maximum tokens of a text; the rest is not read."
)
@click.option("--lr", type=click.FloatRange(min=0, min_open=True), default=5e-5, help="The peak learning rate.")
@options.dropout
@options.training_precision
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="Seed of the random numbers; the same seed gives the same model.",
)
@click.option(
    "--resume", is_flag=True, help="Continue from the checkpoint in the output folder; give the same options."
)
@options.threads
@click.option("--force", is_flag=True, help="Replace the model in the output folder.")
@options.progress
def finetune(
    data: tuple[str, ...], start: str, output: str, task: str, lora: int | None, lora_targets: str,
    freeze: bool, batch: int, epochs: int, steps: int | None, minutes: float | None, max_length: int | None, lr: float,
    dropout: float, attention_dropout: float | None, precision: str, seed: int, resume: bool, threads: int | None,
    force: bool, progress: str,
) -> None:  # fmt: skip
    """Fine-tune an encoder on DATA: .jsonl files of arrays or objects, or .tsv files without a header.

    With --task pairs, a row is two texts that belong together (a positive pair), optionally followed by hard negatives;
    the texts of the other rows of a batch are negatives too. With --task labels, a row is a text and its label. A tenth
    of the rows is held out, and the loss and accuracy on it are printed. The folder has the format of
    sentence-transformers (pairs: use it with `tokkit model embed`) or of transformers (labels: use it with `tokkit
    model classify`).

    The model can be an encoder or an embedding decoder that `tokkit model embed` loads, except static ones; mixtures of
    experts, Gemma 2, GPT-NeoX and BLOOM only with --freeze. After Ctrl-C, the same command with --resume continues from
    a checkpoint and gives the same model.
    """
    from pathlib import Path

    from tokkit import pipeline
    from tokkit.cli import errors
    from tokkit.cli.inputs import given
    from tokkit.cli.model_train import lora_options, report
    from tokkit.errors import OptionError
    from tokkit.escaping import show
    from tokkit.files.files import refuse_inputs
    from tokkit.progress import Progress

    if freeze and task == "pairs":
        raise OptionError("--freeze applies only to --task labels: with pairs, there is only the encoder to train")
    refuse_inputs([output, *(Path(output) / name for name in ("config.json", "model.safetensors"))], given())
    chosen = pipeline.FineTuneOptions(
        batch=batch, epochs=epochs, steps=steps or (MANY_STEPS if minutes else 0), lr=lr, dropout=dropout,
        attention_dropout=attention_dropout, seconds=None if minutes is None else 60 * minutes, seed=seed,
        freeze=freeze, max_length=max_length, precision=precision,
    )  # fmt: skip
    run: Callable[..., TrainedModel] = pipeline.train_pairs if task == "pairs" else pipeline.train_classifier
    with Progress(progress) as shown:

        def tell(now: TrainingProgress) -> None:
            report(shown, now)

        try:
            made = run(
                list(data), output, model=start, lora=lora_options(lora, lora_targets), options=chosen,
                resume=resume, overwrite=force, threads=threads, progress=tell,
            )  # fmt: skip
        except KeyboardInterrupt:
            errors.note(f"the same command with --resume continues if {show(output)} has a checkpoint")
            raise
    right = "" if made.accuracy is None else f", of which {made.accuracy:.0%} are classified correctly"
    errors.note(
        f"{show(output)}: {made.parameters:,} parameters, {made.steps:,} steps, {made.tokens:,} tokens; loss "
        f"{made.loss:.3f}, on rows held out {made.eval_loss:.3f}{right}"
    )
