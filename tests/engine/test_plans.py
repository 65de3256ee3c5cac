"""A plan gives the results of the components run one by one, for text given whole or in chunks."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

import pipelines
import tokkit
from conftest import LONG
from strategies import adversarial, documents
from tokkit.engine import engine as engines
from tokkit.engine.interpreter import Interpreter
from tokkit.errors import TokkitError
from tokkit.formats import tokenizer_json

FAMILIES = ("bert-base-uncased", "clip", "falcon", "gpt-neox", "mistral-v1", "phi-3", "roberta-base", "t5", "xlnet")


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, shared: Path) -> tokkit.Tokenizer:
    return tokkit.load(shared / "vocabs" / request.param / "tokenizer.json")


def texts(seed: int, n: int) -> list[str]:
    found = [*documents(seed, n, longest=300), *(adversarial(seed + k, 600) for k in range(n // 8))]
    found += ["", " ", "  a", "a  ", "\n", "▁", "<s>a</s>", " <mask> b", "'s it's", "New york new york"]
    return [text.encode("utf-8", "replace").decode() for text in found]


def same(tok: tokkit.Tokenizer, slow: Interpreter, text: str, special: str) -> None:
    utf8, ids, spans, words = slow.aligned(text, special)
    words = words() if callable(words) else words
    assert tok.encode(text, special=special) == ids.tolist(), text
    found = tok._engine.aligned(text, special)
    assert found[0] == utf8
    assert found[1].tolist() == ids.tolist(), text
    assert found[2].tolist() == spans.tolist(), text
    assert (found[3]() if callable(found[3]) else found[3]).tolist() == words.tolist(), text


def test_a_plan_gives_ids_spans_and_words_of_the_components(family: tokkit.Tokenizer) -> None:
    slow = Interpreter(family.definition)
    assert family._engine.encoder is not None
    for _ in range(2):  # the second time from the cache
        for text in texts(2201, 400 if LONG else 60):
            same(family, slow, text, "text")
            same(family, slow, text, "all")


def test_random_pipelines_run_as_their_components_do() -> None:
    ran = 0
    for seed in range(7000, 7000 + (3000 if LONG else 250)):
        rng = random.Random(seed)
        try:
            tok = tokkit.Tokenizer(tokenizer_json.read(json.dumps(pipelines.pipeline(rng)).encode()))
        except TokkitError:
            continue
        slow = Interpreter(tok.definition)
        for text in [pipelines.text_for(rng) for _ in range(4)]:
            for special in ("text", "all"):
                try:
                    wanted = slow.encode(text, special)
                except TokkitError as error:
                    with pytest.raises(type(error)):
                        tok.encode(text, special=special)
                    continue
                assert tok.encode(text, special=special) == wanted, (seed, text)
                assert tok.encode(text, special=special) == wanted, (seed, text)
                ran += tok._engine.encoder is not None
    assert ran > 300


def test_parts_batches_and_files_give_the_ids_of_the_whole(
    family: tokkit.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "CHARACTERS_A_THREAD", 1000)
    rng = random.Random(5)
    chosen = [text for text in texts(2203, 24) if text]
    whole = "".join(chosen) * 3
    long = whole * (1 + 300_000 // len(whole))
    for special in ("text", "all"):
        one = [family.encode(text, special=special) for text in chosen]
        ids, offsets = family.encode_batch(chosen, special=special, threads=3)
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == one
        wanted = family.encode(long, special=special)
        assert family.encode_to_numpy(long, special=special, threads=2).tolist() == wanted
        (tmp_path / "long.txt").write_bytes(long.encode())
        family.encode_file(tmp_path / "long.txt", tmp_path / "ids.npy", special=special, threads=2)
        assert np.load(tmp_path / "ids.npy").tolist() == wanted
        stream = family.encode_stream(special=special)
        made, at = [], 0
        while at < len(whole):
            step = rng.randrange(1, 60)
            made += stream.feed(whole[at : at + step])
            at += step
        assert made + stream.flush() == family.encode(whole, special=special)


def test_a_stream_gives_ids_before_its_end_where_a_rule_allows_it(family: tokkit.Tokenizer) -> None:
    stream = family.encode_stream()
    assert stream.feed("one two three four five six seven eight")


def test_a_long_text_that_is_one_unit_is_encoded_once() -> None:
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    tok = tokkit.Tokenizer(tokenizer_json.read(json.dumps({"model": model, "added_tokens": []}).encode()))
    for n in (1, 2047, 2048, 5000):  # beside the size from which on the GIL is released
        assert tok.encode("a" * n) == [0]
        assert tok.encode_batch(["a" * n, "b" * n])[0].tolist() == [0, 0]
