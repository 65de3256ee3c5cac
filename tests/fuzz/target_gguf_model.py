"""A language model in a GGUF file: refused by an error of tokkit, or a model whose logits are numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from mutate_binary import GGUF as CHANGE
from tokkit import pipeline
from tokkit.errors import TokkitError

__all__ = ["CHANGE", "check"]

DICTIONARIES = ("gguf",)

TOKENS = 5


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(data)
        for precision in (None, "fp32"):
            try:
                model = pipeline.load(path, precision=precision)
                ids = np.arange(min(TOKENS, model.max_length)) % model.decoder.config.vocab_size
                logits = model.logits(ids)
            except TokkitError:
                continue
            assert logits.shape == (len(ids), model.decoder.config.vocab_size)
            assert np.isfinite(logits).all()
