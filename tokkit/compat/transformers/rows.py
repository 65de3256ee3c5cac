"""Makes rows of different lengths, as lists, from the flat ids of a batch, without making encodings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tokkit.postprocessors.layout import Added
from tokkit.postprocessors.plain import Plain
from tokkit.threads import thread_count

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

Rows = dict[str, list[list[int]]]
CONSTANT = ("type_ids", "attention_mask", "special_tokens_mask")


def listed(
    tok: Tokenizer,
    texts: list[str],
    pairs: list[str] | None,
    columns: Sequence[str],
    *,
    special: Any,
    add_special: bool,
    threads: int | None,
) -> Rows:
    """Return ids, type_ids, attention_mask and special_tokens_mask of texts, or pairs, not truncated or padded.

    Those of a single text's frame only if they are among `columns`.
    """
    frame = None if pairs is not None else tok.assembler.frame(add_special)
    if frame is not None:
        before, _, after = frame.around["ids"]
        ids = tok.engine.encode_lists(texts, special, thread_count(threads), before, after)
        lengths = [len(row) - frame.n_before - frame.n_after for row in ids]
        return {"ids": ids, **{name: [frame.row(name, n) for n in lengths] for name in CONSTANT if name in columns}}
    sides = []
    for side in (texts, pairs):
        if side is not None:
            sides.append(tok.engine.encode_lists(side, special, thread_count(threads), [], []))
    processor = tok.definition.postprocessor or Plain()
    parts = processor.layout(pair=pairs is not None, add_special=add_special).parts
    rows: Rows = {"ids": [], "type_ids": [], "attention_mask": [], "special_tokens_mask": []}
    for own in zip(*sides, strict=True):
        row: list[int] = []
        types: list[int] = []
        marks: list[int] = []
        for part in parts:
            given = list(part.ids) if isinstance(part, Added) else own[part.number]
            row += given
            types += [part.type_id] * len(given)
            marks += [int(part.special) if isinstance(part, Added) else 0] * len(given)
        rows["ids"].append(row)
        rows["type_ids"].append(types)
        rows["attention_mask"].append([1] * len(row))
        rows["special_tokens_mask"].append(marks)
    return rows
