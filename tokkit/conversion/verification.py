"""Encodes a corpus with two tokenizers and finds the first difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokkit.corpus.readers import Corpus, InputErrors, Unit

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MAX_SHOWN = 60
"""Maximum characters of the text that a message shows for a difference."""
MAX_IDS = 12


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first text that two tokenizers encode differently.

    `text` is the part of document number `document` (from 1) of `file` that begins with the first different token;
    `ids` and `ids_there` are its ids in the two tokenizers, at most MAX_IDS of them.
    """

    file: str
    document: int
    text: str
    ids: tuple[int, ...]
    ids_there: tuple[int, ...]

    def __str__(self) -> str:
        """Return a sentence."""
        return (
            f"{self.file}, document {self.document}: {self.text!r} has the ids {list(self.ids)} here and "
            f"{list(self.ids_there)} there"
        )


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of `verify`: numbers of documents and of tokens of the first tokenizer, and the first difference."""

    documents: int
    tokens: int
    mismatch: Mismatch | None = None

    @property
    def equal(self) -> bool:
        """Whether all ids were equal."""
        return self.mismatch is None


def verify(
    one: Tokenizer,
    other: Tokenizer,
    corpus: object,
    *,
    special: str = "text",
    unit: Unit = "paragraph",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
) -> Verified:
    """Encode each document of a corpus with both tokenizers, up to the first with different ids.

    `corpus` is a path, a list of paths, or an iterator of texts; `unit`, `field` and `input_errors` are as of `train`,
    `special` and `threads` as of `encode_batch`.
    """
    documents = tokens = 0
    for file, texts in _blocks(corpus, unit, field, input_errors):
        ids, offsets = one.encode_batch(texts, special=special, threads=threads)
        ids_there, offsets_there = other.encode_batch(texts, special=special, threads=threads)
        if not (np.array_equal(offsets, offsets_there) and np.array_equal(ids, ids_there)):
            for number, text in enumerate(texts):
                if found := _mismatch(one, other, text, special):
                    place = documents + number + 1
                    documents, tokens = place, tokens + int(offsets[number + 1])
                    return Verified(documents, tokens, Mismatch(file, place, *found))
        documents += len(texts)
        tokens += len(ids)
    return Verified(documents, tokens)


def _blocks(corpus: object, unit: Unit, field: str, errors: InputErrors) -> Iterator[tuple[str, list[str]]]:
    for block in Corpus(corpus, unit=unit, field=field, errors=errors):
        yield block.name, list(block.documents(errors))


def _mismatch(
    one: Tokenizer, other: Tokenizer, text: str, special: str
) -> tuple[str, tuple[int, ...], tuple[int, ...]] | None:
    ids, there = one.encode(text, special=special), other.encode(text, special=special)
    if ids == there:
        return None
    at = next((i for i, (a, b) in enumerate(zip(ids, there, strict=False)) if a != b), min(len(ids), len(there)))
    of_text = one(text, special=special, add_special=False, truncation=None, padding=None).offsets
    start = int(of_text[at][0]) if at < len(of_text) else max(len(text) - MAX_SHOWN, 0)
    return text[start : start + MAX_SHOWN], tuple(ids[at : at + MAX_IDS]), tuple(there[at : at + MAX_IDS])
