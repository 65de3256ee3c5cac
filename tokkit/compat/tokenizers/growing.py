"""Adds tokens to a tokenizer that was built before, without building its model again."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tokkit import definition
from tokkit.checks import is_text
from tokkit.compat.tokenizers.added_token import AddedTokens
from tokkit.engine.special_tokens import vanished
from tokkit.formats.table_text import FLAGS
from tokkit.tokenizer import Tokenizer
from tokkit.vocab import MAX_ID


def extended(made: Tokenizer, added: AddedTokens, n_known: int) -> Tokenizer | None:
    """Return a tokenizer with the added tokens after the first `n_known`; None if it must be built anew.

    That is so for tokens of the model, and if something is wrong with a token, which building it says.
    """
    before = made.definition
    new = list(islice(added.tokens.items(), n_known, None))
    ids = [id_ for id_, _ in new]
    if not ids or ids != sorted(ids) or ids[0] < before.vocab.n_ids or ids[-1] > MAX_ID:
        return None
    if getattr(before.model, "suffix_apart", False) or not all(is_text(token.content) for _, token in new):
        return None
    more = tuple(
        definition.AddedToken(token.content, id_, **{name: getattr(token, name) for name in FLAGS})
        for id_, token in new
    )
    if vanished(more, before.normalizer) is not None:
        return None
    return Tokenizer(
        replace(
            before,
            vocab=before.vocab.with_tokens({token.id: token.content.encode() for token in more}),
            special_tokens={},
            added_tokens=(*before.added_tokens, *more),
            added_ids=before.added_ids.union(ids),
        ),
        like=made,
    )
