"""Twice the data takes twice the work: counts, shards, batches, chunks, states of trainings, vectors, grammars.

test_scaling.py does the same for tokenizers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from adversarial_kinds import KINDS
from conftest import LONG
from tokkit.chunks import chunk
from tokkit.data import Tokens, encode_shards
from tokkit.embeddings import Word2Vec, count_cooccurrence
from tokkit.grammars import Choice, Grammar, Json, JsonSchema, Regex
from tokkit.trainers import CountFiles, build_counts, merge_counts
from work import FEW, MAX_GROWTH, work_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="counters are read through ctypes from .so files")

N = 4000 if LONG else 1000
KINDS_HERE = list(KINDS) if LONG else ["one letter", "combining marks", "two random letters", "random Han"]
LINE = 50  # characters of a document


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train({"low": 9, "lower": 5, "aaaa": 7, "the": 8, "abab": 3}, vocab_size=264, special_tokens=["<s>"])


def lines_of(kind: str, n: int) -> str:
    """Return documents of a kind, each of which is another."""
    text = KINDS[kind](n).replace("\n", " ")
    return "".join(f"{k} {text[k : k + LINE]}\n" for k in range(0, n, LINE))


def counted(path: Path, _: tokkit.Tokenizer) -> None:
    build_counts(path, path.parent / "counts", threads=1)
    build_counts(path, path.parent / "bytes", pattern=None, max_memory=1_000_000, threads=1)


def merged(path: Path, _: tokkit.Tokenizer) -> None:
    other = path.with_suffix(".other")
    other.write_text(path.read_text().swapcase())
    for one in (path, other):
        build_counts(one, path.parent / "parts", threads=1)
    merge_counts(path.parent / "parts", path.parent / "all.counts", threads=1)
    tokkit.train(CountFiles(path.parent / "all.counts"), vocab_size=260, threads=1)


def encoded(path: Path, tok: tokkit.Tokenizer, **options: Any) -> None:
    encode_shards(tok, path, path.parent / "ids", threads=1, eos="<s>", **options)
    for _ in Tokens(path.parent / "ids").batches(options.get("seq_len", 16), 4, seed=1):
        pass


def resumed(path: Path, _: tokkit.Tokenizer, **options: Any) -> None:
    options |= {"state": path.with_suffix(".state"), "threads": 1, "vocab_size": 300}
    tokkit.train(path, state_every=1000, **options)
    tokkit.train(path, resume=True, **options)


OF_FILES: dict[str, Callable[[Path, tokkit.Tokenizer], object]] = {
    "build_counts": counted,
    "merge_counts": merged,
    "encode_shards": encoded,
    "encode_shards, best fit": lambda path, tok: encoded(path, tok, pack="best-fit", seq_len=64),
    "encode_shards, shuffled": lambda path, tok: encoded(path, tok, shuffle=3, pack="sequential", seq_len=64),
    "chunk": lambda path, tok: list(chunk(path.read_text(), tok, tokens=20, overlap=5)),
    "resume of bbpe": resumed,
    "resume of wordpiece": lambda path, tok: resumed(
        path, tok, model="wordpiece", score="pmi", limit_alphabet=40, max_memory=1
    ),
    "resume of classic BPE": lambda path, tok: resumed(path, tok, model="bpe"),
    "co-occurrence": lambda path, tok: count_cooccurrence(path.read_text().splitlines(), window=3),
    "Word2Vec": lambda path, tok: Word2Vec(corpus_file=path, vector_size=8, min_count=1, epochs=1, workers=1),
}


@pytest.mark.parametrize("call", OF_FILES)
def test_twice_the_file_is_twice_the_work(call: str, tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    found = {}
    for kind in KINDS_HERE:
        work = []
        for n in (N, 2 * N):
            folder = tmp_path / f"{len(found)}-{kind.replace(' ', '-')}-{n}"
            folder.mkdir()
            (folder / "text.txt").write_text(lines_of(kind, n), encoding="utf-8")
            work.append(work_of(OF_FILES[call], folder / "text.txt", tok))
        if work[1] > MAX_GROWTH * work[0] + FEW:
            found[kind] = work
    assert not found


GRAMMARS: dict[str, Callable[[int], tuple[Grammar, str]]] = {
    "a star": lambda n: (Regex("(a|ab)*"), "ab" * (n // 2)),
    "one string": lambda n: (Regex("a" * n), "a" * n),
    "many choices": lambda n: (Choice([f"{k:06d}" for k in range(n // 6)]), f"{n // 6 - 1:06d}"),
    "counted": lambda n: (Regex(f"[a-c]{{{n}}}"), "abc" * (n // 3)),
    "a string of JSON": lambda n: (Json(), '"' + "a" * n + '"'),
    "an array of JSON": lambda n: (Json(whitespace="compact"), "[" + "1," * (n // 2) + "1]"),
    "an object of a schema": lambda n: (
        JsonSchema({"type": "object", "additionalProperties": {"type": "boolean"}}, whitespace="compact"),
        "{" + ",".join(f'"{k}":true' for k in range(n // 10)) + "}",
    ),
}


def followed(grammar: Grammar, ids: list[int], tok: tokkit.Tokenizer) -> None:
    place = grammar.compile(tok).start()
    for id_ in ids:
        place.allowed()
        place.advance(id_)


@pytest.mark.parametrize("name", GRAMMARS)
def test_twice_the_grammar_or_its_text_is_twice_the_work(name: str, tok: tokkit.Tokenizer) -> None:
    work = []
    for n in (300, 600):
        grammar, text = GRAMMARS[name](n)
        work.append(work_of(followed, grammar, tok.encode(text), tok))
    once, twice = work
    assert twice <= MAX_GROWTH * once + FEW


def test_the_work_of_what_is_new_is_counted(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    """A call whose loops are not counted would pass whatever it does."""
    (tmp_path / "text.txt").write_text(lines_of("two random letters", 4 * N), encoding="utf-8")
    for call, run in OF_FILES.items():
        (tmp_path / call.replace(" ", "-")).mkdir()
        path = tmp_path / call.replace(" ", "-") / "text.txt"
        path.write_bytes((tmp_path / "text.txt").read_bytes())
        assert work_of(run, path, tok) > N, call
