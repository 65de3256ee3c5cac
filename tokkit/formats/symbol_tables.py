"""Reads and writes vocabularies in byte symbols, as in tokenizer.json and vocab.json + merges.txt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit import byte_symbols
from tokkit._core.lines import spell_bytes
from tokkit._core.token_tables import TokenIndex, translate
from tokkit._core.writing import first_not_joined, merge_lines
from tokkit.definition import Definition, Split
from tokkit.errors import FormatError, VocabError
from tokkit.files import strict_json
from tokkit.formats import byte_vocabulary
from tokkit.formats.tables import Packed, Table, spread
from tokkit.models.bpe import BPE
from tokkit.vocab import MAX_ID, Vocab

Own = tuple[Packed, NDArray[np.int64]]
"""Tokens in the order of their ids, and the ids."""


def check_ids(vocab: Mapping[str, Any], path: str) -> None:
    """Raise FormatError unless every value is an id, and ids are distinct."""
    ids = list(vocab.values())
    in_range = set(map(type, ids)) <= {int} and 0 <= min(ids, default=0) <= max(ids, default=0) <= MAX_ID
    if in_range and len(set(ids)) == len(ids):
        return
    owners: dict[int, str] = {}
    for token, id_ in vocab.items():
        if type(id_) is not int:
            raise FormatError(
                f"{path}[{strict_json.brief(token)}]: the id is {strict_json.kind(id_)}; it must be an integer"
            )
        if not 0 <= id_ <= MAX_ID:
            raise FormatError(f"{path}[{strict_json.brief(token)}]: the id is {id_}; it must be from 0 to {MAX_ID}")
        if owners.setdefault(id_, token) != token:
            raise FormatError(
                f"{path}: {strict_json.brief(owners[id_])} and {strict_json.brief(token)} both have id {id_}"
            )


def read(
    table: Table,
    merges: Iterable[tuple[str, str, str]],
    special_tokens: Mapping[str, int],
    *,
    whole_piece: bool,
    split: Split,
    path: str,
    drops_unknown: bool = False,
    own: Own | None = None,
    found: NDArray[np.uint32] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Definition:
    """Make a definition of tokens in symbols, merges (where, left, right) and special tokens.

    A special token is text, not symbols; it may be in `table` under its own id or be absent from it. `path`
    names the vocabulary in messages. Known results can be passed: `own` from `own_bytes`, and `found`, the ids of the
    merges from `Table.find_merges`; then `merges` is only read to report an error. FormatError for tokens that are not
    symbols, for a byte without a token unless such bytes are dropped, and for merges of or into tokens that are not
    ordinary. `given` are other fields of the definition, with added tokens in place of special ones, which no merge
    uses.
    """
    own = own_bytes(table, special_tokens) if own is None else own
    if own is None:
        raise _not_symbols(_ordinary(table, special_tokens), path)
    (blob, ends), ids = own
    offsets = spread(ends, ids)
    missing = byte_symbols.missing_bytes(blob, offsets)
    if lost := [byte for byte in missing if byte not in byte_symbols.NEVER_IN_UTF8 and not drops_unknown]:
        byte = lost[0]
        symbol = byte_symbols.SYMBOLS[byte]
        if symbol in special_tokens:
            raise FormatError(f"the special token {symbol!r} is also the symbol of the byte {byte:#04x}")
        raise FormatError(
            f"{path}: no token {symbol!r}, the symbol of the byte {byte:#04x}: some text would have no ids"
        )
    used = given is None and found is not None and uses(found, table, special_tokens)  # else the caller has seen to it
    if found is None or used or _has_pair_twice(found):
        ordinary = _ordinary(table, special_tokens)
        found = np.array(list(_merges(merges, ordinary, special_tokens, path)), dtype=np.uint32).reshape(-1, 3)
    own_vocab = Vocab(blob, offsets, table.empty)
    vocab = own_vocab.with_tokens({id_: text.encode("utf-8") for text, id_ in special_tokens.items()})
    fields = {"special_tokens": special_tokens} if given is None else given
    return Definition(vocab, BPE(found, whole_piece, bool(missing)), split, **fields)


def own_bytes(table: Table, special_tokens: Iterable[str]) -> Own | None:
    """Return the bytes and ids of the tokens that are not special, by id; None if not all consist of symbols."""
    packed, ids = table.by_id(without=special_tokens)
    bytes_ = translate(*packed, byte_symbols.BYTE_OF)
    return None if bytes_ is None else (bytes_, ids)


def uses(merges: NDArray[np.uint32], table: Table, texts: Iterable[str]) -> bool:
    """Return whether one of the merges, given by ids, joins or makes one of these texts."""
    marks = np.zeros(table.ids.max(initial=0) + 1, dtype=bool)
    marks[[id_ for text in texts if (id_ := table.get(text, -1)) >= 0]] = True
    return bool(marks[merges].any())


def _has_pair_twice(merges: NDArray[np.uint32]) -> bool:
    if np.bincount(merges[:, 2]).max(initial=0) < 2:  # if a pair occurs twice, so does its result
        return False
    pairs = np.sort(merges[:, 0].astype(np.uint64) << np.uint64(32) | merges[:, 1])
    return bool(np.any(pairs[1:] == pairs[:-1]))


def _ordinary(table: Table, special_tokens: Mapping[str, int]) -> dict[str, int]:
    return {token: id_ for token, id_ in table.as_dict().items() if token not in special_tokens}


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
            raise FormatError(f"{where}: the pair {left!r} {right!r} is given twice")
        seen.add(merge[:2])
        yield merge


class Spelt(NamedTuple):
    """The tables of byte-level BPE in byte symbols."""

    tokens: Packed
    """Token → its symbols, or the text of a special token, by id."""
    table: Table
    """The tokens of the model's table, with special ones, in the order of their ids."""
    merges: NDArray[np.uint32]
    """The ids of left, right and result, (n, 3)."""
    whole_piece: bool

    def lines(self) -> bytes:
        """Return the merges as lines of "left right"."""
        return merge_lines(*self.tokens, np.ascontiguousarray(self.merges))


