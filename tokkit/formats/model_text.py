"""Writes the model and the added tokens of a tokenizer.json, from packed tables."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tokkit.definition import AddedToken, Definition
from tokkit.errors import FormatError
from tokkit.formats import byte_vocabulary, symbol_tables, table_text
from tokkit.formats.table_text import LINES, Part
from tokkit.formats.tables import Table
from tokkit.models.char_bpe import CharBPE
from tokkit.models.unigram import Unigram
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece

OF_BPE = (
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)
OF_WORDPIECE = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word")


class Written(NamedTuple):
    """A model as JSON: its short fields, its large tables, and what decides the ids of added tokens (`write_added`)."""

    fields: dict[str, Any]
    tables: dict[str, Part]
    n_own: int
    own: Callable[[AddedToken], int | None]


def write_components(definition: Definition) -> Written:
    """Return a model of components as JSON."""
    vocab, model = definition.vocab, definition.model
    if not isinstance(model, (Unigram, CharBPE, WordPiece, WordLevel)):
        raise FormatError(f"a tokenizer.json cannot have a model of the type {type(model).__name__}")
    present = vocab.offsets[1:] > vocab.offsets[:-1]
    present[list(definition.added_ids)] = False
    ids = np.flatnonzero(present)
    if vocab.empty is not None:
        ids = np.concatenate([[vocab.empty], ids])
    repeats = None if vocab.is_text and vocab.first_repeated is None else _checked_ids(definition)

    def own(token: AddedToken) -> int | None:
        if token.id not in definition.added_ids:
            return token.id
        return None if repeats is None else repeats.get(token.content)

    tokens = vocab.blob, vocab.offsets
    if isinstance(model, Unigram):
        n = len(model.scores)
        if len(ids) != n or np.any(ids != np.arange(n)):
            raise FormatError(f"the {n} scores must be those of the ids 0 to {n - 1}")
        fields = {"type": "Unigram", "unk_id": model.unk_id, "byte_fallback": model.byte_fallback}
        scored = Table.by_number(tokens, ids, np.asarray(model.scores, dtype=np.float64))
        return Written(fields, {"vocab": table_text.scores(scored, LINES)}, n, own)
    tables = {"vocab": table_text.ids(Table.by_number(tokens, ids), LINES)}
    if isinstance(model, CharBPE):
        tables["merges"] = table_text.merges_of(tokens, model.merges, LINES, as_text=False)
        fields = {"type": "BPE", **{name: getattr(model, name) for name in OF_BPE}}
    elif isinstance(model, WordPiece):
        fields = {"type": "WordPiece", **{name: getattr(model, name) for name in OF_WORDPIECE}}
    else:
        fields = {"type": "WordLevel", "unk_token": model.unk_token}
    return Written(fields, tables, len(ids), own)


def _checked_ids(definition: Definition) -> dict[str, int]:
    """Return the model's tokens as text → id; FormatError for two that are equal."""
    own: dict[str, int] = {} if definition.vocab.empty is None else {"": definition.vocab.empty}
    for token, id_ in definition.vocab.items():
        if id_ not in definition.added_ids:
            text = token.decode()
            if text in own:
                raise FormatError(f"the ids {own[text]} and {id_} have the same token, {text!r}")
            own[text] = id_
    return own


def write_bytes(definition: Definition, added_apart: bool) -> Written:
    """Return a model over bytes as JSON; with `added_apart`, without tokens that were only added."""
    apart = _after_vocab(definition) if added_apart else frozenset()
    spelt = symbol_tables.write(definition, apart=apart)
    fields = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        # After a split that drops bytes, whole pretokens need no rule of their own; `write_pretokenizer` checks that.
        "ignore_merges": spelt.whole_piece and not byte_vocabulary.dropped_bytes(definition),
    }
    merges = table_text.merges_of(spelt.tokens, spelt.merges, LINES, as_text=True)
    tables = {"vocab": table_text.ids(spelt.table, LINES), "merges": merges}
    return Written(fields, tables, len(spelt.table), lambda token: None if token.id in apart else token.id)


def _after_vocab(definition: Definition) -> frozenset[int]:
    """Return the ids of added tokens that the model lacks, if they are the ids after its last one, as in files."""
    n = len(definition.vocab) - len(definition.added_ids)
    own = sorted(definition.added_ids)
    return definition.added_ids if own == list(range(n, n + len(own))) else frozenset()


def write_added(definition: Definition, n_own: int, own: Callable[[AddedToken], int | None]) -> Part:
    """Return the added tokens as JSON, in order of their ids.

    `n_own` is the number of tokens in the model's table of the file, and `own` returns the id that an added token has
    there. FormatError if tokenizers, and so `read_added`, would give one another id.
    """
    in_turn = sorted(definition.added_tokens, key=lambda token: token.id)
    next_id = n_own
    for token in in_turn:
        known = own(token)
        expected = next_id if known is None else known
        if token.id != expected:
            raise FormatError(
                f"the added token {token.content!r} has the id {token.id}, but tokenizers would give it {expected}: "
                "a tokenizer.json cannot set the id of a token that the model does not have"
            )
        next_id += known is None
    ids, contents = [token.id for token in in_turn], [token.content for token in in_turn]
    return table_text.added_tokens(ids, contents, map(operator.attrgetter(*table_text.FLAGS), in_turn), LINES)
