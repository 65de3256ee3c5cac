"""The fingerprint of a definition: a SHA-256 that is equal for tokenizers that give every text the same ids."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tokkit.definition import Definition, Split
from tokkit.engine.engine import Engine
from tokkit.errors import FormatError, OptionError
from tokkit.formats import sentencepiece
from tokkit.models.bpe import BPE
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.pretokenizers import patterns


def _canonical(pattern: str | None) -> str:
    from tokkit.unicode_regex import writing  # not needed for published patterns

    return writing.canonical(pattern or "")


def fingerprint(definition: Definition, engine: Engine) -> str:
    """Return the SHA-256 of all that decides ids: vocabulary, possible merges, components, special tokens."""
    digest = hashlib.sha256()
    vocab, model, split = definition.vocab, _whole(definition), definition.pretokenizer
    added = sorted(definition.special_tokens.items())
    if isinstance(model, BPE) and isinstance(split, Split):
        merges = engine.merges()
        whole = model.whole_piece and engine.unreachable > 0
        family = patterns.SCANNERS.get(split.pattern)
        digest.update(repr(("bpe", len(merges), whole, added)).encode())
        by = family if family is not None else (_canonical(split.pattern), split.keep_unmatched)
        digest.update(repr(by).encode())
        digest.update(merges.astype("<u4").tobytes())
        if model.drops_unknown:
            digest.update(b"drops unknown")
    else:
        # A SentencePiece model itself defines its tokens.
        added_ids = [] if isinstance(model, SentencePieceModel) else sorted(definition.added_ids)
        digest.update(repr((added, _plain(model), _plain(split), added_ids)).encode())
    by_id = sorted(definition.added_tokens, key=lambda token: token.id)
    more = {
        "added": [_plain(t) for t in by_id if not (t.special and _is_plain(definition, t))],
        "normalizer": _plain(definition.normalizer),
        "layout": _layout(definition.postprocessor),
    }
    if any(more.values()):
        digest.update(repr(more).encode())
    digest.update(vocab.offsets.astype("<i8").tobytes())
    digest.update(vocab.blob)
    return digest.hexdigest()


def _whole(definition: Definition) -> Any:
    """Return the model; a SentencePiece model is completed with special tokens, so that equal tokenizers are equal."""
    if not isinstance(definition.model, SentencePieceModel):
        return definition.model
    try:
        return sentencepiece.whole_model(definition)
    except FormatError:
        return definition.model


def _is_plain(definition: Definition, token: Any) -> bool:
    """Return whether a token is searched for in the original text, which without a normalizer is also normalized."""
    stripped = token.single_word or token.lstrip or token.rstrip
    return not stripped and (not token.normalized or definition.normalizer is None)


def _plain(part: Any) -> Any:
    """Return a component, or a part of one, as data with a unique representation."""
    if is_dataclass(part) and not isinstance(part, type):
        shown = [
            (field.name, _plain(getattr(part, field.name))) for field in fields(part) if field.init and field.compare
        ]
        return type(part).__name__, shown
    if isinstance(part, np.ndarray):
        return part.shape, hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()
    if isinstance(part, (list, tuple)):
        return [_plain(item) for item in part]
    return sorted(part.items()) if isinstance(part, dict) else part


def _layout(postprocessor: Any) -> Any:
    """Return the tokens and type ids that a postprocessor adds; trimming of offsets does not affect ids."""
    if postprocessor is None:
        return None
    found = []
    for pair in (False, True):
        try:
            parts = postprocessor.layout(pair=pair).parts
        except OptionError:  # it does not support this
            parts = ()
        for part in parts:
            found.append((getattr(part, "ids", None), getattr(part, "number", None), part.type_id))
    return None if found == [(None, 0, 0), (None, 0, 0), (None, 1, 1)] else found
