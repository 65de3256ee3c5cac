"""Functions that another process imports by name and runs, for tests of pickles."""

from __future__ import annotations

import numpy as np

import tokkit


def work(tok: tokkit.Tokenizer, text: str) -> tuple[list[int], tokkit.Encoding, list[list[int]]]:
    ids, offsets = tok.encode_batch([text, text], threads=2)
    return tok.encode(text), tok(text), [part.tolist() for part in np.split(ids, offsets[1:-1])]
