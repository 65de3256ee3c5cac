"""Reports progress on stderr, as a bar or as JSON lines."""

from __future__ import annotations

import json
import sys
import time

import click

WIDTH = 28
SECONDS_BETWEEN = 0.1


class Progress:
    """Shows progress on stderr; call it with (stage, done, total). The `mode` "auto" shows a bar only at a terminal.

    It is a context manager that removes the bar at its end. `total` is 0 if it is unknown.
    """

    def __init__(self, mode: str) -> None:
        at_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._mode = ("bar" if at_terminal else "none") if mode == "auto" else mode
        self._started = time.monotonic()
        self._next = 0.0
        self._shown = ("", -1)
        self._width = 0

    @property
    def shown(self) -> bool:
        """Whether anything is shown."""
        return self._mode != "none"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            click.echo("\r" + " " * self._width + "\r", err=True, nl=False)

    def __call__(self, stage: str, done: int, total: int, more: str = "", **values: object) -> None:
        """Show the progress, at most ten times a second, and always at the end of a stage.

        `more` comes after the bar; in JSON lines it is `values`.
        """
        now = time.monotonic()
        is_end = total > 0 and done >= total
        if self._mode == "none" or (stage, done) == self._shown or (now < self._next and not is_end):
            return
        self._next, self._shown = now + SECONDS_BETWEEN, (stage, done)
        if self._mode == "json":
            seconds = round(now - self._started, 3)
            line = {"stage": stage, "done": done, "total": total or None, "seconds": seconds, **values}
            click.echo(json.dumps(line), err=True)
            return
        text = f"{stage:<7}{bar(done, total)} {done:>14,}{f' / {total:,}' if total else ''}  {more}"
        click.echo("\r" + text.ljust(self._width), err=True, nl=False)
        self._width = max(self._width, len(text))


def bar(done: int, total: int) -> str:
    """Return a bar of `WIDTH` characters and a percentage.

    >>> bar(1, 2)
    '[##############..............]  50%'
    """
    if not total:
        return "[" + "?" * WIDTH + "]    "
    part = min(max(done / total, 0.0), 1.0)
    full = int(part * WIDTH)
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {int(part * 100):>3}%"
