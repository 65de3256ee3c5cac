"""Shared code of the models of tokenizer.json: builds tables, checks options, encodes pretokens."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.models import PieceEncoder
from tokkit.errors import OptionError, VocabError
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText

MAX_SEED = (1 << 64) - 1


class CompiledModel:
    """A model with its vocabulary, ready to run. Immutable for callers; threads may share it, but not a text."""

    __slots__ = ("_core", "_kind")

    def __init__(self, kind: str, core: PieceEncoder) -> None:
        self._kind = kind
        self._core = core

    @property
    def core(self) -> PieceEncoder:
        """The encoder in the core."""
        return self._core

    def encode(
        self, text: AlignedText, *, seed: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]:
        """Return (ids, spans, words) of a text that has been split into pretokens.

        `ids` has shape (n,); `spans` has shape (n, 2), in bytes of the original text; `words` has shape (n,), the
        number of each token's pretoken. A pretoken that is an added token is one token. With a seed, BPE models use
        dropout. VocabError if a character has no token and the model has no unknown token.
        """
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED):
            raise OptionError(f"a seed is {seed!r}; it must be an integer from 0 to 2^64 - 1")
        try:
            return self._core.encode(text, seed)
        except LookupError as error:
            number = error.args[0]
            piece = text.pieces[number]
            shown = piece if len(piece) <= 40 else piece[:40] + "…"
            raise VocabError(
                f"pretoken {number}, {shown!r}, has characters without a token, and this {self._kind} model has no "
                "unknown token; add one to the vocabulary, or clean the text"
            ) from None


def own_tokens(vocab: Vocab, added_ids: Collection[int], n_own: int | None = None) -> NDArray[np.uint8]:
    """Return marks (uint8, n_ids): 1 for ids that the model must not return, `added_ids` and those from `n_own` on."""
    marks = np.zeros(vocab.n_ids, dtype=np.uint8)
    if n_own is not None:
        marks[n_own:] = 1
    for id_ in added_ids:
        if not 0 <= id_ < vocab.n_ids:
            raise OptionError(f"added_ids holds {id_}; the ids of this vocabulary are 0 to {vocab.n_ids - 1}")
        marks[id_] = 1
    return marks


def id_of(token: str | None, vocab: Vocab, marks: NDArray[np.uint8]) -> int | None:
    """Return the id of a token if the model has it."""
    found = None if token is None else vocab.get(token)
    return None if found is None or marks[found] else found


def build(kind: str, vocab: Vocab, marks: NDArray[np.uint8], options: dict[str, object]) -> CompiledModel:
    """Build the tables; an invalid vocabulary raises VocabError."""
    try:
        core = PieceEncoder(kind, vocab.blob, vocab.offsets, marks, options)
    except OverflowError as error:
        raise VocabError(str(error)) from None
    except ValueError as error:
        raise VocabError(_complaint(vocab, marks, error.args[0])) from None
    return CompiledModel(kind, core)


def _complaint(vocab: Vocab, marks: NDArray[np.uint8], place: object) -> str:
    if not isinstance(place, int):
        return str(place)
    if place < 0:
        return (
            f"merge {-1 - place} has invalid ids; they must be tokens of the model, and the result must be the left "
            "token joined with the right one without its continuation prefix"
        )
    token = vocab[place]
    ids = [id_ for other, id_ in vocab.items() if other == token and not marks[id_]]
    return f"the ids {ids[0]} and {place} have the same token, {token!r}"


def check_text(*, optional: bool, **options: object) -> None:
    """Raise OptionError unless each value is text, or None for optional ones."""
    for name, value in options.items():
        if value is None and optional:
            continue
        if not isinstance(value, str):
            raise OptionError(f"{name} is {value!r}; it must be text{' or None' if optional else ''}")
        if any(0xD800 <= ord(c) < 0xE000 for c in value):
            raise OptionError(f"{name} is {value!r}; it must not have a lone surrogate")
