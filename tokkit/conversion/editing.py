"""Edits vocabularies: `add_tokens`, `prune`, `resize`; each returns the new tokenizer and the map of ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.conversion.derivations import Derivations
from tokkit.conversion.renumbering import ids_of_template, renumbered
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.definition import AddedToken, Definition
from tokkit.errors import OptionError, VocabError
from tokkit.models.bpe import BPE, possible_merges
from tokkit.models.char_bpe import CharBPE
from tokkit.models.names import described
from tokkit.models.sentencepiece import NORMAL, SentencePieceModel
from tokkit.models.unigram import Unigram
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.tokenizer import Tokenizer


class Edited(NamedTuple):
    """An edited tokenizer, and `ids`, int64: the new id of each old one, -1 for a removed token."""

    tokenizer: Tokenizer
    ids: NDArray[np.int64]


def add_tokens(tok: Tokenizer, tokens: Sequence[str | AddedToken], *, special: bool = False) -> Edited:
    """Add tokens that are always found in a text, with ids after all others; old ids do not change.

    A str is found anywhere in the original text; an `AddedToken` has its own options, and its id is ignored. Existing
    added tokens are not changed.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower"]), vocab_size=258)
    >>> more, ids = add_tokens(tok, ["<|user|>", "<|end|>"], special=True)
    >>> more.encode("low<|end|>", special="all")[-1] == tok.n_ids + 1
    True
    """
    definition = tok.definition
    if isinstance(tokens, str):
        raise TypeError(f"tokens is the str {tokens!r}; it must be a list of them")
    known, made = dict(definition.added_vocab), []
    next_id = definition.vocab.n_ids
    for token in tokens:
        one = token if isinstance(token, AddedToken) else AddedToken(token, 0, normalized=False, special=special)
        if one.content in known:
            continue
        if (id_ := definition.vocab.get(one.content)) is not None:
            raise VocabError(f"{one.content!r} is a token of the model already, with the id {id_}")
        made.append(replace(one, id=next_id))
        known[one.content] = next_id
        next_id += 1
    vocab = definition.vocab.with_tokens({token.id: token.content.encode() for token in made})
    edited = replace(
        definition,
        vocab=vocab,
        added_tokens=(*definition.added_tokens, *made),
        added_ids=definition.added_ids | {token.id for token in made},
        name="" if made else definition.name,
    )
    return Edited(Tokenizer(edited), np.arange(definition.vocab.n_ids))


def prune(
    tok: Tokenizer,
    keep: Iterable[int | str | bytes] | None = None,
    *,
    corpus: object = None,
    min_count: int = 1,
    keep_characters: bool = True,
    unit: Unit = "paragraph",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
) -> Edited:
    """Remove tokens, and renumber the others without gaps, in their old order.

    These are kept: the tokens `keep` (ids, or tokens as in the vocabulary); those that occur at least `min_count` times
    in `corpus` (a path, a list of paths or an iterator of texts); added tokens, the unknown token and bytes; with
    `keep_characters`, all tokens of one character; and the intermediate tokens of merges that make a kept token. A text
    whose tokens are all kept has the same tokens afterwards.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"] * 9), vocab_size=262)
    >>> small, ids = prune(tok, corpus=iter(["low low"]))
    >>> [ids[id_] for id_ in tok.encode("low low")] == small.encode("low low"), small.n_ids < tok.n_ids
    (True, True)
    """
    definition = tok.definition
    _check_model(definition)
    if keep is None and corpus is None:
        raise OptionError("there is nothing to keep; give keep=, a corpus=, or both")
    if isinstance(min_count, bool) or not isinstance(min_count, int) or min_count < 1:
        raise OptionError(f"min_count is {min_count!r}; it must be an int of at least 1")
    kept = set(_ids(tok, keep or ()))
    if corpus is not None:
        counts = count_ids(tok, corpus, unit=unit, field=field, input_errors=input_errors, threads=threads)
        kept.update(np.flatnonzero(counts >= min_count).tolist())
    return _kept(definition, kept | _base(definition, keep_characters=keep_characters), Derivations(definition))


def resize(tok: Tokenizer, n_ids: int, *, placeholder: str = "<|unused_{}|>") -> Edited:
    """Shrink or grow a vocabulary to exactly `n_ids` ids.

    To shrink, the tokens that were merged last are removed (Unigram: those with the lowest score, other models: those
    with the highest ids); bytes, characters, added tokens and parts of other tokens stay. To grow, special tokens named
    by `placeholder` and a number are added, for example to fill an embedding matrix up to a multiple of 64.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"] * 9), vocab_size=262)
    >>> resize(tok, 260).tokenizer.n_ids, resize(tok, 320).tokenizer.n_ids
    (260, 320)
    """
    definition = tok.definition
    if isinstance(n_ids, bool) or not isinstance(n_ids, int) or n_ids < 1:
        raise OptionError(f"n_ids is {n_ids!r}; it must be an int of at least 1")
    if n_ids >= tok.n_ids:
        if "{}" not in placeholder:
            raise OptionError(f"placeholder is {placeholder!r}; it must have {{}} where the number goes")
        names = [placeholder.format(number) for number in range(n_ids - tok.n_ids)]
        if taken := next((name for name in names if name in definition.vocab), None):
            raise OptionError(f"the tokenizer has the token {taken!r} already; give another placeholder=")
        return add_tokens(tok, names, special=True)
    _check_model(definition)
    base = _base(definition, keep_characters=True)
    made = Derivations(definition)
    kept = made.needed(base)
    if len(kept) > n_ids:
        raise OptionError(f"n_ids is {n_ids}; it must be at least {len(kept)}: bytes, characters and added tokens")
    for id_ in _best_first(definition):
        if len(kept) == n_ids:
            break
        more = made.needed([id_]) - kept
        if len(kept) + len(more) <= n_ids:
            kept |= more
    return _kept(definition, kept, made)


def count_ids(
    tok: Tokenizer,
    corpus: object,
    *,
    unit: Unit = "paragraph",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Return how often each id occurs in a corpus: int64 of shape (n_ids,)."""
    counts = np.zeros(tok.n_ids, dtype=np.int64)
    for block in Corpus(corpus, unit=unit, field=field, errors=input_errors):
        ids, _ = tok.encode_batch(list(block.documents(input_errors)), threads=threads)
        counts += np.bincount(ids, minlength=tok.n_ids)
    return counts


