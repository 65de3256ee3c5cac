"""Reads and writes files of ranks as `tiktoken.load` does, without downloads.

The address of a publisher's file is looked up where `tokkit.get_encoding` looks, and other addresses in tiktoken's
cache (TIKTOKEN_CACHE_DIR or DATA_GYM_CACHE_DIR). Local files are always read directly, never from a cached copy.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from itertools import pairwise
from pathlib import Path

from tokkit._core.lines import rank_lines
from tokkit._core.rank_file import parse_ranks
from tokkit.byte_symbols import SYMBOLS
from tokkit.errors import DownloadError, FormatError, OptionError
from tokkit.files.files import write_atomically
from tokkit.registry import local_files
from tokkit.registry.encodings import ENCODINGS, GPT2_PAIR

_PUBLISHED = {source.url: source for source in (*ENCODINGS.values(), *GPT2_PAIR)}
_BYTES = {symbol: byte for byte, symbol in enumerate(SYMBOLS)}
_CACHES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")


def read_file(blobpath: str) -> bytes:
    """Return the bytes of a local file; DownloadError, an OSError, for an address."""
    if "://" not in blobpath:
        return Path(blobpath).read_bytes()
    known = next((name for name, source in ENCODINGS.items() if blobpath == source.url and name in source.file), None)
    advice = "download it, and give its path" if known is None else f"tokkit fetch {known} downloads it"
    raise DownloadError(f"{blobpath} is not on this machine, and is not downloaded: {advice}")


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Return whether the data has this SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Return the bytes of a local file, or of an address in the cache; ValueError if the hash differs."""
    place = _place(blobpath, expected_hash) if "://" in blobpath else None
    data = read_file(blobpath) if place is None else place.read_bytes()
    if expected_hash and not check_hash(data, expected_hash):
        found = hashlib.sha256(data).hexdigest()
        raise FormatError(f"the sha256 of {blobpath} is {found}; it must be {expected_hash}: get the file again")
    return data


def _place(url: str, expected_hash: str | None) -> Path | None:
    if url in _PUBLISHED and (found := local_files.find(_PUBLISHED[url])) is not None:
        return found
    folder = next((os.environ[name] for name in _CACHES if name in os.environ), "")
    cached = Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    if not folder or not cached.is_file():
        return None
    # A changed file in the cache must be downloaded again.
    return None if expected_hash and not check_hash(cached.read_bytes(), expected_hash) else cached


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return token → rank of a .tiktoken file; ValueError names an invalid line."""
    data = read_file_cached(tiktoken_bpe_file, expected_hash)
    if (usual := _usual_ranks(data)) is not None:
        return usual
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except ValueError:
            raise FormatError(
                f"{tiktoken_bpe_file}: line {number} is {line!r}; it must be a token in base64, a space and a rank"
            ) from None
    return ranks


def _usual_ranks(data: bytes) -> dict[bytes, int] | None:
    """Return token → rank of a file in the order of its ranks, as it would be written; None for any other."""
    try:
        blob, offsets, empty = parse_ranks(data)
    except ValueError:
        return None
    if empty is not None or rank_lines(blob, offsets) != data:
        return None
    return {blob[a:b]: rank for rank, (a, b) in enumerate(pairwise(offsets.tolist())) if a < b}


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write token → rank as a .tiktoken file, the lowest rank first."""
    if "://" in str(tiktoken_bpe_file):
        raise OptionError(f"{tiktoken_bpe_file} is an address; give the path of a file on this machine")
    rows = sorted(bpe_ranks.items(), key=lambda row: row[1])
    # "=" for a token without bytes: tiktoken, which reads it, writes a line that it cannot read.
    lines = [(base64.b64encode(token) or b"=") + b" %d\n" % rank for token, rank in rows]
    write_atomically(tiktoken_bpe_file, b"".join(lines))


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Return token → rank from GPT-2's two files, vocab.bpe (merges) and encoder.json (ids).

    Single bytes come first, in the order of GPT-2's alphabet, then the results of merges; AssertionError if
    encoder.json has other ids. With `clobber_one_byte_tokens` single bytes have the ids of encoder.json.
    """
    merges = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]  # the first line is a version
    ids = {
        _token(text): id_ for text, id_ in json.loads(read_file_cached(encoder_json_file, encoder_json_hash)).items()
    }
    for special in (b"<|endoftext|>", b"<|startoftext|>"):
        ids.pop(special, None)
    tokens = [bytes([byte]) for byte in sorted(range(256), key=lambda byte: ord(SYMBOLS[byte]))]
    for line in merges:
        first, second = line.split()
        tokens.append(_token(first + second))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    if clobber_one_byte_tokens:
        ranks.update({token: id_ for token, id_ in ids.items() if len(token) == 1})
    if ranks != ids:
        odd = next(iter(ranks.keys() ^ ids.keys()), None) or next(
            token for token in ranks if ranks[token] != ids[token]
        )
        raise AssertionError(
            f"{encoder_json_file} has the id {ids.get(odd)} for {odd!r}, and by {vocab_bpe_file} it is {ranks.get(odd)}"
        )
    return ranks


def _token(text: str) -> bytes:
    return bytes([_BYTES[symbol] for symbol in text])
