"""The training loop of all models: steps, the learning rate, evaluation, progress, checkpoints and Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, TrainingError
from tokkit.files import files
from tokkit.nn import threads as limited_threads
from tokkit.nn.grad import Parameters
from tokkit.nn.grad.tape import is_bf16
from tokkit.nn.optim import AdamW, WarmupCosine, WeightAverage
from tokkit.pipeline import training_checkpoints
from tokkit.pipeline.training_checkpoints import Training
from tokkit.threads import thread_count

DIVERGED = 1.5
"""A mean loss of this multiple of the first loss is an error: the learning rate is too high."""
ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attn_pdrop", "attention_dropout")
"""Keys of attention dropout in a config.json: of BERT and similar models, of GPT-2, of DistilBERT and Llama."""
SMOOTHED = 20
"""The number of steps over which the displayed loss is averaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """The common options of all trainings: see `LMOptions` and `FineTuneOptions`, which have their own defaults."""

    batch: int = 8
    accumulate: int = 1
    steps: int = 1000
    seconds: float | None = None
    lr: float = 1e-3
    warmup: int = 50
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    max_norm: float = 1.0
    dropout: float = 0.0
    attention_dropout: float | None = None
    average: float = 0.0
    precision: str = "fp32"
    held_out: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch", "accumulate"):
            as_int(name, getattr(self, name), minimum=1)
        for name in ("steps", "warmup", "seed"):
            as_int(name, getattr(self, name), minimum=0)
        is_bf16(self.precision)
        if self.batch % self.accumulate:
            raise OptionError(f"batch is {self.batch}; it must be a multiple of accumulate, {self.accumulate}")
        if self.seconds is not None:
            as_float("seconds", self.seconds, greater_than=0)
        if not 0 < as_float("held_out", self.held_out) < 1:
            raise OptionError(f"held_out is {self.held_out}; it must be a fraction between 0 and 1")

    def attention_dropout_of(self, config: Mapping[str, Any]) -> float:
        """Return the dropout of attention weights: as given, or from a config.json.

        None takes the value of the model's configuration if `dropout` is above 0, else 0.
        """
        if self.attention_dropout is not None:
            return self.attention_dropout
        found = (config.get(key) for key in ATTENTION_DROPOUTS)
        stated = next((value for value in found if isinstance(value, (int, float))), 0.0)
        return float(stated) if self.dropout else 0.0


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The progress of a training; `loss` is the mean of the last steps, `eval_loss` the last held-out loss, or None."""

    step: int
    steps: int
    loss: float
    eval_loss: float | None
    lr: float
    tokens_per_second: float
    seconds_left: float
    skipped: int


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """The result of a training: the folder of the model, the number of trained parameters, and its losses (nats).

    `accuracy` is the share of held-out texts whose label, or whose partner of all held-out texts, is predicted right;
    None for language models.
    """

    folder: Path
    parameters: int
    steps: int
    tokens: int
    loss: float
    eval_loss: float
    accuracy: float | None = None


class Task(Protocol):
    """The training task: a model and its texts."""

    @property
    def parameters(self) -> Parameters:
        """Return the trained weights, and their gradients."""

    def learn(self, number: int) -> tuple[float, int]:
        """Add the gradients of batch `number`; return its mean loss and its number of tokens."""

    def evaluate(self) -> float:
        """Return the mean loss of the held-out data."""


def dropout_seed(options: TrainingOptions, number: int, part: int) -> int:
    """Return the dropout seed for a part of a batch."""
    return (options.seed * options.steps + number) * options.accumulate + part


def refuse_full(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise FileExistsError for a folder with files unless it is resumed or overwritten."""
    if not resume and not overwrite and folder.exists() and any(folder.iterdir()):
        raise FileExistsError(17, "the folder is not empty; give another folder, or overwrite", files.show(folder))


