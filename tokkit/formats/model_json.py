"""Reads and writes the models of a tokenizer.json that run over characters and words.

Byte-level BPE, which has its own engine, is read by byte_level_json.py if the other components allow it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import is_text
from tokkit.definition import AddedToken
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import decimals, strict_json
from tokkit.files.strict_json import Section
from tokkit.formats.byte_level_json import merges_in_turn
from tokkit.formats.symbol_tables import check_ids
from tokkit.formats.tables import Merges, Table, listed, spread
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.models.unigram import Unigram
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.vocab import MAX_ID, Vocab

logger = logging.getLogger("tokkit")

NULL = type(None)
LARGEST = (1 << 32) - 1
"""The largest id that tokenizers reads."""
TYPES = ("BPE", "Unigram", "WordPiece", "WordLevel", "ClassicBPE")
"""The last one, BPE with a separate end-of-word symbol, is not in tokenizers; files of tokkit 0.x have it."""


def type_of(model: Section) -> str:
    """Return the type of a model; old files do not have it."""
    stated = model.take("type", str, default=None)
    if stated is not None:
        if stated not in TYPES:
            strict_json.refuse(model.at("type"), stated, TYPES)
        return str(stated)
    if "merges" in model:
        return "BPE"
    if "unk_id" in model:
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"


def read_vocab(model: Section, type_: str) -> Table:
    """Return a model's checked tokens; for Unigram, with their scores."""
    path = model.at("vocab")
    vocab = model.take("vocab")
    if isinstance(vocab, Table):
        if (vocab.scores is not None) != (type_ == "Unigram"):
            raise FormatError(f"{path}: this is not the vocabulary of this type of model")
        return vocab
    if type_ != "Unigram":
        check_ids(strict_json.typed(vocab, path, dict), path)
        return Table.of(vocab)
    ids: dict[str, int] = {}
    scores: list[float] = []
    for i, item in enumerate(strict_json.typed(vocab, path, list)):
        fits = isinstance(item, list) and len(item) == 2 and type(item[0]) is str and type(item[1]) in (int, float)
        if not fits:
            raise FormatError(f"{path}[{i}]: a token and its score are needed, not {strict_json.brief(item)}")
        if item[0] in ids:
            raise FormatError(f"{path}[{i}]: the token {strict_json.brief(item[0])} is given twice")
        ids[item[0]] = i
        try:
            scores.append(decimals.of_number(item[1]))
        except ValueError:
            raise FormatError(f"{path}[{i}][1]: {strict_json.brief(item[1])} is too large for a float") from None
    return Table.of(ids, scores)


def pack(vocab: Table, added: Iterable[AddedToken], path: str, *, empty: bool = False) -> Vocab:
    """Return tokens, and added ones that are not among them, as a vocabulary of their UTF-8.

    FormatError for one that is empty, unless there may be one.
    """
    if vocab.empty is not None and not empty:
        raise FormatError(f"{path}: the token with id {vocab.empty} is empty")
    if not vocab.is_text:
        token = next(token for token in vocab.as_dict() if not is_text(token))
        raise FormatError(f"{path}[{strict_json.brief(token)}]: a lone surrogate is not text")
    (blob, ends), ids = vocab.by_id()
    more = {token.id: token.content.encode() for token in added if vocab.find(token.content) < 0}
    packed = Vocab(blob, spread(ends, ids), vocab.empty)
    return packed.with_tokens(more) if more else packed


def read(model: Section, type_: str, vocab: Table, packed: Vocab, added_ids: Collection[int]) -> Any:
    """Return the model; `vocab` has its own tokens, `packed` also added ones, with the ids `added_ids`."""
    try:
        made = _READERS[type_](model, vocab, packed, added_ids)
    except (OptionError, VocabError) as error:
        raise FormatError(f"model: {error}") from None
    model.finish()
    return made


def _bpe(model: Section, vocab: Table, packed: Vocab, added_ids: Collection[int]) -> CharBPE:
    prefix = model.take("continuing_subword_prefix", str, NULL, default=None)
    if prefix and not is_text(prefix):
        raise FormatError(f"model.continuing_subword_prefix: {prefix!a} is not text")
    dropout = model.take("dropout", float, int, NULL, default=None)
    return CharBPE(
        merges=_find_merges(model.take("merges"), prefix, vocab, packed, added_ids),
        dropout=dropout,
        unk_token=model.take("unk_token", str, NULL, default=None),
        continuing_subword_prefix=prefix,
        end_of_word_suffix=model.take("end_of_word_suffix", str, NULL, default=None),
        fuse_unk=model.take("fuse_unk", bool, default=False),
        byte_fallback=model.take("byte_fallback", bool, default=False),
        ignore_merges=model.take("ignore_merges", bool, default=False),
    )


def _classic(model: Section, vocab: Table, packed: Vocab, added_ids: Collection[int]) -> CharBPE:
    return replace(_bpe(model, vocab, packed, added_ids), suffix_apart=True)


def _find_merges(
    merges: Any, prefix: str | None, vocab: Table, packed: Vocab, added_ids: Collection[int]
) -> NDArray[np.uint32]:
    n_prefix = len((prefix or "").encode())
    if isinstance(merges, Merges):
        found = vocab.find_merges(merges, n_prefix=n_prefix)
        if found is not None:
            return found
    in_list = listed(merges, "model.merges")
    try:
        return merge_ids(packed, in_list, continuing_subword_prefix=prefix, added_ids=added_ids)
    except VocabError:
        for where, left, right in merges_in_turn(in_list):
            joined = left + right.encode("utf-8", "surrogatepass")[n_prefix:].decode(errors="replace")
            for token, role in ((left, "the part"), (right, "the part"), (joined, "the result")):
                if vocab.find(token) < 0:
                    raise FormatError(f"{where}: {role} {strict_json.brief(token)} is not in model.vocab") from None
        raise


