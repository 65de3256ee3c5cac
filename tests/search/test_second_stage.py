"""The reranker puts the candidates of the first search in the order of its scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tokkit.errors import OptionError
from tokkit.search import Embedding, SearchIndex, find
from word_encoder import WordEncoder

TEXTS = [f"heron {i} {'pond ' * i}" for i in range(70)]


class ByLength:
    """Longer documents are better, as far as it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def rank(self, query: str, documents: list[str], top_k: int | None = None) -> list[dict[str, Any]]:
        self.asked.append((query, len(documents)))
        order = sorted(range(len(documents)), key=lambda i: -len(documents[i]))
        return [{"corpus_id": i, "score": len(documents[i])} for i in order[:top_k]]


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_text(text)
    return Embedding([str(tmp_path)], tmp_path / "index").run(WordEncoder(max_length=600)).index


def test_candidates_are_put_in_order_query_by_query(index: SearchIndex) -> None:
    encoder, second = WordEncoder(max_length=600), ByLength()
    nearest = find(index, encoder, ["heron", "pond"], k=9)
    found = find(index, encoder, ["heron", "pond"], k=3, rerank=second, candidates=9)
    assert second.asked == [("heron", 9), ("pond", 9)]
    for hits, near in zip(found, nearest, strict=True):
        expected = sorted(near, key=lambda hit: -len(hit.text))[:3]
        assert [hit.text for hit in hits] == [hit.text for hit in expected]
        assert [hit.score for hit in hits] == [len(hit.text) for hit in expected]
    second.asked.clear()
    assert len(find(index, encoder, ["heron"], k=60, rerank=second)[0]) == 60
    find(index, encoder, ["heron"], rerank=second)
    assert second.asked == [("heron", 60), ("heron", 50)]


def test_fewer_candidates_than_hits_and_candidates_for_nothing_are_refused(index: SearchIndex) -> None:
    with pytest.raises(OptionError, match="candidates is 4; it must be at least 5 to return 5 passages"):
        find(index, WordEncoder(), ["heron"], rerank=ByLength(), candidates=4)
    with pytest.raises(OptionError, match="candidates is 9, but there is no reranker"):
        find(index, WordEncoder(), ["heron"], candidates=9)
