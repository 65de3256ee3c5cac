"""Writes the tables of a model, packed as in a file or as a dict and lists: as JSON, and their first entries."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import numpy as np

from tokkit.compat.tokenizers import json_text
from tokkit.formats import table_text
from tokkit.formats.table_text import ONE_LINE, Part, Style
from tokkit.formats.tables import Merges, Table


def tables(state: dict[str, Any], style: Style, *, read_back: bool = True) -> dict[str, Part]:
    """Return the JSON of the tables of a model's state; `read_back` is that of `table_text.scores`."""
    made = {}
    if "vocab" in state:
        made["vocab"] = _vocab(state["vocab"], style, read_back=read_back)
    if "merges" in state:
        made["merges"] = _merges(state["merges"], style)
    return made


def _vocab(vocab: Any, style: Style, *, read_back: bool) -> Part:
    table = packed(vocab)
    if table is not None and table.is_text:
        if table.scores is None:
            return table_text.ids(table.sorted(), style)
        return table_text.scores(table, style, read_back=read_back)
    given = first_scores(vocab) if isinstance(vocab, list) else first_ids(vocab)
    return _dumped(given, style, read_back=read_back)


def _merges(merges: Any, style: Style) -> Part:
    found = merges if isinstance(merges, Merges) else Merges.of(merges)
    if found is None or (isinstance(merges, list) and found.between):
        return _dumped(first_merges(merges), style)
    return table_text.merges(found, style)


def _dumped(value: Any, style: Style, *, read_back: bool = True) -> Part:
    """Return the JSON of a table that cannot be packed."""
    if read_back:
        text = json_text.dumps(value, pretty=style is not ONE_LINE).replace("\n", "\n    ").encode()
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return lambda out: out.put(text)


def packed(vocab: Any) -> Table | None:
    """Return a vocabulary as a table; None for scores that are not all floats."""
    if isinstance(vocab, Table):
        return vocab
    if isinstance(vocab, dict):
        return Table.of(vocab)
    if not all(type(score) is float for _, score in vocab):
        return None
    return Table.of_scores(vocab)


def first_ids(vocab: Any, most: int | None = None) -> dict[str, int]:
    """Return token → id of at most `most` tokens, in the order of the ids."""
    if isinstance(vocab, Table):
        return vocab.sorted().as_dict(most)
    return dict(islice(sorted(vocab.items(), key=lambda item: item[1]), most))


def first_scores(vocab: Any, most: int | None = None) -> list[Any]:
    """Return tokens and scores of at most `most` tokens."""
    if not isinstance(vocab, Table):
        return list(vocab[:most])
    scores = np.zeros(0) if vocab.scores is None else vocab.scores
    return [[token, score] for token, score in zip(vocab.as_dict(most), scores[:most].tolist(), strict=True)]


def first_merges(merges: Any, most: int | None = None) -> list[list[str]]:
    """Return at most `most` merges, as pairs."""
    if not isinstance(merges, Merges):
        return [merge.split(" ") if isinstance(merge, str) else list(merge) for merge in merges[:most]]
    if not merges.n:
        return []
    n_parts = -1 if most is None else most if merges.between else 2 * most
    parts = [part.decode() for part in merges.text.split(b"\0", n_parts)][: None if most is None else n_parts]
    if merges.between:
        return [part.split(" ", 1) for part in parts]
    return [list(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


def merge_lines(merges: Any) -> bytes:
    """Return the lines of a merges.txt: two tokens each."""
    found = merges if isinstance(merges, Merges) else Merges.of(merges)
    if found is None or (isinstance(merges, list) and found.between):
        return "".join(f"{left} {right}\n" for left, right in first_merges(merges)).encode()
    return table_text.merge_lines(found)


def token_lines(vocab: Any) -> bytes:
    """Return the lines of a vocab.txt: the tokens in the order of their ids."""
    table = vocab if isinstance(vocab, Table) else Table.of(vocab)
    if not table.is_text:
        return "".join(f"{token}\n" for token in first_ids(vocab)).encode()
    return table_text.token_lines(table.sorted())
