"""`pad`: makes a batch of encoded texts with different lengths, for collators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tokkit._core.lists import int_rows
from tokkit.compat.transformers import lengths, tensors
from tokkit.compat.transformers.batch_encoding import BatchEncoding
from tokkit.compat.transformers.call import Call
from tokkit.errors import OptionError


class Pad(Call):
    """`tokenizer.pad(examples)`."""

    def pad(
        self,
        encoded_inputs: Any,
        padding: Any = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: Any = None,
        verbose: bool = True,
    ) -> BatchEncoding:
        """Return encoded texts padded to one length.

        `encoded_inputs` is a dictionary of lists (or of lists of lists) or a list of such dictionaries. Columns of ids
        and masks are padded, others are kept. Tensors become tensors of the same library again.
        """
        columns = _columns_of(encoded_inputs)
        main = self.model_input_names[0]
        if main not in columns:
            raise OptionError(f"the columns are {', '.join(columns) or 'none'}; there must be {main}")
        attention = (
            "attention_mask" in self.model_input_names if return_attention_mask is None else return_attention_mask
        )
        if columns[main] is None or not len(columns[main]):
            return BatchEncoding({**columns, **({"attention_mask": []} if return_attention_mask else {})})
        first = columns[main][0] if isinstance(columns[main], (list, tuple)) else columns[main]
        while isinstance(first, (list, tuple)) and len(first):
            first = first[0]
        if not isinstance(first, (int, list, tuple)):
            kind = "pt" if type(first).__module__.startswith("torch") else "np"
            if not isinstance(first, np.ndarray) and not isinstance(first, np.generic) and kind == "np":
                raise OptionError(f"an id is {first!r:.80}; it must be an int, or ids an array or a tensor")
            return_tensors = kind if return_tensors is None else return_tensors
            columns = {name: _listed(column) for name, column in columns.items()}
        pads, _, max_length = lengths.strategies(
            self, padding, None if padding is not False else False, max_length, multiple=None, verbose=verbose
        )
        side = tensors.choice("padding_side", padding_side or self.padding_side, "left", "right")
        batched = len(columns[main]) > 0 and isinstance(columns[main][0], (list, tuple))
        if not batched:
            columns = {name: [column] for name, column in columns.items()}
        n = len(columns[main])
        if any(len(column) != n for column in columns.values()):
            sizes = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
            raise OptionError(f"the columns have different numbers of rows: {sizes}")
        if attention and "attention_mask" not in columns:
            columns["attention_mask"] = [[1] * len(row) for row in columns[main]]
        if pads != "do_not_pad":
            length = max(map(len, columns[main])) if pads == "longest" else max_length or 0
            if pad_to_multiple_of:
                length = -(-length // pad_to_multiple_of) * pad_to_multiple_of
            fills = {
                main: self.pad_token_id,
                "attention_mask": 0,
                "token_type_ids": self.pad_token_type_id,
                "special_tokens_mask": 1,
            }
            missing = [length - len(row) for row in columns[main]]
            for name in fills.keys() & columns.keys():
                made, fill = None, fills[name]
                if return_tensors is not None and batched and fill is not None:
                    made = int_rows(columns[name], length, fill, side == "left")
                columns[name] = (
                    made
                    if made is not None
                    else [
                        _padded(list(row), fills[name], k, side) for row, k in zip(columns[name], missing, strict=True)
                    ]
                )
        if not batched:
            columns = {name: column[0] for name, column in columns.items()}
        return BatchEncoding(columns, tensor_type=return_tensors)


def _padded(row: list[Any], fill: Any, n: int, side: str) -> list[Any]:
    return [fill] * n + row if side == "left" else row + [fill] * n


def _columns_of(given: Any) -> dict[str, Any]:
    """Return name → column of a dictionary, or of a list of dictionaries."""
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], Mapping):
        return {name: [example[name] for example in given] for name in given[0]}
    if not isinstance(given, Mapping):
        raise AttributeError(f"encoded_inputs is {type(given).__name__}; it must be a dictionary, or a list of them")
    return dict(given)


def _listed(value: Any) -> Any:
    """Return tensors, and lists of them, as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value
