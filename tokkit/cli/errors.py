"""Turns exceptions into one line on stderr and an exit code."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Iterator

import click

from tokkit.errors import SameFileError, TokkitError
from tokkit.escaping import show, visible
from tokkit.interrupts import INTERRUPTED

FAILURE = 1
USAGE = 2
READER_GONE = 141  # 128 + SIGPIPE
NO_ARGUMENTS: tuple[type[click.ClickException], ...] = tuple(
    error for error in [getattr(click.exceptions, "NoArgsIsHelpError", None)] if error is not None
)
"""What click raises for a group without a command; click 8.1 prints the help itself."""


def note(message: str) -> None:
    """Print a message on stderr, always as one line."""
    click.echo(f"tokkit: {visible(message)}", err=True)


def describe(error: BaseException) -> str:
    """Return the message of an error as one line, without the name of its class.

    >>> describe(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory'
    """
    if isinstance(error, MemoryError):
        text = str(error) or "out of memory"
    elif isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{show(error.filename)}: {error.strerror}"
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror
    else:
        text = str(error.args[0]) if error.args else type(error).__name__
    # Messages of the library name its arguments; on the command line these are flags.
    text = re.sub(r'\binput_errors="(\w+)"( or )?(?:"(\w+)")?', r"--input-errors \1\2\3", text)
    text = re.sub(r"; if this is a text and not a path, give iter\(texts\).*", "", text)
    return " ".join(text.split("\n"))


def silence_stdout() -> None:
    """Discard buffered output, because flushing it at exit would fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _visible(error: click.ClickException) -> click.ClickException:
    """Return click's error with control characters escaped, because it quotes the user's input."""
    if isinstance(error, NO_ARGUMENTS):
        return error  # the help of the command
    # Only click's message for a missing choice has several lines, and it quotes no input.
    keep = "\n\t" if isinstance(error, click.MissingParameter) else ""
    message = visible(error.format_message(), keep=keep)
    if isinstance(error, click.UsageError):
        return click.UsageError(message, error.ctx)
    return click.ClickException(message)


class _Line(logging.Formatter):
    """Formats warnings of tokkit and other libraries as notes."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return f"tokkit: {visible(super().format(record))}"


class _Once(logging.Filter):
    """Lets each message pass once: a file that is read twice has one note."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the message is new."""
        message = record.getMessage()
        is_new = message not in self._shown
        self._shown.add(message)
        return is_new


@contextlib.contextmanager
def warnings_shown() -> Iterator[None]:
    """Print log messages on stderr during the block, each once."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line("%(message)s"))
    handler.addFilter(_Once())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors of the input or the system into a message and an exit code; other errors keep their traceback."""
    try:
        yield
    except click.ClickException as error:
        raise _visible(error) from None
    except BrokenPipeError:
        silence_stdout()
        raise click.exceptions.Exit(READER_GONE) from None
    except (KeyboardInterrupt, RuntimeError) as error:
        # Before 3.12, Python wraps an exception raised in __set_name__, which may run while a module is imported.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        note("interrupted")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except (TokkitError, OSError, MemoryError) as error:
        note(f"error: {describe(error)}")
        raise click.exceptions.Exit(USAGE if isinstance(error, SameFileError) else FAILURE) from None


@contextlib.contextmanager
def exits() -> Iterator[None]:
    """Do the same for the whole process: the flush at exit may meet a full disk or a closed pipe."""
    try:
        with reported():
            try:
                yield
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
    except click.exceptions.Exit as end:
        silence_stdout()
        sys.exit(end.exit_code)
