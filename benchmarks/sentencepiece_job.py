"""Trains one SentencePiece model and reports seconds and peak memory; the job is JSON.

A process of its own, which imports no more than its trainer needs, as `benchmarks.train_job`.
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

from benchmarks.train_job import cpu_seconds, peak_mib


def tokkit(path: str, kind: str, size: int, threads: int) -> bytes:
    """tokkit, with its defaults; for a size that the text does not have, the greatest that it has."""
    import tokkit
    from tokkit.formats import sentencepiece

    model = {"bpe": "sp-bpe"}.get(kind, kind)
    made = tokkit.train([path], model=model, vocab_size=size, threads=threads, hard_vocab_limit=False)
    return sentencepiece.write(made.definition)


def sentencepiece(path: str, kind: str, size: int, threads: int) -> bytes:
    """sentencepiece, with its defaults, quiet."""
    import sentencepiece

    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=path,
        model_writer=file,
        model_type=kind,
        vocab_size=size,
        num_threads=threads,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return file.getvalue()


TRAINERS = {"sentencepiece": sentencepiece, "tokkit": tokkit}


def job(trainer: str, path: str, kind: str, size: int, threads: int, out: str) -> dict[str, object]:
    """Train once and write the model."""
    start = time.perf_counter()
    data = TRAINERS[trainer](path, kind, size, threads)
    figures = {"train": time.perf_counter() - start, "cpu": cpu_seconds(), "peak": peak_mib(), "ended": time.time()}
    Path(out).write_bytes(data)
    return figures


if __name__ == "__main__":
    print(json.dumps(job(**json.loads(sys.argv[1]))))
