"""Repeated calls leave the memory and the reference counts of the process unchanged."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import LONG
from strategies import documents

if TYPE_CHECKING:
    import tokkit


def resident() -> int:
    """Bytes of this process in memory, now (not at its peak)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pytest.skip("needs /proc, which Linux has")


def distinct_words(first: int, n: int) -> str:
    """Words of letters alone, 6 to 18 bytes long, so that no pattern cuts them into pieces seen before."""
    tails = ("", "ж", "жж", "жжж", "zzzzzzzzz", "中", "z")
    spelt = ("".join(chr(97 + i // 26**k % 26) for k in range(5)) + tails[i % 7] for i in range(first, first + n))
    return "x " + " ".join(spelt)


def test_a_million_distinct_words_do_not_make_the_cache_grow_for_ever(
    make_tokenizer: Callable[..., tokkit.Tokenizer],
) -> None:
    tok = make_tokenizer("rank", "cl100k")
    for first in range(0, 800_000, 20_000):
        tok.encode_to_numpy(distinct_words(first, 20_000))
        info = tok.cache_info()
        assert info["words"] - info["own_words"] <= info["max_words"] * info["workers"]
    assert info["misses"] > 1.3 * info["max_words"]
    before = resident()
    for first in range(800_000, 1_100_000, 20_000):
        tok.encode_to_numpy(distinct_words(first, 20_000))
    assert resident() - before < 8 << 20
    assert tok.cache_info()["bytes"] < 128 << 20


def test_short_lived_threads_do_not_leave_their_scratch_behind(tok: tokkit.Tokenizer) -> None:
    texts = documents(709, 50)
    for _ in range(50):
        tok.encode_batch(texts, threads=4)
    before = resident()
    for _ in range(300):
        tok.encode_batch(texts, threads=4)
    assert resident() - before < 16 << 20


def calls(tok: tokkit.Tokenizer) -> dict[str, Callable[[], object]]:
    """One call of everything, and one of each kind of error."""
    text = "héllo wörld 🦜<|endoftext|> 123"
    ids = tok.encode(text)
    array = tok.encode_to_numpy(text)

    def fails(call: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            try:
                call()
            except (TypeError, ValueError, LookupError):
                return
            pytest.fail("no error")

        return run

    return {
        "encode": lambda: tok.encode(text),
        "encode bytes": lambda: tok.encode(text.encode()),
        "encode bytearray": lambda: tok.encode(bytearray(text.encode())),
        "encode surrogate": lambda: tok.encode("a\ud800"),
        "encode all": lambda: tok.encode(text, special="all"),
        "encode some": lambda: tok.encode(text, special={"</s>"}),
        "array": lambda: tok.encode_to_numpy(text),
        "batch": lambda: tok.encode_batch([text, "", text], threads=1),
        "batch in threads": lambda: tok.encode_batch([text] * 4, threads=2),
        "call": lambda: tok(text),
        "count": lambda: tok.count(text),
        "truncate": lambda: tok.truncate(text, 4),
        "decode": lambda: tok.decode(ids),
        "decode array": lambda: tok.decode(array),
        "decode bytes": lambda: tok.decode_bytes(ids),
        "decode iterator": lambda: tok.decode(iter(ids)),
        "stream": lambda: [tok.decode_stream().step(id_) for id_ in ids],
        "token_bytes": lambda: tok.token_bytes(300),
        "no text": fails(lambda: tok.encode(None)),
        "no utf-8": fails(lambda: tok.encode(b"\xff")),
        "refused": fails(lambda: tok.encode(text, special="raise")),
        "bad batch": fails(lambda: tok.encode_batch(["a", None])),
        "bad id": fails(lambda: tok.decode([10**6])),
        "huge id": fails(lambda: tok.decode([10**30])),
        "bad kind of id": fails(lambda: tok.decode([1.5])),
        "strict": fails(lambda: tok.decode([tok.vocab[b"\xff"]], errors="strict")),
    }


def test_no_call_leaks_references_or_memory(tok: tokkit.Tokenizer) -> None:
    leaks = {}
    gc.collect()
    gc.freeze()  # what other tests made need not be looked through each time
    for name, call in calls(tok).items():
        for _ in range(300):
            call()
        gc.collect()
        blocks = sys.getallocatedblocks()
        for _ in range(20_000 if LONG else 600):
            call()
        gc.collect()
        if (more := sys.getallocatedblocks() - blocks) > 100:
            leaks[name] = more
    gc.unfreeze()
    assert not leaks


def test_no_call_changes_the_reference_count_of_its_arguments(tok: tokkit.Tokenizer) -> None:
    text, ids = "".join(["some ", "text ", "żółć"]), [1000, 1001, 1002]
    array = np.array(ids, dtype=np.uint32)
    for _ in range(2):
        counts = [sys.getrefcount(x) for x in (text, ids, array, tok, *ids)]
        for _ in range(1000):
            tok.encode(text)
            tok.encode_to_numpy(text)
            tok.encode_batch([text, text])
            tok.decode(ids)
            tok.decode(array)
            tok.decode_bytes(ids)
    assert [sys.getrefcount(x) for x in (text, ids, array, tok, *ids)] == counts


def test_making_and_dropping_tokenizers_gives_their_memory_back(
    make_tokenizer: Callable[..., tokkit.Tokenizer],
) -> None:
    def once() -> None:
        for kind in ("rank", "merges"):
            made = make_tokenizer(kind, "o200k", {"<|a|>": 2000})
            made.encode("some text " * 100)
            made.encode_batch(["a"] * 10, threads=2)

    for _ in range(10):
        once()
    gc.collect()
    before = resident()
    for _ in range(60):
        once()
    gc.collect()
    assert resident() - before < 32 << 20


def test_encoding_takes_memory_in_proportion_to_its_text(tok: tokkit.Tokenizer) -> None:
    text = "word " * 400_000
    tok.encode_to_numpy(text)
    tracemalloc.start()
    ids = tok.encode_to_numpy(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(text) + 4 * len(ids) + (1 << 20)
