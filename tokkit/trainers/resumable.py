"""The options of long trainings: saving, resuming, and limited memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Protocol

from tokkit.errors import OptionError
from tokkit.trainers.counts import Reporter
from tokkit.trainers.options import flag, integer
from tokkit.trainers.state_file import Savable, StateFile

VISITS_A_SLICE = 1 << 20
"""Pairs visited between two checks for Ctrl-C: 10 to 50 ms of work."""

_NOT_SAID = ("explain", "state", "state_every", "resume", "max_memory")
"""Options that do not affect the result."""


@dataclass(frozen=True, kw_only=True)
class Resumable:
    """The options of long trainings.

    With `state`, the training is saved to this file after the text is counted, after every `state_every` merges
    ("unigram": rounds), and at the end. With `resume`, it continues from the file, if it exists, without reading the
    text again; the result is the same. The other options must be equal, and so must the source, unless it is an
    iterator or a table. For models that merge, a finished training can continue to a larger vocab_size.

    If words and the positions of pairs or pieces need more than `max_memory` bytes, they are kept in memory-mapped
    files in the folder for temporary files (TMPDIR). Words that need more memory during counting are sorted and written
    there too. The result is the same.
    """

    state: str | os.PathLike[str] | None = None
    state_every: int = 1000
    resume: bool = False
    max_memory: int | None = None
    source: Mapping[str, str] | None = field(init=False, repr=False, compare=False, default=None)

    model_name: ClassVar[str]

    def check_resumable(self) -> None:
        """Raise OptionError for options of the wrong type, or that conflict."""
        integer("state_every", self.state_every, minimum=1)
        flag("resume", self.resume)
        if self.max_memory is not None:
            integer("max_memory", self.max_memory, minimum=1)
        if self.state is None and self.resume:
            raise OptionError("resume needs a state: give the file to which the training was saved")
        if self.state is not None and not isinstance(self.state, (str, os.PathLike)):
            raise OptionError(f"state is {self.state!r}; it must be the path of a file, or None")

    @property
    def resumes(self) -> bool:
        """Whether there is a state to resume, so that nothing needs to be counted."""
        return self.resume and self.state is not None and os.path.exists(self.state)

    def state_file(self, **more: object) -> StateFile | None:
        """Return the state file of the training; `more` has values besides the options that affect the result."""
        if self.state is None:
            return None
        own = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.init and f.name not in _NOT_SAID}
        about = {"model": self.model_name, **own, **more, "source": self.source}
        return StateFile(os.fspath(self.state), about, self.state_every, self.resumes)

    def folder(self, needed: int) -> bytes | None:
        """Return the folder for mapped files if `n_bytes` exceeds the limit, else None."""
        if self.max_memory is None or needed <= self.max_memory:
            return None
        return os.fsencode(tempfile.gettempdir())


def _plain(value: object) -> object:
    """Return the value of an option for JSON: a function becomes its name."""
    if isinstance(value, Mapping):
        return dict(value)
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return value


class Merging(Savable, Protocol):
    """A trainer that merges in slices."""

    def run(self, budget: int) -> bool:
        """Visit about this many pairs; return True at the end."""


def run_merges(
    trainer: Merging,
    n_merges: Callable[[], int],
    total: int,
    report: Reporter,
    state: StateFile | None,
    kept: object = None,
) -> None:
    """Merge to the end, and save the state before, during and after; `kept` is saved too, to resume."""
    report("merge", n_merges(), total, always=True)
    # A merge counts as at least 8 visits, so a slice has no more merges than are saved together.
    visits = VISITS_A_SLICE if state is None else min(VISITS_A_SLICE, 8 * state.every)
    at = n_merges()
    if state is not None and not state.resumes:
        state.save(trainer, kept)
    while not trainer.run(visits):
        report("merge", n_merges(), total)
        if state is not None and n_merges() - at >= state.every:
            state.save(trainer, kept)
            at = n_merges()
    if state is not None:
        state.save(trainer, kept)
    report("merge", n_merges(), total, always=True)
