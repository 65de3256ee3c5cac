"""Twice the data takes twice the work: search, models, fastText, GloVe, mixtures and jobs of shards.

The tokens that the layers of a model read are counted with its work: the core does not count products of matrices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import generators
import model_folders
import tokkit
from adversarial_kinds import KINDS
from conftest import LONG
from tokkit import pipeline
from tokkit.distributed import CountShard, EncodeShard, MergeCounts
from tokkit.embeddings import FastText, GloVe, train_supervised
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.text_decoder import TextDecoder
from tokkit.search import Embedding, SearchIndex, find
from tokkit.trainers import Mixture
from word_encoder import WordEncoder
from work import FEW, MAX_GROWTH, work_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="counters are read through ctypes from .so files")

N = 4000 if LONG else 1000
KINDS_HERE = list(KINDS) if LONG else ["one letter", "combining marks", "random Han"]
LINE = 50  # characters of a document


def lines_of(kind: str, n: int) -> list[str]:
    """Return documents of a kind, each of which is another."""
    text = KINDS[kind](n).replace("\n", " ").replace("\0", "\x01")  # a file with zeros is no text to search
    return [f"{k} low {text[k : k + LINE]}" for k in range(0, n, LINE)]


def written(lines: list[str], path: Path) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def searched(lines: list[str], folder: Path) -> None:
    encoder = WordEncoder()
    Embedding([str(written(lines, folder / "text.txt"))], folder / "index").run(encoder)
    find(SearchIndex.open(folder / "index"), encoder, lines[:1], k=3)
    Embedding([str(written(lines[::-1], folder / "more.txt"))], folder / "index", append=True).run(encoder)


def classified(lines: list[str], folder: Path) -> None:
    labelled = written([f"__label__{k % 3} {line}" for k, line in enumerate(lines)], folder / "labelled.txt")
    made = train_supervised(labelled, dim=8, epoch=1, minn=2, maxn=3, bucket=100, thread=1)
    for line in lines:
        made.predict(line)


def mixed(lines: list[str], folder: Path) -> None:
    sources = {name: written(lines[k::2], folder / f"{name}.txt") for k, name in enumerate("ab")}
    tokkit.train(Mixture(sources, temperature=2), vocab_size=260, threads=1)
    tokkit.train(Mixture(sources, weights={"a": "1/3"}), vocab_size=260, threads=1)


def by_jobs(lines: list[str], folder: Path) -> None:
    tok = tokkit.train({"low": 2}, vocab_size=257, threads=1)
    shards = [str(written(lines[k : k + 5], folder / f"{k}.txt")) for k in range(0, len(lines), 5)]
    count, encode = CountShard(folder / "counts"), EncodeShard(tok, folder / "ids")
    counted = [count(shard)["path"] for shard in shards]
    assert not any(encode(shard)["error"] for shard in shards)
    encode.finish(shards)
    assert not MergeCounts()({"files": counted, "path": str(folder / "all.counts")})["error"]


def vectors(lines: list[str], _: Path) -> None:
    model = FastText(lines, vector_size=8, min_count=1, epochs=1, bucket=100, workers=1)
    assert model.wv is not None
    model.wv.most_similar(lines[0].split()[0], topn=3)


OF_LINES: dict[str, Callable[[list[str], Path], object]] = {
    "search": searched,
    "FastText": vectors,
    "train_supervised": classified,
    "GloVe": lambda lines, _: GloVe(lines, vector_size=8, window=3, min_count=1, epochs=1, threads=1).wv,
    "Mixture": mixed,
    "jobs of shards": by_jobs,
}


@pytest.mark.parametrize("call", OF_LINES)
def test_twice_the_documents_are_twice_the_work(call: str, tmp_path: Path) -> None:
    found = {}
    OF_LINES[call](lines_of("one letter", 200), tmp_path)  # what is made once, is made
    for kind in KINDS_HERE:
        work = []
        for n in (N, 2 * N):
            folder = tmp_path / f"{len(found)}-{kind.replace(' ', '-')}-{n}"
            folder.mkdir()
            work.append(work_of(OF_LINES[call], lines_of(kind, n), folder))
        assert work[0] > N / 4, "a call whose loops are not counted would pass whatever it does"
        if work[1] > MAX_GROWTH * work[0] + FEW:
            found[kind] = work
    assert not found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens the layers of a model read, call after call."""
    counted: list[int] = []
    for layers, name in ((TextEncoder, "run"), (TextDecoder, "_embedded")):
        whole = getattr(layers, name)

        def counting(self: Any, x: Any, *args: Any, whole: Any = whole, **named: Any) -> Any:
            counted.append(len(x))
            return whole(self, x, *args, **named)

        monkeypatch.setattr(layers, name, counting)
    return counted


def test_an_encoder_reads_no_more_of_a_text_than_its_length(tmp_path: Path, read: list[int]) -> None:
    encoder: Any = pipeline.load(model_folders.write(tmp_path / "bert"))
    for kind in KINDS_HERE:
        work = []
        for n in (N, 2 * N):
            read.clear()
            work.append(work_of(encoder.encode, [KINDS[kind](n), "the cat"]))
            assert sum(read) <= encoder.max_length + 4
        assert work[1] <= MAX_GROWTH * work[0] + FEW


def test_twice_the_texts_are_twice_the_tokens_that_an_encoder_reads(tmp_path: Path, read: list[int]) -> None:
    encoder: Any = pipeline.load(model_folders.write(tmp_path / "bert"))
    texts = ["the cat sat on a mat", "river bank", "", "money " * 50]
    work = []
    for times in (100, 200):
        work.append(work_of(encoder.encode, texts * times, batch_tokens=64) + sum(read))
        assert sum(read) <= times * (8 + 4 + 2 + encoder.max_length)
        read.clear()
    assert work[1] <= MAX_GROWTH * work[0] + FEW


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 1.0, "seed": 1, "top_k": 5}, {"stop": ["§"]}, {"num_beams": 2}, {"repetition_penalty": 1.2}],
    ids=str,
)
def test_twice_the_new_tokens_are_twice_the_work_of_a_generator(
    options: dict[str, Any], tmp_path: Path, read: list[int]
) -> None:
    config = {"max_position_embeddings": 512}
    model: Any = pipeline.load(generators.folder(tmp_path / "model", **config))
    work = []
    for n in (100, 200):
        read.clear()
        options = {**options, "min_new_tokens": n, "max_new_tokens": n}
        work.append(work_of(model.generate, "the cat sat on", **options) + sum(read))
        assert n <= sum(read) <= (n + 10) * options.get("num_beams", 1)
    assert work[1] <= MAX_GROWTH * work[0] + FEW


def test_twice_the_prompt_is_twice_the_work_and_a_context_that_shifts_stays_bounded(
    tmp_path: Path, read: list[int]
) -> None:
    model: Any = pipeline.load(generators.folder(tmp_path / "model", max_position_embeddings=2048))
    work = []
    for n in (400, 800):
        read.clear()
        work.append(work_of(model.generate, "the cat " * (n // 8), max_new_tokens=2) + sum(read))
    assert work[1] <= MAX_GROWTH * work[0] + FEW
    short: Any = pipeline.load(generators.folder(tmp_path / "short"))  # of 64 positions
    for n in (100, 200):
        read.clear()
        short.generate("the cat", min_new_tokens=n, max_new_tokens=n, context_shift=5)
        assert sum(read) <= 2 * n
