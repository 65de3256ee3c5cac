"""Documents in a block of text: where paragraphs end, and each document as an object."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from tokkit._core.documents import documents, paragraph_ends
from tokkit.corpus.readers import Block

PARAGRAPH_END = re.compile(rb"\n(?:\r?\n)+(?=[^\r\n])")


def drawn_text(seed: int, n: int = 400) -> bytes:
    drawn = random.Random(seed)
    return b"".join(drawn.choice([b"\n", b"\n\n", b"\r\n", b"\r", b"a", b"bc d", b"\0"]) for _ in range(n))


@pytest.mark.parametrize("seed", range(20))
def test_paragraphs_end_where_a_pattern_ends(seed: int) -> None:
    text = drawn_text(seed)
    for data in (text, text[:1], text[: seed + 2], b""):
        found = np.frombuffer(paragraph_ends(data), dtype=np.int64).tolist()
        assert found == [match.end() for match in PARAGRAPH_END.finditer(data)]


def test_many_paragraphs_are_found() -> None:
    assert len(paragraph_ends(b"a\n\n" * 5000)) == 4999 * 8


@pytest.mark.parametrize("seed", range(5))
def test_each_document_is_an_object_of_its_own(seed: int) -> None:
    data = drawn_text(seed)
    assert documents(data) == re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    for unit in ("line", "paragraph", "file"):
        block = Block(data, unit, "x")
        ends = block.document_ends()
        assert block.texts() == [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        assert b"".join(block.texts()) == data
    assert documents(b"") == []
    for wrong in ([1, 0], [len(data) + 1]):
        with pytest.raises(ValueError, match="the end before it"):
            documents(data, np.array(wrong, dtype=np.int64).tobytes())
