"""Runs epochs of word2vec and fastText in slices, to report progress and to handle Ctrl-C."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.fasttext import FastTextTraining
from tokkit._core.embed.word2vec import Word2VecTraining
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.embeddings.word2vec_options import MAX_INT
from tokkit.errors import FormatError, OptionError
from tokkit.files.strict_json import dataclass_of

SLICE_SECONDS = 0.25
"""Time between two checks for Ctrl-C."""
_FIRST_IDS = 20_000


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of a training; words are counted over all epochs."""

    epoch: int
    """The current epoch, from 1."""
    epochs: int
    words: int
    total_words: int
    words_per_second: float
    seconds_left: float
    loss: float | None
    """The mean of -log of the probabilities per word kept in this epoch; None if losses are not computed."""


@dataclass
class Schedule:
    """The epochs of a training with their learning rates, and its progress."""

    epochs: int
    start_alpha: float
    end_alpha: float
    first_epoch: int
    """Epochs of previous trainings of the model, which use other random numbers."""
    compute_loss: bool = False
    epoch: int = 0
    sentence: int = 0
    trained_words: int = 0
    loss: float = 0.0
    epoch_words: int = 0
    epoch_loss: float = 0.0

    @classmethod
    def stored(cls, value: object) -> Schedule | None:
        """Return the schedule that a file states, None for null; FormatError if none can be like this."""
        if value is None:
            return None
        made = dataclass_of(cls, value, "schedule")
        counted = made.sentence, made.trained_words, made.epoch_words
        rates = made.start_alpha, made.end_alpha
        if not (
            0 <= made.epoch <= made.epochs <= MAX_INT
            and 0 <= made.first_epoch <= MAX_INT
            and min(counted) >= 0 < made.epochs
            and all(0 <= rate < math.inf for rate in rates)
        ):
            raise FormatError(f"schedule: {made} has numbers that do not occur in a training")
        return made

    def alpha(self, epoch: int) -> float:
        """Return the learning rate at the start of an epoch."""
        return self.start_alpha - (self.start_alpha - self.end_alpha) * epoch / self.epochs


def epochs_stored(value: object) -> int:
    """Return the number of finished epochs that a file states; FormatError if it is none."""
    if type(value) is not int or not 0 <= value <= MAX_INT:
        raise FormatError(f"epochs_trained is {value!r}; it must be an int from 0 to {MAX_INT}")
    return value


def run_epoch(
    training: Word2VecTraining | FastTextTraining,
    ids: TrainingIds,
    schedule: Schedule,
    threads: int,
    progress: Callable[[TrainingProgress], Any] | None,
) -> None:
    """Train the rest of the current epoch, from the current sentence; `schedule` always holds the progress.

    Ctrl-C during a slice is raised after it: the slice counts, because the core itself records its end.
    """
    if schedule.sentence > ids.n_sentences:
        raise OptionError(
            f"the training was interrupted after {schedule.sentence:,} sentences, but this corpus has "
            f"{ids.n_sentences:,}; resume it with the same corpus"
        )
    tally = np.array([schedule.sentence, 0.0, 0.0])
    before = replace(schedule)
    try:
        _run_slices(training, ids, schedule, threads, progress, tally, before)
    finally:
        _take(schedule, tally, before)


def _take(schedule: Schedule, tally: NDArray[np.float64], before: Schedule) -> None:
    words, loss = int(tally[1]), float(tally[2])
    schedule.sentence = int(tally[0])
    schedule.trained_words, schedule.epoch_words = before.trained_words + words, before.epoch_words + words
    schedule.loss, schedule.epoch_loss = before.loss + loss, before.epoch_loss + loss


def _run_slices(
    training: Word2VecTraining | FastTextTraining,
    ids: TrainingIds,
    schedule: Schedule,
    threads: int,
    progress: Callable[[TrainingProgress], Any] | None,
    tally: NDArray[np.float64],
    before: Schedule,
) -> None:
    n = len(ids)
    begun, done_before = time.monotonic(), _done(ids, schedule)
    budget = _FIRST_IDS * threads
    fall = (schedule.start_alpha - schedule.end_alpha) / (n * schedule.epochs)
    while schedule.sentence < ids.n_sentences:
        first = int(ids.ends[schedule.sentence - 1]) if schedule.sentence else 0
        stop = min(int(np.searchsorted(ids.ends, first + budget)) + 1, ids.n_sentences)
        started = time.monotonic()
        training.run(
            schedule.sentence,
            stop,
            epoch=schedule.first_epoch + schedule.epoch,
            alpha=schedule.alpha(schedule.epoch),
            alpha_fall=fall,
            min_alpha=min(schedule.start_alpha, schedule.end_alpha),
            threads=threads,
            tally=tally,
        )
        _take(schedule, tally, before)
        now = time.monotonic()
        budget = max(1000, int(budget * min(SLICE_SECONDS / max(now - started, 1e-4), 4)))
        if progress is not None:
            done, total = _done(ids, schedule), n * schedule.epochs
            speed = (done - done_before) / max(now - begun, 1e-9)
            mean = schedule.epoch_loss / max(schedule.epoch_words, 1) if schedule.compute_loss else None
            left = (total - done) / max(speed, 1e-9)
            progress(TrainingProgress(schedule.epoch + 1, schedule.epochs, done, total, speed, left, mean))


def _done(ids: TrainingIds, schedule: Schedule) -> int:
    """Return the number of ids trained on, in all epochs."""
    return schedule.epoch * len(ids) + (int(ids.ends[schedule.sentence - 1]) if schedule.sentence else 0)
