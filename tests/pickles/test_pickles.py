"""Pickles of earlier releases load, and processes can exchange objects."""

from __future__ import annotations

import base64
import concurrent.futures
import copy
import json
import multiprocessing
import pickle
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tokkit
from pickles import elsewhere, make
from tokkit.errors import FormatError

HERE = Path(__file__).parent
RELEASES = sorted(path.stem for path in HERE.glob("*.json"))


def entries(release: str) -> Iterator[tuple[str, Any, Any]]:
    for entry in json.loads((HERE / f"{release}.json").read_text("utf-8")):
        yield entry["name"], pickle.loads(zlib.decompress(base64.b85decode(entry["pickle"]))), entry["seen"]


SEEN = {
    "Encoding": lambda pair: [pair.ids, [list(span) for span in pair.offsets], list(pair.type_ids)],
    "Vocab": lambda vocab: [token.decode() for token in vocab],
    "ChatTemplate": lambda template: [template.render([{"role": "user", "content": "low"}])],
    "SentencePieceProcessor": lambda processor: [processor.encode("low zebra")],
    "tiktoken": lambda encoding: [encoding.encode("low <e>", allowed_special="all")],
    "KVCache": lambda cache: [cache.length, cache.first],
    "TransformerConfig": lambda config: [config.dim, config.causal],
    "Rope": lambda rope: [rope.config.head_dim],
    "Embedding": lambda embedding: embedding([0]).tolist(),
}


@pytest.mark.filterwarnings("ignore:.* now:DeprecationWarning")  # some of its modules have moved
@pytest.mark.parametrize("release", RELEASES)
def test_what_a_release_pickled_loads(release: str) -> None:
    for name, value, seen in entries(release):
        look = SEEN.get(name, make.ids_of)
        assert look(value) == seen, name
        # And once more, as this release pickles it.
        assert look(pickle.loads(pickle.dumps(value))) == seen, name


def test_an_encoding_of_a_release_has_all_that_one_of_this_has() -> None:
    (pair,) = (value for name, value, _ in entries("0.1.0") if name == "Encoding")
    (tok,) = (value for name, value, _ in entries("0.1.0") if name == "wordpiece")
    assert pair == tok("low lower", "newest")
    assert pair.tokens[:2] == ["[CLS]", "low"]
    assert pair.column("token_bytes")[:2] == [b"[CLS]", b"low"]


def test_the_release_before_this_has_its_pickles_here() -> None:
    assert "0.1.0" in RELEASES


def test_what_a_later_release_pickles_is_refused_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tokkit.train(iter(["low lower"]), vocab_size=260)
    with monkeypatch.context() as patch:
        patch.setattr("tokkit.pickled.FORM", 2)
        later = [pickle.dumps(value) for value in (tok, tok.definition, tok.vocab, tok("a"))]
    for data in later:
        with pytest.raises(
            FormatError, match=r"the pickle was made by a later tokkit \(form 2; this version reads 1\)"
        ):
            pickle.loads(data)


@pytest.mark.parametrize("way", ["spawn", "forkserver", "fork"])
def test_processes_hand_tokenizers_and_encodings_to_one_another(way: str) -> None:
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"needs the start method {way}, which this system does not have")
    toks = [tok for name, tok in make.tokenizers().items() if name in ("bbpe", "wordpiece", "unigram", "staged")]
    for tok in toks:
        tok.encode_batch(make.TEXTS * 99, threads=2)  # threads and their caches are there before the process is
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(way)) as pool:
        for tok in toks:
            for text in make.TEXTS[:2]:
                ids, encoding, batch = pool.submit(elsewhere.work, tok, text).result(timeout=600)
                assert (ids, encoding) == (tok.encode(text), tok(text))
                assert batch == [ids, ids]


def test_copies_do_what_the_first_does() -> None:
    for tok in make.tokenizers().values():
        for again in (copy.copy(tok), copy.deepcopy(tok)):
            assert again.fingerprint() == tok.fingerprint()
            assert make.ids_of(again) == make.ids_of(tok)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="what cannot be pickled is said otherwise there")
def test_what_holds_a_place_in_a_text_is_not_pickled() -> None:
    tok = tokkit.train(iter(["low lower"]), vocab_size=260)
    for stream in (tok.encode_stream(), tok.decode_stream()):
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            pickle.dumps(stream)
