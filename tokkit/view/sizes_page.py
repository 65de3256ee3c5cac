"""Writes the trade-offs of models and vocabulary sizes as one standalone HTML page: no network, no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokkit.errors import OptionError
from tokkit.view.standalone import standalone

MEASURES = (
    ("tokens", "Tokens of the text", 1), ("bytes_per_token", "Bytes per token", 1),
    ("tokens_per_word", "Tokens per word", 1), ("oov_rate", "Words with an unknown part, %", 100),
    ("restored_rate", "Texts that decode to themselves, %", 100),
    ("unused_rate", "Tokens that the text does not use, %", 100),
)  # fmt: skip
"""(name of a measure, its title, its factor)."""
FILES = ("tokens.css", "report.css", "sizes.css", "bars.js", "charts.js", "sizes.js")
BODY = """
<output id="readout" aria-live="polite">Point at a point of a line to read it.</output>
<main id="report"></main>
"""


def sizes_html(rows: Sequence[Mapping[str, Any]], *, title: str = "Models and vocabulary sizes") -> str:
    """Return a page that compares models and vocabulary sizes on a text.

    `rows` are those of `tokkit compare --train --json`. A row has "model", "vocab_size" and measures: "tokens",
    "bytes_per_token", "tokens_per_word", "oov_rate", "restored_rate" and "unused_rate", which are drawn over the
    vocabulary size, with a line for each model; missing ones are None. If rows have "files" (name → measures) and
    "lengths" (characters of a token → number of tokens), the page also shows, for the largest vocabulary of each model,
    the tokens per word of each file (for example, of each language) and a histogram of lengths. The page loads nothing,
    and names in it are escaped. OptionError without rows.

    >>> rows = [{"model": "bbpe", "vocab_size": n, "tokens": 9000 // n, "bytes_per_token": n / 100} for n in (300, 900)]
    >>> page = sizes_html(rows)
    >>> page.startswith("<!doctype html>"), "://" in page.replace("http://www.w3.org", "")
    (True, False)
    """
    if not rows:
        raise OptionError("there are no rows: give one for each model and vocabulary size")
    series = []
    for name, of_measure, factor in MEASURES:
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in sorted(rows, key=lambda row: int(row["vocab_size"])):
            if row.get(name) is not None:
                lines.setdefault(str(row["model"]), []).append((int(row["vocab_size"]), float(row[name]) * factor))
        if lines:
            series.append((of_measure, list(lines.items())))
    greatest = {str(row["model"]): row for row in sorted(rows, key=lambda row: int(row["vocab_size"]))}
    files = {name: dict(row["files"]) for name, row in greatest.items() if row.get("files")}
    lengths = {name: dict(row["lengths"]) for name, row in greatest.items() if row.get("lengths")}
    names = list(dict.fromkeys(file for of_model in files.values() for file in of_model))
    data = {
        "series": series, "models": list(greatest),
        "sizes": {name: int(row["vocab_size"]) for name, row in greatest.items()},
        "files": [
            (file, [files.get(model, {}).get(file, {}).get("tokens_per_word") for model in greatest]) for file in names
        ],
        "lengths": [(name, [(str(n), int(many)) for n, many in rows_.items()]) for name, rows_ in lengths.items()],
        "longest": [(name, list(row.get("longest_tokens", ()))) for name, row in greatest.items()],
    }  # fmt: skip
    return standalone(title, BODY, FILES, data)
