"""No stage of a tokenizer reads beyond the end of a text: the next page of memory cannot be read.

tests/core/csrc/guard_stages.c puts each text, with the slack that a text in stages has, before and
behind pages that cannot be read, and runs the normalizers, the pretokenizers and the matcher of added tokens on it.
"""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import LONG
from strategies import adversarial
from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import FORMS, Stages
from tokkit._core.split import AddedMatcher
from tokkit._core.text import isas

FILLS = ("a", "the ", " ", "東", "é", "e\u0301", "🦜", "한", "\u1100\u1161", "<s>", "aA.", "ſŉİ", "\u0344", "\u3000")
LENGTHS = range(140) if LONG else (*range(24), 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 129)


def stages() -> list[Callable[[AlignedText], None]]:
    """What the driver runs on a text, in its order, by the Python interface."""
    every: list[tuple[object, ...]] = [("form", name) for name in sorted(FORMS, key=lambda name: FORMS[name])]
    every += [("lowercase",), ("strip_accents",), ("nmt",), ("byte_level",)]
    every += [("bert", True, True, rest, rest) for rest in (True, False)]
    every += [("prepend", "▁".encode()), ("strip", True, True)]
    every += [("replace", b" ", "▁".encode()), ("replace", b"a", b" ", 2)]
    every += [("split_words",), ("split_bert",), ("split_scripts",), ("split_fixed", 3), ("prefix_space",)]
    every += [("byte_symbols",), ("metaspace", "▁", 0)]
    return [Stages([stage]).run for stage in every]


def matcher(isa: str) -> AddedMatcher:
    tokens = [(b"a", 0), (b"<s", 1), (b">the", 2), ("é".encode(), 3)]
    flags = [(False, False, False), (False, True, True), (True, False, False), (False, False, True)]
    return AddedMatcher([(*token, *flag) for token, flag in zip(tokens, flags, strict=True)], isa)


@pytest.fixture(scope="module")
def driver(compile_driver: Callable[[str], Path]) -> Path:
    return compile_driver("guard_stages")


def texts() -> list[bytes]:
    """Valid UTF-8 of each length in bytes, and longer ones of any kind."""
    found = [(fill * n).encode()[:n].decode("utf-8", "ignore").encode() for fill in FILLS for n in LENGTHS]
    rng = random.Random(53)
    for seed in range(300 if LONG else 60):
        data = (adversarial(seed, rng.randint(1, 400)) + rng.choice(FILLS)).encode()
        found.append(data[: rng.randint(1, len(data))].decode("utf-8", "ignore").encode())
    return found


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def test_a_read_beyond_the_pages_would_be_seen(driver: Path) -> None:
    for offset, seen in ((0, False), (1, True)):
        assert (subprocess.run([driver, str(offset)], input=b"").returncode < 0) == seen


def test_no_stage_reads_beyond_a_text_and_its_slack(driver: Path) -> None:
    given = texts()
    data = struct.pack("<Q", len(given)) + b"".join(struct.pack("<Q", len(text)) + padded(text) for text in given)
    done = subprocess.run([driver], input=data, capture_output=True, timeout=600)
    assert done.returncode == 0, (done.returncode, done.stderr.decode())  # -11 is a read beyond the text
    at = 0
    matchers = [matcher(isa) for isa in isas()]
    every = stages()
    for text in given:
        for number in range(len(every) + 1):
            for isa in range(len(matchers) if number == len(every) else 1):
                wanted = AlignedText(text)
                (matchers[isa].cut if number == len(every) else every[number])(wanted)
                for _ in range(2):
                    n, n_pieces = struct.unpack_from("<QQ", done.stdout, at)
                    at += 16
                    assert done.stdout[at : at + n] == wanted.utf8, (number, text.decode())
                    bounds = np.frombuffer(done.stdout, "<i8", 2 * n_pieces, at + n).reshape(-1, 2)
                    assert bounds.tolist() == wanted.bounds.tolist(), (number, text.decode())
                    at += n + bounds.nbytes
        for each in matchers:
            (count,) = struct.unpack_from("<Q", done.stdout, at)
            at += 8
            assert count == len(each.find(text)), text.decode()
    assert at == len(done.stdout)
