"""`Truncation` and `Padding`: the maximum and minimum length of an encoding, as data.

They are not in definition.py, so that loading a tokenizer without them, the usual case, does not import them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokkit import limits
from tokkit.checks import checked_int, is_text
from tokkit.errors import OptionError


def _checked_choice(owner: str, name: str, value: object, *choices: str) -> None:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{owner}: {name} is {value!r}; it must be one of {', '.join(choices)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """How an encoding of more than `max_length` tokens, special tokens included, is truncated.

    `strategy` decides which text of a pair loses tokens: "longest_first" (each is cut to half of the length, but a
    short one is kept whole), "only_first" or "only_second". The tokens that are cut off are in `overflowing`, in parts
    that begin with the last `stride` tokens of the part before. The `direction` "left" cuts off the start of the text.
    """

    max_length: int
    strategy: Literal["longest_first", "only_first", "only_second"] = "longest_first"
    stride: int = 0
    direction: Literal["left", "right"] = "right"

    def __post_init__(self) -> None:
        checked_int("truncation", "max_length", self.max_length, maximum=(1 << 63) - 1)
        checked_int("truncation", "stride", self.stride, maximum=(1 << 63) - 1)
        _checked_choice("truncation", "strategy", self.strategy, "longest_first", "only_first", "only_second")
        _checked_choice("truncation", "direction", self.direction, "left", "right")
        if self.stride and self.stride >= self.max_length:
            raise OptionError(
                f"truncation: stride is {self.stride}; it must be less than max_length, {self.max_length}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """How encodings are padded: to the longest of their batch (`length=None`), or to at least `length` tokens.

    The length is rounded up to a multiple of `pad_to_multiple_of`, unless that is None or 0.
    """

    length: int | None = None
    direction: Literal["left", "right"] = "right"
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"

    def __post_init__(self) -> None:
        for name in ("length", "pad_to_multiple_of"):
            if getattr(self, name) is not None:
                checked_int("padding", name, getattr(self, name), maximum=(1 << 31) - 1)
        _checked_choice("padding", "direction", self.direction, "left", "right")
        checked_int("padding", "pad_id", self.pad_id)
        checked_int("padding", "pad_type_id", self.pad_type_id)
        if not is_text(self.pad_token):
            raise OptionError(f"padding: pad_token is {self.pad_token!r}; it must be str")


def check_padded(n_rows: int, length: int) -> None:
    """Raise OptionError if rows of this length have more tokens than the limit padded_tokens."""
    if n_rows * length > (maximum := limits.current().padded_tokens):
        what = f"padding to {length:,} tokens makes {n_rows * length:,} tokens, more than {maximum:,}"
        raise limits.exceeded("padded_tokens", what, OptionError)


def checked_direction(direction: str) -> str:
    """Return "left" or "right", or raise OptionError."""
    if direction not in ("left", "right"):
        raise OptionError(f'direction is {direction!r}; it must be "left" or "right"')
    return direction


def windows(n: int, size: int, stride: int, *, left: bool) -> list[slice]:
    """Return the parts of n tokens that are too many, of `size` tokens, each `stride` tokens into the one before.

    The first one is kept, and others overflow. With `left` they begin at the end of the text.

    >>> windows(7, 4, 1, left=False), windows(7, 4, 1, left=True)
    ([slice(0, 4, None), slice(3, 7, None)], [slice(3, 7, None), slice(0, 4, None)])
    """
    step, made = size - stride, []
    for i in range(1 + -(-(n - size) // step)):
        start = max(0, n - i * step - size) if left else i * step
        made.append(slice(start, n - i * step if left else min(n, start + size)))
    return made
