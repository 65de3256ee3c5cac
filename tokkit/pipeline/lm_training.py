"""`train_lm`: a corpus and a tokenizer → the folder of a language model, which `load` and transformers read."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tokkit.errors import OptionError, TrainingError
from tokkit.formats import files
from tokkit.nn import threads as limited_threads
from tokkit.nn.checks import as_float, as_int
from tokkit.nn.grad import CausalLM
from tokkit.nn.optim import AdamW, WarmupCosine, WeightAverage
from tokkit.pipeline import lm_checkpoints, lm_folders, modules
from tokkit.pipeline.lm_checkpoints import Training
from tokkit.pipeline.lm_data import TrainingText
from tokkit.threads import thread_count
from tokkit.tokenizer import Tokenizer
from tokkit.trainers import train

DIVERGED = 1.5
"""A mean loss of so many times the first one is an error: the learning rate is too high."""
SMOOTHED = 20
"""Steps that the loss that is shown is about the mean of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LMOptions:
    """How a language model is trained.

    Each step learns `batch` texts of `context` tokens, in `accumulate` parts that are in memory one after another.
    There are `steps` of them, or fewer if `seconds` are over before, by which the learning rate then falls. It rises to
    `lr` over `warmup` steps, and falls to a tenth of it by half a cosine. `weight_decay`, `max_norm` and `betas` are
    those of `AdamW`, and `dropout` that of `CausalLM`. With an `average` above 0, what is evaluated and written is the
    average of the weights by that decay. One `seed` gives one model, for any number of threads, unless `seconds` are
    given.
    """

    context: int = 256
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
    average: float = 0.0
    held_out: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("context", "batch", "accumulate", "steps"):
            as_int(name, getattr(self, name), minimum=1)
        as_int("warmup", self.warmup, minimum=0)
        as_int("seed", self.seed, minimum=0)
        if self.batch % self.accumulate:
            raise OptionError(f"batch is {self.batch}, which accumulate, {self.accumulate}, does not divide")
        if self.seconds is not None:
            as_float("seconds", self.seconds, greater_than=0)
        if not 0 < as_float("held_out", self.held_out) < 1:
            raise OptionError(f"held_out is {self.held_out}; it must be a share between 0 and 1")


@dataclass(frozen=True, slots=True)
class LMProgress:
    """How far a training is; `loss` is a mean of the last steps, `eval_loss` the last one on text held out, or None."""

    step: int
    steps: int
    loss: float
    eval_loss: float | None
    lr: float
    tokens_per_second: float
    seconds_left: float
    skipped: int


@dataclass(frozen=True, slots=True)
class TrainedLM:
    """What a training made: the folder of the model, its parameters, and its losses per token (nats)."""

    folder: Path
    parameters: int
    steps: int
    tokens: int
    loss: float
    eval_loss: float


def train_lm(
    source: object,
    output: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 4096,
    config: str | os.PathLike[str] | Mapping[str, Any] = "llama-1m",
    model: str | os.PathLike[str] | None = None,
    options: LMOptions | None = None,
    resume: bool = False,
    overwrite: bool = False,
    evaluate_every: int = 200,
    save_every: int = 200,
    field: str = "text",
    threads: int | None = None,
    progress: Callable[[LMProgress], object] | None = None,
) -> TrainedLM:
    """Train a causal language model on a corpus, and write its folder.

    `source` is as of `tokkit.train`; files are whole documents. Without a `tokenizer` a byte-level BPE of `vocab_size`
    tokens is trained on it. `config` is the name of one of `lm_folders.PRESETS`, a config.json or its contents, of
    Llama's or GPT-2's shape; with a `model`, a folder of such a one, that goes on learning, with its own tokenizer.

    The folder gets config.json, the tokenizer, and model.safetensors at the end. A checkpoint is written every
    `save_every` steps and on Ctrl-C, which then raises KeyboardInterrupt; `resume` goes on from it and ends with the
    same bits. `progress` is called after each step; the loss on text held out is measured every `evaluate_every` steps
    and at the end.

    Raises CorpusError for a corpus that is too small, OptionError for options that cannot work or are not those of the
    checkpoint, TrainingError for a training that diverges, FileExistsError for a folder with another model unless
    `overwrite`.
    """
    options, folder = options or LMOptions(), Path(output)
    if resume and tokenizer is None and model is None:
        tokenizer = _tokenizer_of(folder)
    if not resume and not overwrite and folder.exists() and any(folder.iterdir()):
        raise FileExistsError(17, "the folder is not empty; give another, or overwrite", files.show(folder))
    weights = None
    if model is not None:
        tokenizer = tokenizer or _tokenizer_of(Path(model))
    elif tokenizer is None:
        if isinstance(source, Iterator):
            source = list(source)
        made = train(source, vocab_size=vocab_size, field=field, threads=threads, special_tokens=lm_folders.ENDS[:1])
        tokenizer = made if isinstance(made, Tokenizer) else made[0]
    if model is None:
        about = lm_folders.config_of(config, tokenizer, options.context)
    else:
        stated = modules.read_json(Path(model) / "config.json")
        about = lm_folders.completed(stated, tokenizer, options.context)
    spec = lm_folders.spec_of(about, options.context)
    if model is not None:
        weights = lm_folders.read_weights(Path(model), spec)
    end = lm_folders.end_token(tokenizer)
    text = TrainingText.of(
        source, tokenizer, context=options.context, end=None if end is None else tokenizer.special_tokens[end],
        share=options.held_out, field=field, threads=threads,
    )  # fmt: skip
    learner = CausalLM(spec.config, weights, seed=options.seed, dropout=options.dropout)
    optimizer = AdamW(
        learner.parameters, lr=options.lr, betas=options.betas, weight_decay=options.weight_decay,
        max_norm=options.max_norm,
    )  # fmt: skip
    average = WeightAverage(learner.parameters, options.average) if options.average else None
    training = Training(learner, optimizer, average)
    made_with = {"configuration": about, "options": asdict(options), "text": text.digest}
    if resume:
        lm_checkpoints.resume(folder, training, made_with)
    else:
        lm_folders.write_start(folder, about, tokenizer)
    with limited_threads(thread_count(threads)):
        run = _Run(training, text, options, progress, evaluate_every)
        with _interrupts_between_steps() as interrupted:
            while not run.is_done():
                run.step()
                if interrupted() or (training.number % save_every == 0 and not run.is_done()):
                    lm_checkpoints.save(folder, training, made_with)
                if interrupted():
                    raise KeyboardInterrupt
        eval_loss = run.evaluate()
        if average is not None:
            average.swap()
        lm_folders.write_model(folder, learner.parameters, spec)
    (folder / lm_checkpoints.NAME).unlink(missing_ok=True)
    tokens = training.number * options.batch * options.context
    return TrainedLM(folder, len(learner.parameters.data), training.number, tokens, training.loss, eval_loss)


