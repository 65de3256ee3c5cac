"""`tokkit bench --plan`: estimates the time and size of counting, merging and encoding a large corpus from one shard.

docs/how-to/plan-a-large-run.md has the formulas, and benchmarks/bench_plan.py compares them with runs.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

SHARD_BYTES = 1e9
"""Assumed size in bytes of a shard of the large corpus."""
UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
RUNS = 3
"""Number of runs; the fastest one counts. Processor time is measured, so that other load has little effect."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one core on a shard, and the sizes of the results. `bytes` is the size of the file on disk."""

    file_bytes: int
    text_bytes: int
    ids: int
    id_bytes: int
    """Bytes of one id."""
    encode_seconds: float
    count_seconds: float
    words: int
    """Number of distinct words in the shard, and in its first half."""
    half_words: int
    count_file_bytes: int
    merge_words_s: float
    """Words per second read while two files of counts are merged."""

    @property
    def growth(self) -> float:
        """β of Heaps' law: twice the text has 2^β as many distinct words."""
        return min(max(math.log2(self.words / self.half_words), 0.0), 1.0) if self.half_words else 1.0

    def words_in(self, n_bytes: float) -> float:
        """Return the expected number of distinct words in `size` bytes of such files (Heaps' law)."""
        return float(self.words * (n_bytes / self.file_bytes) ** self.growth)


