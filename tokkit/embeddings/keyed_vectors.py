"""Word vectors with the API of gensim's KeyedVectors: look-up, neighbours, evaluation, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tokkit.embeddings import evaluation
from tokkit.embeddings.correlation import Correlation
from tokkit.embeddings.formats import reading, saved, writing
from tokkit.embeddings.formats.detection import START, detect, opened
from tokkit.embeddings.formats.reading import Options
from tokkit.embeddings.keys import Key
from tokkit.embeddings.neighbours import Neighbours
from tokkit.errors import FormatError, OptionError, ShapeError
from tokkit.files import files

Path = str | os.PathLike[str]


def _mapped(mmap: str | None) -> bool:
    if mmap not in ("r", None):
        raise OptionError(
            f'mmap is {mmap!r}; it must be "r" or None, because changes of vectors are not written to the file'
        )
    return mmap is not None


class KeyedVectors(Neighbours):
    """Keys and their vectors: `index_to_key`, `key_to_index`, and `vectors` (n, d), one row per key.

    Created by training (`.wv`), from arrays with `of`, or from a file with `load`. Files are never unpickled.

    >>> words = KeyedVectors.of(["cat", "dog", "car"], np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    >>> words["dog"], "cow" in words, len(words)
    (array([1. , 0.1], dtype=float32), False, 3)
    """

    @classmethod
    def of(cls, keys: Sequence[Key], vectors: NDArray[Any], counts: ArrayLike | None = None) -> Self:
        """Return KeyedVectors of n keys and their vectors (n, d), which are not copied.

        `counts` (n,) becomes the attribute "count".

        ShapeError if the numbers differ, OptionError for a key that is given twice.
        """
        made = cls(1)
        made._fill(keys, vectors, counts)
        return made

    def save(self, fname: Path) -> None:
        """Write keys, vectors and attributes to one file that `load` memory-maps: a .safetensors with the keys as JSON.

        The file is written under a temporary name and renamed: after an error the old file is unchanged. OptionError
        for attributes that are not numbers.
        """
        saved.write(fname, self.index_to_key, self.vectors, self.expandos)

    @classmethod
    def load(
        cls,
        fname: Path,
        mmap: Literal["r"] | None = "r",
        *,
        limit: int | None = None,
        duplicates: Literal["error", "first"] = "error",
    ) -> Self:
        """Return the vectors of a file in any supported format, detected by its first bytes.

        These are: what `save` wrote, mapped; word2vec's .bin and text; text without a header, as GloVe's, whose keys
        may have spaces; fastText's .vec; the last ones also as .gz, .bz2 or .xz. A .bin of over 32 MiB is read and
        checked, and stays open: single vectors come from the file, and the matrix is copied when something needs all of
        it (`vectors`, a search); if the file has been overwritten by then, that is a FormatError. `mmap=None` copies
        everything at once.
        `limit` is the maximum number of vectors, the first ones; `duplicates="first"` keeps the first vector of a key
        that is given twice. Pickles of gensim and models of fastText are refused with what reads them. FormatError
        names the file, the place and the reason.

        >>> KeyedVectors.of(["cat", "dog"], np.array([[1, 0], [0, 1]], dtype=np.float32)).save("pets.safetensors")
        >>> KeyedVectors.load("pets.safetensors").index_to_key
        ['cat', 'dog']
        """
        options = reading.check(Options(limit=limit, duplicates=duplicates, in_file=_mapped(mmap)))
        with opened(fname) as file:
            form = detect(file.read(START))
        if form != "saved":
            found = reading.read(fname, binary=form == "binary", header=None, options=options)
            return cls._found(found, np.arange(len(found.keys), 0, -1))
        held = saved.read(fname, limit)
        made = cls(1)
        made._fill(held.keys, held.vectors if mmap else held.vectors.copy(), None, held.rows)
        made.expandos = held.attributes
        return made

    @classmethod
    def load_word2vec_format(
        cls,
        fname: Path,
        fvocab: Path | None = None,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
        limit: int | None = None,
        datatype: DTypeLike = np.float32,
        no_header: bool = False,
        *,
        duplicates: Literal["error", "first"] = "error",
        mmap: Literal["r"] | None = "r",
    ) -> Self:
        """Return the vectors of a file in the binary or text format of word2vec; without a header with `no_header`.

        The attribute "count" is taken from `fvocab`, lines of a key and its count; without it, it is n, n − 1, … in the
        order of the file, as gensim has it. Numbers are read as float32, then made `datatype`.
        `duplicates="first"` keeps the first vector of a key that is given twice, as gensim does. The vectors of a large
        .bin stay in the file until all are needed, unless `mmap` is None: see `load`. FormatError names the file, the
        place and the reason.
        """
        if no_header and binary:
            raise OptionError("no_header is only for text; the binary format always has a header")
        in_file = _mapped(mmap) and np.dtype(datatype) == np.float32
        options = Options(limit or None, encoding, unicode_errors, duplicates, in_file)
        found = reading.read(fname, binary=bool(binary), header=not no_header, options=options)
        counts: ArrayLike = np.arange(len(found.keys), 0, -1)
        if fvocab is not None:
            known = reading.read_counts(fvocab, encoding=encoding, errors=unicode_errors)
            missing = [key for key in found.keys if key not in known]
            if missing:
                raise FormatError(
                    f"{files.show(fvocab)}: there is no count of {missing[0]!r}, a key in {files.show(fname)}"
                )
            counts = [known[key] for key in found.keys]
        if not in_file:
            found = found._replace(vectors=found.matrix().astype(datatype, copy=False))
        return cls._found(found, counts)

    @classmethod
    def _found(cls, found: reading.Found, counts: ArrayLike) -> Self:
        made = cls(1)
        made._fill(found.keys, found.vectors, counts)
        return made

    def save_word2vec_format(
        self,
        fname: Path,
        fvocab: Path | None = None,
        binary: bool = False,
        total_vec: int | None = None,
        write_header: bool = True,
        prefix: str = "",
        append: bool = False,
        sort_attr: str = "count",
    ) -> None:
        """Write word2vec's binary or text format, compressed for .gz, .bz2 and .xz; without a header, GloVe's text.

        Keys are written in descending order of `sort_attr`, if it exists, with `prefix` before each; `fvocab` is a file
        for keys and their counts. Numbers are the shortest that parse to the same float32. `total_vec` is the number of
        vectors in the header. OptionError for keys that could not be read back, and for `append`, because a file is
        always replaced.
        """
        if append:
            raise OptionError(
                "append is not supported, because a file is always replaced; use add_vectors to join vectors"
            )
        order = np.arange(len(self))
        if sort_attr in self.expandos:
            order = np.argsort(-self.expandos[sort_attr].astype(np.float64), kind="stable")
        elif fvocab is not None:
            raise OptionError(f"fvocab needs the attribute {sort_attr!r}; these vectors do not have it")
        keys = [f"{prefix}{key}" if prefix else key for key in self.index_to_key]
        header = f"{len(self) if total_vec is None else total_vec} {self.vector_size}\n" if write_header else ""
        writing.write(fname, keys, self.vectors, order, binary=binary, header=header)
        if fvocab is not None:
            counts = self.expandos[sort_attr]
            files.write_atomically(fvocab, "".join(f"{keys[i]} {counts[i]}\n" for i in order).encode())

    def intersect_word2vec_format(
        self,
        fname: Path,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> int:
        """Replace the vectors of keys that are in a file of word2vec's format; return their number.

        `vectors_lockf` (n,) becomes `lockf` for these and 1 for the others: training multiplies updates by it.
        ShapeError if the file's vectors have another size.
        """
        options = Options(None, encoding, unicode_errors, "first")
        found = reading.read(fname, binary=binary, header=True, options=options)
        if found.vectors.shape[1] != self.vector_size:
            raise ShapeError(
                f"{files.show(fname)} has vectors of {found.vectors.shape[1]} dimensions; they must have "
                f"{self.vector_size}"
            )
        given = {i: self._row(key) for i, key in enumerate(found.keys)}
        rows = [i for i, place in given.items() if place >= 0]
        places = [given[i] for i in rows]
        self._own()[places] = found.matrix()[rows]
        if getattr(self, "vectors_lockf", None) is None or len(self.vectors_lockf) != len(self):
            self.vectors_lockf: NDArray[np.float32] = np.ones(len(self), dtype=np.float32)
        self.vectors_lockf[places] = lockf
        self.norms = None
        return len(rows)

    def vectors_for_all(
        self, keys: Iterable[Key], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> KeyedVectors:
        """Return new KeyedVectors of the given keys that have vectors, without duplicates and in the given order.

        `allow_inference` includes keys whose vectors a subclass computes, such as fastText's. `copy_vecattrs` copies
        attributes.
        """
        known = [key for key in dict.fromkeys(keys) if (key in self if allow_inference else self._row(key) >= 0)]
        vectors = np.empty((len(known), self.vector_size), dtype=self.vectors.dtype)
        for i, key in enumerate(known):
            vectors[i] = self.get_vector(key)
        made = KeyedVectors.of(known, vectors, np.arange(len(known), 0, -1))
        if copy_vecattrs:
            for name in self.expandos:
                for key in known:
                    if self.has_index_for(key):
                        made.set_vecattr(key, name, self.get_vecattr(key, name))
        return made

    def evaluate_word_analogies(
        self,
        analogies: Path,
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return the share of correct answers to a file of analogies, and the answers by section.

        A line is four words, a is to b as c is to d; a line ": NAME" begins a section. The answer is the word nearest
        to b − a + c except these three, among the first `restrict_vocab`. Lines with unknown words are skipped, or
        count as wrong with `dummy4unknown`. A section is a dict with its name, "section", and the lists "correct" and
        "incorrect"; the last section is the total. FormatError for a file without analogies.
        """
        if similarity_function != "most_similar":
            raise OptionError(f'similarity_function is {similarity_function!r}; it must be "most_similar"')
        return evaluation.shape(
            evaluation.analogies(
                self,
                analogies,
                restrict_vocab=restrict_vocab,
                case_insensitive=case_insensitive,
                dummy4unknown=dummy4unknown,
            )
        )

    def evaluate_word_pairs(
        self,
        pairs: Path,
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Correlation, Correlation, float]:
        """Return Pearson's and Spearman's correlations of cosines with judgements, and the percentage of unknown pairs.

        A line of the file is two words and a number, separated by `delimiter`; lines that begin with # and malformed
        lines are skipped. A correlation is (statistic, pvalue). Pairs with unknown words are skipped, or get cosine 0
        with `dummy4unknown`. FormatError if no pair is left.
        """
        found = evaluation.pairs(
            self,
            pairs,
            delimiter=delimiter,
            encoding=encoding,
            restrict_vocab=restrict_vocab,
            case_insensitive=case_insensitive,
            dummy4unknown=dummy4unknown,
        )
        return found.pearson, found.spearman, found.oov_ratio
