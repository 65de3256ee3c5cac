"""Tables in byte symbols in, a definition out, and back: what tokenizer.json and vocab.json + merges.txt share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.definition import BPE, Definition, Split
from tokkit.errors import FormatError, VocabError
from tokkit.formats import byte_symbols, conversion, strict_json
from tokkit.models.char_bpe import merge_ids
from tokkit.vocab import MAX_ID, Vocab


def check_ids(vocab: Mapping[str, Any], path: str) -> None:
    """Raise FormatError unless every value is an id, and no two keys have one."""
    ids = list(vocab.values())
    in_range = set(map(type, ids)) <= {int} and 0 <= min(ids, default=0) <= max(ids, default=0) <= MAX_ID
    if in_range and len(set(ids)) == len(ids):
        return
    owners: dict[int, str] = {}
    for token, id_ in vocab.items():
        if type(id_) is not int:
            raise FormatError(f"{path}[{strict_json.brief(token)}]: an id is an integer, not {strict_json.kind(id_)}")
        if not 0 <= id_ <= MAX_ID:
            raise FormatError(f"{path}[{strict_json.brief(token)}]: ids run from 0 to {MAX_ID}, not {id_}")
        if owners.setdefault(id_, token) != token:
            raise FormatError(
                f"{path}: {strict_json.brief(owners[id_])} and {strict_json.brief(token)} both have id {id_}"
            )


def read(
    vocab: Mapping[str, int],
    merges: Iterable[tuple[str, str, str]],
    special_tokens: Mapping[str, int],
    *,
    whole_piece: bool,
    split: Split,
    path: str,
    drops_unknown: bool = False,
    listed: Sequence[Any] | None = None,
) -> Definition:
    """Make a definition of checked `vocab` (symbols → id), merges (where, left, right) and special tokens.

    A special token is text, not symbols; it may stand in `vocab` under its own id or be absent from it. `path`
    names the vocabulary in messages. `listed` are the merges as a list of "left right" or pairs, which are read in
    C; `merges` is gone through where there is something to say. FormatError for tokens that are not symbols, a byte
    without a token unless such bytes are dropped, and merges of or into what is no ordinary token.
    """
    ordinary = {token: id_ for token, id_ in vocab.items() if token not in special_tokens}
    by_id = sorted(ordinary, key=ordinary.__getitem__)
    if "" in ordinary:
        raise FormatError(f"{path}: the token with id {ordinary['']} is empty")
    offsets = np.zeros(max(ordinary.values(), default=-1) + 2, dtype=np.int64)
    if by_id:  # one symbol is one byte
        offsets[1:][[ordinary[token] for token in by_id]] = [len(token) for token in by_id]
    np.cumsum(offsets, out=offsets)
    try:
        blob = byte_symbols.to_bytes("".join(by_id))
    except ValueError:
        raise _not_symbols(ordinary, path) from None
    byte = conversion.missing_byte(blob, offsets)
    if byte is not None and not drops_unknown:
        symbol = byte_symbols.SYMBOLS[byte]
        if symbol in special_tokens:
            raise FormatError(f"the special token {symbol!r} is also the symbol of the byte {byte:#04x}")
        raise FormatError(
            f"{path}: no token {symbol!r}, the symbol of the byte {byte:#04x}: some text would have no ids"
        )
    table = None if listed is None else _at_once(by_id, ordinary, listed)
    if table is None:
        table = np.array(list(_merges(merges, ordinary, special_tokens, path)), dtype=np.uint32).reshape(-1, 3)
    table.flags.writeable = False
    packed = Vocab(blob, offsets).with_tokens({id_: text.encode("utf-8") for text, id_ in special_tokens.items()})
    return Definition(packed, BPE(table, whole_piece, byte is not None), split, special_tokens)


def _at_once(by_id: list[str], ids: Mapping[str, int], listed: Sequence[Any]) -> NDArray[np.uint32] | None:
    """Return the ids of all merges, None where something is wrong with one."""
    offsets = np.zeros(max(ids.values(), default=-1) + 2, dtype=np.int64)
    offsets[1:][[ids[token] for token in by_id]] = list(map(len, map(str.encode, by_id)))
    try:
        table = merge_ids(Vocab("".join(by_id).encode(), np.cumsum(offsets)), listed)
    except VocabError:
        return None
    pairs = table[:, 0].astype(np.uint64) << np.uint64(32) | table[:, 1]
    return table if len(np.unique(pairs)) == len(pairs) else None


def _not_symbols(vocab: Mapping[str, int], path: str) -> FormatError:
    for token in vocab:
        try:
            byte_symbols.to_bytes(token)
        except ValueError as error:
            shown = strict_json.brief(token)
            return FormatError(f"{path}[{shown}]: {error}, and it is not given as a special token")
    raise AssertionError("every token is made of symbols")


def _merges(
    merges: Iterable[tuple[str, str, str]], ids: Mapping[str, int], special: Mapping[str, int], path: str
) -> Iterable[tuple[int, int, int]]:
    """Yield the ids of each merge's left, right and result."""
    seen: set[tuple[int, int]] = set()
    for where, left, right in merges:
        try:
            merge = ids[left], ids[right], ids[left + right]
        except KeyError as error:
            token = error.args[0]
            role = "the result" if token == left + right else "the part"
            place = f"a special token, not an ordinary one of {path}" if token in special else f"not in {path}"
            raise FormatError(f"{where}: {role} {strict_json.brief(token)} is {place}") from None
        if merge[:2] in seen:
            raise FormatError(f"{where}: the pair {left!r} {right!r} stands earlier too")
        seen.add(merge[:2])
        yield merge


def write(definition: Definition) -> tuple[dict[str, int], list[str], bool]:
    """Return (symbols → id, special tokens included; merges as "left right"; whole_piece).

    FormatError where the tables would not give every text the definition's ids.
    """
    blob, offsets = conversion.ordinary_tokens(definition)
    merges, whole_piece = conversion.merge_list(definition)
    symbols = byte_symbols.to_symbols(blob)
    bounds = offsets.tolist()
    tokens = [symbols[start:end] for start, end in pairwise(bounds)]
    vocab = {token: id_ for id_, token in enumerate(tokens) if token}
    if len(vocab) < np.count_nonzero(np.diff(offsets)):
        id_ = next(i for i, token in enumerate(tokens) if token and vocab[token] != i)
        raise FormatError(f"the ids {id_} and {vocab[tokens[id_]]} have the same bytes, {definition.vocab[id_]!r}")
    for text, id_ in sorted(definition.added_ids.items(), key=lambda item: item[1]):
        if text in vocab:
            raise FormatError(f"the special token {text!r} is written like the ordinary token with id {vocab[text]}")
        if whole_piece and not text.isascii() and byte_symbols.is_symbols(text):
            piece = byte_symbols.to_bytes(text)
            if conversion.is_utf_8(piece):  # else it is no piece of any text
                raise FormatError(f"the special token {text!r} is written like the piece {piece.decode()!r}")
        vocab[text] = id_
    lines = []
    for number, (left, right, result) in enumerate(merges.tolist()):
        known = max(left, right, result) < len(tokens) and tokens[left] and tokens[right]
        if not known or tokens[left] + tokens[right] != tokens[result]:
            raise VocabError(f"merge {number}, {left} and {right} to {result}, does not join ordinary tokens")
        lines.append(f"{tokens[left]} {tokens[right]}")
    return dict(sorted(vocab.items(), key=lambda item: item[1])), lines, whole_piece
