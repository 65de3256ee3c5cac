"""Fixtures: small definitions and their files, with a vocabulary that can be checked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tokkit import byte_symbols
from tokkit.definition import Definition, Split
from tokkit.formats import tokenizer_json
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.vocab import Vocab

PAIRS = [(b"h", b"e"), (b"l", b"l"), (b"he", b"ll"), (b" ", b"t"), (b"\xc3", b"\xa9"), (b" t", b"he"), (b"hell", b"o")]
TOKENS = [bytes([byte]) for byte in range(256)] + [left + right for left, right in PAIRS]
MERGES = [(TOKENS.index(left), TOKENS.index(right), TOKENS.index(left + right)) for left, right in PAIRS]
END = len(TOKENS)
SPECIAL = {"<|end|>": END, "<é>": END + 1}

Make = Callable[..., Definition]


class Tiny(NamedTuple):
    """What `make` makes definitions of: the bytes, then the results of seven merges, then two special tokens."""

    tokens: list[bytes] = TOKENS
    merges: list[tuple[int, int, int]] = MERGES
    special: dict[str, int] = SPECIAL
    end: int = END


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    return Tiny()


@pytest.fixture(scope="session")
def same() -> Callable[[Definition, Definition], bool]:
    """Tells whether two definitions are equal field by field, their names aside."""
    return _same


def _same(one: Definition, other: Definition) -> bool:
    mine, theirs = one.model.merges, other.model.merges
    equal = mine is theirs if mine is None or theirs is None else np.array_equal(mine, theirs)
    return bool(
        equal
        and one.vocab == other.vocab
        and one.model.whole_piece == other.model.whole_piece
        and one.pretokenizer == other.pretokenizer
        and one.special_tokens == other.special_tokens
    )


@pytest.fixture(scope="session")
def make() -> Make:
    """(kind "rank" or "merges", tokens, merges, pattern, special tokens) → a definition of seven merges."""

    def made(
        kind: str = "merges",
        *,
        tokens: list[bytes] = TOKENS,
        merges: list[tuple[int, int, int]] = MERGES,
        pattern: str | None = patterns.BYTE_LEVEL,
        keep_unmatched: bool = False,
        whole_piece: bool = False,
        special: dict[str, int] = SPECIAL,
    ) -> Definition:
        table = np.array(merges, dtype=np.uint32).reshape(-1, 3)
        model = BPE() if kind == "rank" else BPE(table, whole_piece)
        definition = Definition(Vocab.from_list(tokens), model, Split(pattern, keep_unmatched))
        return definition.with_special_tokens(special)

    return made


@pytest.fixture
def parsed(make: Make) -> dict[str, Any]:
    """A tokenizer.json as parsed JSON, to be spoilt."""
    value: dict[str, Any] = json.loads(tokenizer_json.write(make()))
    return value


@pytest.fixture(scope="session")
def symbols() -> dict[str, int]:
    """The vocabulary of `make` as vocab.json writes it, without special tokens."""
    return {byte_symbols.to_symbols(token): id_ for id_, token in enumerate(TOKENS)}
