"""`tokkit model train`: trains a language model on text, and writes a folder that transformers can load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.nn.grad import LoraOptions
    from tokkit.pipeline import TrainedModel, TrainingProgress
    from tokkit.progress import Progress

MANY_STEPS = 1_000_000
"""Maximum steps with --minutes and without --steps; the time ends earlier."""


@options.command(
    "train",
    group="model",
    short_help="Train a small language model or encoder on text.",
    examples=(
        "tokkit model train notes/ -o my-model",
        "tokkit model train corpus.txt -o my-model --tokenizer tokenizer.json --shape gpt2-14m --minutes 30",
        "tokkit model train corpus.txt -o my-encoder --shape bert-5m --context 128 --batch 32",
        "tokkit model train corpus.txt -o my-model --steps 20000 --resume",
        "tokkit model train letters.txt -o tuned --from my-model --lr 1e-4",
        "tokkit model train letters.txt -o adapter --from my-model --lora 8 --lr 1e-3",
    ),
)
@click.argument("corpus", nargs=-1, required=True, type=options.FILE, metavar="CORPUS...")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option(
    "--tokenizer", type=options.MODEL, metavar="TOKENIZER", show_default="a new one, trained on CORPUS",
    help="The tokenizer of the model.",
)  # fmt: skip
@click.option(
    "--vocab-size",
    type=click.IntRange(min=257),
    default=4096,
    metavar="N",
    help="Vocabulary size of the tokenizer, if one is trained.",
)
@click.option(
    "--shape", default="llama-1m", metavar="NAME|FILE",
    help="The architecture and number of parameters: llama-1m, llama-5m, llama-14m, gpt2-1m, gpt2-14m, bert-1m, "
    "bert-5m, bert-14m; or a config.json of such a model.",
)  # fmt: skip
@click.option("--from", "start", type=options.MODEL, metavar="DIR", help="Continue training the model in this folder.")
@options.lora
@click.option("--context", type=click.IntRange(min=1), default=256, metavar="N", help="Context length in tokens.")
@click.option("--batch", type=click.IntRange(min=1), default=8, metavar="N", help="Batch size: sequences per step.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="1000, or as many as --minutes allows",
    help="Number of steps.",
)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Maximum training time in minutes.")
@click.option("--lr", type=click.FloatRange(min=0, min_open=True), default=1e-3, help="The peak learning rate.")
@options.dropout
@options.training_precision
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Equal seeds give equal models.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint in DIR; give the same options.")
@options.threads
@click.option("--force", is_flag=True, help="Replace the model in DIR.")
@options.progress
def train(
    corpus: tuple[str, ...], output: str, tokenizer: str | None, vocab_size: int, shape: str, start: str | None,
    lora: int | None, lora_targets: str,
    context: int, batch: int, steps: int | None, minutes: float | None, lr: float, dropout: float,
    attention_dropout: float | None, precision: str, seed: int, resume: bool, threads: int | None, force: bool,
    progress: str,
) -> None:  # fmt: skip
    """Train a language model on CORPUS: text files, folders and globs; each file is a document.

    By default it is a causal model. With a BERT shape, or --from with the folder of an encoder, it is an encoder that
    learns to fill in masked tokens. DIR gets config.json, model.safetensors and tokenizer.json, which `tokkit model
    generate` and transformers load. A twentieth of the text is held out, and the loss on it is printed. After Ctrl-C,
    the same command with --resume continues from a checkpoint and gives the same model.
    """
    from pathlib import Path

    from tokkit import pipeline
    from tokkit.cli import errors
    from tokkit.cli.inputs import given, load
    from tokkit.escaping import show
    from tokkit.files.files import refuse_inputs
    from tokkit.pipeline.lm_folders import WRITTEN
    from tokkit.progress import Progress

    refuse_inputs([output, *(Path(output) / name for name in WRITTEN)], given())

    chosen = pipeline.LMOptions(
        context=context, batch=batch, steps=steps or (MANY_STEPS if minutes else 1000), lr=lr, dropout=dropout,
        attention_dropout=attention_dropout, precision=precision,
        seconds=None if minutes is None else 60 * minutes, seed=seed,
    )  # fmt: skip
    masked = _is_masked(shape, start)
    run: Callable[..., TrainedModel] = pipeline.train_masked_lm if masked else pipeline.train_lm
    with Progress(progress) as shown:
        try:
            made = run(
                list(corpus), output, tokenizer=None if tokenizer is None else load(tokenizer), vocab_size=vocab_size,
                config=shape, model=start, lora=lora_options(lora, lora_targets), options=chosen, resume=resume,
                overwrite=force, threads=threads, progress=lambda now: report(shown, now),
            )  # fmt: skip
        except KeyboardInterrupt:
            errors.note(f"the same command with --resume continues if {show(output)} has a checkpoint")
            raise
    errors.note(
        f"{show(output)}: {made.parameters:,} parameters, {made.steps:,} steps, {made.tokens:,} tokens; loss "
        f"{made.loss:.3f}, on text held out {made.eval_loss:.3f}"
    )


def lora_options(rank: int | None, targets: str) -> LoraOptions | None:
    """Return the LoRA settings of --lora and --lora-targets, or None."""
    from tokkit.nn.grad import LoraOptions

    if rank is None:
        return None
    return LoraOptions(rank=rank, alpha=2.0 * rank, targets=tuple(target.strip() for target in targets.split(",")))


def _is_masked(shape: str, start: str | None) -> bool:
    """Return whether the shape or folder is that of an encoder (a masked language model)."""
    from pathlib import Path

    from tokkit.pipeline import modules
    from tokkit.pipeline.learning_encoders import MASKED
    from tokkit.pipeline.masked_training import PRESETS

    path = Path(shape) if start is None else Path(start) / "config.json"
    return (start is None and shape in PRESETS) or modules.read_json(path, {}).get("model_type") in MASKED


def report(progress: Progress, now: TrainingProgress) -> None:
    """Show the progress of a training."""
    held_out = "" if now.eval_loss is None else f" ({now.eval_loss:.3f} held out)"
    skipped = f"  {now.skipped} skipped" if now.skipped else ""
    left = f"{int(now.seconds_left) // 60}:{int(now.seconds_left) % 60:02}"
    progress(
        "train", now.step, 0 if now.steps == MANY_STEPS else now.steps,
        f"loss {now.loss:.3f}{held_out}{skipped}  {now.tokens_per_second:,.0f} tokens/s  {left} left",
        loss=round(now.loss, 4), eval_loss=None if now.eval_loss is None else round(now.eval_loss, 4),
        lr=now.lr, tokens_per_second=round(now.tokens_per_second), seconds_left=round(now.seconds_left, 1),
    )  # fmt: skip