def _unigram(model: Section, vocab: Table, packed: Vocab, added_ids: Collection[int]) -> Unigram:
    unk_id = model.take("unk_id", int, NULL, default=None)
    fallback = model.take("byte_fallback", bool, NULL, default=None)
    return Unigram(scores=np.asarray(vocab.scores), unk_id=unk_id, byte_fallback=bool(fallback))


def _wordpiece(model: Section, vocab: Table, packed: Vocab, added_ids: Collection[int]) -> WordPiece:
    return WordPiece(
        unk_token=model.take("unk_token", str),
        continuing_subword_prefix=model.take("continuing_subword_prefix", str),
        max_input_chars_per_word=model.take("max_input_chars_per_word", int),
    )


def _wordlevel(model: Section, vocab: Table, packed: Vocab, added_ids: Collection[int]) -> WordLevel:
    return WordLevel(unk_token=model.take("unk_token", str))


_READERS = {"BPE": _bpe, "ClassicBPE": _classic, "Unigram": _unigram, "WordPiece": _wordpiece, "WordLevel": _wordlevel}


# ---- added tokens


def read_added(added: list[Any], vocab: Table, *, keep_ids: bool = False) -> tuple[AddedToken, ...]:
    """Return the added tokens with the ids of tokenizers, which ignores those in the file.

    A token of the model keeps its id; the first other one gets the number of tokens in the model as its id, and so on.
    A warning names each id that is ignored, and a token that is given again. FormatError if tokenizers would give two
    tokens one id, which happens if the ids of the model have gaps. With `keep_ids`, for the state of a tokenizer to
    which tokens were added call by call, tokens that the model does not have keep the ids given.
    """
    made: dict[str, AddedToken] = {}
    ids: set[int] = set()
    next_id = len(vocab)
    in_model = frozenset(vocab.ids.tolist()) if added else frozenset()
    for index, value in enumerate(added):
        if (found := _usual(value)) is None:
            found = _read_one(Section(value, f"added_tokens[{index}]"))
        id_, text, *flags = found
        if text in made:
            _check_again(made[text], flags, f"added_tokens[{index}]")
            continue
        number = vocab.find(text)
        is_new = number < 0
        given = (id_ if keep_ids else next_id) if is_new else int(vocab.ids[number])
        if is_new:
            if given > MAX_ID or given in in_model:
                _refuse_id(given, text, vocab, f"added_tokens[{index}].id")
            next_id += 1
        if given in ids:
            raise FormatError(f"added_tokens[{index}].id: {given} is the id of an added token before it")
        ids.add(given)
        if id_ != given:
            why = "is not in the vocabulary and gets the next free id" if is_new else "keeps its id in the vocabulary"
            logger.warning("added_tokens[%d].id: %d is ignored; %r %s, %d", index, id_, text, why, given)
        made[text] = AddedToken(text, given, *flags)
    return tuple(made.values())


_KEYS = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special")
_TYPES = (int, str, *[bool] * 5)


def _usual(value: object) -> tuple[Any, ...] | None:
    """Return the values of an added token by _KEYS; None for one that `_read_one` must check."""
    if type(value) is not dict or len(value) != len(_KEYS):
        return None
    found: tuple[Any, ...] = tuple(map(value.get, _KEYS))
    usual = tuple(map(type, found)) == _TYPES and found[1] and 0 <= found[0] <= LARGEST and is_text(found[1])
    return found if usual else None


def _read_one(token: Section) -> tuple[Any, ...]:
    """Return the values of an added token by _KEYS; FormatError for a wrong one."""
    found = [token.take(name, type_) for name, type_ in zip(_KEYS, _TYPES, strict=True)]
    token.finish()
    id_, text = found[:2]
    if not text or not is_text(text):
        raise FormatError(f"{token.at('content')}: {text!a} is not text that a token can have")
    if not 0 <= id_ <= LARGEST:
        raise FormatError(f"{token.at('id')}: {id_} is not an id; it must be from 0 to {LARGEST}")
    return tuple(found)


def _check_again(first: AddedToken, flags: list[bool], path: str) -> None:
    """Warn of a token that is given again; FormatError if its options differ."""
    for name, value in zip(_KEYS[2:], flags, strict=True):
        if getattr(first, name) != value:
            raise FormatError(
                f"{path}.content: {first.content!r} is given twice, once with {name} "
                f"{strict_json.brief(not value)} and once with {strict_json.brief(value)}"
            )
    logger.warning("%s.content: %r is given twice; the second one is ignored", path, first.content)


def _refuse_id(id_: int, text: str, vocab: Table, path: str) -> NoReturn:
    """Raise FormatError for a next free id that is above the limit, or belongs to a token of the model."""
    if id_ > MAX_ID:
        raise FormatError(f"{path}: {text!r} would get the id {id_}; ids run up to {MAX_ID}")
    taken = np.flatnonzero(vocab.ids == id_)
    start, end = vocab.offsets[taken[0] : taken[0] + 2]
    owner = vocab.blob[start:end].decode("utf-8", "surrogatepass")
    raise FormatError(
        f"{path}: tokenizers would give {text!r} the id {id_}, the number of tokens before it, but "
        f"{owner!r} has this id: add {text!r} to model.vocab with an id of its own"
    )
