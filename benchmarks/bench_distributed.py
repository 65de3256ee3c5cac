"""Times counting and encoding by Ray beside a pool of local processes that call the same jobs.

Both have as many processes. Ray's start is excluded: `ray.init`, and a pipeline over empty shards, which starts as many
actors; the same is done for the pool. Rounds are interleaved. Exit status 1 if their files differ. Needs '.[ray]'.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpora, harness
from tokkit import distributed
from tokkit.distributed import CountShard, EncodeShard
from tokkit.distributed.shard_jobs import raise_failed
from tokkit.trainers import merge_counts


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--tokenizer", default="gpt2", help="a folder of published vocabularies with a tokenizer.json, or a file")
    add("--corpus", default=",".join(corpora.defaults("english-prose", "english-technical", "de")), help="names")
    add("--mb", type=float, default=400.0, help="megabytes in all; corpora are repeated")
    add("--shards", type=int, default=16, help="files of equal size")
    add("--workers", type=int, default=2, help="processes of both")
    add("--rounds", type=int, default=3, help="runs of each; figures are medians")
    add("--parts", type=harness.names, default="count,encode", help="what is timed")
    add("--folder", default="/dev/shm" if Path("/dev/shm").is_dir() else None, help="where everything is written")
    return parser


def written(args: Any, folder: Path) -> list[str]:
    """Write the shards: corpora one after another, each shard from another place on."""
    text = b"".join(corpora.read(name, 1000).data for name in args.corpus.split(","))
    size = int(args.mb * 1e6 / args.shards)
    folder.mkdir()
    made = []
    for n in range(args.shards):
        start = text.find(b"\n", n * len(text) // args.shards) + 1
        data = (text[start:] + text * (size // len(text) + 1))[:size]
        (folder / f"{n:03}.txt").write_bytes(data[: data.rfind(b"\n") + 1])
        made.append(str(folder / f"{n:03}.txt"))
    return made


def by_pool(pool: Any, part: str, tokenizer: str, shards: Sequence[str], out: Path) -> None:
    """Count or encode by the pool."""
    job: Any = CountShard(out) if part == "count" else EncodeShard(tokenizer, out)
    rows = pool.map(job, shards, chunksize=1)
    raise_failed(rows, len(rows))
    if part == "encode":
        job.finish(shards)
    else:
        merge_counts(out, out / "all.counts", overwrite=True)


def by_ray(part: str, tokenizer: str, shards: Sequence[str], out: Path, workers: int) -> None:
    """Count or encode by Ray."""
    if part == "encode":
        distributed.encode(tokenizer, shards, out, workers=workers)
    else:
        distributed.count(shards, out, merged=out / "all.counts", workers=workers)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def timed(run: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> int:
    """Measure, and print a table."""
    import ray

    args = options().parse_args()
    harness.show_conditions(str(args.workers), rounds=args.rounds, ray=ray.__version__, mb=args.mb, shards=args.shards)
    is_file = Path(args.tokenizer).exists()
    tokenizer = str(args.tokenizer if is_file else corpora.tokenizer_file(args.tokenizer))
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    pool = multiprocessing.get_context("spawn").Pool(args.workers)
    start = timed(lambda: ray.init(num_cpus=args.workers, include_dashboard=False, logging_level="error"))
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows, same = [], True
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        shards = written(args, folder / "data")
        total = sum(map(os.path.getsize, shards)) / 1e6
        (folder / "empty").mkdir()
        empty = []
        for n in range(args.shards):
            (folder / "empty" / f"{n}.txt").write_text("a\n")
            empty.append(str(folder / "empty" / f"{n}.txt"))
        for part in args.parts:
            seconds: dict[str, list[float]] = {"pool": [], "ray": [], "pool, empty": [], "ray, empty": []}
            for _ in range(args.rounds):
                for kind, given in (("", shards), (", empty", empty)):
                    for out in ("pool", "ray"):
                        shutil.rmtree(folder / (out + kind), ignore_errors=True)
                    one, other = folder / f"pool{kind}", folder / f"ray{kind}"
                    seconds["pool" + kind].append(timed(partial(by_pool, pool, part, tokenizer, given, one)))
                    seconds["ray" + kind].append(timed(partial(by_ray, part, tokenizer, given, other, args.workers)))
                    same &= contents(one) == contents(other)
            net = [s - e for s, e in zip(seconds["ray"], seconds["ray, empty"], strict=True)]
            rows.append({
                "part": part, "MB": f"{total:.0f}", "pool s": f"{median(seconds['pool']):.2f}",
                "Ray s": f"{median(seconds['ray']):.2f}", "Ray, empty s": f"{median(seconds['ray, empty']):.2f}",
                "Ray / pool": f"{median(seconds['ray']) / median(seconds['pool']):.2f}",
                "without start": f"{median(net) / median(seconds['pool']):.2f}",
            })  # fmt: skip
    harness.show(f"Ray beside {args.workers} local processes (ray.init took {start:.1f} s)", rows)
    pool.close()
    ray.shutdown()
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
