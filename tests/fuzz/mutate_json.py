"""Changes of a JSON document as a tree: values, keys and whole branches; and of several files as one document."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import mutate

Path = list[Any]


def places(value: Any) -> list[Path]:
    """The paths of all values below a value; of long arrays and objects, those of some."""
    found: list[Path] = [[]]
    for path in found:
        inner = at(value, path)
        if isinstance(inner, dict):
            found += [[*path, key] for key in inner]
        elif isinstance(inner, list):
            found += [[*path, index] for index in range(len(inner))]
    return found


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def chosen(rng: random.Random, value: Any) -> Path:
    """A path by chance: each step down is as likely as any beside it, so that large tables do not take it all."""
    path: Path = []
    while isinstance(value, (dict, list)) and value and (not path or rng.random() < 0.75):
        step = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        path.append(step)
        value = value[step]
    return path


def loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def of_word(word: bytes) -> Any:
    """The value of JSON that a word of a dictionary is, or the word as a text."""
    found = loaded(word)
    return word.decode("utf-8", "replace") if found is None else found


def some_value(rng: random.Random, words: Sequence[bytes]) -> Any:
    if words and rng.random() < 0.5:
        return of_word(rng.choice(words))
    simple = (None, True, False, 0.5, -0.0, 1e308, float("nan"), float("inf"), [], {}, [[]], {"": 0}, "")
    return rng.choice((rng.choice(simple), rng.choice(mutate.NUMBERS), rng.choice(mutate.TEXTS)))


def new_value(rng: random.Random, value: Any, root: Any, other: Any, words: Sequence[bytes]) -> Any:
    """Something to stand where a value stood."""
    kind = rng.randrange(8)
    if kind == 0:
        return at(root, chosen(rng, root))
    if kind == 1:
        return at(other, chosen(rng, other))
    if kind == 2:
        return rng.choice(([value], [value, value], {"": value}, [value, at(root, chosen(rng, root))]))
    if kind == 3:
        return some_value(rng, words)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return mutate.number(rng, value)
    if isinstance(value, float):
        return rng.choice((-value, value * 2, value + 1, value / 3, 0.0))
    if isinstance(value, str):
        return mutate.of_text(rng, value, words)
    if isinstance(value, list) and value:
        shuffled = list(value)
        rng.shuffle(shuffled)
        return rng.choice((shuffled, value[::-1], value * 2, value[1:], value[:-1]))
    return some_value(rng, words)


def change_tree(rng: random.Random, root: Any, other: Any, words: Sequence[bytes]) -> Any:
    path = chosen(rng, root)
    if not path:
        return new_value(rng, root, root, other, words)
    holder, step = at(root, path[:-1]), path[-1]
    kind = rng.randrange(6)
    if kind == 0:
        del holder[step]
    elif kind == 1 and isinstance(holder, dict):
        text = rng.choice((mutate.of_text(rng, step, words), rng.choice(list(holder)), str(some_value(rng, words))))
        holder[text] = holder.pop(step)
    elif kind == 1:
        holder.insert(step, new_value(rng, holder[step], root, other, words))
    elif kind == 2 and isinstance(holder, dict):
        value = new_value(rng, holder[step], root, other, words)
        holder[str(some_value(rng, words))] = value
    elif kind == 2:
        to = rng.randrange(len(holder))
        holder[step], holder[to] = holder[to], holder[step]
    else:
        holder[step] = new_value(rng, holder[step], root, other, words)
    return root


def dumped(rng: random.Random, value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def of_tree(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change a document; what is none is changed by bytes."""
    root, donor = loaded(data), loaded(other)
    if root is None:
        return mutate.of_bytes(rng, data, other, words)
    for _ in range(rng.choice((1, 1, 2, 3))):
        root = change_tree(rng, root, donor, words)
    try:
        # What was taken from one place and put into another is one object, which may have come to hold itself.
        return dumped(rng, root)
    except (ValueError, RecursionError):
        return mutate.of_bytes(rng, data, other, words)


CHANGE = mutate.one_of(of_tree, of_tree, of_tree, mutate.of_bytes)


# ---- several files in one document: name → text, with what is not UTF-8 in it as lone surrogates


def folder(data: bytes) -> dict[str, bytes]:
    """Return the files that an input describes; ValueError for one that describes none."""
    files = json.loads(data)
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise ValueError("an input is an object of name → text")
    return {name: text.encode("utf-8", "surrogateescape") for name, text in files.items() if name.isprintable()}


def of_folder(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change one of several files: JSON as a tree, all else by lines."""
    files, others = folder(data), folder(other)
    name = rng.choice(list(files))
    change = CHANGE if name.endswith(".json") else mutate.one_of(mutate.of_lines, mutate.of_lines, mutate.of_bytes)
    donor = others.get(name) or rng.choice(list(others.values()))
    if rng.random() < 0.05:
        files[rng.choice(list(others))] = donor
    elif rng.random() < 0.03 and len(files) > 1:
        del files[name]
    else:
        files[name] = change(rng, files[name], donor, words)
    return json.dumps({name: text.decode("utf-8", "surrogateescape") for name, text in files.items()}).encode()
