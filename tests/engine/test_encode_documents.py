"""The documents of a block of UTF-8 have the ids that each has alone, for every kind of tokenizer."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import tokkit
from conftest import LONG
from tokkit import trainers
from tokkit._core.documents import documents
from tokkit._core.text import isas, use_isa
from tokkit.engine.engine import Engine
from tokkit.errors import SpecialTokenError

WORDS = ["low", "lower", "newest", "straße", "日本", ".", "naïve", "🦜", "don't", "  ", "x" * 300, "<|end|>"]
TEXT = " ".join(WORDS * 5)


@pytest.fixture(scope="module")
def engines() -> dict[str, Engine]:
    """Engines of byte-level BPE, WordPiece and Unigram, and one that asks a component in Python."""
    made = {
        "bpe": tokkit.train(iter([TEXT]), vocab_size=300, special_tokens=["<|end|>"]),
        "wordpiece": trainers.train(iter([TEXT]), model="wordpiece", vocab_size=90),
        "unigram": trainers.train(iter([TEXT]), model="unigram", vocab_size=60),
    }
    return {name: tok._engine for name, tok in made.items()}


@pytest.fixture(params=isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    use_isa(request.param)
    yield request.param
    use_isa(None)


def block(seed: int, *, long: bool) -> tuple[bytes, bytes | None]:
    """A block of documents that are its lines, or end anywhere between characters."""
    drawn = random.Random(seed)
    words = [*WORDS, "\n", "\n\n", "\r\n"]
    text = " ".join(drawn.choices(words, k=(60_000 if LONG else 15_000) if long else drawn.randint(0, 60)))
    if seed % 2:
        return text.encode(), None
    cuts = sorted(drawn.randint(0, len(text)) for _ in range(0 if long else drawn.randint(0, 9)))
    places = np.cumsum([0, *map(len, (text[a:b].encode() for a, b in zip([0, *cuts], [*cuts, None], strict=True)))])
    return text.encode(), places[1:].astype(np.int64).tobytes()


def naively(engine: Engine, data: bytes, ends: bytes | None, around: tuple[int | None, int | None]) -> list[list[int]]:
    before, after = ([] if mark is None else [mark] for mark in around)
    return [before + engine.encode(document) + after for document in documents(data, ends)]


@pytest.mark.parametrize("name", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("long", [False, True])
def test_documents_have_the_ids_of_each_alone(name: str, long: bool, engines: dict[str, Engine], isa: str) -> None:
    engine = engines[name]
    for seed in range(2 if long else 12):
        data, ends = block(seed, long=long)
        for around in ((None, None), (1, None), (None, 2), (0, 3))[:: 3 if long and not LONG else 1]:
            wanted = naively(engine, data, ends, around)
            for narrow in (False, True):
                ids, offsets = engine.encode_documents(
                    data, ends, "text", 1 + seed % 2, narrow=narrow, before=around[0], after=around[1], valid=narrow
                )
                assert ids.dtype == (np.uint16 if narrow else np.uint32)
                assert offsets.tolist() == np.cumsum([0, *map(len, wanted)]).tolist()
                assert ids.tolist() == [id_ for one in wanted for id_ in one]


def test_policies_for_special_tokens_hold_in_documents(engines: dict[str, Engine]) -> None:
    engine = engines["bpe"]
    data = b"low <|end|>\nlower"
    end = engine._definition.special_tokens["<|end|>"]
    ids, offsets = engine.encode_documents(data, None, "all", 1, after=7)
    assert ids[: offsets[1]].tolist() == [*engine.encode("low <|end|>\n", "all"), 7]
    assert end in ids.tolist()
    with pytest.raises(SpecialTokenError, match="byte 4"):
        engine.encode_documents(data, None, "raise", 1)
    ids, offsets = engine.encode_documents(b"low\nlower", None, "raise", 1, narrow=True, before=5, after=6)
    assert ids.tolist() == [5, *engine.encode("low\n"), 6, 5, *engine.encode("lower"), 6]
    assert offsets.tolist() == [0, len(engine.encode("low\n")) + 2, len(ids)]


def test_documents_that_are_not_utf8_or_end_elsewhere_are_errors(engines: dict[str, Engine]) -> None:
    engine = engines["bpe"]
    with pytest.raises(ValueError, match="text 1 of the batch is not valid UTF-8 at offset 2"):
        engine.encode_documents(b"low\nlo\xff", None, "text", 1)
    for ends in ([3, 1], [9]):
        with pytest.raises(ValueError, match="the end before it"):
            engine.encode_documents(b"low", np.array(ends, dtype=np.int64).tobytes(), "text", 1)
    ids, offsets = engine.encode_documents(b"", None, "text", 1, narrow=True)
    assert (len(ids), offsets.tolist()) == (0, [0])
    with pytest.raises(Exception, match="do not fit in uint16"):
        engine.encode_documents(b"low", None, "text", 1, narrow=True, after=1 << 16)
