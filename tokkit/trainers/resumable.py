"""The options of trainings that take long: saving them, going on from a state, and bounded memory."""

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
"""Options that the result does not depend on."""


@dataclass(frozen=True, kw_only=True)
class Resumable:
    """The options of trainings that take long.

    With `state` the training is saved to this file once the text is counted, after each `state_every` merges (of
    "unigram": rounds), and at its end; with `resume` it goes on from the file, if that is there, without reading the
    text again. Its result is the same. The other options must be equal, and so must the source, unless that is an
    iterator or a table. Where models merge, a training that has ended goes on to a larger vocab_size too.

    If words and the places of pairs or pieces need more than `max_memory` bytes, they are kept in mapped files in the
    folder for temporary files (TMPDIR), which the system writes out where memory is short. Words of a text that take
    more while they are counted are sorted and written there too. The result is the same.
    """

    state: str | os.PathLike[str] | None = None
    state_every: int = 1000
    resume: bool = False
    max_memory: int | None = None
    source: Mapping[str, str] | None = field(init=False, repr=False, compare=False, default=None)

    model_name: ClassVar[str]

    def check_resumable(self) -> None:
        """Raise OptionError for options of the wrong type, or that do not go together."""
        integer("state_every", self.state_every, minimum=1)
        flag("resume", self.resume)
        if self.max_memory is not None:
            integer("max_memory", self.max_memory, minimum=1)
        if self.state is None and self.resume:
            raise OptionError("resume needs a state: give the file that the training was saved to")
        if self.state is not None and not isinstance(self.state, (str, os.PathLike)):
            raise OptionError(f"state is {self.state!r}; it must be the path of a file, or None")

    @property
    def resumes(self) -> bool:
        """Whether there is a state to go on from, so that nothing must be counted."""
        return self.resume and self.state is not None and os.path.exists(self.state)

    def state_file(self, **more: object) -> StateFile | None:
        """Return where the training is saved; `more` is what the result depends on besides the options."""
        if self.state is None:
            return None
        own = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.init and f.name not in _NOT_SAID}
        about = {"model": self.model_name, **own, **more, "source": self.source}
        return StateFile(os.fspath(self.state), about, self.state_every, self.resumes)

    def folder(self, needed: int) -> bytes | None:
        """Return the folder for mapped files if so many bytes are over the bound, else None."""
        if self.max_memory is None or needed <= self.max_memory:
            return None
        return os.fsencode(tempfile.gettempdir())


def _plain(value: object) -> object:
    """Return the value of an option as JSON can say it: a function by its name."""
    if isinstance(value, Mapping):
        return dict(value)
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return value


class Merging(Savable, Protocol):
    """A trainer that merges in slices."""

    def run(self, budget: int) -> bool:
        """Visit about so many pairs; return True at the end."""


def run_merges(
    trainer: Merging,
    n_merges: Callable[[], int],
    total: int,
    report: Reporter,
    state: StateFile | None,
    kept: object = None,
) -> None:
    """Merge to the end, and save the state before, on the way, and then; `kept` is what goes on needs besides."""
    report("merge", n_merges(), total, always=True)
    # A merge counts for 8 visits at least, and so a slice has no more merges than are saved together.
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
