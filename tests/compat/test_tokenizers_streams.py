"""Streams of ids in tokkit's drop-in for tokenizers return and raise what those of tokenizers do."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from tokkit.compat import tokenizers as face

theirs = pytest.importorskip("tokenizers")


def test_streams_return_a_text_when_it_is_complete() -> None:
    for package in (face, theirs):
        vocab = [("<unk>", 0.0), ("<0x20>", -0.1), ("<0xC3>", -0.2), ("<0xA9>", -0.3)]
        made = package.Tokenizer(package.models.Unigram(vocab, 0, byte_fallback=True))
        made.decoder = package.decoders.ByteFallback()
        stream = package.decoders.DecodeStream(skip_special_tokens=False)
        assert [stream.step(made, id_) for id_ in (1, 2, 3)] == [" ", None, "é"]
        stream = package.decoders.DecodeStream([1])
        other = copy.copy(stream)
        assert stream.step(made, [2, 3]) == other.step(made, [2, 3]) == "é"


def test_streams_name_a_text_that_a_later_byte_changes() -> None:
    vocab = [("<unk>", 0.0), ("a", -0.1), ("<0xC3>", -0.2), ("<0xA9>", -0.3), ("<0xFF>", -0.4)]
    outcomes = []
    for package in (face, theirs):
        made = package.Tokenizer(package.models.Unigram(vocab, 0, byte_fallback=True))
        made.decoder = package.decoders.Sequence([package.decoders.ByteFallback(), package.decoders.Fuse()])
        stream = package.decoders.DecodeStream(skip_special_tokens=False)
        steps: list[object] = []
        for ids in (1, 2, 3, 4, 1, [4, 1], 3):
            try:
                steps.append(stream.step(made, ids))
            except Exception as error:
                steps.append(str(error))
        outcomes.append(steps)
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][4] == (
        "Invalid prefix encountered while decoding stream. Token ID: 1, Expected prefix: 'é', Actual string: '���a'"
    )


def test_random_ids_give_the_steps_and_errors_of_tokenizers(shared: Path) -> None:
    path = str(shared / "vocabs" / "phi-3" / "tokenizer.json")
    both = [(package, package.Tokenizer.from_file(path)) for package in (face, theirs)]
    rng = random.Random(2309)
    tokens = [f"<0x{byte:02X}>" for byte in "é東🦜A".encode() + b"\xff"] + ["a", "'", "▁", "▁the", "ing", "</s>"]
    ids = [both[0][1].token_to_id(token) for token in tokens]
    n_errors = 0
    for _ in range(300):
        given = [rng.choice(ids) for _ in range(rng.randint(1, 14))]
        steps = [given[i : i + 1] if rng.random() < 0.2 else id_ for i, id_ in enumerate(given)]
        first, skip = rng.choice([None, given[:2]]), rng.random() < 0.5
        made = [package.decoders.DecodeStream(first, skip_special_tokens=skip) for package, _ in both]
        for step in steps:
            outcomes = [outcome(one, tok, step) for one, (_, tok) in zip(made, both, strict=True)]
            assert outcomes[0] == outcomes[1], (first, steps)
            n_errors += (outcomes[0] or "").startswith("Invalid prefix")
    assert n_errors > 20


def outcome(stream: Any, tok: Any, ids: Any) -> str | None:
    """What a step returns, or the text of its error."""
    try:
        returned: str | None = stream.step(tok, ids)
    except Exception as error:
        return str(error)
    return returned
