"""Compares what `tokkit bench --plan` computes with runs over 1, 2 and 4 shards: times, bytes and distinct words.

The rates are measured on the first shard alone. Runs take one core; figures are processor time of the fastest of
several, as those of the plan.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tokkit
from benchmarks import corpora, harness
from tokkit.cli import plan
from tokkit.data import encode_shards
from tokkit.trainers import build_counts, merge_counts


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--tokenizer", default="gpt2", help="a folder of published vocabularies with a tokenizer.json, or a file")
    add("--corpus", default=corpora.defaults("english-prose")[0], help="name, or a text file")
    add("--mb", type=float, default=12.0, help="megabytes in all, cut into shards")
    add("--shards", type=int, default=4, help="number of shards")
    add("--rounds", type=int, default=3, help="runs of each; the fastest counts")
    add("--folder", default="/dev/shm" if Path("/dev/shm").is_dir() else None, help="where everything is written")
    return parser


def timed(folder: Path, rounds: int, work: Any) -> tuple[float, Any]:
    """Return the processor seconds of the fastest run, each in an empty folder, and what the last gave."""
    best, found = float("inf"), None
    for _ in range(rounds):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        started = time.process_time()
        found = work()
        best = min(best, time.process_time() - started)
    return best, found


def compare(args: Any, tok: tokkit.Tokenizer, folder: Path) -> None:
    """Print the plan beside runs over 1, 2, 4 … shards."""
    data = corpora.read(args.corpus, args.mb).data
    lines = data.splitlines(keepends=True)
    shards = []
    for k in range(args.shards):
        shards.append(folder / f"shard-{k}.txt")
        shards[-1].write_bytes(b"".join(lines[k * len(lines) // args.shards : (k + 1) * len(lines) // args.shards]))
    rates = plan.measure(tok, str(shards[0]))
    rows, n = [], 1
    while n <= args.shards:
        given = [str(path) for path in shards[:n]]
        size = float(sum(path.stat().st_size for path in shards[:n]))
        steps = {step["step"]: step for step in plan.planned(rates, size, 1, shard_bytes=size / n)["steps"]}
        out = folder / "out"

        def count(given: list[str] = given, out: Path = out) -> Any:
            return build_counts(given, out / "counts", threads=1, **plan.counting_of(tok))

        seconds = {"count": timed(out, args.rounds, count)[0]}
        written = {"count": sum(path.stat().st_size for path in (out / "counts").glob("*.counts"))}
        counts = folder / "counts"
        shutil.rmtree(counts, ignore_errors=True)
        (out / "counts").rename(counts)
        words = 0
        if n > 1:

            def merge_all(counts: Path = counts, out: Path = out) -> Any:
                return merge_counts(counts, out / "all.counts", threads=1)

            merge = timed(out, args.rounds, merge_all)
            seconds["merge counts"], words = merge[0], merge[1].words
            written["merge counts"] = (out / "all.counts").stat().st_size
        encoded = timed(out, args.rounds, lambda given=given, out=out: encode_shards(tok, given, out, threads=1))
        seconds["encode"] = encoded[0]
        written["encode"] = sum(made.tokens for made in encoded[1]) * rates.id_bytes
        for name in seconds:
            step = steps[name]
            rows.append({
                "shards": str(n), "step": name, "planned s": f"{step['hours'] * 3600:.3f}",
                "measured s": f"{seconds[name]:.3f}", "ratio": f"{seconds[name] / step['hours'] / 3600:.2f}",
                "planned MB": f"{step['writes'] / 1e6:.2f}", "measured MB": f"{written[name] / 1e6:.2f}",
                "planned words": f"{rates.words_in(size):,.0f}" if name == "merge counts" else "",
                "measured words": f"{words:,}" if name == "merge counts" else "",
            })  # fmt: skip
        n *= 2
    harness.show(f"The plan of one shard of {shards[0].stat().st_size / 1e6:.1f} MB, and runs", rows)


def main() -> int:
    """Measure, and print a table."""
    args = options().parse_args()
    harness.show_conditions("1", rounds=args.rounds, tokenizer=args.tokenizer, folder=args.folder)
    is_file = Path(args.tokenizer).exists()
    tok = tokkit.load(args.tokenizer if is_file else corpora.tokenizer_file(args.tokenizer))
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        compare(args, tok, Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
