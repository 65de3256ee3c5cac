"""Pads a batch of ids into arrays with one row per text, with special tokens and truncation, without lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.encoding.length_rules import Padding, Truncation, check_padded
from tokkit.errors import OptionError
from tokkit.postprocessors.layout import Added, Postprocessor
from tokkit.postprocessors.lengths import Lengths, kept_lengths, padded_length

Flat = tuple[NDArray[np.uint32], NDArray[np.int64]]
"""(ids, offsets) as encode_batch returns them, uint32 and int64: text i has `ids[offsets[i]:offsets[i + 1]]`."""


class Batch(NamedTuple):
    """Arrays of shape (texts, length); both masks are uint8, of 0 and 1."""

    ids: NDArray[Any]
    type_ids: NDArray[Any]
    attention_mask: NDArray[np.uint8]
    special_tokens_mask: NDArray[np.uint8]


def batch(
    processor: Postprocessor,
    texts: Sequence[Flat],
    padding: Padding,
    *,
    truncation: Truncation | None = None,
    add_special: bool = True,
) -> Batch:
    """Return the encodings of texts or pairs after `processor`, truncated and padded, as rows of arrays.

    `texts` has the ids of all texts and, for pairs, those of all second texts. Tokens that truncation cuts off are not
    returned; for them, encode each text on its own. A text longer than a fixed length raises OptionError.

    >>> from tokkit.postprocessors.bert import Bert
    >>> flat = np.array([7, 8, 9], dtype=np.uint32), np.array([0, 1, 3])
    >>> batch(Bert(sep=("[SEP]", 2), cls=("[CLS]", 1)), [flat], Padding()).ids.tolist()
    [[1, 7, 2, 0], [1, 8, 9, 2]]
    """
    layout = processor.layout(pair=len(texts) == 2, add_special=add_special)
    lengths = checked_lengths(texts)
    if add_special:
        processor.check_batch(texts)
    kept = lengths
    if truncation is not None:
        kept = kept_lengths(lengths, truncation, processor.n_added(pair=len(texts) == 2) if add_special else 0)
        check_stride(lengths, kept, truncation.stride)
    left = truncation is not None and truncation.direction == "left"
    sources = [chosen(flat, long, short, left=left) for flat, long, short in zip(texts, lengths, kept, strict=True)]
    n = len(lengths[0])
    widths = [
        np.full(n, len(part.ids), dtype=np.int64) if isinstance(part, Added) else kept[part.number]
        for part in layout.parts
    ]
    total = sum(widths, np.zeros(n, dtype=np.int64))
    length = padded_length(padding, int(total.max(initial=0)))
    check_padded(n, length)
    if n and total.max() > length:
        row = int(total.argmax())
        raise OptionError(
            f"text {row} has {total[row]} tokens, more than the padded length {length}: truncate, or pad to the longest"
        )
    # Lengths fit in 32 bits, and comparing half as many bytes takes half the time.
    at = (length - total if padding.direction == "left" else np.zeros(n, dtype=np.int64)).astype(np.int32)[:, None]
    places = np.arange(length, dtype=np.int32)
    ids = np.full((n, length), padding.pad_id, dtype=np.uint32)
    type_ids = np.full((n, length), padding.pad_type_id, dtype=np.uint32)
    attention = (places >= at) & (places < at + total.astype(np.int32)[:, None])
    special = np.ones((n, length), dtype=bool)
    for part, width in zip(layout.parts, widths, strict=True):
        if isinstance(part, Added):
            inside: Any = (np.arange(n)[:, None], at + np.arange(len(part.ids)))
            ids[inside] = part.ids
            special[inside] = part.special
        else:
            inside = (places >= at) & (places < at + width.astype(np.int32)[:, None])
            ids[inside] = sources[part.number]
            special &= ~inside
        if part.type_id != padding.pad_type_id:
            type_ids[inside] = part.type_id
        at = at + width.astype(np.int32)[:, None]
    return Batch(ids, type_ids, attention.view(np.uint8), special.view(np.uint8))


def checked_lengths(texts: Sequence[Flat]) -> list[Lengths]:
    """Return the number of ids of each text; OptionError for arrays that are not the ids of texts or pairs."""
    if len(texts) not in (1, 2) or len({len(offsets) for _, offsets in texts}) != 1:
        sizes = [len(offsets) - 1 for _, offsets in texts]
        raise OptionError(f"texts have the sizes {sizes}; give one (ids, offsets), or two of equal length for pairs")
    lengths: list[Lengths] = []
    for ids, offsets in texts:
        if ids.dtype != np.uint32 or ids.ndim != 1 or offsets.ndim != 1 or offsets.dtype.kind not in "iu":
            raise OptionError(f"ids are {ids.dtype} and offsets {offsets.dtype}; they must be uint32 and int64 (n,)")
        each = offsets[1:].astype(np.int64) - offsets[:-1].astype(np.int64)
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids) or (each < 0).any():
            raise OptionError(f"offsets must be ascending, from 0 to the number of ids, {len(ids)}")
        lengths.append(each)
    return lengths


def check_stride(lengths: Sequence[Lengths], kept: Sequence[Lengths], stride: int) -> None:
    """Raise OptionError if the stride is not shorter than the tokens that remain of a text, as for one encoding."""
    for long, short in zip(lengths, kept, strict=True):
        bad = np.flatnonzero((short < long) & (short > 0) & (short <= stride))
        if stride and len(bad):
            row = int(bad[0])
            raise OptionError(
                f"stride is {stride}; it must be less than the {short[row]} tokens that remain of the {long[row]} of "
                f"text {row}"
            )


def chosen(flat: Flat, lengths: Lengths, kept: Lengths, *, left: bool) -> NDArray[np.uint32]:
    """Return the first `kept` ids of each text (the last ones if `left` is cut off), joined."""
    ids, offsets = flat
    if kept is lengths:
        return ids
    starts = offsets[:-1] + (lengths - kept if left else 0)
    ends = np.cumsum(kept)
    return ids[np.repeat(starts - (ends - kept), kept) + np.arange(int(kept.sum()))]
