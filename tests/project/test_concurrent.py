"""Tokenizers, trainers and limits that several threads use at once give what one thread gets.

`.ci/tsan` runs these, and the others marked `threads`, with the thread sanitizer.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from at_once import at_once
from strategies import documents
from tokkit import limits
from tokkit.errors import TokkitError
from tokkit.search.exact import top_k

pytestmark = pytest.mark.threads

CORPUS = [
    "the quick brown fox jumps over the lazy dog",
    "naïve café, 東京 🙂 1234 it's we'll",
    "low lower lowest",
    *documents(31, 60),
]
TEXTS = [*CORPUS, "", "<|end|> and [UNK]", " ".join(CORPUS)]
LONG = " ".join(CORPUS * 12)
MODELS: dict[str, dict[str, Any]] = {
    "bbpe": {"special_tokens": ["<|end|>"]},
    "bpe": {},
    "wordpiece": {},
    "word": {},
    "unigram": {},
    "sp-bpe": {},
    "sp-char": {},
}


@functools.cache
def trained(model: str) -> tokkit.Definition:
    return tokkit.train(iter(CORPUS * 3), model=model, vocab_size=400, threads=1, **MODELS[model]).definition


def staged() -> tokkit.Definition:
    """A pipeline of components, with a pattern that the regex package runs and one that the core does."""
    words = {"[UNK]": 0, "a": 1, "ab": 2, "b": 3, "##b": 4, "1": 5}
    stages = {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": "[^a]+(?=a)"}, "behavior": "Isolated", "invert": False},
                {"type": "WhitespaceSplit"},
            ],
        },
    }
    model = {"type": "WordPiece", "vocab": words, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100}  # fmt: skip
    rest = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}}  # fmt: skip
    from tokkit.formats import tokenizer_json

    return tokenizer_json.from_json({**rest, **stages, "model": model})


def definition_of(kind: str) -> tokkit.Definition:
    return staged() if kind == "components" else trained(kind)


def streamed(tok: tokkit.Tokenizer) -> list[int]:
    stream = tok.encode_stream()
    return [id_ for part in TEXTS for id_ in stream.feed(part)] + stream.flush()


def columns(encoding: tokkit.Encoding) -> tuple[Any, ...]:
    return encoding.ids, list(encoding.offsets), encoding.tokens, list(encoding.word_ids)


def calls_of(tok: tokkit.Tokenizer) -> dict[str, Callable[[], Any]]:
    """Everything that a tokenizer does, by name; what it gives can be compared by ==."""
    ids = [id_ for id_ in range(min(tok.n_ids, 300)) if id_ in tok.vocab]
    return {
        "encode": lambda: [tok.encode(text) for text in TEXTS],
        "special": lambda: [tok.encode(text, special="all") for text in TEXTS],
        "array": lambda: tok.encode_to_numpy(LONG, threads=2).tolist(),
        "batch": lambda: [array.tolist() for array in tok.encode_batch(TEXTS, threads=2)],
        "encodings": lambda: [columns(made) for made in tok.encodings(TEXTS[:20])],
        "one": lambda: columns(tok(TEXTS[1])),
        "count": lambda: [tok.count(text) for text in TEXTS],
        "truncate": lambda: tok.truncate(TEXTS[-1], 9),
        "stream": lambda: streamed(tok),
        "decode": lambda: (tok.decode(ids), tok.decode_batch([ids, ids[::-1]])),
        "decode stream": lambda: [step(id_) for step in [tok.decode_stream(errors="replace").step] for id_ in ids],
        "padded": lambda: tok.encode_padded(TEXTS[:4]).ids.tolist() if tok.definition.padding else None,
        "fingerprint": tok.fingerprint,
        "info": lambda: set(tok.cache_info()),
    }


def comparable(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except TokkitError as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", [*MODELS, "components"])
def test_a_tokenizer_gives_threads_what_it_gives_one(kind: str) -> None:
    definition = definition_of(kind)
    expected = {name: comparable(call) for name, call in calls_of(tokkit.Tokenizer(definition)).items()}
    # Nothing is warm: what is made when it is first needed is needed by all at once. And then it is.
    for tok in [tokkit.Tokenizer(definition) for _ in range(2)]:
        made = at_once([functools.partial(comparable, call) for call in calls_of(tok).values()], times=2)
        assert dict(zip(expected, made, strict=True)) == expected
    alike = at_once([functools.partial(tok.encode, LONG)] * 4, times=3)
    assert all(ids == alike[0] for ids in alike)


@pytest.mark.parametrize("kind", ["bbpe", "unigram", "wordpiece"])
def test_batches_and_long_texts_of_several_threads_do_not_meet(kind: str) -> None:
    tok = tokkit.Tokenizer(definition_of(kind))
    texts = [LONG, *CORPUS, LONG * 3]
    ids, offsets = tok.encode_batch(texts, threads=1)
    for threads in (2, 3):
        for found in at_once([functools.partial(tok.encode_batch, texts, threads=threads)] * 2):
            assert np.array_equal(found[0], ids)
            assert np.array_equal(found[1], offsets)
        long = at_once([functools.partial(tok.encode_to_numpy, LONG * 9, threads=threads)] * 2)
        assert np.array_equal(*long)
        assert long[0].tolist() == tok.encode(LONG * 9)


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads that take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("kind", ["bbpe", "components"])
def test_more_policies_than_are_kept_may_be_in_use_at_once(kind: str, switching: None) -> None:
    definition = definition_of(kind)
    names = [f"<|{number}|>" for number in range(150)]
    tok = tokkit.Tokenizer(definition.with_special_tokens({name: 1000 + n for n, name in enumerate(names)}))

    def work(step: int) -> list[list[int]]:
        return [tok.encode(f"{name}{name[::-1]}", special={name})[:1] for name in names[::step]]

    expected = [[[1000 + n] for n in range(0, 150)][::step] for step in (1, -1, 1)]
    assert at_once([functools.partial(work, step) for step in (1, -1, 1)], times=3) == expected


def test_the_compatible_encoding_is_shared_by_threads(switching: None) -> None:
    from tokkit.compat.tiktoken import Encoding

    vocab = {bytes([byte]): byte for byte in range(256)}
    names = [f"<|{number}|>" for number in range(150)]
    enc = Encoding(
        "own", pat_str=r"\w+|\W", mergeable_ranks=vocab, special_tokens={name: 1000 + n for n, name in enumerate(names)}
    )

    def work(step: int) -> list[list[int]]:
        return [enc.encode(name, allowed_special={name}) for name in names[::step]]

    expected = [[[1000 + n] for n in range(0, 150)][::step] for step in (1, -1, 1)]
    assert at_once([functools.partial(work, step) for step in (1, -1, 1)], times=3) == expected


def test_a_stream_goes_from_thread_to_thread() -> None:
    tok = tokkit.Tokenizer(definition_of("bbpe"))
    stream, decoder = tok.encode_stream(), tok.decode_stream()
    found: list[int] = []
    parts = [LONG[at : at + 97] for at in range(0, len(LONG), 97)]
    text: list[str] = []
    turn = threading.Condition()
    n = itertools.count()

    def work(mine: int) -> None:
        while True:
            with turn:
                at = next(n)
                if at >= len(parts):
                    return
                ids = stream.feed(parts[at])
                found.extend(ids)
                text.extend(map(decoder.step, ids))

    assert at_once([functools.partial(work, number) for number in range(3)]) == [None] * 3
    found += (rest := stream.flush())
    text += [*map(decoder.step, rest), decoder.flush()]
    assert found == tok.encode(LONG)
    assert "".join(text) == LONG


def test_files_are_encoded_by_two_at_once(tmp_path: Path) -> None:
    tok = tokkit.Tokenizer(definition_of("bbpe"))
    (tmp_path / "a.txt").write_text(LONG * 20, encoding="utf-8", newline="")

    def work(name: str) -> list[int]:
        tok.encode_file(tmp_path / "a.txt", tmp_path / name, threads=2)
        return np.load(tmp_path / name).tolist()

    expected = tok.encode(LONG * 20)
    assert at_once([lambda: work("1.npy"), lambda: work("2.npy")]) == [expected, expected]


@pytest.mark.parametrize("model", ["bbpe", "wordpiece", "unigram", "sp-bpe"])
def test_trainings_at_once_and_in_threads_are_those_of_one(model: str) -> None:
    def work(threads: int) -> str:
        made = tokkit.train(iter(CORPUS * 3), model=model, vocab_size=400, threads=threads, **MODELS[model])
        return made.fingerprint()

    assert set(at_once([lambda: work(1), lambda: work(2), lambda: work(3)])) == {work(1)}


def test_limits_are_those_of_each_thread() -> None:
    tok = tokkit.Tokenizer(definition_of("bbpe"))
    pairs = limits.current().held_bytes

    def narrow() -> str:
        with limits.using(held_bytes=1000):
            stream = tok.encode_stream()
            try:
                for _ in range(50):
                    stream.feed("é" * 100)
            except TokkitError as error:
                return str(error)
        return "held"

    def wide() -> int:
        streamed(tok)
        return limits.current().held_bytes

    # Who sets what holds for the process meanwhile changes nothing where it is set for a block.
    made = at_once([narrow, wide, narrow, wide, lambda: limits.set_defaults(file_bytes=1 << 30)], times=5)
    assert "held_bytes" in made[0]
    assert made[:4] == [made[0], pairs, made[0], pairs]


def test_vocabularies_are_read_and_written_by_threads_at_once(tmp_path: Path) -> None:
    one = tokkit.Tokenizer(definition_of("bbpe"))
    one.save(tmp_path / "a.json")

    def work(name: str) -> str:
        tok = tokkit.load(tmp_path / "a.json")
        tok.save(tmp_path / name)
        return tokkit.load(tmp_path / name).fingerprint()

    # The same file too: it is replaced whole.
    calls = [functools.partial(work, name) for name in ("b.json", "b.json", "c.json")]
    assert set(at_once(calls, times=3)) == {one.fingerprint()}
    assert json.loads((tmp_path / "b.json").read_text("utf-8")) == json.loads((tmp_path / "a.json").read_text("utf-8"))


def test_patterns_compile_for_several_at_once() -> None:
    vocab = tokkit.Vocab.from_list([*(bytes([byte]) for byte in range(256)), b"ab", b"12"])

    def work(number: int) -> list[list[int]]:
        split = tokkit.Split(rf"\p{{L}}{{1,{number % 5 + 1}}}|\d+|\s", keep_unmatched=True)
        tok = tokkit.Tokenizer(tokkit.Definition(vocab=vocab, model=tokkit.BPE(), pretokenizer=split))
        return [tok.encode(text) for text in CORPUS[:20]]

    expected = [work(number) for number in range(5)]
    assert at_once([functools.partial(work, number) for number in range(5)], times=2) == expected


def test_a_search_is_the_same_for_threads() -> None:
    rng = np.random.default_rng(5)
    rows, queries = (rng.standard_normal((n, 48)).astype(np.float32) for n in (20_000, 3))
    expected = top_k(rows, queries, 7, threads=1)
    for found in at_once([lambda: top_k(rows, queries, 7, threads=2)] * 2, times=3):
        assert np.array_equal(found.rows, expected.rows)
        assert np.array_equal(found.scores, expected.scores)
