"""Times counts as files: building beside counting in memory, merging, and building and training in bounded memory.

Distinct words are drawn by a seeded generator, so that tables are as large as of a corpus of any size. Peaks are of
child processes of their own. Exit status 1 if a file that was built within a bound differs from the one without.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import corpora, harness
from tokkit.corpus.readers import Corpus
from tokkit.trainers import CountFiles, build_counts, merge_counts, options_of
from tokkit.trainers.counts import Reporter, count_words


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--parts", type=harness.names, default="build,merge,memory,train", help="what is measured")
    add(
        "--corpus",
        default=",".join(corpora.defaults("english-prose", "english-technical")),
        help="names, or text files",
    )
    add("--mb", type=float, default=24.0, help="megabytes of each")
    add("--rounds", type=int, default=5, help="runs of each; figures are medians")
    add("--threads", type=int, default=1, help="threads of counting")
    add("--words", type=float, default=10.0, help="million distinct words of each file that is merged")
    add(
        "--memory-words",
        type=float,
        default=50.0,
        help="million distinct words of the shard that is counted in a bound",
    )
    add("--max-memory", type=float, default=1000.0, help="megabytes of that bound")
    add("--vocab-size", type=int, default=8000, help="size of the vocabulary that is trained from counts")
    add("--folder", default=None, help="where files are written: the system's folder for temporary files")
    return parser


def drawn_text(path: Path, millions: float, seed: int) -> None:
    """Write lines of distinct words: numbers in base 32, mixed so that they come in no order."""
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEF", dtype=np.uint8)
    n = int(millions * 1e6)
    with open(path, "wb") as file:
        for start in range(0, n, 1 << 20):
            k = np.arange(start, min(start + (1 << 20), n), dtype=np.uint64)
            x = (k * np.uint64(0x9E3779B1) + np.uint64(seed)) & np.uint64(0xFFFFFFFF)
            made = np.full((len(k), 9), ord(" "), dtype=np.uint8)
            for place in range(7):
                made[:, 1 + place] = letters[(x >> np.uint64(5 * place)).astype(np.int64) & 31]
            made[:, 8] = ord("\n")
            file.write(made[:, :9].tobytes())


def build(args: Any, folder: Path) -> None:
    """Compare `build_counts` with counting in memory."""
    rows = []
    for name in args.corpus.split(","):
        path = folder / "corpus.txt"
        path.write_bytes(corpora.read(name, args.mb).data)
        in_memory, in_files, n_words = [], [], 0
        for number in range(args.rounds):
            started = time.perf_counter()
            counter = options_of("bbpe", {}).counter()
            assert counter is not None
            n_words = len(count_words(Corpus([path]), counter, threads=args.threads, report=Reporter(None)))
            in_memory.append(time.perf_counter() - started)
            started = time.perf_counter()
            build_counts(path, folder / f"{name.replace('/', '-')}{number}", threads=args.threads)
            in_files.append(time.perf_counter() - started)
        size = path.stat().st_size
        rows.append({
            "corpus": name, "MB": f"{size / 1e6:.0f}", "words": f"{n_words:,}",
            "in memory MB/s": f"{size / median(in_memory) / 1e6:.0f}",
            "to files MB/s": f"{size / median(in_files) / 1e6:.0f}",
            "ratio": f"{median(a / b for a, b in zip(in_memory, in_files, strict=True)):.2f}",
        })  # fmt: skip
    harness.show("Building counts of pretokens (gpt2)", rows)


def merge(args: Any, folder: Path) -> None:
    """Time the merge of two files, and what zlib's levels save."""
    made = []
    for seed in (0, int(args.words * 1e6) // 2 * 0x9E3779B1 & 0xFFFFFFFF):  # half of the words are in both
        drawn_text(folder / f"drawn-{seed}.txt", args.words, seed)
        made.append(build_counts(folder / f"drawn-{seed}.txt", folder / "to-merge", threads=args.threads)[0])
    seconds = []
    for number in range(args.rounds):
        started = time.perf_counter()
        totals = merge_counts([m.path for m in made], folder / f"merged-{number}.counts", threads=args.threads)
        seconds.append(time.perf_counter() - started)
    rows = [{
        "words": f"{made[0].words:,} + {made[1].words:,}", "sum": f"{totals.words:,}",
        "seconds": f"{median(seconds):.2f}", "bytes a word": f"{made[0].path.stat().st_size / made[0].words:.2f}",
    }]  # fmt: skip
    harness.show("Merging two files of counts", rows)
    blocks = [block for block, _ in zip(CountFiles(made[0].path).files[0].blocks(), range(64), strict=False)]
    rows = []
    for level in (1, 6):
        started = time.perf_counter()
        size = sum(len(zlib.compress(block, level)) for block in blocks)
        spent = time.perf_counter() - started
        raw = sum(map(len, blocks))
        rows.append(
            {"level": str(level), "MB/s": f"{raw / spent / 1e6:.0f}", "share of the bytes": f"{size / raw:.3f}"}
        )
    harness.show("Compressing blocks", rows)


JOB = """
import json, resource, sys, time
from tokkit.trainers import build_counts
path, out, bound, threads = json.loads(sys.argv[1])
started = time.perf_counter()
made = build_counts(path, out, max_memory=bound, threads=threads)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([time.perf_counter() - started, peak, made[0].words, str(made[0].path)]))
"""


TRAIN = """
import json, sys, threading, time, tokkit
from tokkit.trainers import CountFiles
path, bound, size = json.loads(sys.argv[1])
peak, ended = [0], threading.Event()
def watch():
    while not ended.wait(0.05):
        with open("/proc/self/status") as file:
            peak[0] = max(peak[0], *(int(line.split()[1]) for line in file if line.startswith("RssAnon")))
threading.Thread(target=watch, daemon=True).start()
started = time.perf_counter()
tok = tokkit.train(CountFiles(path), vocab_size=size, max_memory=bound)
ended.set()
print(json.dumps([time.perf_counter() - started, peak[0] / 1024, tok.fingerprint()]))
"""


def train(args: Any, folder: Path) -> bool:
    """Compare training from counts with mapped files and without; return whether the tokenizers are equal."""
    path = folder / "train.txt"
    drawn_text(path, args.memory_words, 1)
    made = build_counts(path, folder / "to-train", threads=args.threads, max_memory=int(args.max_memory * 1e6))[0]
    rows, found = [], set()
    for bound in (1, None):
        job = json.dumps([str(made.path), bound, args.vocab_size])
        out = subprocess.run([sys.executable, "-c", TRAIN, job], capture_output=True, text=True, check=True).stdout
        seconds, peak, fingerprint = json.loads(out)
        found.add(fingerprint)
        rows.append({
            "words and positions": "in memory" if bound is None else "mapped", "distinct words": f"{made.words:,}",
            "seconds": f"{seconds:.1f}", "peak of anonymous MiB": f"{peak:.0f}",
        })  # fmt: skip
    harness.show(f"Training byte-level BPE to {args.vocab_size} from counts", rows)
    return len(found) == 1


def memory(args: Any, folder: Path) -> bool:
    """Compare building within a bound with building without; return whether the files are equal."""
    path = folder / "memory.txt"
    drawn_text(path, args.memory_words, 1)
    rows, files = [], []
    for bound in (int(args.max_memory * 1e6), None):
        job = json.dumps([str(path), str(folder / f"bound-{bound}"), bound, args.threads])
        out = subprocess.run([sys.executable, "-c", JOB, job], capture_output=True, text=True, check=True).stdout
        seconds, peak, words, made = json.loads(out)
        files.append(made)
        rows.append({
            "bound MB": "none" if bound is None else f"{bound / 1e6:.0f}", "words": f"{words:,}",
            "seconds": f"{seconds:.1f}", "peak MiB": f"{peak:.0f}",
        })  # fmt: skip
    harness.show("Building counts of one shard of distinct words within a bound of memory", rows)
    return subprocess.run(["cmp", *files], check=False).returncode == 0


def main() -> int:
    """Measure what is asked for, and print tables."""
    args = options().parse_args()
    harness.show_conditions(str(args.threads), rounds=args.rounds)
    same = True
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        if "build" in args.parts:
            build(args, folder)
        if "merge" in args.parts:
            merge(args, folder)
        if "memory" in args.parts:
            same = memory(args, folder)
        if "train" in args.parts:
            same &= train(args, folder)
    print(f"# this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB, pid {os.getpid()}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
