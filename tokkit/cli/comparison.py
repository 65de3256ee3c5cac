"""Tokenizers and texts in, token counts and first differences out, as plain data and as tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.cli.ending import note
from tokkit.cli.inputs import Reading, expand, shown
from tokkit.cli.output import counted, say, table
from tokkit.cli.pieces import readable

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MOST_PIECES = 12
"""Pieces shown of a difference before it is cut."""


def texts_of(files: Sequence[str], reading: Reading) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, its texts) of each file; of the bundled corpus where no file is given."""
    if not files:
        from tokkit.corpus import bundled

        note("no file given: comparing over the bundled corpus")
    for path in expand(files) if files else map(str, bundled.paths()):
        yield shown(path), reading.texts(path)


def compare(toks: Mapping[str, Tokenizer], files: Iterator[tuple[str, list[str]]], special: str) -> dict[str, Any]:
    """Return counts for each file and in all, and for each tokenizer its first difference from the first one."""
    first, *others = toks
    lengths = {name: np.diff(tok.vocab.offsets) for name, tok in toks.items()}
    entries: list[dict[str, Any]] = []
    differences: dict[str, Any] = dict.fromkeys(others)
    for name, texts in files:
        entry: dict[str, Any] = {
            "file": name,
            "bytes": sum(len(text.encode()) for text in texts),
            "words": sum(len(text.split()) for text in texts),
            "tokens": dict.fromkeys(toks, 0),
        }
        for number, text in enumerate(texts):
            ends = {tok_name: _ends(tok, lengths[tok_name], text, special) for tok_name, tok in toks.items()}
            for tok_name in toks:
                entry["tokens"][tok_name] += len(ends[tok_name])
            for other in others:
                if differences[other] is None and not np.array_equal(ends[first], ends[other]):
                    place = {"file": name} | ({"record": number + 1} if len(texts) > 1 else {})
                    differences[other] = place | _difference(text.encode(), ends[first], ends[other], first, other)
        entries.append(entry)
    return {
        "tokenizers": {name: {"vocab_size": len(tok.vocab)} for name, tok in toks.items()},
        "files": [_rated(entry) for entry in entries],
        "total": _rated(_sum(entries, list(toks))),
        "first_differences": differences,
    }


def _ends(tok: Tokenizer, lengths: NDArray[Any], text: str, special: str) -> NDArray[np.int64]:
    """Return where each token ends in the text's UTF-8; `lengths` are the bytes of each id."""
    if not tok.in_stages:
        ends = np.cumsum(lengths[tok.encode_to_numpy(text, special=special)], dtype=np.int64)
        if len(ends) and ends[-1] == len(text.encode()):
            return ends
    # Text is changed or dropped: the tokens' bytes are not those of the text, end to end.
    encoding = tok(text, special=special, add_special=False, truncation=None, padding=None)
    return np.array([end for _, end in encoding.byte_offsets], dtype=np.int64)


def _difference(text: bytes, a: NDArray[np.int64], b: NDArray[np.int64], first: str, other: str) -> dict[str, Any]:
    """Return where the cuts part, and the pieces of both up to where they meet again."""
    n = min(len(a), len(b))
    apart = np.flatnonzero(a[:n] != b[:n])
    at = int(apart[0]) if len(apart) else n
    start = int(a[at - 1]) if at else 0
    meet = _first_common(a[at:], b[at:])
    end = len(text) if meet is None else meet
    pieces = {name: _pieces(text, start, end, cuts[at:]) for name, cuts in ((first, a), (other, b))}
    return {"byte": start, "line": text.count(b"\n", 0, start) + 1, "pieces": pieces}


def _first_common(a: NDArray[np.int64], b: NDArray[np.int64]) -> int | None:
    """Return the least number that two ascending arrays share; it is near their start, so look there first."""
    width = 64
    while True:
        # What both windows share has nothing before it that lies outside of one.
        common = np.intersect1d(a[:width], b[:width])
        if len(common):
            return int(common[0])
        if width >= max(len(a), len(b)):
            return None
        width *= 4


def _pieces(text: bytes, start: int, end: int, cuts: NDArray[np.int64]) -> list[str]:
    inner = [start, *cuts[: np.searchsorted(cuts, end, side="right")][: MOST_PIECES + 1].tolist()]
    pieces = [readable(text[x:y]) for x, y in itertools.pairwise(inner)]
    return pieces if len(pieces) <= MOST_PIECES else [*pieces[:MOST_PIECES], "…"]


def _sum(entries: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    return {
        "bytes": sum(entry["bytes"] for entry in entries),
        "words": sum(entry["words"] for entry in entries),
        "tokens": {name: sum(entry["tokens"][name] for entry in entries) for name in names},
    }


def _rated(entry: dict[str, Any]) -> dict[str, Any]:
    """Put the rates beside the counts: bytes per token, that beside the first tokenizer's, tokens per word."""
    rates = {}
    base = next(iter(entry["tokens"].values()))
    for name, tokens in entry["tokens"].items():
        rates[name] = {
            "tokens": tokens,
            "bytes_per_token": round(entry["bytes"] / tokens, 3) if tokens else None,
            "compression": round(base / tokens, 3) if tokens else None,
            "tokens_per_word": round(tokens / entry["words"], 3) if entry["words"] else None,
        }
    return {**entry, "tokens": rates}


def show(found: dict[str, Any]) -> None:
    """Print a table for each file, of all together, and the differences."""
    entries = found["files"] if len(found["files"]) > 1 else []
    head = ("tokenizer", "vocabulary", "tokens", "bytes/token", "compression", "tokens/word")
    for entry in [*entries, found["total"]]:
        name = entry.get("file", found["files"][0]["file"] if len(found["files"]) == 1 else "all files")
        say(f"{name}: {counted(entry['bytes'], 'byte')}, {counted(entry['words'], 'word')}")
        rows = [
            (
                tok,
                found["tokenizers"][tok]["vocab_size"],
                *("-" if value is None else value for value in rates.values()),
            )
            for tok, rates in entry["tokens"].items()
        ]
        table([head, *rows], margin="  ")
        say("")
    for other, place in found["first_differences"].items():
        if place is None:
            say(f"{other} cuts all of it as the first does")
            continue
        record = f", record {place['record']}" if "record" in place else ""
        say(f"first difference of {other}: {place['file']}{record}, byte {place['byte']} (line {place['line']})")
        table([(name, " ".join(pieces)) for name, pieces in place["pieces"].items()], left=(0, 1), margin="  ")
