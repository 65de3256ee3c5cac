"""Run every single change of the seeds of a target in Python, in random order, and keep what takes new edges.

    python tests/fuzz/sweep.py NAME --kept FOLDER --findings FOLDER [--seconds 600] [--seed N]

Each value of a document is left out, repeated and replaced by every other of some tens: of another type, at the ends
of a range, and the words of the dictionary. Changes by chance rarely put one certain value into one certain place.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # which PYTHONSAFEPATH leaves out

from python_fuzzer import MAX_BYTES, Fuzzer, bound_process  # isort: skip  # puts tests on the path
import gguf_files
import mutate
import mutate_binary
import mutate_json
from build import inputs
from gguf_files import Stored, Typed

Made = Iterator[Callable[[], bytes]]
"""Changed inputs, each made when it is its turn."""

FLOATS = (0.0, -0.0, 0.5, -1.0, 1e-5, 1e30, float("nan"), float("inf"), float("-inf"))
SAME_PLACES = 4
"""Of the entries of a table, which are all alike, so many are changed."""


def some(n: int) -> list[int]:
    """The first and the last of n places."""
    return sorted({*range(min(n, SAME_PLACES)), *range(max(n - 2, 0), n)})


# ---- JSON

SIMPLE: tuple[Any, ...] = (None, True, False, [], {}, [[]], [0], [None], ["a"], ["a", "b"], {"": 0}, {"type": "a"})
PATTERNS = ({"String": ""}, {"String": "a"}, {"Regex": "a"}, {"Regex": "("})


def json_places(root: Any) -> Iterator[list[Any]]:
    """The paths below a value; of those that differ in an index or in a key of a large table alone, the first few."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for path in mutate_json.places(root)[1:]:
        shape: list[Any] = []
        for depth, step in enumerate(path):
            table = isinstance(step, int) or len(mutate_json.at(root, path[:depth])) > 30
            shape.append(0 if table else step)
        seen[tuple(shape)] += 1
        if seen[tuple(shape)] <= SAME_PLACES:
            yield path


