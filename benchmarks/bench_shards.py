"""Times encoding into shards beside encode_batch, and reading batches of ids.

encode_batch gets the documents as a list that is there already; encode_shards reads them, encodes, writes, and sums up
sha256. Rounds are interleaved; the ratio is of wall time, and of the processor time of all threads. Exit status 1 if
the shards do not hold the ids of encode_batch.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tokkit
from benchmarks import corpora, harness
from tokkit.corpus.readers import documents
from tokkit.data import Tokens, encode_shards


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add("--tokenizer", default="gpt2", help="a folder of published vocabularies with a tokenizer.json, or a file")
    add(
        "--corpus",
        default=",".join(corpora.defaults("english-prose", "english-technical")),
        help="names, or text files",
    )
    add("--mb", type=float, default=60.0, help="megabytes of each, which is repeated if it is shorter")
    add("--units", type=harness.names, default="file,jsonl,paragraph,line", help="what a document is")
    add("--document-kb", type=float, default=4.0, help="kilobytes of a document of jsonl")
    add("--formats", type=harness.names, default="bin,npy,megatron", help="what is written")
    add("--threads", type=int, default=2, help="threads of both")
    add("--rounds", type=int, default=7, help="runs of each; figures are medians")
    add("--folder", default="/dev/shm" if Path("/dev/shm").is_dir() else None, help="where shards are written")
    add("--rows", default="2048x32,1024x64,8192x8", help="seq_len x batch_size of batches")
    return parser


def written(data: bytes, unit: str, size: float, folder: Path) -> Path:
    """Write a corpus as a file of documents of a unit."""
    if unit != "jsonl":
        (folder / "corpus.txt").write_bytes(data)
        return folder / "corpus.txt"
    text, step = data.decode(), int(size * 1000)
    texts = [text[k : k + step] for k in range(0, len(text), step)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts), encoding="utf-8")
    return folder / "corpus.jsonl"


def encode(args: Any, tok: tokkit.Tokenizer, folder: Path) -> bool:
    """Compare encode_shards with encode_batch for each unit and format; return whether ids are equal."""
    rows, same = [], True
    for name in args.corpus.split(","):
        data = corpora.read(name, args.mb).data
        data *= max(1, round(args.mb * 1e6 / len(data)))
        for unit in args.units:
            path = written(data, unit, args.document_kb, folder)
            by: Any = "line" if unit == "jsonl" else unit
            texts = list(documents(path, unit=by))
            for format in args.formats:
                seconds: list[list[float]] = [[], []]
                used: list[list[float]] = [[], []]
                for _ in range(args.rounds):
                    started = time.perf_counter(), time.process_time()
                    ids, _ = tok.encode_batch(texts, threads=args.threads)
                    seconds[0].append(time.perf_counter() - started[0])
                    used[0].append(time.process_time() - started[1])
                    shutil.rmtree(folder / "ids", ignore_errors=True)
                    started = time.perf_counter(), time.process_time()
                    encode_shards(tok, path, folder / "ids", format=format, unit=by, threads=args.threads)
                    seconds[1].append(time.perf_counter() - started[0])
                    used[1].append(time.process_time() - started[1])
                same &= bool(np.array_equal(Tokens(folder / "ids")[:], ids))
                n = len("".join(texts).encode())
                rows.append({
                    "corpus": name, "documents": f"{len(texts):,} ({unit})", "format": format,
                    "encode_batch MB/s": f"{n / median(seconds[0]) / 1e6:.0f}",
                    "encode_shards MB/s": f"{n / median(seconds[1]) / 1e6:.0f}",
                    "ratio": f"{median(a / b for a, b in zip(*seconds, strict=True)):.2f}",
                    "of processor time": f"{median(a / b for a, b in zip(*used, strict=True)):.2f}",
                })  # fmt: skip
    harness.show(f"Encoding into shards, {args.threads} threads", rows)
    return same


def read(args: Any, folder: Path) -> None:
    """Time batches of drawn rows."""
    tokens, rows = Tokens(folder / "ids"), []
    for shape in args.rows.split("x") if "," not in args.rows else args.rows.split(","):
        seq_len, batch_size = map(int, shape.split("x"))
        found = []
        for _ in range(args.rounds):
            n, started = 0, time.perf_counter()
            while time.perf_counter() - started < 0.3:
                for batch in tokens.batches(seq_len, batch_size, seed=1):
                    n += batch.ids.nbytes
            found.append(n / (time.perf_counter() - started) / 1e9)
        rows.append({"seq_len": str(seq_len), "batch_size": str(batch_size), "GB/s of ids": f"{median(found):.2f}"})
    harness.show(f"Batches of drawn rows of {tokens.dtype}", rows)


def main() -> int:
    """Measure, and print tables."""
    args = options().parse_args()
    harness.show_conditions(str(args.threads), rounds=args.rounds, tokenizer=args.tokenizer, folder=args.folder)
    is_file = Path(args.tokenizer).exists()
    tok = tokkit.load(args.tokenizer if is_file else corpora.tokenizer_file(args.tokenizer))
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        same = encode(args, tok, Path(name))
        read(args, Path(name))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