def _check_model(definition: Definition) -> None:
    if not isinstance(definition.model, (BPE, CharBPE, Unigram, WordPiece, WordLevel, SentencePieceModel)):
        raise OptionError(f"the model is {described(definition.model)}, which this function does not support")


def _ids(tok: Tokenizer, keep: Iterable[int | str | bytes]) -> Iterable[int]:
    for one in keep:
        if isinstance(one, (str, bytes)):
            yield tok.vocab[one]
        elif int(one) in tok.vocab:
            yield int(one)
        else:
            raise VocabError(f"no token has the id {one}; ids run from 0 to {tok.n_ids - 1}")


def _base(definition: Definition, *, keep_characters: bool) -> set[int]:
    """Return the ids that no pruning removes."""
    vocab, model = definition.vocab, definition.model
    kept = {token.id for token in definition.added_tokens} | ids_of_template(definition)
    if vocab.empty is not None:
        kept.add(vocab.empty)
    if isinstance(model, BPE):
        return kept | set(np.flatnonzero(np.diff(vocab.offsets) == 1).tolist())
    if isinstance(model, SentencePieceModel):
        kept |= set(np.flatnonzero(model.types != NORMAL).tolist())
        normal = np.flatnonzero(model.types == NORMAL)
        kept |= {int(normal[np.argmin(model.scores[normal])])} if len(normal) else set()
    elif isinstance(model, Unigram) and len(model.scores):
        # The score of unknown characters depends on the lowest score.
        kept |= {int(np.argmin(model.scores)), *([] if model.unk_id is None else [model.unk_id])}
    unknown = getattr(model, "unk_token", None)
    if unknown is not None and (id_ := vocab.get(unknown)) is not None:
        kept.add(id_)
    if getattr(model, "byte_fallback", False):
        kept |= {id_ for byte in range(256) if (id_ := vocab.get(b"<0x%02X>" % byte)) is not None}
    if keep_characters and not isinstance(model, WordLevel):
        prefix = getattr(model, "continuing_subword_prefix", None) or ""
        suffix = getattr(model, "end_of_word_suffix", None) or ""
        for token, id_ in vocab.items():
            text = token.decode()
            if len(text) == 1 or len(text.removeprefix(prefix).removesuffix(suffix)) <= 1:
                kept.add(id_)
    return kept


def _kept(definition: Definition, ids: set[int], made: Derivations) -> Edited:
    closed = made.needed(ids)
    old = np.array(sorted(closed), dtype=np.int64)
    new_ids = np.full(definition.vocab.n_ids, -1, dtype=np.int64)
    new_ids[old] = np.arange(len(old))
    return Edited(Tokenizer(renumbered(definition, old, made.merges(closed))), new_ids)


def _best_first(definition: Definition) -> Collection[int]:
    """Return the ids in the order in which a smaller vocabulary keeps them."""
    model: Any = definition.model
    if isinstance(model, BPE):
        merges, _ = possible_merges(definition.vocab, model, definition.added_vocab.values())
        made = merges[:, 2].tolist()
        others = set(made)
        return [*made, *(id_ for _, id_ in definition.vocab.items() if id_ not in others)]
    if isinstance(model, CharBPE):
        return [*dict.fromkeys(model.merges[:, 2].tolist()), *(id_ for _, id_ in definition.vocab.items())]
    scores = getattr(model, "scores", None)
    if scores is not None:
        order: list[int] = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable").tolist()
        return [*order, *range(len(order), definition.vocab.n_ids)]
    return [id_ for _, id_ in definition.vocab.items()]