def write(definition: Definition, *, apart: Collection[int] = ()) -> Spelt:
    """Return the tables of byte-level BPE.

    `apart` are the ids of added tokens that are elsewhere in the file. FormatError if the tables would not give every
    text the definition's ids.
    """
    merges, whole_piece = byte_vocabulary.merge_list(definition)
    vocab, added = definition.vocab, definition.added_vocab
    marks = np.zeros(vocab.n_ids, dtype=np.uint8)
    marks[list(added.values())] = 1
    tokens = spell_bytes(vocab.blob, vocab.offsets, marks, byte_symbols.SYMBOLS)
    present = vocab.offsets[1:] > vocab.offsets[:-1]
    present[list(apart)] = False
    if vocab.empty is not None:
        present[vocab.empty] = True
    if TokenIndex(*tokens).twice >= 0:
        _refuse_repeats(definition)
    if whole_piece:
        _refuse_pieces(added)
    _check_merges(merges, *byte_vocabulary.ordinary_tokens(definition))
    return Spelt(tokens, Table.by_number(tokens, np.flatnonzero(present)), merges, whole_piece)


def _refuse_repeats(definition: Definition) -> None:
    """Raise FormatError if two tokens are spelt alike."""
    bounds = pairwise(byte_vocabulary.ordinary_tokens(definition)[1].tolist())
    own = [id_ for id_, (start, end) in enumerate(bounds) if start < end]
    vocab = {byte_symbols.to_symbols(definition.vocab[id_]): id_ for id_ in own}
    for id_ in own:
        last = vocab[byte_symbols.to_symbols(definition.vocab[id_])]
        if last != id_:
            raise FormatError(f"the ids {id_} and {last} have the same bytes, {definition.vocab[id_]!r}")
    for text, _ in sorted(definition.added_vocab.items(), key=lambda item: item[1]):
        if text in vocab:
            raise FormatError(f"the special token {text!r} is written like the ordinary token with id {vocab[text]}")


def _refuse_pieces(added: Mapping[str, int]) -> None:
    """Raise FormatError if a special token is spelt like a pretoken, which may be a whole token."""
    for text in sorted((text for text in added if not text.isascii()), key=added.__getitem__):
        if byte_symbols.is_symbols(text):
            piece = byte_symbols.to_bytes(text)
            if byte_symbols.is_utf_8(piece):  # else it is never a pretoken
                raise FormatError(f"the special token {text!r} is written like the token {piece.decode()!r}")


def _check_merges(merges: NDArray[np.uint32], blob: bytes, offsets: NDArray[np.int64]) -> None:
    """Raise VocabError for a merge that does not join ordinary tokens."""
    outside = np.flatnonzero((merges >= len(offsets) - 1).any(axis=1))
    number = int(outside[0]) if len(outside) else -1
    joined = merges[:number] if len(outside) else merges
    wrong = first_not_joined(blob, offsets, np.ascontiguousarray(joined))
    if (number := number if wrong < 0 else wrong) >= 0:
        left, right, result = merges[number].tolist()
        raise VocabError(f"merge {number}, {left} and {right} to {result}, does not join ordinary tokens")
