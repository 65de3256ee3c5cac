"""The adapters of docs/how-to/chunking.md give their chunks to other libraries, if these are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import doc_pages
import tokkit
from tokkit.chunks import chunk

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = 'One, two, three.\n\nFour. Five! "Six and seven." Eight, nine, ten.\n'


@pytest.fixture
def cl100k(load_shared: Callable[[str], tokkit.Tokenizer]) -> tokkit.Tokenizer:
    return load_shared("cl100k_base")


def names_after(package: str, **names: Any) -> dict[str, Any]:
    """Run the page's block that imports a package, and return its names; skip where that is absent."""
    pytest.importorskip(package, reason=f"{package} is not installed; it is in no extra, as it brings much along")
    (block,) = (b for b in doc_pages.read("docs/how-to/chunking.md").blocks if f"from {package}" in b.body)
    exec(compile(block.body, "docs/how-to/chunking.md", "exec"), names)
    return names


def test_langchain_splits_by_chunks(cl100k: tokkit.Tokenizer) -> None:
    names = names_after("langchain_text_splitters", tok=cl100k, text=TEXT)
    splitter = names["TokkitTextSplitter"](cl100k, chunk_size=8, chunk_overlap=2, at="word")
    expected = [part.text for part in chunk(TEXT, cl100k, tokens=8, overlap=2, at="word")]
    assert splitter.split_text(TEXT) == expected
    assert splitter.transform_documents(names["documents"])


def test_llama_index_counts_with_a_tokenizer(cl100k: tokkit.Tokenizer) -> None:
    names = names_after("llama_index.core", tok=cl100k, text=TEXT, chunk=chunk)
    assert all(cl100k.count(text) <= 9 for text in names["texts"])
    assert [(node.start_char_idx, node.end_char_idx) for node in names["nodes"]] == [(0, 16), (18, 46), (47, 64)]
