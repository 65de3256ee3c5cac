"""Limits on the time and memory that hostile input may cost; all of them can be raised.

A limit is raised for a block of code by `using`, for a process by `set_defaults`, or by the environment variable
TOKKIT_LIMITS, as in TOKKIT_LIMITS="file_bytes=4e9 pattern_seconds=60".
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from tokkit.errors import CorpusError, OptionError, TokkitError


@dataclass(frozen=True)
class Limits:
    """The limits and their defaults; docs/how-to/limits.md says what each bounds."""

    file_bytes: int = 1 << 30
    """Bytes of a tokenizer's file; the largest in use have 1/50 of this."""
    pattern_size: int = 100_000
    """Characters and character classes of a regular expression, after counted repeats are expanded."""
    pattern_seconds: float = 2.0
    """Seconds that all patterns run by the `regex` package may take for one text; each million characters adds 20
    seconds."""
    held_bytes: int = 1 << 27
    """Bytes that a stream, or a block of a file, may hold back where the text cannot be cut."""
    grown_bytes: int = 1 << 26
    """Bytes that normalizers and decoders may make from a text, or 32 times its size if that is more. Encoding uses the
    value that applied when the tokenizer was loaded."""
    padded_tokens: int = 1 << 28
    """Tokens of a batch, or of an encoding, after padding."""
    grammar_bytes: int = 1 << 27
    """Bytes for the states of one compiled grammar and the tokens that each allows; they are discarded when they take
    more than half of this.
    """
    template_steps: int = 1_000_000
    """Loop iterations and macro calls in one run of a chat template; thousands of messages need tens of thousands."""
    template_size: int = 1 << 27
    """Characters or items that one run of a chat template makes in total."""


Raised = TypeVar("Raised", bound=TokkitError)
_NAMES = [field.name for field in fields(Limits)]


def _checked(given: dict[str, object], where: str = "") -> dict[str, float]:
    """Return limits by name; OptionError for an unknown name, or a value that is not a positive number."""
    made: dict[str, float] = {}
    for name, value in given.items():
        if name not in _NAMES:
            raise OptionError(f"there is no limit {name!r}{where}; the limits are {', '.join(_NAMES)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise OptionError(f"the limit {name}{where} is {value!r}; it must be a number above 0")
        made[name] = float(value) if name == "pattern_seconds" else int(value)
    return made


def _of_environment() -> Limits:
    """Return the limits that TOKKIT_LIMITS sets."""
    given: dict[str, object] = {}
    for word in os.environ.get("TOKKIT_LIMITS", "").replace(",", " ").split():
        name, _, value = word.partition("=")
        try:
            given[name] = float(value)
        except ValueError:
            raise OptionError(f"TOKKIT_LIMITS has {word!r}; it must be name=number, separated by spaces") from None
    return replace(Limits(), **_checked(given, " in TOKKIT_LIMITS"))  # type: ignore[arg-type]


_defaults: list[Limits] = []
_current: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current() -> Limits:
    """Return the limits that apply in this thread or task."""
    found = _current.get()
    if found is None:
        if not _defaults:
            _defaults.append(_of_environment())
        found = _defaults[0]
    return found


def set_defaults(**limits: float) -> None:
    """Set limits for the process; OptionError for an unknown name, or a value that is not a number above 0."""
    _defaults[:] = [replace(current(), **_checked(dict(limits)))]  # type: ignore[arg-type]


@contextlib.contextmanager
def using(**limits: float) -> Iterator[Limits]:
    """Set limits for the code in a `with` block, in this thread or task.

    >>> with using(held_bytes=1 << 32) as limits:
    ...     limits.held_bytes == current().held_bytes == 1 << 32
    True
    """
    token = _current.set(replace(current(), **_checked(dict(limits))))  # type: ignore[arg-type]
    try:
        yield current()
    finally:
        _current.reset(token)


def check_grown(made: int, given: int, what: str) -> None:
    """Raise CorpusError if `what` makes more of a text of `given` characters or bytes than the limit allows."""
    if made > max(current().grown_bytes, 32 * given):
        raise exceeded("grown_bytes", f"{what} makes {made:,} characters of {given:,}", CorpusError)


def grown(error: object, limit: int | None = None) -> CorpusError:
    """Return the error for a stage that made more than `limit` bytes (None: the limit that applies now)."""
    return exceeded("grown_bytes", str(error), CorpusError, limit)


def exceeded(name: str, what: str, kind: type[Raised], value: float | None = None) -> Raised:
    """Return the error for exceeding a limit, which names the limit and its `value`, and how to raise it."""
    value = getattr(current(), name) if value is None else value
    where = " in which the tokenizer is loaded" if name == "grown_bytes" else ""
    return kind(
        f"{what}: the limit {name} is {value:,}; tokkit.limits.using({name}=…) raises it for a block of code{where}, "
        f"TOKKIT_LIMITS={name}=… for a process"
    )
