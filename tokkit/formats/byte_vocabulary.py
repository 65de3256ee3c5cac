"""Converts a vocabulary of bytes to a merge list, or to ranks.

Rank BPE and merge-list BPE differ. Each function here converts only if every text keeps its ids, and otherwise returns
or raises the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokkit.byte_symbols import NEVER_IN_UTF8, missing_byte, missing_bytes
from tokkit.definition import Definition, Split
from tokkit.errors import FormatError
from tokkit.models.bpe import BPE, possible_merges
from tokkit.models.names import described

if TYPE_CHECKING:
    from numpy.typing import NDArray


def dropped_bytes(definition: Definition) -> list[int]:
    """Return the bytes that can occur in text but have no ordinary token."""
    return [byte for byte in missing_bytes(*ordinary_tokens(definition)) if byte not in NEVER_IN_UTF8]


def ordinary_tokens(definition: Definition) -> tuple[bytes, NDArray[np.int64]]:
    """Return the vocabulary without the special tokens, packed."""
    vocab = definition.vocab
    offsets: NDArray[np.int64] = vocab.offsets.copy()
    blob, parts, done = vocab.blob, [], 0
    lengths = np.diff(offsets)
    for id_ in sorted(definition.added_vocab.values()):
        parts.append(blob[done : offsets[id_]])
        done = int(offsets[id_ + 1])
        lengths[id_] = 0
    parts.append(blob[done:])
    np.cumsum(lengths, out=offsets[1:])
    packed = b"".join(parts)
    # Unused ids after the last ordinary token are not part of a rank file.
    n_ids = int(np.flatnonzero(lengths)[-1]) + 1 if lengths.any() else 0
    offsets = offsets[: n_ids + 1]
    return packed, offsets


def only_bytes(definition: Definition, what: str) -> Split:
    """Return the split of a definition that is only byte-level BPE; FormatError names any other component."""
    model, split = definition.model, definition.pretokenizer
    if not isinstance(model, BPE) or not isinstance(split, Split):
        raise FormatError(f"{what} only byte-level BPE; this tokenizer's model is {described(model)}")
    if definition.normalizer is not None:
        raise FormatError(f"{what} no normalizer; this tokenizer has {type(definition.normalizer).__name__}")
    for token in definition.added_tokens:
        if not token.special or token.single_word or token.lstrip or token.rstrip:
            raise FormatError(
                f"{what} no added tokens except special ones without options; {token.content!r} is another kind"
            )
    if adds_tokens(definition):
        raise FormatError(f"{what} no postprocessor; this tokenizer's adds special tokens to each text")
    return split


def adds_tokens(definition: Definition) -> bool:
    """Return whether the postprocessor of a definition adds special tokens to texts."""
    return definition.postprocessor is not None and definition.postprocessor.n_added() > 0


def merge_list(definition: Definition) -> tuple[NDArray[np.uint32], bool]:
    """Return (merges of shape (n, 3), whole_piece) that give every text the definition's ids.

    A merge list has both already. For rank BPE, they are the merges that can happen; the rule that a pretoken which is
    a token gets its id is only needed if merging cannot make some token.
    """
    model = definition.model
    if not isinstance(model, BPE):
        raise FormatError(f"the model is {described(model)}; only byte-level BPE has merges of bytes")
    if model.merges is not None:
        return np.asarray(model.merges, dtype=np.uint32), model.whole_piece
    merges, unreachable = possible_merges(definition.vocab, model, definition.added_vocab.values())
    return merges, unreachable > 0


def why_not_ranks(definition: Definition) -> str | None:
    """Return why rank BPE over the ids would not give every text the definition's ids, or None if it does."""
    if not isinstance(definition.model, BPE):
        return f"the model is {described(definition.model)}, not BPE over bytes"
    if definition.model.merges is None:
        return None
    if (byte := missing_byte(definition.vocab.blob, definition.vocab.offsets)) is not None:
        return f"the byte {byte:#04x} has no token"
    vocab, special = definition.vocab, definition.added_vocab.values()
    merges, unreachable = possible_merges(vocab, definition.model, special)
    by_rank, _ = possible_merges(vocab, BPE(), special)
    n = min(len(merges), len(by_rank))
    differ = np.flatnonzero((merges[:n] != by_rank[:n]).any(axis=1))
    if len(differ):
        at = int(differ[0])
        here, there = (vocab[int(m[at, 2])] for m in (merges, by_rank))
        if here == there:
            return (
                f"{here!r} is merged from {tuple(merges[at, :2])}; ranks would merge it from {tuple(by_rank[at, :2])}"
            )
        return f"merge {at} makes {here!r}, and ranks would make {there!r} first"
    if len(by_rank) > n:
        return f"no merge makes {vocab[int(by_rank[n, 2])]!r}, which ranks would make"
    if len(merges) > n:
        return f"ranks would not make {vocab[int(merges[n, 2])]!r}"
    if unreachable and not definition.model.whole_piece:
        made = set(merges[:, 2].tolist()) | set(special)
        lost = next(token for token, id_ in vocab.items() if len(token) > 1 and id_ not in made)
        return f"no merge makes {lost!r}, which ranks would give its id as a whole pretoken"
    return None


def merges_make_all(definition: Definition) -> bool:
    """Return whether merging makes every ordinary token, so that whole pretokens need no separate rule."""
    model = definition.model
    return isinstance(model, BPE) and not possible_merges(definition.vocab, model, definition.added_vocab.values())[1]