def beside(value: Any) -> list[Any]:
    """Values near one of JSON."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [value + 1, value - 1, value * 2, -value]
    if isinstance(value, str):
        return [value + "x", value[:-1], value * 2, value.upper(), f" {value}"]
    if isinstance(value, list):
        return [value[::-1], value * 2, value[1:], value[:-1]]
    return [{**value, "extra": 1}]


def of_json(data: bytes, words: Sequence[bytes]) -> Made:
    root = mutate_json.loaded(data)
    others = [*SIMPLE, *PATTERNS, *FLOATS, *mutate.NUMBERS, *mutate.TEXTS, *map(mutate_json.of_word, words)]

    def put(path: list[Any], values: list[Any]) -> bytes:
        """The document with these values in the place of one: none of them, or several in an array."""
        made = json.loads(data)
        holder, step = mutate_json.at(made, path[:-1]), path[-1]
        if isinstance(holder, list):
            holder[step : step + 1] = values
        elif values:
            holder[step] = values[0]
        else:
            del holder[step]
        return json.dumps(made).encode()

    for path in json_places(root):
        value = mutate_json.at(root, path)
        yield functools.partial(put, path, [])
        yield functools.partial(put, path, [value, value])
        for other in (*beside(value), *others):
            yield functools.partial(put, path, [other])


def of_folder(data: bytes, words: Sequence[bytes]) -> Made:
    """Changes of the JSON files of a folder; the folder without each of its files."""
    files = json.loads(data)

    def put(name: str, made: Callable[[], bytes]) -> bytes:
        return json.dumps({**files, name: made().decode("utf-8", "surrogateescape")}).encode()

    def without(name: str) -> bytes:
        return json.dumps({one: files[one] for one in files if one != name}).encode()

    for name, text in files.items():
        yield functools.partial(without, name)
        if name.endswith(".json"):
            for made in of_json(text.encode("utf-8", "surrogateescape"), words):
                yield functools.partial(put, name, made)


def of_header(data: bytes, words: Sequence[bytes]) -> Made:
    """Changes of the JSON header before the data of a file."""
    n = int.from_bytes(data[:8], "little")

    def put(made: Callable[[], bytes]) -> bytes:
        header = made()
        return len(header).to_bytes(8, "little") + header + data[8 + n :]

    for made in of_json(data[8 : 8 + n], words):
        yield functools.partial(put, made)


# ---- protocol buffers


def of_message(data: bytes, words: Sequence[bytes]) -> Made:
    fields = mutate_binary.fields(data) or []

    def put(at: int, values: Sequence[Any]) -> bytes:
        number, kind, _ = fields[at]
        return mutate_binary.message([*fields[:at], *([number, kind, value] for value in values), *fields[at + 1 :]])

    def put_made(at: int, made: Callable[[], bytes]) -> bytes:
        return put(at, (made(),))

    seen: Counter[int] = Counter()
    for at, (number, kind, value) in enumerate(fields):
        seen[number] += 1
        if seen[number] > SAME_PLACES:
            continue
        yield functools.partial(put, at, ())
        yield functools.partial(put, at, (value, value))
        if kind == mutate_binary.VARINT:
            others: Sequence[Any] = (*mutate.NUMBERS, *range(4, 20), value + 1, value - 1)
        elif kind == mutate_binary.BYTES:
            texts = [text.encode("utf-8", "surrogatepass") for text in mutate.TEXTS]
            others = (b"\xff", value[:-1], value * 2, *texts, *words)
            for made in of_message(value, words):
                yield functools.partial(put_made, at, made)
        else:
            form = gguf_files.F32 if kind == mutate_binary.FIXED32 else gguf_files.F64
            others = [gguf_files.value_bytes(form, number) for number in FLOATS]
        for other in others:
            yield functools.partial(put, at, (other,))


# ---- GGUF

TYPED = (
    *(Typed(gguf_files.U32, n) for n in (*range(9), 16, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)),
    *(Typed(gguf_files.U64, n) for n in (0, 2, 1 << 63, (1 << 64) - 1)),
    *(Typed(kind, n) for kind in (gguf_files.I8, gguf_files.I32, gguf_files.I64) for n in (-1, 0, 3)),
    *(Typed(gguf_files.BOOL, n) for n in range(3)),
    *(Typed(gguf_files.F32, number) for number in FLOATS),
    Typed(gguf_files.F64, 0.5),
    *(Typed(gguf_files.STRING, text) for text in (b"", b"a", b"\xff")),
    *(Typed(gguf_files.ARRAY, [1, 0], kind) for kind in (gguf_files.U8, gguf_files.I32, gguf_files.BOOL)),
    Typed(gguf_files.ARRAY, [], gguf_files.U32),
    Typed(gguf_files.ARRAY, [0.5, 2.0], gguf_files.F32),
    Typed(gguf_files.ARRAY, [b"a", b""], gguf_files.STRING),
)
STRINGS = (b"", b"\xff", b" ", b"\xe2\x96\x81", b"<0x41>", b"<unk>", b"a" * 1100)
TENSOR_TYPES = (0, 1, 2, 3, 6, 7, 8, 10, 12, 13, 14, 24, 26, 27, 28, 30, 99)


def changed_arrays(typed: Typed) -> Iterator[Typed]:
    """An array with another element in a place, without it, and of another type."""
    value = list(typed.value)
    numbers = FLOATS if typed.element in (gguf_files.F32, gguf_files.F64) else range(8)
    others = STRINGS if typed.element == gguf_files.STRING else numbers
    for at in some(len(value)):
        yield typed._replace(value=value[:at] + value[at + 1 :])
        for other in (*others, value[0], value[-1]):
            yield typed._replace(value=[*value[:at], other, *value[at + 1 :]])
    for other in others:
        yield typed._replace(value=[other] * len(value))
    for kind in gguf_files.FORMATS:
        yield typed._replace(element=kind)


def changed_tensors(tensor: Stored) -> Iterator[Stored]:
    for kind in TENSOR_TYPES:
        yield tensor._replace(kind=kind)
    shape = tensor.shape
    for axis, n in enumerate(shape):
        for other in (0, 1, n + 1, n - 1, 2 * n, 1 << 32, 1 << 63):
            yield tensor._replace(shape=(*shape[:axis], other, *shape[axis + 1 :]))
    for made in ((), shape[::-1], (*shape, 1), (1, *shape), shape[:-1], (1,) * 5):
        yield tensor._replace(shape=made)
    n = len(tensor.data)
    for data in (b"", tensor.data[:-1], bytes(n), b"\xff" * n, b"\x00\x7c" * (n // 2), b"\x7f" * n):
        yield tensor._replace(data=data)


def of_gguf(data: bytes, words: Sequence[bytes]) -> Made:
    """Changes of a header's bytes, of keys and their values, and of tensors; keys that the dictionary names."""
    keys, tensors = mutate_binary.gguf_parts(data)
    first = keys[0][1].value
    prefix = first.decode("utf-8", "replace") if isinstance(first, bytes) else ""

    def of_keys(made: Sequence[tuple[str, Typed]]) -> bytes:
        return bytes(gguf_files.gguf(made, 3, tensors))

    def of_tensors(made: dict[str, Stored]) -> bytes:
        return bytes(gguf_files.gguf(keys, 3, made))

    def first_bytes(end: int) -> bytes:
        return data[:end]

    def of_header_bytes(at: int, size: int, n: int) -> bytes:
        return data[:at] + n.to_bytes(size, "little") + data[at + size :]

    for end in range(min(len(data), 400)):
        yield functools.partial(first_bytes, end)
    for at, size in ((4, 4), (8, 8), (16, 8)):
        for n in (0, 1, 2, 4, 1 << 20, 1 << 31, (1 << 32) - 1):
            yield functools.partial(of_header_bytes, at, size, n)
    for at, (name, typed) in enumerate(keys):
        yield functools.partial(of_keys, keys[:at] + keys[at + 1 :])
        yield functools.partial(of_keys, [*keys, keys[at]])
        in_array = changed_arrays(typed) if typed.kind == gguf_files.ARRAY and typed.value else ()
        for one in (*TYPED, *(Typed(gguf_files.STRING, word) for word in words), *in_array):
            yield functools.partial(of_keys, [*keys[:at], (name, one), *keys[at + 1 :]])
    for word in (word.decode("utf-8", "replace") for word in words):
        name = word if word.startswith(("general.", "split.", "tokenizer.")) else f"{prefix}.{word}"
        rest = [key for key in keys if key[0] != name]
        for one in TYPED:
            yield functools.partial(of_keys, [*rest, (name, one)])
    yield functools.partial(of_tensors, {})
    for name, tensor in tensors.items():
        rest_of_them = {other: one for other, one in tensors.items() if other != name}
        yield functools.partial(of_tensors, rest_of_them)
        for made in changed_tensors(tensor):
            yield functools.partial(of_tensors, {**tensors, name: made})
        for other in (f"{name}x", name.replace("weight", "bias"), name.replace("blk.0", "blk.1"), "rope_freqs.weight"):
            yield functools.partial(of_tensors, {**rest_of_them, other: tensor})
            yield functools.partial(of_tensors, {**tensors, other: tensor})


