"""Times single calls: encoding 11 bytes to 10 kB to a list and to an array, and decoding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from benchmarks import rivals
from benchmarks.corpora import Corpus
from benchmarks.encode_throughput import Makers
from benchmarks.harness import per_call, show, timed

SENTENCE = "The quick brown fox jumps over the lazy dog, and then it runs 42 miles to the river bank near town."
TEXTS = {
    "11 B": "Hello world",
    "100 B": SENTENCE + "\n",
    "1 kB": (SENTENCE + " ") * 10,
    "10 kB": (SENTENCE + "\n") * 100,
}
DECODE_PASSES = 3


def short_calls(makers: Makers, *, runs: int) -> list[dict[str, object]]:
    """Return µs a call, one text again and again: everything is cached, as it is for a chat's next turn."""
    right = {text: list(makers[rivals.reference([*makers])]().encode(text)) for text in TEXTS.values()}
    rows: list[dict[str, object]] = []
    for name, make in makers.items():
        faces = make()
        wrong = sum(list(faces.encode(text)) != ids for text, ids in right.items())
        calls: list[tuple[str, Any, Callable[[str], Any]]] = [
            ("encode to list", faces.encode_list, str),
            ("encode to numpy", faces.encode_numpy, str),
        ]
        for kind in faces.decode_from:
            calls.append((f"decode from {kind}", faces.decode, partial(_ids_as, kind, right)))
        for what, call, argument in calls:
            if call:
                times = {size: f"{per_call(call, argument(t), runs=runs) * 1e6:.2f}" for size, t in TEXTS.items()}
                rows.append({"µs a call": name, "": what, **times, "differing texts": wrong})
    return rows


def _ids_as(kind: str, ids: dict[str, list[int]], text: str) -> rivals.Ids:
    return rivals.KINDS[kind](ids[text])


def decoding(makers: Makers, corpus: Corpus, size: int) -> list[dict[str, object]]:
    """Return MB/s of decoding whole documents, checked to give the corpus back."""
    texts = corpus.documents(size)
    rows: list[dict[str, object]] = []
    for name, make in makers.items():
        faces = make()
        ids = [faces.encode(text) for text in texts]
        for kind in faces.decode_from:
            batch = [rivals.KINDS[kind](document) for document in ids]
            back = timed(faces.decode, batch)[1]
            wrong = sum(text != _as_str(decoded) for decoded, text in zip(back, texts, strict=True))
            speed = corpus.megabytes / median(timed(faces.decode, batch)[0] for _ in range(DECODE_PASSES))
            rows.append({"decode": name, "from": kind, "MB/s": f"{speed:.0f}", "wrong documents": wrong})
    return rows


def _as_str(decoded: str | bytes) -> str:
    return decoded.decode("utf-8", "replace") if isinstance(decoded, bytes) else decoded


def run(makers: Makers, corpus: Corpus, *, size: int, rounds: int) -> bool:
    """Print both tables; return whether tokkit's ids and texts are right."""
    runs = 2 * rounds + 1
    calls = short_calls(makers, runs=runs)
    show(f"one call, median of {runs} runs", calls)
    decoded = decoding(makers, corpus, size)
    show(f"decoding {corpus.name}, {corpus.megabytes:.1f} MB", decoded)
    wrong = [row["differing texts"] for row in calls if row["µs a call"] == "tokkit"]
    return not any([*wrong, *(row["wrong documents"] for row in decoded if row["decode"] == "tokkit")])
