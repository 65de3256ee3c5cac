"""Compares tokenizers on texts: token counts and first differences, as plain data and as tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.cli.errors import note
from tokkit.cli.inputs import Reading, expand
from tokkit.cli.output import counted, say, table
from tokkit.cli.token_text import readable, shortened
from tokkit.cli.usage import Counts, Usage, lossy_winners, said_of_losses
from tokkit.corpus.text_counts import RULE

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MAX_TOKENS = 12
"""Maximum number of tokens of a difference that are shown."""
COLUMNS = {
    "tokens": "tokens",
    "bytes_per_token": "bytes/token",
    "compression": "compression",
    "tokens_per_word": "tokens/word",
    "tokens_per_text": "tokens/text",
    "oov_rate": "oov",
    "restored_rate": "restored",
}
"""Columns of the tables, by their names in JSON."""


def texts_of(files: Sequence[str], reading: Reading) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, texts) of each file, or of the bundled corpus if no file is given."""
    if not files:
        from tokkit.corpus import bundled

        note("no file given: comparing on the bundled corpus")
    for path in dict.fromkeys(expand(files) if files else map(str, bundled.paths())):
        yield path, reading.texts(path)


def compare(toks: Mapping[str, Tokenizer], files: Iterator[tuple[str, list[str]]], special: str) -> dict[str, Any]:
    """Return counts for each file and in total, and each tokenizer's first difference from the first tokenizer."""
    usages = {name: Usage(tok, special) for name, tok in toks.items()}
    first, *others = toks
    entries: list[dict[str, Any]] = []
    differences: dict[str, Any] = dict.fromkeys(others)
    for file, texts in files:
        for number, text in enumerate(texts):
            ends = {name: usage.add(file, text).column("byte_offsets")[:, 1] for name, usage in usages.items()}
            for other in others:
                if differences[other] is None and not np.array_equal(ends[first], ends[other]):
                    place = {"file": file} | ({"record": number + 1} if len(texts) > 1 else {})
                    differences[other] = place | _difference(text.encode(), ends[first], ends[other], first, other)
        counts = {name: usage.files.get(file, Counts()) for name, usage in usages.items()}
        entries.append({"file": file} | _entry(counts))
    return {
        "tokenizers": {name: usage.facts() for name, usage in usages.items()},
        "files": entries,
        "total": _entry({name: usage.total for name, usage in usages.items()}),
        "first_differences": differences,
    }


def _entry(counts: dict[str, Counts]) -> dict[str, Any]:
    """Return the measures of a part of the text; `compression` is relative to the first tokenizer."""
    first = next(iter(counts.values()))
    tokens = {name: of_tok.rates() for name, of_tok in counts.items()}
    for rates in tokens.values():
        rates["compression"] = round(first.tokens / rates["tokens"], 3) if rates["tokens"] else None
    sizes = {"bytes": first.bytes, "words": first.words, "texts": first.texts}
    return sizes | {"tokens": tokens, "lossy_winners": lossy_winners(tokens)}


def side_by_side(toks: Mapping[str, Tokenizer], text: str) -> list[dict[str, Any]]:
    """Return the shortest spans of a text that no tokenizer's tokens cross, and each tokenizer's tokens in them."""
    from tokkit.encoding.aligned_encodings import align

    return [
        {
            "text": part.decode("utf-8", "replace"),
            "tokens": {name: list(map(readable, of)) for name, of in tokens.items()},
        }
        for part, tokens in align(text, toks).side_by_side()
    ]


def show_side_by_side(names: Sequence[str], spans: list[dict[str, Any]]) -> None:
    """Print a line for each span: its text, and how each tokenizer splits it."""
    rows = [(readable(s["text"].encode()), *(" ".join(s["tokens"][name]) for name in names)) for s in spans]
    n_tokens = [sum(len(s["tokens"][name]) for s in spans) for name in names]
    rows.append(("", *(counted(n, "token") for n in n_tokens)))
    table([("text", *names), *rows], left=range(len(names) + 1))


def _difference(text: bytes, a: NDArray[np.int64], b: NDArray[np.int64], first: str, other: str) -> dict[str, Any]:
    """Return the place where the token ends first differ, and the tokens of both up to the next common end."""
    n = min(len(a), len(b))
    apart = np.flatnonzero(a[:n] != b[:n])
    at = int(apart[0]) if len(apart) else n
    start = int(a[at - 1]) if at else 0
    meet = _first_common(a[at:], b[at:])
    end = len(text) if meet is None else meet
    tokens = {name: _tokens(text, start, end, cuts[at:]) for name, cuts in ((first, a), (other, b))}
    return {"byte": start, "line": text.count(b"\n", 0, start) + 1, "tokens": tokens}


def _first_common(a: NDArray[np.int64], b: NDArray[np.int64]) -> int | None:
    """Return the smallest number that is in both of two ascending arrays; the search begins near their start."""
    width = 64
    while True:
        # Any number before the common ones would be in both windows too.
        common = np.intersect1d(a[:width], b[:width])
        if len(common):
            return int(common[0])
        if width >= max(len(a), len(b)):
            return None
        width *= 4


def _tokens(text: bytes, start: int, end: int, cuts: NDArray[np.int64]) -> list[str]:
    inner = [start, *cuts[: np.searchsorted(cuts, end, side="right")][: MAX_TOKENS + 1].tolist()]
    tokens = [readable(text[x:y]) for x, y in itertools.pairwise(inner)]
    return tokens if len(tokens) <= MAX_TOKENS else [*tokens[:MAX_TOKENS], "…"]


def shown_rates(rates: Mapping[str, Any], columns: Mapping[str, str], *, marked: bool = False) -> list[str]:
    """Return the cells of a row: rates in percent, and a dash for unknown values; a star if tokens are `marked`."""
    cells = []
    for name in columns:
        value = rates[name]
        cells.append("-" if value is None else f"{value:.2%}" if name.endswith("_rate") else str(value))
        cells[-1] += "*" if marked and name == "tokens" else ""
    return cells


def show(found: dict[str, Any]) -> None:
    """Print a table for each file, one for all files, and the differences."""
    entries = found["files"] if len(found["files"]) > 1 else []
    for entry in [*entries, found["total"]]:
        name = entry.get("file", found["files"][0]["file"] if len(found["files"]) == 1 else "all files")
        size = ", ".join(counted(entry[what], what.removesuffix("s")) for what in ("bytes", "words", "texts"))
        say(f"{name}: {size} ({RULE})")
        lossy = {loss["name"] for loss in entry["lossy_winners"]}
        rows = [
            (
                tok,
                found["tokenizers"][tok]["vocab_size"],
                *shown_rates(rates, COLUMNS, marked=tok in lossy),
            )
            for tok, rates in entry["tokens"].items()
        ]
        table([("tokenizer", "vocabulary", *COLUMNS.values()), *rows], margin="  ")
        for line in said_of_losses(entry["lossy_winners"]):
            say(f"  {line}")
        say("")
    about = found["tokenizers"]
    rows = [(tok, facts["unused"], " ".join(map(shortened, facts["longest_tokens"]))) for tok, facts in about.items()]
    table([("tokenizer", "never used", "longest tokens"), *rows], left=(0, 2), margin="  ")
    say("")
    for other, place in found["first_differences"].items():
        if place is None:
            say(f"{other} splits everything as the first does")
            continue
        record = f", record {place['record']}" if "record" in place else ""
        say(f"first difference of {other}: {place['file']}{record}, byte {place['byte']} (line {place['line']})")
        table([(name, " ".join(tokens)) for name, tokens in place["tokens"].items()], left=(0, 1), margin="  ")
