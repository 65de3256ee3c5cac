"""Measures a row: first whether both results are equal, then both calls in turns."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks import harness
from benchmarks.calls import equal
from benchmarks.calls.rows import FLOOR, Group, Row

TURN_S = 0.005
"""Calls are repeated until a turn takes so many seconds: the clock's grain and the loop then do not show."""
MAX_CALLS = 20_000
SHORT_S, SHORT_SLACK_S = 1e-6, 1e-7
"""A call that takes the original less than a microsecond may be slower by a tenth of one."""
NEAR = 0.97
"""Within 3 % a floor is met."""


@dataclass(frozen=True)
class Found:
    """What was found of a row: seconds a call, and the ratio of the rounds; or why there is no ratio."""

    group: Group
    row: Row
    ours: float = 0.0
    theirs: float = 0.0
    times: float = 0.0
    why_not: str = ""

    @property
    def is_short(self) -> bool:
        """Whether the original takes less than a microsecond."""
        return self.theirs < SHORT_S

    @property
    def is_met(self) -> bool:
        """Whether the row keeps its floor; rows apart have none."""
        if self.why_not:
            return False
        if self.row.apart:
            return True
        if self.is_short:
            return self.ours <= self.theirs + SHORT_SLACK_S
        return self.times >= NEAR * self.row.floor

    @property
    def is_slow(self) -> bool:
        """Whether the row is below the floor that holds for all rows."""
        return not self.why_not and not self.is_met and self.times < NEAR * FLOOR


def measure(group: Group, row: Row, rounds: int) -> Found:
    """Return the figures of a row, or why there are none: an error or results that differ."""
    # The collector walks over what a row makes, not over the libraries and vocabularies.
    gc.freeze()
    try:
        return _measured(group, row, rounds)
    except Exception as error:
        lines = str(error).splitlines() or ["no message"]
        return Found(group, row, why_not=f"FAILS: {type(error).__name__}: {lines[0][:160]}")


def _measured(group: Group, row: Row, rounds: int) -> Found:
    theirs = row.theirs or row.run
    calls = [_Call(run, group.side(ours), group.given, row.before) for run, ours in ((row.run, True), (theirs, False))]
    if differs := _difference(row, calls):
        return Found(group, row, why_not=f"DIFFERENT{differs}")
    gc.freeze()
    per = group.calls_of(row)
    repeats = [call.repeats() for call in calls]
    turns = [[call.seconds(n) / per for call, n in zip(calls, repeats, strict=True)] for _ in range(rounds)]
    first, second = zip(*turns, strict=True)
    return Found(group, row, statistics.median(first), statistics.median(second), harness.ratio(first, second))


def _difference(row: Row, calls: list[_Call]) -> str:
    results = [row.read(call.once()) for call in calls]
    if row.same is not None:
        return row.same(calls[0].side, calls[1].side)
    return equal.difference(*results)


@dataclass(frozen=True)
class _Call:
    run: Callable[[Any, Any], Any]
    side: Any
    given: Any
    before: Callable[[Any, Any], Any] | None

    def once(self) -> Any:
        """Return the result of one call."""
        return self.run(self.side if self.before is None else self.before(self.side, self.given), self.given)

    def repeats(self) -> int:
        """Return how many calls fill a turn; one for those that need a new object."""
        once = self.seconds(1)
        return 1 if self.before is not None else max(1, min(MAX_CALLS, round(TURN_S / max(once, 1e-7))))

    def seconds(self, n: int) -> float:
        """Return the seconds of one of `n` calls; what they return is freed in that time."""
        run, side, given = self.run, self.side, self.given
        if self.before is not None:
            side = self.before(side, given)
        gc.collect()
        start = harness.now()
        for _ in range(n):
            run(side, given)
        return (harness.now() - start) / n
