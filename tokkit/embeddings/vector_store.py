"""Keys and their vectors in one matrix, with attributes such as counts: the base of queries and files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tokkit._core.embed.vector_file import PackedKeys
from tokkit.embeddings.formats.rows_in_file import RowsInFile
from tokkit.embeddings.keys import KEY_TYPES, Key, Keys
from tokkit.errors import OptionError, ShapeError

ROWS = 1 << 8
"""Rows whose lengths are computed at once: with 300 columns 600 KiB of float64, which fit in the cache."""


def _lengths_of(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the lengths of rows (n, d), in their dtype."""
    precise = rows.astype(np.float64)
    lengths: NDArray[Any] = np.sqrt(np.einsum("ij,ij->i", precise, precise)).astype(rows.dtype)
    return lengths


class VectorStore(Keys):
    """Vectors by key: row i of `vectors` belongs to `index_to_key[i]`. Names and meaning are those of gensim 4."""

    def __init__(self, vector_size: int, count: int = 0, dtype: DTypeLike = np.float32) -> None:
        if isinstance(vector_size, bool) or not isinstance(vector_size, (int, np.integer)) or vector_size < 1:
            raise OptionError(f"vector_size is {vector_size!r}; it must be an int of at least 1")
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
            raise OptionError(f"count is {count!r}; it must be an int of at least 0")
        self.vector_size = int(vector_size)
        super().__init__(int(count))
        self.vectors = np.zeros((count, vector_size), dtype=dtype)
        self.norms: NDArray[Any] | None = None
        self.expandos: dict[str, NDArray[Any]] = {}
        self.next_index = 0

    @property
    def vectors(self) -> NDArray[Any]:
        """The matrix (n, d). Those of a large .bin are copied from the file at the first use, as `load` says."""
        if self._in_file is not None:
            self.vectors = self._in_file.matrix()
        return self._vectors

    @vectors.setter
    def vectors(self, vectors: NDArray[Any]) -> None:
        self._vectors: NDArray[Any] = vectors
        self._in_file: RowsInFile | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle or to copy: vectors with them, if they are in a file."""
        _ = self.vectors
        return self.__dict__

    def _vector(self, row: int) -> NDArray[Any]:
        """Return the vector of a row (d,), as it is stored."""
        in_file = self._in_file
        if in_file is None or in_file.is_worn:
            found: NDArray[Any] = self.vectors[row]
            return found
        return in_file.row(row)

    def _fill(
        self,
        keys: PackedKeys | Sequence[Key],
        vectors: NDArray[Any] | RowsInFile,
        counts: ArrayLike | None,
        rows: dict[Any, int] | None = None,
    ) -> None:
        """Set the keys and the matrix of their vectors, which is not copied; raises for inconsistent sizes.

        `rows` is key → row, if that is known.
        """
        in_file = vectors if isinstance(vectors, RowsInFile) else None
        if not isinstance(vectors, RowsInFile):
            if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.shape[1] < 1:
                raise ShapeError(f"vectors have shape {np.shape(vectors)}; they must be an array (n, d)")
            if vectors.dtype.kind != "f":
                raise TypeError(f"vectors are {vectors.dtype}; they must be float32 (or float16, float64)")
            self.vectors = vectors
        n, self.vector_size = vectors.shape
        self._in_file = in_file
        self._hold(keys, rows)
        if len(self) != n:
            raise ShapeError(f"{len(self)} keys and {n} vectors; each key has one vector")
        if self._packed is None and len(self._rows) != n:
            i = next(i for i, key in enumerate(self._list) if self._row(key) != i)
            again = self._row(self._list[i])
            raise OptionError(f"the key {self._list[i]!r} is given twice, at {i} and {again}; keys must be distinct")
        self.norms, self.next_index = None, n
        if counts is not None:
            given = np.array(counts, dtype=np.int64)
            if given.shape != (n,):
                raise ShapeError(f"counts have shape {given.shape}; there are {n} keys")
            self.expandos["count"] = given

    def __repr__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    def __contains__(self, key: object) -> bool:
        return self.has_index_for(key)

    def has_index_for(self, key: Any) -> bool:
        """Return whether a key has a row."""
        return bool(self.get_index(key, -1) >= 0)

    def get_index(self, key: Any, default: int | None = None) -> int:
        """Return the row of a key; without such a key `default`, or KeyError if that is None.

        An int that is not a key is a row, if it is in range.
        """
        found = self._row(key)
        if found >= 0:
            return found
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
            return int(key)
        if default is not None:
            return default
        raise KeyError(f"Key '{key}' not present")

    def __getitem__(self, keys: Key | Iterable[Key]) -> NDArray[Any]:
        """Return the vector of a key (d,), or those of several keys (n, d)."""
        if isinstance(keys, KEY_TYPES):
            return self.get_vector(keys)
        return np.vstack([self.get_vector(key) for key in keys])

    def get_vector(self, key: Key, norm: bool = False) -> NDArray[Any]:
        """Return the vector of a key, read-only; scaled to length 1 with `norm`. KeyError for an unknown key.

        >>> from tokkit.embeddings import KeyedVectors
        >>> words = KeyedVectors.of(["a", "b"], np.array([[3, 4], [0, 1]], dtype=np.float32))
        >>> words.get_vector("a", norm=True)
        array([0.6, 0.8], dtype=float32)
        """
        index = self.get_index(key)
        found = self._vector(index)
        if norm:
            found = found / (self._lengths()[index] if self._in_file is None else _lengths_of(found[np.newaxis])[0])
        found.setflags(write=False)
        return found

    def add_vector(self, key: Key, vector: ArrayLike) -> int:
        """Add a key and its vector, in the first row without a key, and return the row.

        If all rows have keys the matrix is copied, with a UserWarning; `add_vectors` adds many at once.
        """
        row = self.next_index
        if row < len(self) and self.index_to_key[row] is None:
            self._own()[row] = vector
            self.index_to_key[row] = key
            self.key_to_index[key] = row
            self.norms = None
            self.next_index += 1
            return row
        row = len(self)
        message = "add_vector copies the matrix when it grows; add many keys by one add_vectors, or give count at first"
        warnings.warn(message, UserWarning, stacklevel=2)
        self.add_vectors([key], np.asarray(vector).reshape(1, -1))
        self.next_index = row + 1
        return row

    def add_vectors(
        self,
        keys: Key | Sequence[Key],
        weights: ArrayLike,
        extras: Mapping[str, NDArray[Any]] | None = None,
        replace: bool = False,
    ) -> None:
        """Add keys and their vectors (n, d); `extras` are their attributes, name → array (n,).

        Existing keys keep their vectors and attributes unless `replace` is true. ShapeError for vectors that do not
        fit; then nothing is changed.
        """
        given: list[Any] = [keys] if isinstance(keys, KEY_TYPES) else list(keys)
        rows = np.asarray(weights)
        if isinstance(keys, KEY_TYPES):
            rows = rows.reshape(1, -1)
        if rows.ndim != 2 and not given:
            return
        if rows.shape != (len(given), self.vector_size):
            raise ShapeError(
                f"the vectors have shape {rows.shape}; {len(given)} keys need ({len(given)}, {self.vector_size})"
            )
        extras = dict(extras or {})
        for name, values in extras.items():
            if np.shape(values) != (len(given),):
                raise ShapeError(f"the attribute {name!r} has shape {np.shape(values)}; there are {len(given)} keys")
        self.allocate_vecattrs(list(extras), [extras[name].dtype.type for name in extras])
        first = {key: i for i, key in reversed(list(enumerate(given)))}
        new = [i for key, i in sorted(first.items(), key=lambda item: item[1]) if key not in self.key_to_index]
        old = [i for i, key in enumerate(given) if key in self.key_to_index] if replace else []
        if old:
            places = [self.key_to_index[given[i]] for i in old]
            self._own()[places] = rows[old]
            for name, values in extras.items():
                self.expandos[name][places] = np.asarray(values)[old]
        if new:
            start = len(self.index_to_key)
            for i in new:
                self.key_to_index[given[i]] = len(self.index_to_key)
                self.index_to_key.append(given[i])
            self.vectors = np.vstack((self.vectors, rows[new].astype(self.vectors.dtype)))
            self.allocate_vecattrs()
            for name, values in extras.items():
                self.expandos[name][start:] = np.asarray(values)[new]
        self.norms = None

    def __setitem__(self, keys: Key | list[Key], weights: ArrayLike) -> None:
        """Add keys and vectors; a key that exists gets the new vector."""
        if not isinstance(keys, list):
            keys = [keys]
            weights = np.asarray(weights).reshape(1, -1)
        self.add_vectors(keys, weights, replace=True)

    def _own(self) -> NDArray[Any]:
        """Return a writable matrix: a copy if it is memory-mapped."""
        if not self.vectors.flags.writeable:
            self.vectors = self.vectors.copy()
        return self.vectors

    def allocate_vecattrs(self, attrs: Sequence[str] | None = None, types: Sequence[Any] | None = None) -> None:
        """Extend the arrays of attributes to the number of keys; by default all existing attributes.

        TypeError if an attribute exists with another type.
        """
        if attrs is None:
            attrs = list(self.expandos)
            types = [self.expandos[name].dtype.type for name in attrs]
        for name, given in zip(attrs, types or (), strict=True):
            dtype: Any = {int: np.int64, str: object}.get(given, given)
            old = self.expandos.get(name)
            if old is not None and not np.issubdtype(dtype, old.dtype):
                raise TypeError(
                    f"the attribute {name!r} has values of {old.dtype}; the type must not change to {np.dtype(dtype)}"
                )
            if old is None or len(old) != len(self):
                made: NDArray[Any] = np.zeros(len(self), dtype=dtype if old is None else old.dtype)
                if old is not None:
                    n = min(len(old), len(made))
                    made[:n] = old[:n]
                self.expandos[name] = made

    def set_vecattr(self, key: Key, attr: str, val: Any) -> None:
        """Set an attribute of a key, such as "count"; its type is that of the first value."""
        self.allocate_vecattrs([attr], [type(val)])
        self.expandos[attr][self.get_index(key)] = val

    def get_vecattr(self, key: Key, attr: str) -> Any:
        """Return an attribute of a key; KeyError if the key or the attribute does not exist."""
        return self.expandos[attr][self.get_index(key)]

    def fill_norms(self, force: bool = False) -> None:
        """Compute `norms`, the lengths of all vectors, if not yet done; use `force` after a change in place."""
        if force:
            self.norms = None
        self._lengths()

    def _lengths(self) -> NDArray[Any]:
        if self.norms is None:
            vectors = self.vectors
            self.norms = np.empty(len(vectors), dtype=vectors.dtype)
            for first in range(0, len(vectors), ROWS):
                self.norms[first : first + ROWS] = _lengths_of(vectors[first : first + ROWS])
        return self.norms

    def get_normed_vectors(self) -> NDArray[Any]:
        """Return all vectors scaled to length 1, a copy (n, d)."""
        return np.asarray(self.vectors / self._lengths()[:, np.newaxis])

    def unit_normalize_all(self) -> None:
        """Scale all vectors to length 1 in place."""
        lengths = self._lengths()
        self._own()[:] = self.vectors / lengths[:, np.newaxis]
        self.norms = np.ones(len(self.vectors), dtype=self.vectors.dtype)

    def sort_by_descending_frequency(self) -> None:
        """Sort keys, vectors and attributes by descending "count"; equal counts are in reversed order, as in gensim.

        KeyError without counts.
        """
        if not len(self):
            return
        counts = np.asarray(self.expandos["count"], dtype=np.int64)
        order = np.lexsort((-np.arange(len(counts)), -counts))
        self.index_to_key = [self.index_to_key[i] for i in order]
        self.allocate_vecattrs()
        self.expandos = {name: values[order] for name, values in self.expandos.items()}
        self.vectors, self.norms = self.vectors[order], None
        self.key_to_index = {key: i for i, key in enumerate(self.index_to_key) if key is not None}
