"""Truncates and pads encodings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokkit.encoding import Encoding
from tokkit.encoding.length_rules import Padding, Truncation, check_padded
from tokkit.errors import OptionError

Lengths = NDArray[np.int64]


def truncate(encodings: Sequence[Encoding], truncation: Truncation, n_added: int = 0) -> list[Encoding]:
    """Return the encodings of one text or a pair, truncated so that they and `n_added` special tokens fit."""
    room = room_for_text(truncation, n_added)
    if sum(map(len, encodings)) <= room:
        return list(encodings)
    lengths = [np.array([len(encoding)], dtype=np.int64) for encoding in encodings]
    return [
        encoding.truncate(int(kept[0]), stride=truncation.stride, direction=truncation.direction)
        for encoding, kept in zip(encodings, kept_lengths(lengths, truncation, n_added), strict=True)
    ]


def room_for_text(truncation: Truncation, n_added: int) -> int:
    """Return the number of text tokens that fit with the special tokens; OptionError if not even these fit."""
    if truncation.max_length < n_added:
        raise OptionError(
            f"max_length is {truncation.max_length}; it must be at least {n_added}, the number of special tokens"
        )
    return truncation.max_length - n_added


def kept_lengths(lengths: Sequence[Lengths], truncation: Truncation, n_added: int = 0) -> list[Lengths]:
    """Return the number of tokens to keep of each text, for texts or pairs.

    `lengths` is one array (n,) for texts, or two for pairs. If a pair is too long, "longest_first" keeps the shorter
    text whole if the longer one still keeps at least as many tokens; else each gets half, and an odd token goes to the
    longer text (to the second if both are equally long).
    """
    room = room_for_text(truncation, n_added)
    total = sum(lengths[1:], lengths[0])
    too_long = total > room
    if not too_long.any():
        return list(lengths)
    pair = len(lengths) == 2
    if not room:
        kept = [np.zeros_like(length) for length in lengths]
    elif truncation.strategy == "longest_first" and pair:
        first, second = lengths
        shorter = np.minimum(first, second)
        longer = np.maximum(shorter, room - shorter)
        halves = shorter + longer > room
        shorter = np.where(halves, room // 2, shorter)
        longer = np.where(halves, room - room // 2, longer)
        swap = first > second
        kept = [np.where(swap, longer, shorter), np.where(swap, shorter, longer)]
    elif truncation.strategy == "only_second" and not pair:
        raise OptionError(
            f"the strategy only_second truncates the second text, but there is only one text, of {int(total.max())} "
            f"tokens, with room for {room}: pass a pair, or another strategy"
        )
    else:
        cut = 1 if truncation.strategy == "only_second" else 0
        kept = list(lengths)
        kept[cut] = lengths[cut] - (total - room)
        short = np.flatnonzero(too_long & (kept[cut] <= 0))
        if len(short):
            n, more = int(lengths[cut][short[0]]), int((total - room)[short[0]])
            raise OptionError(
                f"truncation to {truncation.max_length} tokens ({n_added} of them special) must cut {more} off the "
                f"{('first', 'second')[cut]} text, which has {n}: shorten the other text, or use longest_first"
            )
    return [np.where(too_long, new, old) for new, old in zip(kept, lengths, strict=True)]


def pad(encodings: Sequence[Encoding], padding: Padding) -> list[Encoding]:
    """Return encodings of one batch padded by `padding`; longer ones stay unchanged."""
    length = padded_length(padding, max(map(len, encodings), default=0))
    check_padded(len(encodings), length)
    return [
        encoding.pad(
            length,
            id=padding.pad_id,
            type_id=padding.pad_type_id,
            token=padding.pad_token,
            direction=padding.direction,
        )
        for encoding in encodings
    ]


def padded_length(padding: Padding, longest: int) -> int:
    """Return the length to pad to, if the longest encoding has `longest` tokens."""
    length = longest if padding.length is None else padding.length
    multiple = padding.pad_to_multiple_of or 1
    return -(-length // multiple) * multiple
