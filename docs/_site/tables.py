"""Put the table of tokenizer classes on the page that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CLASSES_MARK = "<!-- the table of tokenizer classes -->"


def classes() -> Iterator[str]:
    """Yield the lines of a Markdown table with one row per tokenizer class of transformers."""
    from tokkit.registry.tokenizer_classes import choice, model_types
    from tokkit.registry.tokenizer_classes.table import CLASSES

    types: dict[str, list[str]] = {}
    for model_type, registered in model_types.CLASS_OF.items():
        name = choice.name_of(registered)
        types.setdefault(choice.PLAIN if name == choice.MISTRAL else name, []).append(model_type)
    others: dict[str, list[str]] = {}
    for other, name in choice.OTHER_NAMES.items():
        others.setdefault(name, []).append(other)
    yield "| class | also called | model types | files besides tokenizer.json | ids |"
    yield "|---|---|---|---|---|"
    for name, row in sorted(CLASSES.items()):
        ids = "as in transformers 5.24"
        if row.inputs_too:
            ids = f"of texts as in transformers 5.24; {row.inputs_too}: refused"
        if row.refused:
            ids = f"refused: {row.refused}"
        files = ", ".join(f"`{file}`" for file in row.files.values()) or "–"
        if row.parts is None and row.scripted is None and not row.refused:
            files = "any that tokkit reads"
        listed = [", ".join(f"`{one}`" for one in sorted(found.get(name, ()))) or "–" for found in (others, types)]
        yield f"| `{name}` | {listed[0]} | {listed[1]} | {files} | {ids} |"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the table in the place of the mark."""
    return markdown.replace(CLASSES_MARK, "\n".join(classes())) if CLASSES_MARK in markdown else markdown
