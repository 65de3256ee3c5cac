r"""Reads and writes the vocabulary of RWKV's world models: lines of an id, a token as a Python literal, and its length.

A token is text, '\n\n', or bytes that are not UTF-8, b'\xe4\xbd'. The file has no special tokens: the id 0, which no
line has, is the end of a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tokkit.definition import Definition, checked_special_tokens
from tokkit.errors import FormatError
from tokkit.files import files
from tokkit.models.longest_match import LongestMatch
from tokkit.models.names import described
from tokkit.vocab import MAX_ID, Vocab

END_OF_TEXT = {"<|endoftext|>": 0}
"""The special token of a file without a token 0, if none are given."""
_LINE = re.compile(r"""([0-9]{1,7}) (b?)('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") ([0-9]{1,9})""")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\\'\"abfnrtv]|.)", re.DOTALL)
_SIMPLE = {
    **{"\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
}


def read(data: bytes, *, special_tokens: Mapping[str, int] | None = None) -> Definition:
    """Return the definition; `special_tokens` (text → id) replace END_OF_TEXT. FormatError names the line."""
    tokens: dict[int, bytes] = {}
    lines: dict[bytes, int] = {}
    for number, line in enumerate(files.decode(data).split("\n"), 1):
        if not (line := line.removesuffix("\r")):
            continue
        try:
            id_, token = _token(line)
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        if id_ in tokens:
            raise FormatError(f"line {number}: the id {id_} has a token already, {tokens[id_]!r}")
        if token in lines:
            raise FormatError(f"line {number}: {token!r} has the id {lines[token]} already")
        tokens[id_], lines[token] = token, id_
    vocab = Vocab.from_list(tokens.get(id_, b"") for id_ in range(max(tokens, default=-1) + 1))
    if special_tokens is None:
        special_tokens = {} if 0 in tokens else END_OF_TEXT
    special = checked_special_tokens(special_tokens)
    new = {id_: text.encode() for text, id_ in special.items() if id_ not in tokens}
    made = vocab.with_tokens(new)
    return Definition(made, LongestMatch(), None, special_tokens=special, added_ids=frozenset(new))


def _token(line: str) -> tuple[int, bytes]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise FormatError(f"an id, a token in quotes and its length are needed, not {line[:60]!r}")
    id_, prefix, quoted, length = int(found[1]), found[2], found[3], int(found[4])
    text = quoted[1:-1]
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped_byte if prefix else _unescaped, text)
    try:
        token = text.encode("latin-1" if prefix else "utf-8")
    except UnicodeEncodeError:
        what = "a character beyond U+00FF" if prefix else "a lone surrogate"
        raise FormatError(f"{quoted[:60]} has {what}, which is not a token") from None
    if id_ > MAX_ID:
        raise FormatError(f"the id is {id_}; ids run up to {MAX_ID}")
    if not token:
        raise FormatError("the token is empty")
    if len(token) != length:
        raise FormatError(f"the token {quoted[:60]} has {len(token)} bytes, and its length is given as {length}")
    return id_, token


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        value = int(code[1:], 16)
        if value < 0x110000:
            return chr(value)
    elif code in _SIMPLE:
        return _SIMPLE[code]
    raise FormatError(f"{found[0]} is not an escape that is read; \\x, \\u and \\U with digits and \\n, \\t … are")


def _unescaped_byte(found: re.Match[str]) -> str:
    if found[1][0] in "uU":
        raise FormatError(f"{found[0]} stands in bytes, which have no such escape")
    return _unescaped(found)


def write(definition: Definition) -> bytes:
    """Return the file of a definition; FormatError if it cannot have everything that the definition has."""
    what = "a file of RWKV's vocabulary holds"
    if definition.model != LongestMatch():
        shown = definition.model if isinstance(definition.model, LongestMatch) else described(definition.model)
        raise FormatError(f"{what} only tokens for the longest match; this tokenizer's model is {shown}")
    for name in ("normalizer", "pretokenizer", "postprocessor"):
        if getattr(definition, name) is not None:
            raise FormatError(f"{what} no {name}; this tokenizer has {type(getattr(definition, name)).__name__}")
    ordinary = {id_: token for token, id_ in definition.vocab.items() if id_ not in definition.added_ids}
    expected = END_OF_TEXT if 0 not in ordinary else {}
    plain = not any(token.single_word or token.lstrip or token.rstrip for token in definition.added_tokens)
    if definition.added_vocab != expected or not plain:
        shown = ", ".join(f"{text!r}={id_}" for text, id_ in definition.added_vocab.items()) or "none"
        needed = ", ".join(f"{text!r}={id_}" for text, id_ in expected.items()) or "none, as the id 0 is a token"
        raise FormatError(f"{what} no special tokens; there must be {needed}, and this tokenizer has {shown}")
    return "".join(f"{id_} {_literal(token)} {len(token)}\n" for id_, token in sorted(ordinary.items())).encode()


def _literal(token: bytes) -> str:
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)
