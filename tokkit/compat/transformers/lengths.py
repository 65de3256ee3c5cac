"""Interprets the arguments padding=, truncation= and max_length= of a call."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from tokkit.compat.transformers.tensors import choice
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.errors import OptionError

UNLIMITED = int(1e30)
"""`model_max_length` if the files do not set it; a value above LARGE is no limit."""
LARGE = int(1e20)
PADDINGS = ("longest", "max_length", "do_not_pad")
TRUNCATIONS = ("only_first", "only_second", "longest_first", "do_not_truncate")


class Sized(Protocol):
    """The settings of a tokenizer for lengths."""

    model_max_length: int
    padding_side: str
    truncation_side: str

    @property
    def pad_token(self) -> str | None:
        """The padding token."""

    @property
    def pad_token_id(self) -> int | None:
        """The id of the padding token."""

    @property
    def pad_token_type_id(self) -> int:
        """The type id of padding."""


def strategies(
    tok: Sized, padding: Any, truncation: Any, max_length: int | None, *, multiple: int | None, verbose: bool
) -> tuple[str, str, int | None]:
    """Return (padding, truncation, maximum length) as names of strategies; ValueError for impossible ones."""
    if max_length is not None and padding is False and truncation is None:
        truncation = "longest_first"
    if padding is True and max_length is not None and truncation in (None, False, "do_not_truncate") and verbose:
        warnings.warn('max_length is ignored by padding=True; pass padding="max_length"', stacklevel=4)
    pads = {True: "longest", False: "do_not_pad"}.get(padding, padding) if isinstance(padding, bool) else padding
    pads = choice("padding", pads, *PADDINGS)
    cuts = {True: "longest_first", False: "do_not_truncate", None: "do_not_truncate"}
    cut = cuts[truncation] if truncation is None or isinstance(truncation, bool) else truncation
    cut = choice("truncation", cut, *TRUNCATIONS)
    if max_length is None and (pads == "max_length" or cut != "do_not_truncate"):
        if tok.model_max_length > LARGE:
            pads = "do_not_pad" if pads == "max_length" else pads
            cut = "do_not_truncate"
        else:
            max_length = tok.model_max_length
    if pads != "do_not_pad" and (tok.pad_token is None or tok.pad_token_id is None):
        raise OptionError(
            "padding was asked for, but there is no padding token: set tokenizer.pad_token, or call "
            'add_special_tokens({"pad_token": "[PAD]"})'
        )
    both = pads != "do_not_pad" and cut != "do_not_truncate"
    if both and multiple and max_length is not None and max_length % multiple:
        raise OptionError(f"max_length is {max_length}; it must be a multiple of pad_to_multiple_of, {multiple}")
    return pads, cut, max_length


def rules(
    tok: Sized,
    pads: str,
    cut: str,
    max_length: int | None,
    *,
    stride: int,
    multiple: int | None,
    side: str | None,
    n_added: int,
) -> tuple[Truncation | None, Padding | None]:
    """Return the truncation and the padding for these strategies; `n_added` is the number of special tokens.

    As in tokenizers, a maximum length below that number truncates nothing.
    """
    truncation = padding = None
    if cut != "do_not_truncate" and max_length is not None:
        for name, value in (("max_length", max_length), ("stride", stride)):
            if value < 0:
                raise OverflowError(f"{name} is {value}; it must be at least 0")
        if stride > max(0, max_length - n_added):
            raise OptionError(
                f"stride is {stride}; it must be less than the {max_length - n_added} tokens that max_length and "
                f"{n_added} special tokens leave for the text"
            )
        if max_length >= n_added:
            truncation = Truncation(
                max_length=max_length,
                strategy=cut,  # type: ignore[arg-type]  # checked by `strategies`
                stride=stride,
                direction=tok.truncation_side,  # type: ignore[arg-type]  # checked by Truncation
            )
    if pads != "do_not_pad":
        padding = Padding(
            length=max_length if pads == "max_length" else None,
            direction=side or tok.padding_side,  # type: ignore[arg-type]  # checked by Padding
            pad_to_multiple_of=multiple,
            pad_id=tok.pad_token_id or 0,
            pad_type_id=tok.pad_token_type_id,
            pad_token=str(tok.pad_token),
        )
    return truncation, padding
