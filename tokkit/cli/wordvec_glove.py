"""Runs `tokkit wordvec train --algorithm glove`: progress, checkpoints, and the file of vectors."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from tokkit.cli import errors, output
from tokkit.cli.wordvec_files import write
from tokkit.embeddings import GloVe
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.escaping import show
from tokkit.progress import Progress

OF_WORD2VEC = ("negative", "hierarchical", "batched", "sample", "min_alpha")
OWN_DEFAULTS = {"window": 10, "epochs": 25, "alpha": 0.05}
"""Defaults that differ from word2vec's."""


def glove(corpus: list[str], target: str, algorithm: str, chosen: dict[str, Any], progress: Progress) -> None:
    """Train and write vectors; Ctrl-C leaves a checkpoint, and the run that resumes it removes it."""
    context = click.get_current_context()
    given = {name for name in chosen if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT}
    if wrong := [name for name in OF_WORD2VEC if name in given]:
        raise click.UsageError(f"--{wrong[0].replace('_', '-')} applies to word2vec, not to {algorithm}")
    chosen = chosen | {name: value for name, value in OWN_DEFAULTS.items() if name not in given}
    tokenizer = None
    if chosen["tokenizer"] is not None:
        from tokkit.loading import load

        tokenizer = load(chosen["tokenizer"])
    checkpoint = f"{target}.checkpoint"
    model = GloVe(
        vector_size=chosen["size"],
        window=chosen["window"],
        learning_rate=chosen["alpha"],
        epochs=chosen["epochs"],
        seed=chosen["seed"],
        threads=chosen["threads"],
    )
    if chosen["resume"]:
        model = _resumed(checkpoint, model)
    model.progress = report = _Report(progress)
    model.on_epoch = report.end_epoch
    with TrainingIds.of(
        corpus_file=corpus,
        tokenizer=tokenizer,
        min_count=chosen["min_count"],
        max_final_vocab=chosen["max_words"],
        cache=chosen["cache"],
    ) as ids:
        left = model.epochs - len(model.losses)
        try:
            if left > 0:
                model.train(ids, epochs=left)
        except KeyboardInterrupt:
            if model.started:
                model.save(checkpoint)
                errors.note(f"{show(checkpoint)} holds the training so far; the same command with --resume continues")
            raise
        words = model.wv
        n_words = ids.n_words
    write(words, target)
    if chosen["resume"]:
        os.remove(checkpoint)
    errors.note(
        f"{show(target)}: {output.counted(len(words), 'vector')} of {words.vector_size} numbers, from "
        f"{output.counted(n_words, 'word')} of text; loss {model.losses[0]:.4f} in the first epoch, "
        f"{model.losses[-1]:.4f} in the last"
    )


class _Report:
    """Shows the number of trained pairs, pairs per second, the loss of the last epoch and the time left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._start = (0.0, 0)
        self._loss: float | None = None

    def end_epoch(self, epoch: int, loss: float) -> None:
        self._loss = loss

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != "train":
            self._progress(stage, done, total)
            return
        if not self._start[0]:
            self._start = (now, done)
            return
        rate = (done - self._start[1]) / max(now - self._start[0], 1e-9)
        loss = "" if self._loss is None else f"  loss {self._loss:.4f}"
        left = int((total - done) / rate) if rate else 0
        self._progress(
            stage,
            done,
            total,
            f"{rate:,.0f} pairs/s{loss}  {left // 60}:{left % 60:02} left",
            pairs_per_second=round(rate),
            loss=self._loss,
            seconds_left=left,
        )


def _resumed(checkpoint: str, wanted: GloVe) -> GloVe:
    """Return the model of a checkpoint; UsageError if its options differ from these."""
    if not os.path.exists(checkpoint):
        raise click.UsageError(f"there is no {show(checkpoint)} to resume; leave out --resume")
    model = GloVe.load(checkpoint, threads=wanted.threads)
    names = ("vector_size", "window", "learning_rate", "epochs", "seed")
    if differing := [name for name in names if getattr(model, name) != getattr(wanted, name)]:
        raise click.UsageError(
            f"{show(checkpoint)} was made with different options ({', '.join(differing)}); give the same ones"
        )
    return model