def size_of(text: str) -> float:
    """Return the bytes that "1TB" or "500 GB" names; OptionError for anything else.

    >>> size_of("1TB")
    1000000000000.0
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGTP]?)B?\s*", text, re.IGNORECASE)
    if match is None or not float(match[1]):
        raise OptionError(f"--plan is {text!r}; it must be a size such as 500GB, 1TB or 10TB")
    return float(match[1]) * UNITS[match[2].upper()]


def measure(tok: Tokenizer, path: str, *, field: str = "text", input_errors: Any = "strict") -> Rates:
    """Encode and count a shard with one thread in a temporary folder, and merge the counts of its halves."""
    from tokkit.corpus.readers import Corpus
    from tokkit.data import encode_shards
    from tokkit.trainers import build_counts, merge_counts

    reading: dict[str, Any] = {"field": field, "input_errors": input_errors}
    counting: dict[str, Any] = {"threads": 1, "input_errors": input_errors, **counting_of(tok)}
    encode_seconds = count_seconds = merge_seconds = math.inf
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for run in range(RUNS):
            started = time.process_time()
            made = encode_shards(tok, path, place / f"ids{run}", threads=1, unit="file", **reading)
            encode_seconds = min(encode_seconds, time.process_time() - started)
            started = time.process_time()
            counted = build_counts(path, place / f"counts{run}", field=field, **counting)
            count_seconds = min(count_seconds, time.process_time() - started)
        blocks = Corpus(path, field=field, errors=input_errors)
        texts = b"".join(data for block in blocks for data in block.texts())
        if not made[0].tokens or not counted[0].words:
            raise CorpusError(f"{path} has no text: there is nothing to measure")
        middle = texts.find(b"\n", len(texts) // 2) + 1 or len(texts) // 2
        halves = []
        for name, half in (("a.txt", texts[:middle]), ("b.txt", texts[middle:])):
            place.joinpath(name).write_bytes(half.decode("utf-8", "ignore").encode())
            halves += build_counts(place / name, place / "halves", **counting)
        for run in range(RUNS):
            started = time.process_time()
            merge_counts(place / "halves", place / f"merged{run}.counts", threads=1)
            merge_seconds = min(merge_seconds, time.process_time() - started)
        return Rates(
            file_bytes=os.path.getsize(path),
            text_bytes=len(texts),
            ids=made[0].tokens,
            id_bytes=2 if tok.n_ids <= 1 << 16 else 4,
            encode_seconds=encode_seconds,
            count_seconds=count_seconds,
            words=counted[0].words,
            half_words=halves[0].words,
            count_file_bytes=counted[0].path.stat().st_size,
            merge_words_s=sum(half.words for half in halves) / merge_seconds,
        )


def counting_of(tok: Tokenizer) -> dict[str, str]:
    """Return the split pattern of a tokenizer, if it has one, as an option for counting."""
    from tokkit.definition import Split

    split = tok.definition.pretokenizer
    return {"pattern": split.pattern} if isinstance(split, Split) and split.pattern else {}


def planned(
    rates: Rates,
    size: float,
    cores: int,
    network: float | None = None,
    price: float | None = None,
    *,
    shard_bytes: float = SHARD_BYTES,
) -> dict[str, Any]:
    """Return the estimate for `size` bytes of such files on `cores` cores: hours, bytes and cost of each step.

    `network` is the bandwidth of the input in bytes per second, shared by all cores; `price` is per core and hour.
    """
    n_shards = max(1, round(size / shard_bytes))
    workers = min(cores, n_shards)
    arrives = size / network if network else 0.0
    scale = size / rates.file_bytes
    leaves = n_shards * rates.words_in(size / n_shards)
    level = leaves / workers / rates.merge_words_s
    last = workers * rates.words_in(size / workers) / rates.merge_words_s if workers > 1 else 0.0
    level = 0.0 if n_shards == workers else level  # each core has one file, which the last step reads
    word_bytes = rates.count_file_bytes / rates.words
    steps = [
        _step("count", rates.count_seconds * scale, workers, arrives, size, leaves * word_bytes),
        {
            "step": "merge counts", "core_hours": (level * workers + last) / 3600, "hours": (level + last) / 3600,
            "reads": leaves * word_bytes, "writes": rates.words_in(size) * word_bytes,
            "limit": "its last step, on one core" if last > level else "cores",
        },
        _step("encode", rates.encode_seconds * scale, workers, arrives, size, rates.ids * rates.id_bytes * scale),
    ]  # fmt: skip
    hours = sum(step["hours"] for step in steps)
    return {
        "bytes": size, "text_bytes": rates.text_bytes * scale, "ids": round(rates.ids * scale), "cores": cores,
        "shards": n_shards, "words": round(rates.words_in(size)), "hours": hours,
        "cost": None if price is None else price * cores * hours,
        "cores_for_network": None if not network else network * rates.encode_seconds / rates.file_bytes,
        "steps": steps,
    }  # fmt: skip


def _step(name: str, core_seconds: float, workers: int, arrives: float, reads: float, writes: float) -> dict[str, Any]:
    computes = core_seconds / workers
    limit = "network" if arrives > computes else "cores"
    seconds = max(arrives, computes)
    return {
        "step": name, "core_hours": core_seconds / 3600, "hours": seconds / 3600, "reads": reads, "writes": writes,
        "limit": limit,
    }  # fmt: skip


def command(tok: Tokenizer, file: str | None, chosen: Mapping[str, Any]) -> None:
    """Measure a file and print the plan."""
    from tokkit.cli.inputs import expand
    from tokkit.cli.output import say_json

    size = size_of(chosen["plan"])
    paths = expand([file]) if file else []
    if len(paths) != 1:
        raise OptionError("--plan measures one FILE, a typical shard of the large corpus: give its name")
    rates = measure(tok, paths[0], field=chosen["field"], input_errors=chosen["input_errors"])
    network = None if chosen["network"] is None else chosen["network"] * 1e6
    found = planned(rates, size, chosen["cores"] or 1, network, chosen["price"])
    if chosen["json"]:
        say_json({"rates": {**asdict(rates), "growth": rates.growth}, "plan": found})
    else:
        show(paths[0], rates, found)


def show(path: str, rates: Rates, found: Mapping[str, Any]) -> None:
    """Print what was measured and the plan."""
    from tokkit.cli.output import counted, say, table

    n = rates.file_bytes
    say(
        f"measured on {path}: {_bytes(n)}, {_bytes(rates.text_bytes)} of text; "
        f"processor time of one core, fastest of {RUNS} runs"
    )
    say(f"encode {n / rates.encode_seconds / 1e6:.0f} MB/s, count {n / rates.count_seconds / 1e6:.0f} MB/s, "
        f"merge {rates.merge_words_s / 1e6:.1f} million words/s")  # fmt: skip
    say(f"{rates.ids:,} ids of {rates.id_bytes} bytes, {rates.words:,} distinct words, which grow as "
        f"size^{rates.growth:.2f}")  # fmt: skip
    say("")
    say(f"{_bytes(found['bytes'])} in {counted(found['shards'], 'shard')} on {counted(found['cores'], 'core')}: "
        f"{found['ids']:,} ids, about {found['words']:,} distinct words")  # fmt: skip
    rows = [
        (
            s["step"],
            f"{s['core_hours']:,.2f}",
            f"{s['hours']:,.2f}",
            _bytes(s["reads"]),
            _bytes(s["writes"]),
            s["limit"],
        )
        for s in found["steps"]
    ]
    table([("step", "core hours", "hours", "reads", "writes", "limited by"), *rows], left=(0, 5))
    say(f"in all {found['hours']:,.2f} hours" + ("" if found["cost"] is None else f", cost {found['cost']:,.2f}"))
    if found["cores_for_network"] is not None:
        say(f"encoding is limited by the network from {math.ceil(found['cores_for_network'])} cores on")


def _bytes(n: float) -> str:
    """Return a number of bytes to three digits, in decimal units."""
    for unit in ("", "kB", "MB", "GB", "TB"):
        if n < 999.5:
            return f"{n:.3g} {unit or 'bytes'}"
        n /= 1000
    return f"{n:,.3g} PB"
