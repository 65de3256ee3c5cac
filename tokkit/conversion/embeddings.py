"""`remap_embeddings`: rearranges the rows of a matrix for a tokenizer whose vocabulary was edited."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError, ShapeError

NEW_ROWS = ("mean", "zeros")


def remap_embeddings(
    matrix: Any, ids: Any, n_rows: int | None = None, *, new: str = "mean", default: Any = None
) -> NDArray[Any]:
    """Return a matrix whose row `ids[i]` is row i of `matrix`, of shape (n_rows, width).

    `ids` is the map of an edit, with -1 for a removed token; rows of `matrix` beyond it, such as padding to a multiple
    of 64, are dropped. `n_rows` is `n_ids` of the edited tokenizer, by default the highest new id plus one. Rows of new
    tokens are the mean of all kept rows, zeros, or `default`, a given row. The matrix may be embeddings, or the weights
    or biases of an output layer, with any number of dimensions.

    >>> remap_embeddings([[1.0, 1.0], [2.0, 2.0], [3.0, 5.0]], [0, -1, 1], 3).tolist()
    [[1.0, 1.0], [3.0, 5.0], [2.0, 3.0]]
    """
    rows, to = np.asarray(matrix), np.asarray(ids)
    if to.ndim != 1 or to.dtype.kind not in "iu":
        raise ShapeError(f"ids are {to.dtype} of shape {to.shape}; they must be integers of shape (n,)")
    if rows.ndim < 1 or len(rows) < len(to):
        raise ShapeError(f"the matrix has the shape {rows.shape}; it must have a row for each of the {len(to)} old ids")
    if new not in NEW_ROWS:
        raise OptionError(f"new is {new!r}; it must be one of {', '.join(NEW_ROWS)}")
    stays = to >= 0
    minimum = int(to.max(initial=-1)) + 1
    n = minimum if n_rows is None else n_rows
    if n < minimum:
        raise ShapeError(f"n_rows is {n}; it must be at least {minimum}, the highest new id plus one")
    old = rows[: len(to)][stays]
    made = np.zeros((n, *rows.shape[1:]), dtype=rows.dtype)
    if default is not None:
        made[:] = np.asarray(default, dtype=rows.dtype)
    elif new == "mean" and len(old):
        made[:] = old.mean(axis=0, dtype=np.float64).astype(rows.dtype)
    made[to[stays]] = old
    return made
