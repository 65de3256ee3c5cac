"""Encodes the documents of shards into files of ids, one shard at a time, and each shard only once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokkit.checks import is_text
from tokkit.corpus import id_writers, paths
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.corpus.shards import keys, refuse_repeats
from tokkit.data import manifest
from tokkit.data.documents import DocumentEncoder
from tokkit.data.rearranging import Rearranged
from tokkit.data.writers import WRITERS, Chunk, Writer
from tokkit.errors import OptionError, VocabError
from tokkit.files import temporary_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

StrPath = str | os.PathLike[str]
Format = Literal["bin", "npy", "megatron", "arrow", "parquet"]
Packing = Literal["sequential", "best-fit"]
PACKINGS = ("sequential", "best-fit")


@dataclass(frozen=True, slots=True)
class EncodedShard:
    """A shard, the files with its ids, and the number of ids; `encoded` is False if the files existed already."""

    shard: str
    files: tuple[Path, ...]
    tokens: int
    documents: int
    encoded: bool


def encode_shards(
    tokenizer: Tokenizer,
    inputs: StrPath | Sequence[StrPath],
    out: StrPath,
    *,
    format: Format = "bin",
    dtype: Literal["auto", "uint16", "uint32"] = "auto",
    bos: int | str | None = None,
    eos: int | str | None = None,
    pack: Packing | None = None,
    seq_len: int | None = None,
    pad: int | str | None = None,
    shuffle: int | None = None,
    unit: Unit = "line",
    field: str = "text",
    input_errors: InputErrors = "strict",
    special: Special = "text",
    threads: int | None = None,
    progress: Callable[[str, int, int], object] | None = None,
    with_manifest: bool = True,
) -> list[EncodedShard]:
    """Encode the documents of each input file into files in the folder `out`, and write manifest.json.

    Inputs are files, folders and globs as in `train`, and documents as there. Ids are written as `format`: "bin" (raw,
    with a JSON sidecar), "npy", both with the ends of documents in NAME.ends.npy; "megatron" (.bin and .idx); "arrow"
    and "parquet" (a column input_ids, one row per document). `dtype` "auto" is uint16 if all ids fit; Megatron supports
    uint16 and int32. `bos` and `eos`, ids or texts of tokens, are put around each document.

    `pack` makes rows of `seq_len` ids: "sequential" concatenates documents, "best-fit" cuts only documents longer than
    a row (Ding et al. 2024); rows are padded with `pad`, by default `eos`. Documents are packed shard by shard.
    `shuffle` is a seed: the documents of each shard are shuffled, in an order that depends only on the seed and the
    name of the shard.

    A shard whose files exist is skipped, so an interrupted run can be repeated: files get their final names when
    complete, with a record of the shard. Raises OptionError (also for a folder with shards of another tokenizer or
    other options), VocabError, CorpusError and OSError; finished shards are kept. `with_manifest=False` leaves the
    manifest to a later call, for processes that share a folder.
    """
    if format not in manifest.KINDS:
        raise OptionError(f"format is {format!r}; it must be one of {', '.join(manifest.KINDS)}")
    _check_packages(format)
    width = _dtype_of(tokenizer, dtype, format)
    first, last = _id_of(tokenizer, "bos", bos), _id_of(tokenizer, "eos", eos)
    padding = last if pad is None else _id_of(tokenizer, "pad", pad)
    if pad is not None and pack is None:
        raise OptionError("pad fills packed rows; give pack='sequential' or 'best-fit' too")
    _check_packing(pack, seq_len, padding, format)
    if shuffle is not None and (isinstance(shuffle, bool) or not isinstance(shuffle, int) or shuffle < 0):
        raise OptionError(f"shuffle is {shuffle!r}; it must be a seed, an int of at least 0, or None")
    given = paths.files_of([inputs] if isinstance(inputs, (str, os.PathLike)) else inputs)
    if "-" in given:
        raise OptionError("shards must be files, not standard input")
    refuse_repeats(given)
    Corpus(given, unit=unit, field=field, errors=input_errors)  # checks the options
    packing = {"pack": pack, "seq_len": seq_len, "pad": padding if pack else None, "shuffle": shuffle}
    about = {"kind": format, "dtype": width, **tokenizer.about_ids(), "bos": first, "eos": last, **packing}
    folder = os.fspath(out)
    os.makedirs(folder, exist_ok=True)
    how = {**about, "unit": unit, "field": field, "input_errors": input_errors, "special": _listed(special)}
    manifest.check_same(folder, how)
    encoder = tokenizer.file_encoder(
        special=special, threads=threads, input_errors=input_errors, narrow=width == "uint16"
    )
    made: list[tuple[str, Future[dict[str, Any]], bool]] = []
    # Digests of whole files are computed while the next shard is encoded.
    with ThreadPoolExecutor(1) as finishing:
        for number, shard in enumerate(given):
            if progress is not None:
                progress("encode", number, len(given))
            place, key = keys(shard, how)
            name = f"{os.path.basename(shard)}.{place}"
            stem = os.path.join(folder, name)
            done = os.path.exists(stem + manifest.RECORD)
            record = manifest.read_json(stem + manifest.RECORD) if done else {}
            if done := manifest.is_done(folder, record, key):
                ready: Future[dict[str, Any]] = Future()
                ready.set_result(record)
                made.append((shard, ready, False))
                continue
            corpus = Corpus([shard], unit=unit, field=field, errors=input_errors)
            source = DocumentEncoder(encoder, shard, corpus, width, first, last)
            seed = None if shuffle is None else [shuffle, *os.fsencode(os.path.basename(shard))]
            with temporary_files.naming(stem), WRITERS[format](stem, width, about) as writer:
                if pack is None and seed is None:
                    source.write(writer)
                else:
                    with Rearranged(stem, width) as rearranged:
                        source.write(rearranged)
                        _write(writer, rearranged.chunks(pack, seq_len, padding, seed))
            counts = {"tokens": writer.n_ids, "documents": source.documents, "bytes": source.n_bytes}
            if made:
                made[-1][1].result()  # at most one shard waits, and an error is raised before the next shard
            record = {"shard": shard, "name": name, "key": key, "options": how, **counts}
            made.append((shard, finishing.submit(_recorded, stem, record, writer), True))
        records = [(shard, ready.result(), encoded) for shard, ready, encoded in made]
    if with_manifest:
        manifest.write(folder, how)
    if progress is not None:
        progress("encode", len(given), len(given))
    return [
        EncodedShard(
            shard, tuple(Path(folder, file) for file in record["files"]), record["tokens"], record["documents"], encoded
        )
        for shard, record, encoded in records
    ]


def _recorded(stem: str, record: Mapping[str, Any], writer: Writer) -> dict[str, Any]:
    """Write the record of a shard whose files are complete, and return it."""
    made = {**record, "files": manifest.files_record(writer.files, writer.digests)}
    manifest.write_json(stem + manifest.RECORD, made)
    return made


def _write(writer: Writer, chunks: Iterator[Chunk]) -> None:
    """Write chunks in a thread, while the next chunk is computed."""
    with ThreadPoolExecutor(1) as pool:
        before: Future[None] | None = None
        for chunk in chunks:
            if before is not None:
                before.result()
            before = pool.submit(writer.write, chunk)
        if before is not None:
            before.result()


def _listed(special: Special) -> object:
    return special if isinstance(special, str) else sorted(special)


def _dtype_of(tokenizer: Tokenizer, dtype: str, format: str) -> str:
    if dtype not in ("auto", "uint16", "uint32"):
        raise OptionError(f"dtype is {dtype!r}; it must be auto, uint16 or uint32")
    narrow = id_writers.dtype_of(tokenizer.n_ids) == "uint16"
    if dtype == "uint16" and not narrow:
        raise OptionError(f"dtype is uint16, but the tokenizer has {tokenizer.n_ids:,} ids; give uint32")
    if narrow and dtype != "uint32":
        return "uint16"
    return "int32" if format == "megatron" else "uint32"


def _id_of(tokenizer: Tokenizer, name: str, token: int | str | None) -> int | None:
    """Return the id of a token given by its text or its id."""
    if token is None:
        return None
    if isinstance(token, str):
        if not is_text(token):
            raise OptionError(f"{name} is {token!r}; it contains a lone surrogate, which UTF-8 cannot encode")
        id_ = tokenizer.special_tokens.get(token)
        if id_ is None and token not in tokenizer.vocab:
            raise VocabError(f"{name} is {token!r}, which is neither a special token nor in the vocabulary")
        return int(tokenizer.vocab[token]) if id_ is None else id_
    if isinstance(token, bool) or not 0 <= token < tokenizer.n_ids:
        raise OptionError(f"{name} is {token!r}; it must be a token, or an id below {tokenizer.n_ids:,}")
    return int(token)


def _check_packages(format: str) -> None:
    if format in ("arrow", "parquet"):
        try:
            import pyarrow  # noqa: F401 - only whether it is there
        except ImportError:
            raise OptionError(f"the format {format} needs pyarrow: pip install 'pytokkit[tables]'") from None


def _check_packing(pack: str | None, seq_len: int | None, pad: int | None, format: str) -> None:
    if pack is None:
        if seq_len is not None:
            raise OptionError("seq_len needs packed rows; give pack='sequential' or 'best-fit' too")
        return
    if pack not in PACKINGS:
        raise OptionError(f"pack is {pack!r}; it must be one of {', '.join(PACKINGS)}, or None")
    if format == "megatron":
        raise OptionError("Megatron packs documents by itself; leave pack out")
    if isinstance(seq_len, bool) or not isinstance(seq_len, int) or seq_len < 1:
        raise OptionError(f"seq_len is {seq_len!r}; packing needs the length of a row, an int of at least 1")
    if pad is None:
        raise OptionError("packed rows need padding; give pad, or eos, which is then used as padding")