# ---- the program

UNWRITABLE = (struct.error, AttributeError, TypeError, UnicodeError)
"""What is raised for a changed document that no file can hold, such as an array of integers with a text."""
SWEEPS: dict[mutate.Change, Callable[[bytes, Sequence[bytes]], Made]] = {
    mutate_json.CHANGE: of_json,
    mutate_json.of_folder: of_folder,
    mutate_binary.GGUF: of_gguf,
    mutate_binary.PROTOBUF: of_message,
    mutate_binary.HEADER: of_header,
}
"""How the inputs of a target are changed by chance → all of their single changes."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Run every single change of the seeds of a target, in random order.")
    parser.add_argument("name")
    parser.add_argument("--kept", type=Path, required=True, help="where inputs are kept that cover more")
    parser.add_argument("--findings", type=Path, required=True, help="where inputs are kept that fail")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, help="of the order")
    arguments = parser.parse_args()
    target = importlib.import_module(f"target_{arguments.name}")
    if target.CHANGE not in SWEEPS:
        print(f"{arguments.name}: the inputs of this target are not documents, whose values can be changed in turn")
        return 2
    bound_process()
    for folder in (arguments.kept, arguments.findings):
        folder.mkdir(parents=True, exist_ok=True)
    fuzzer = Fuzzer(arguments.name, target, arguments.kept, arguments.findings, arguments.seed)
    seeds = inputs(arguments.name)
    fuzzer.load([*seeds, *arguments.kept.glob("*")])
    changes = [made for path in seeds for made in SWEEPS[target.CHANGE](path.read_bytes(), fuzzer.words)]
    random.Random(arguments.seed).shuffle(changes)
    print(f"{len(changes)} changes of {len(seeds)} inputs", file=sys.stderr)
    end = time.monotonic() + arguments.seconds
    for change in changes:
        if time.monotonic() > end:
            break
        with contextlib.suppress(*UNWRITABLE):
            fuzzer.run_and_keep(change()[:MAX_BYTES])
    fuzzer.over()
    return bool(fuzzer.failures)


if __name__ == "__main__":
    sys.exit(main())
