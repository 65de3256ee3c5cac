"""Reads encoded shards as one sequence of ids, memory-mapped."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokkit.data import manifest
from tokkit.data.batches import State, TokenBatches
from tokkit.data.writers import Ints, megatron_ends
from tokkit.errors import FormatError, OptionError
from tokkit.escaping import show

READABLE = ("bin", "npy", "megatron")


class Tokens:
    """The ids of a folder that `encode_shards` wrote as bin, npy or megatron, one shard after another.

    Files are mapped: opening reads the manifest and no ids, and processes share the memory. FormatError if the manifest
    is missing or does not match the files; `verify` compares their contents.

    >>> import tempfile, pathlib, tokkit
    >>> from tokkit.data import encode_shards
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> written = (folder / "a.txt").write_text("low lower lowest")
    >>> tok = tokkit.train({"low": 3, "lower": 1, " low": 2}, vocab_size=260)
    >>> shards = encode_shards(tok, folder / "a.txt", folder / "ids")
    >>> tok.decode(Tokens(folder / "ids")[:])
    'low lower lowest'
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.manifest: Mapping[str, Any] = manifest.read(self.folder)
        """The manifest of the folder: the tokenizer, the options, the shards and their sha256."""
        kind = self.manifest["kind"]
        if kind not in READABLE:
            raise OptionError(
                f"{show(self.folder)} contains shards in the format {kind}; read them with pyarrow or datasets"
            )
        self.dtype = np.dtype(self.manifest["dtype"])
        self.shards: list[NDArray[Any]] = [self._mapped(shard) for shard in self.manifest["shards"]]
        """The ids of each shard."""
        self.starts: Ints = np.concatenate([[0], np.cumsum([len(shard) for shard in self.shards], dtype=np.int64)])
        """The start of each shard, and the end of the last one."""
        self._ends: dict[int, Ints] = {}

    def _mapped(self, shard: Mapping[str, Any]) -> NDArray[Any]:
        suffix = ".npy" if self.manifest["kind"] == "npy" else ".bin"
        path = os.path.join(self.folder, shard["name"] + suffix)
        if not shard["tokens"]:
            return np.zeros(0, dtype=self.dtype)
        with _readable(path):
            ids = np.load(path, mmap_mode="r") if suffix == ".npy" else np.memmap(path, dtype=self.dtype, mode="r")
        if ids.shape != (shard["tokens"],) or ids.dtype != self.dtype:
            raise self._disagrees(path, f"has {ids.shape} ids of {ids.dtype}")
        return cast("NDArray[Any]", ids.view(np.ndarray))

    def _disagrees(self, path: str, what: str) -> FormatError:
        where = show(os.path.join(self.folder, manifest.MANIFEST))
        return FormatError(f"{where} disagrees with its files: {show(path)} {what}; run tokkit encode-shards again")

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokens, (self.folder,)

    def __repr__(self) -> str:
        n = len(self.shards)
        return f"Tokens({self.folder!r}: {len(self):,} ids in {n} shard{'' if n == 1 else 's'})"

    def __getitem__(self, place: int | slice) -> Any:
        """Return an id, or the ids of a slice: a view if they are in one shard, else a copy."""
        if not isinstance(place, slice):
            at = range(len(self))[place]
            shard = int(np.searchsorted(self.starts, at, side="right")) - 1
            return int(self.shards[shard][at - int(self.starts[shard])])
        start, stop, step = place.indices(len(self))
        if step < 0:
            last = start + (len(range(start, stop, step)) - 1) * step
            return self[last : start + 1 : -step][::-1] if start > stop else self[:0]
        shard = int(np.searchsorted(self.starts, start, side="right")) - 1
        found = []
        while shard < len(self.shards) and self.starts[shard] < stop:
            begin = int(self.starts[shard])
            found.append(self.shards[shard][max(start - begin, 0) : stop - begin])
            shard += 1
        found = [part for part in found if len(part)]
        whole = found[0] if len(found) == 1 else np.concatenate([np.zeros(0, dtype=self.dtype), *found])
        return whole[::step]

    @property
    def n_documents(self) -> int:
        """The number of documents of all shards, before packing."""
        return int(self.manifest["documents"])

    @property
    def seq_len(self) -> int | None:
        """The number of ids of a packed row; None if the shards are not packed."""
        found = self.manifest["seq_len"]
        return None if found is None else int(found)

    def ends(self, shard: int) -> Ints:
        """Return the end of each document of a shard; of packed rows, the end of each segment."""
        if shard not in self._ends:
            stem = os.path.join(self.folder, self.manifest["shards"][shard]["name"])
            path = stem + (".idx" if self.manifest["kind"] == "megatron" else ".ends.npy")
            with _readable(path):
                ends = megatron_ends(path)[1] if path.endswith(".idx") else np.load(path, mmap_mode="r")
            if ends.ndim != 1 or ends.dtype != np.int64:
                raise self._disagrees(path, f"has {ends.shape} ends of {ends.dtype}")
            if self.seq_len is None and len(ends) != self.manifest["shards"][shard]["documents"]:
                raise self._disagrees(path, f"has {len(ends):,} ends")
            if len(ends) and (ends[-1] > len(self.shards[shard]) or np.any(np.diff(ends, prepend=0) < 0)):
                raise self._disagrees(path, "has ends outside its ids")
            self._ends[shard] = ends
        return self._ends[shard]

    def document(self, number: int) -> NDArray[Any]:
        """Return the ids of a document by its number in all shards; OptionError if rows are packed."""
        if self.seq_len is not None:
            raise OptionError("packed rows have no whole documents; read rows instead")
        at = range(self.n_documents)[number]
        for shard, about in enumerate(self.manifest["shards"]):
            if at < about["documents"]:
                ends = self.ends(shard)
                return self.shards[shard][int(ends[at - 1]) if at else 0 : int(ends[at])]
            at -= about["documents"]
        raise self._disagrees(self.folder, "has fewer documents")

    def verify(self) -> None:
        """Compare the sha256 of every file with the manifest; FormatError names the first file that differs."""
        for shard in self.manifest["shards"]:
            for name, about in shard["files"].items():
                path = os.path.join(self.folder, os.path.basename(name))
                if manifest.digest(path) != about["sha256"]:
                    raise self._disagrees(path, "has a different sha256")

    def batches(
        self,
        seq_len: int,
        batch_size: int,
        *,
        seed: int | None = None,
        epoch: int = 0,
        rank: int = 0,
        world_size: int = 1,
        lookahead: int = 0,
        segments: bool = False,
        resume_state: State | None = None,
    ) -> TokenBatches:
        """Return the batches of an epoch for one of `world_size` processes; see `TokenBatches`."""
        return TokenBatches(
            self,
            seq_len,
            batch_size,
            seed=seed,
            epoch=epoch,
            rank=rank,
            world_size=world_size,
            lookahead=lookahead,
            segments=segments,
            resume_state=resume_state,
        )


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    """Raise FormatError for any error from a malformed file."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:  # numpy raises many kinds of errors for a malformed .npy header
        raise FormatError(f"{show(path)} cannot be read: {error}") from None
