"""No function of the core reads beyond the end of a text: the next page of memory cannot be read.

tests/core/csrc/guard.c puts each text before and behind pages that cannot be read, and runs validation,
conversion, the scanners of every instruction set, an automaton and the encoder on it.
"""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import LONG
from reference.utf8 import first_invalid
from strategies import adversarial
from tokkit._core.encode.bpe import BPEEncoder
from tokkit._core.split import SplitPattern
from tokkit._core.text import isas, scan, to_utf8
from tokkit.models import bpe
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.unicode_regex import automaton as automata
from tokkit.unicode_regex import syntax
from tokkit.unicode_regex import tables as pattern_tables
from tokkit.vocab import Vocab
from vocabularies import ALPHABETS, grown

TEXT, ANY_BYTES = 0, 8
FILLS = ("a", "aB's ", "!", " ", "\n", "東", "東の's", "é", "🦜", "1", "  \r\n/", "𠀀東", "\u3000", "'ſ", "aé")
LENGTHS = range(201) if LONG else (*range(36), *range(60, 70), *range(124, 134), 190, 191, 192, 193, 199, 200)
DROPS = r"\p{L}+(?=a|$)|\p{N}|\s+(?!\S)"
FAMILIES = 1 + max(patterns.SCANNERS.values())


@pytest.fixture(scope="module")
def driver(compile_driver: Callable[[str], Path]) -> Path:
    return compile_driver("guard")


def texts() -> list[bytes]:
    """Valid UTF-8 of each length in bytes, and long ones."""
    found = [(fill * n).encode()[:n].decode("utf-8", "ignore").encode() for fill in FILLS for n in LENGTHS]
    rng = random.Random(37)
    for seed in range(400 if LONG else 60):
        data = adversarial(seed, rng.randint(1, 700)).encode()
        found.append(data[: rng.randint(1, len(data))].decode("utf-8", "ignore").encode())
    dense = "".join(rng.choices("".join(ALPHABETS.values()), k=6000))
    return [*found, dense.encode(), adversarial(41, 12_000).encode()]


def broken() -> list[bytes]:
    """Bytes of each length, most of them no UTF-8: cut off, or with a byte that is wrong."""
    rng = random.Random(43)
    parts = [b"\xe6", b"\xe6\x9d", b"\xf0\x9f", b"\xf0\x9f\xa6", b"\xc3", b"\x80", b"\xed\xa0\x80", b"\xff", b""]
    found = [b"a" * n + part for n in LENGTHS for part in parts]
    return found + [part + bytes(rng.choices(range(256), k=n)) for n in LENGTHS for part in parts[:2]]


def units() -> list[tuple[int, str]]:
    """(width, text): each is given to the driver in units of that many bytes."""
    rng = random.Random(47)
    found = []
    for n in LENGTHS:
        for width, odd in ((1, "é"), (2, "東"), (4, "🦜"), (2, "\ud83e"), (4, "\ud83e"), (2, "\udd9c"), (4, "\udd9c")):
            text = [rng.choice("ab" + odd) if n % 3 else "a" for _ in range(n)] + [odd]
            found.append((width, "".join(text)))
    return found


def as_units(width: int, text: str) -> bytes:
    code = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width]
    return text.encode(code, "surrogatepass" if width > 1 else "strict")


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def automaton(pattern: str) -> tuple[SplitPattern, bytes]:
    """A compiled pattern, and its tables as the driver reads them."""

    def keep(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_tables, "SplitPattern", keep)
        built = automata.build(syntax.parse(pattern))
        (next_, action, index, blocks), options = pattern_tables.tables(built, keep_unmatched=False)
    rows, classes = next_.shape
    head = numbers(rows, classes, options["n_contexts"], options["unsure"] * classes)
    head += padded(options["contexts"].astype("u1").tobytes())
    cells = (next_ * np.uint32(classes)).astype("<u4").tobytes()
    tables = padded(cells) + padded(action.tobytes()) + padded(index.astype("<u2").tobytes())
    return SplitPattern(next_, action, index, blocks, **options), head + tables + numbers(
        len(blocks)
    ) + blocks.tobytes()


class Answers:
    """The driver's output, read in order."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def next(self, type_: str) -> np.ndarray:
        (count,) = struct.unpack_from("<Q", self.data, self.at)
        found = np.frombuffer(self.data, type_, count, self.at + 8)
        self.at += 8 + found.nbytes
        return found


def wanted_of_text(encoder: BPEEncoder, by: list[BPEEncoder], dfa: SplitPattern, text: bytes) -> Iterator[np.ndarray]:
    """What the driver answers to one text, by the Python interface."""
    for family in range(FAMILIES):
        yield scan(text, family, "scalar").astype("<u8")
        for isa in isas():
            yield by[family].units(text, isa).astype("<u8")
        if family == patterns.SCANNERS[patterns.O200K]:
            for _ in range(2 * len(isas())):
                yield encoder.encode_array(text).astype("<u4")
    ends, dropped = dfa.scan(text)
    yield ends.astype("<u8") | (dropped.astype("<u8") << np.uint64(63))


def head_of(vocab: Vocab, tables: bytes) -> bytes:
    return numbers(vocab.n_ids) + vocab.offsets.astype("<i8").tobytes() + padded(vocab.blob) + tables


def test_a_read_beyond_a_text_would_be_seen(driver: Path) -> None:
    head = head_of(Vocab.from_list(grown(7, "a", 0)), automaton(DROPS)[1])
    for offset, seen in ((0, False), (1, True)):
        assert (subprocess.run([driver, str(offset)], input=head).returncode < 0) == seen


def test_no_text_is_read_beyond_its_ends(driver: Path) -> None:
    vocab = Vocab.from_list(grown(7, ALPHABETS["mixed"], 150))
    by = [bpe.encoder(vocab, BPE(), [], family) for family in range(FAMILIES)]
    encoder = by[patterns.SCANNERS[patterns.O200K]]
    dfa, tables = automaton(DROPS)
    records: list[tuple[int, bytes]] = [(TEXT, text) for text in texts()]
    records += [(ANY_BYTES, data) for data in broken()]
    wide = units()
    records += [(width, as_units(width, text)) for width, text in wide]
    data = head_of(vocab, tables) + numbers(len(records))
    data += b"".join(numbers(kind, len(content)) + padded(content) for kind, content in records)
    done = subprocess.run([driver], input=data, capture_output=True, timeout=600)
    assert done.returncode == 0, (done.returncode, done.stderr.decode())  # -11 is a read beyond the text
    answers, converted = Answers(done.stdout), iter(wide)
    for kind, content in records:
        if kind in (1, 2, 4):
            assert answers.next("u1").tobytes() == to_utf8(next(converted)[1], "scalar"), (kind, content)
            continue
        for _ in range(2):
            assert answers.next("<u8").tolist() == [first_invalid(content)], content
        if kind == TEXT:
            for number, wanted in enumerate(wanted_of_text(encoder, by, dfa, content)):
                assert np.array_equal(answers.next(wanted.dtype.str), wanted), (number, content.decode())
    assert answers.at == len(done.stdout)
