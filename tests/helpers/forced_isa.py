"""Runs the core of a decoder on one instruction set."""

from __future__ import annotations

from typing import Any


class Forced:
    """The core of a decoder, on one instruction set."""

    def __init__(self, inner: Any, isa: str) -> None:
        self.inner, self.isa = inner, isa

    def run(self, *arrays: Any, **options: Any) -> None:
        self.inner.run(*arrays, **options, isa=self.isa)
