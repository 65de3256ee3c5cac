"""A text for one of the tokenizers that are seeds of other targets: all ways to its ids are one, and decoding too.

An input is the number of a tokenizer, how often the text is repeated, where it is cut, and the text.
"""

from __future__ import annotations

import functools
import hashlib
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import mutate
import tokkit
from build import inputs
from strategies import adversarial
from tokenizer_checks import check_text, twin_of
from tokkit.engine.interpreter import Interpreter

FORMATS = {"tokenizer_json": "tokenizer.json", "sentencepiece": "saved.model", "gguf": "vocabulary.gguf"}
HEAD = 3
MAX_BYTES = 400


@functools.cache
def tokenizers() -> list[tuple[tokkit.Tokenizer, Interpreter | None]]:
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for target, name in FORMATS.items():
            for seed in inputs(target):
                if seed.parent.parent.name == "seeds":
                    path = Path(folder) / name
                    path.write_bytes(seed.read_bytes())
                    tok = tokkit.load(path)
                    made.append((tok, twin_of(tok)))
    return made


def change(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    head, text = data[:HEAD].ljust(HEAD, b"\0"), data[HEAD:]
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(HEAD) + text
    if kind == 1:
        return head + text + adversarial(rng.getrandbits(30), 20).encode("utf-8", "replace")
    if kind == 2:
        vocab = tokenizers()[head[0] % len(tokenizers())][0].vocab
        ids = [id_ for id_ in rng.choices(range(vocab.n_ids), k=4) if id_ in vocab]
        return head + text + b"".join(vocab[id_] for id_ in ids)
    if kind == 3:
        return head + mutate.of_bytes(rng, text, other[HEAD:], words)
    return head + mutate.of_text(rng, text.decode("utf-8", "replace"), words).encode("utf-8", "replace")


CHANGE = mutate.one_of(change)


def check(data: bytes) -> None:
    if len(data) < HEAD:
        return
    tok, twin = tokenizers()[data[0] % len(tokenizers())]
    text = data[HEAD : HEAD + MAX_BYTES].decode("utf-8", "replace") * (60 if data[1] == 255 else 1 + data[1] % 3)
    check_text(tok, twin, text, random.Random(hashlib.sha1(data).digest()))
