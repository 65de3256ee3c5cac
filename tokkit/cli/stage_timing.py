"""Measures cycles per byte of each stage of encoding, for each instruction set."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokkit.definition import Definition

STAGES = ("scan", "keys", "probe", "emit", "miss")
LIMIT = {"scan": 1.2, "keys": 1.7, "probe_emit": 2.2, "warm": [4.3, 6.3]}
"""Cycles a byte of an exact cl100k encoder on English, 4.8 bytes a word, on a Zen 4 core with AVX-512: the minimum for
the work of one word ("warm"), and the best trial of each stage."""
HEAD = ("ISA", *STAGES, "warm", "warm MB/s", "cold miss", "cold", "cold MB/s")
LIMIT_LINE = "limit of exact cl100k on English, AVX-512: warm 4.3-6.3; trial: scan 1.2, keys 1.7, probe and emit 2.2"


def measured(
    definition: Definition, documents: Sequence[bytes], runs: int, tick: Callable[[int, int], object] | None = None
) -> dict[str, Any]:
    """Return {"tier", "ghz", "limit", "isas"}: medians of `runs` rounds in which stages and ISAs take turns.

    Each entry of "isas" has "isa"; the cycles per byte "scan", "keys", "probe", "emit", "miss" (pretokens not in the
    first line of the cache: found elsewhere or merged again), "warm" (the sum), "cold_miss" and "cold" (with an empty
    cache; its set-up is not counted); "warm_mb_s" and "cold_mb_s"; and the number of "ids". If the `regex` package
    splits the text, "isas" is empty and "reason" says why. `tick` is called after each round with the number of
    finished rounds and of all rounds.
    """
    from tokkit._core.encode.stage_timer import StageTimer, clock_hertz
    from tokkit._core.text import isas
    from tokkit.engine.byte_level import ByteLevelEngine

    engine = ByteLevelEngine(definition)
    found: dict[str, Any] = {"tier": engine.split_engine, "limit": LIMIT, "isas": []}
    if engine.encoder is None:
        return found | {"reason": f"the regex package splits this text: {engine.split_reason}"}
    timer = StageTimer(engine.encoder, documents)
    passes = {
        name: (stage, False) for name, stage in zip(STAGES, ("scan", "keys", "probe", "emit", "all"), strict=True)
    }
    passes["cold"] = ("all", True)
    seconds: dict[tuple[str, str], list[float]] = {(isa, name): [] for isa in isas() for name in passes}
    clocks: list[float] = []
    ids: dict[str, int] = {}
    for done in range(1, runs + 1):
        clocks.append(clock_hertz())
        for isa, name in seconds:
            stage, fresh = passes[name]
            taken, _, ids[isa] = timer.run(stage, isa=isa, fresh=fresh)
            seconds[isa, name].append(taken)
        if tick is not None:
            tick(done, runs)
    hertz, size = statistics.median(clocks), max(1, sum(map(len, documents)))
    for isa in isas():
        medians = {name: statistics.median(seconds[isa, name]) for name in passes}
        found["isas"].append({"isa": isa, "ids": ids[isa], **_figures(medians, hertz, size)})
    return found | {"ghz": round(hertz / 1e9, 2)}


def _figures(seconds: Mapping[str, float], hertz: float, size: int) -> dict[str, float]:
    """Return the figures of one instruction set; the time of a stage is the difference to the stages before it."""
    cycles = {name: taken * hertz / size for name, taken in seconds.items()}
    before = dict(zip(STAGES, (0.0, *(cycles[name] for name in STAGES)), strict=False))
    own = {name: cycles[name] - before[name] for name in STAGES}
    own |= {"warm": cycles["miss"], "cold_miss": cycles["cold"] - cycles["emit"], "cold": cycles["cold"]}
    speeds = {f"{name}_mb_s": round(size / seconds[of] / 1e6, 1) for name, of in (("warm", "miss"), ("cold", "cold"))}
    return {name: round(value, 2) for name, value in own.items()} | speeds


def rows(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the table, the header first."""
    names = (*STAGES, "warm", "warm_mb_s", "cold_miss", "cold", "cold_mb_s")
    return [HEAD, *((f["isa"], *(f"{f[name]:.{1 if 'mb' in name else 2}f}" for name in names)) for f in found["isas"])]


def title(found: Mapping[str, Any]) -> str:
    """Return the title of the table, or the reason why there are no figures; `LIMIT_LINE` goes below the table."""
    if "reason" in found:
        return f"stages: not measured: {found['reason']}"
    return f"cycles/byte at {found['ghz']:.2f} GHz (measured) by stage, {found['tier']}, 1 thread"