class _Run:
    """Steps of one training, and what is told of them."""

    def __init__(
        self, training: Training, text: TrainingText, options: LMOptions,
        progress: Callable[[LMProgress], object] | None, evaluate_every: int,
    ) -> None:  # fmt: skip
        self._training, self._text, self._options, self._progress = training, text, options, progress
        self._evaluate_every = as_int("evaluate_every", evaluate_every, minimum=1)
        self._rate = WarmupCosine(lr=options.lr, steps=options.steps, warmup=min(options.warmup, options.steps // 2))
        self._started, self._before, self._first = time.monotonic(), training.seconds, training.number
        self.eval_loss: float | None = None

    def is_done(self) -> bool:
        """Return whether all steps are done, or the time is over."""
        training, limit = self._training, self._options.seconds
        return training.number >= self._options.steps or (limit is not None and training.seconds >= limit)

    def step(self) -> None:
        """Learn one batch, and tell of it."""
        training, options = self._training, self._options
        number, model = training.number, training.model
        ids = self._text.batch(options.seed, number, options.batch, options.context)
        loss = 0.0
        for part, rows in enumerate(ids.reshape(options.accumulate, -1, ids.shape[1])):
            seed = (options.seed * options.steps + number) * options.accumulate + part
            loss += model.forward_backward(rows, share=1 / options.accumulate, seed=seed) / options.accumulate
        place = number
        if options.seconds is not None and number >= self._rate.warmup:
            place = max(number, int(training.seconds / options.seconds * options.steps))
        rate = self._rate(place)
        training.optimizer.step(rate)
        if training.average is not None:
            training.average.update()
        training.number += 1
        training.seconds = self._before + time.monotonic() - self._started
        self._note(loss)
        if training.number % self._evaluate_every == 0 and not self.is_done():
            self.evaluate()
        if self._progress is not None:
            self._progress(self._told(rate))

    def _note(self, loss: float) -> None:
        training = self._training
        if not math.isfinite(loss):
            return  # the optimizer counts such steps
        if training.number == 1:
            training.first_loss = training.loss = loss
        training.loss += (loss - training.loss) / min(training.number, SMOOTHED)
        if training.number >= SMOOTHED and training.loss > DIVERGED * training.first_loss:
            raise TrainingError(
                f"the loss rose from {training.first_loss:.2f} to {training.loss:.2f} in {training.number} steps; the "
                f"learning rate, {self._options.lr:g}, is too high"
            )

    def evaluate(self) -> float:
        """Return the mean loss of the text that was held out."""
        average, model, options = self._training.average, self._training.model, self._options
        if average is not None:
            average.swap()
        total, count = 0.0, 0
        for ids in self._text.evaluation(options.batch // options.accumulate, options.context):
            total += model.loss(ids) * len(ids)
            count += len(ids)
        if average is not None:
            average.swap()
        self.eval_loss = total / count
        return self.eval_loss

    def _told(self, rate: float) -> LMProgress:
        training, options = self._training, self._options
        seconds, steps = time.monotonic() - self._started, training.number - self._first
        left = (options.steps - training.number) * seconds / steps
        if options.seconds is not None:
            left = min(left, max(options.seconds - training.seconds, 0))
        speed = steps * options.batch * options.context / seconds if seconds else 0.0
        return LMProgress(
            training.number, options.steps, training.loss, self.eval_loss, rate, speed, left, training.optimizer.skipped
        )


@contextmanager
def _interrupts_between_steps() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C wait for the end of a step, whose weights would be half changed; the second one raises."""
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


def _tokenizer_of(folder: Path) -> Tokenizer:
    from tokkit.loading import load

    return load(folder)
