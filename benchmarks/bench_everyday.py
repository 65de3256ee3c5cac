"""Times everyday commands against their limits: imports, --help, encodings by name, counting.

Start-up is measured in fresh interpreters, all of them in turn, in processor time, of which the least counts: what else
the machine does only adds. Counting is from the open file to the total, in the same process as encode_to_numpy on the
same text.
Exit status 1 if a limit is not kept, or if counts differ.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import corpora, harness

NAME = "cl100k_base"
CLOCK = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
IMPORTED = "import {}; " + CLOCK
START_UPS = {
    "import numpy": CLOCK.format("import numpy"),
    "import tokkit, after numpy": IMPORTED.format("numpy", "import tokkit"),
    "all public names, after numpy": IMPORTED.format(
        "numpy", "import tokkit; [getattr(tokkit, n) for n in tokkit.__all__]"
    ),
    "tokkit --help": "",
    "get_encoding, imported": IMPORTED.format(
        "tokkit.tokenizer, tokkit.registry", f"tokkit.registry.get_encoding('{NAME}')"
    ),
    "tiktoken.get_encoding, imported": IMPORTED.format(
        "tiktoken, tiktoken_ext.openai_public", f"tiktoken.get_encoding('{NAME}')"
    ),
}


def run(code: str) -> float:
    """Return the seconds that a fresh interpreter prints; of no code, those of `tokkit --help` from start to end."""
    if code:
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
    command = [sys.executable, "-m", "tokkit", "--help"]
    before = os.times()
    subprocess.run(command, capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def start_ups(rounds: int) -> dict[str, float]:
    """Return the least seconds of each start-up."""
    source = corpora.vocabulary(NAME)
    with tempfile.TemporaryDirectory() as folder:
        url = f"https://openaipublic.blob.core.windows.net/encodings/{NAME}.tiktoken"
        (Path(folder) / hashlib.sha1(url.encode()).hexdigest()).write_bytes(source.read_bytes())
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        seconds: dict[str, list[float]] = {name: [] for name in START_UPS}
        for _ in range(rounds):
            for name, code in START_UPS.items():
                seconds[name].append(run(code))
    return {name: min(times) for name, times in seconds.items()}


def counting(path: Path, rounds: int) -> tuple[float, float, float]:
    """Return (count, encode_to_numpy) in MB/s, and the median ratio of a round; ValueError if they differ."""
    import tokkit
    from tokkit.cli.counting import Counting
    from tokkit.cli.inputs import Reading

    tok = tokkit.load(corpora.vocabulary(NAME))
    count = Counting(tok, Reading(), "text", 1, ())
    text = path.read_text(encoding="utf-8")
    size = path.stat().st_size
    ways: dict[str, Callable[[object], int]] = {
        "count": lambda _: count.of(str(path))["tokens"],
        "encode": lambda _: len(tok.encode_to_numpy(text)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    totals: set[int] = set()
    for _ in range(rounds):
        for name, way in ways.items():
            taken, results = harness.timed(way, [None])
            seconds[name].append(taken)
            totals.update(results)
    if len(totals) != 1:
        raise ValueError(f"{path.name}: count and encode_to_numpy find {sorted(totals)} tokens")
    rates = {name: size / statistics.median(times) / 1e6 for name, times in seconds.items()}
    return rates["count"], rates["encode"], harness.ratio(seconds["count"], seconds["encode"])


def main() -> int:
    """Measure, and return the exit status."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="rounds, in which all take turns")
    args = parser.parse_args()
    harness.show_conditions(
        "1", figures=f"start-up: processor time, least of {args.rounds}; counting: medians, in turn"
    )
    found = start_ups(args.rounds)
    ours, theirs = found["get_encoding, imported"], found["tiktoken.get_encoding, imported"]
    limits = {
        "import tokkit, after numpy": 0.020,
        "tokkit --help": 0.150,
        "get_encoding, imported": theirs / 2,
    }
    rows: list[dict[str, object]] = [
        {"what": name, "ms": f"{taken * 1e3:.1f}", "limit": f"{limits[name] * 1e3:.0f}" if name in limits else "-"}
        for name, taken in found.items()
    ]
    harness.show("", rows)
    print(f"get_encoding takes {ours / theirs:.2f} of tiktoken's time")
    broken = [name for name, limit in limits.items() if found[name] > limit]
    for name in ("english-prose", "english-technical"):
        path = corpora.SHARED / "corpora" / f"{name}.txt"
        if not path.is_file():
            print(f"{name}: not in the shared data", file=sys.stderr)
            continue
        try:
            count, encode, ratio = counting(path, args.rounds)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"tokkit count of {name}: {count:.0f} MB/s, {ratio:.2f} of encode_to_numpy's {encode:.0f} (limit 0.70)")
        broken += [f"count of {name}"] if ratio < 0.7 else []
    if broken:
        print(f"limits that are not kept: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
