"""Removes characters newer than Unicode 9.0, which the tables of tokenizers lack."""

from __future__ import annotations

from pathlib import Path


def _ranges(path: Path) -> frozenset[int]:
    parts = [line.split() for line in path.read_text(encoding="ascii").splitlines() if line[0] != "#"]
    bounds = [part.partition("-") for line in parts for part in line]
    return frozenset(c for first, _, last in bounds for c in range(int(first, 16), int(last or first, 16) + 1))


NEWER = _ranges(Path(__file__).parent.parent / "normalizers" / "newer_than_unicode_9.txt")
"""What a form or the order of marks treats otherwise than tokenizers, whose tables of forms are of Unicode 9.0."""


def known(text: str) -> str:
    return "".join(c for c in text if ord(c) not in NEWER)