def run(
    task: Task, options: TrainingOptions, folder: Path, *, made_with: Mapping[str, Any], resume: bool,
    begin: Callable[[], object], write: Callable[[], object], evaluate_every: int, save_every: int,
    threads: int | None, progress: Callable[[TrainingProgress], object] | None,
) -> tuple[Training, float]:  # fmt: skip
    """Train, and return the final state, and the loss of the held-out data.

    A new training calls `begin` before its first step; `write` is called at the end with the final weights. A
    checkpoint is written every `save_every` steps and on Ctrl-C, which then raises KeyboardInterrupt; `resume`
    continues from one with the same `made_with`.
    """
    save_every = as_int("save_every", save_every, minimum=1)
    optimizer = AdamW(
        task.parameters, lr=options.lr, betas=options.betas, weight_decay=options.weight_decay,
        max_norm=options.max_norm,
    )  # fmt: skip
    average = WeightAverage(task.parameters, options.average) if options.average else None
    training = Training(task.parameters, optimizer, average)
    if resume:
        training_checkpoints.resume(folder, training, made_with)
    else:
        begin()
    with limited_threads(thread_count(threads)):
        steps = _Steps(task, training, options, progress, evaluate_every)
        with _interrupts_between_steps() as interrupted:
            while not steps.are_done():
                steps.step()
                if interrupted() or (training.number % save_every == 0 and not steps.are_done()):
                    training_checkpoints.save(folder, training, made_with)
                if interrupted():
                    raise KeyboardInterrupt
        eval_loss = steps.evaluate()
        if average is not None:
            average.swap()
        write()
    (folder / training_checkpoints.NAME).unlink(missing_ok=True)
    return training, eval_loss


class _Steps:
    """The steps of one training, and their progress reports."""

    def __init__(
        self, task: Task, training: Training, options: TrainingOptions,
        progress: Callable[[TrainingProgress], object] | None, evaluate_every: int,
    ) -> None:  # fmt: skip
        self._task, self._training, self._options, self._progress = task, training, options, progress
        self._evaluate_every = as_int("evaluate_every", evaluate_every, minimum=1)
        self._rate = WarmupCosine(lr=options.lr, steps=options.steps, warmup=min(options.warmup, options.steps // 2))
        self._started, self._before = time.monotonic(), training.seconds
        self._first, self._first_tokens = training.number, training.tokens
        self.eval_loss: float | None = None

    def are_done(self) -> bool:
        """Return whether all steps are done, or the time is over."""
        training, limit = self._training, self._options.seconds
        return training.number >= self._options.steps or (limit is not None and training.seconds >= limit)

    def step(self) -> None:
        """Train on one batch, and report the progress."""
        training, options = self._training, self._options
        number = training.number
        loss, tokens = self._task.learn(number)
        place = number
        if options.seconds is not None and number >= self._rate.warmup:
            place = max(number, int(training.seconds / options.seconds * options.steps))
        rate = self._rate(place)
        training.optimizer.step(rate)
        if training.average is not None:
            training.average.update()
        training.number += 1
        training.tokens += tokens
        training.seconds = self._before + time.monotonic() - self._started
        self._note(loss)
        if training.number % self._evaluate_every == 0 and not self.are_done():
            self.evaluate()
        if self._progress is not None:
            self._progress(self._told(rate))

    def _note(self, loss: float) -> None:
        training = self._training
        if not math.isfinite(loss):
            return  # the optimizer counts such steps
        if not training.first_loss:  # the first that is finite
            training.first_loss = training.loss = loss
        training.loss += (loss - training.loss) / min(training.number, SMOOTHED)
        # If the first loss is small, as in a model that is trained further, batches differ by more than the loss.
        if training.number >= SMOOTHED and training.loss > DIVERGED * max(training.first_loss, 1.0):
            raise TrainingError(
                f"the loss rose from {training.first_loss:.2f} to {training.loss:.2f} in {training.number} steps; the "
                f"learning rate, {self._options.lr:g}, is too high"
            )

    def evaluate(self) -> float:
        """Return the mean loss of the held-out data."""
        average = self._training.average
        if average is not None:
            average.swap()
        self.eval_loss = self._task.evaluate()
        if average is not None:
            average.swap()
        return self.eval_loss

    def _told(self, rate: float) -> TrainingProgress:
        training, options = self._training, self._options
        seconds, steps = time.monotonic() - self._started, training.number - self._first
        left = (options.steps - training.number) * seconds / steps
        if options.seconds is not None:
            left = min(left, max(options.seconds - training.seconds, 0))
        speed = (training.tokens - self._first_tokens) / seconds if seconds else 0.0
        return TrainingProgress(
            training.number, options.steps, training.loss, self.eval_loss, rate, speed, left, training.optimizer.skipped
        )


@contextmanager
def _interrupts_between_steps() -> Iterator[Callable[[], bool]]:
    """Defer the first Ctrl-C to the end of a step, so that no weights are half updated; a second one raises at once."""
    count = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise KeyboardInterrupt

    is_ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not is_ours or before is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: count > 0
    finally:
        signal.signal(signal.SIGINT, before)
