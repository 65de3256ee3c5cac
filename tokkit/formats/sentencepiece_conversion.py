"""Converts a SentencePiece model to components of a tokenizer.json and back, and reports rules that differ.

Scores, spaces, charsmaps and the texts of special tokens are in sentencepiece_rules.py. Postprocessors, truncation and
padding cannot be in a model file and are left out.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np

from tokkit.definition import AddedToken, Definition
from tokkit.errors import FormatError, TokkitError
from tokkit.formats import gguf_merges, gguf_models, sentencepiece_rules, sentencepiece_symbols
from tokkit.formats.differences import Rule
from tokkit.formats.gguf_vocabulary import GGML, Vocabulary
from tokkit.formats.sentencepiece_rules import MARK, flat
from tokkit.models.char_bpe import CharBPE
from tokkit.models.names import described
from tokkit.models.sentencepiece import (
    BYTE,
    CONTROL,
    NORMAL,
    SUFFIX,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    SentencePieceModel,
    SentencePieceNormalizer,
)
from tokkit.models.unigram import Unigram
from tokkit.normalizers.longest_rules import LongestRules
from tokkit.normalizers.precompiled import Precompiled
from tokkit.normalizers.sequence import Sequence
from tokkit.vocab import Vocab

_BYTES = {b"<0x%02X>" % byte for byte in range(256)}

# ---- to components


def components_of(definition: Definition) -> tuple[Definition, list[Rule]]:
    """Return components with the ids of a SentencePiece model, except for some rules, which are returned too.

    FormatError if there are no such components.
    """
    model = definition.model
    if not isinstance(model, SentencePieceModel):
        return definition, []
    _check_can_be_components(model)
    normal = model.types == NORMAL
    reason = _why_not_split(model)
    symbols = [] if reason else [model.pieces[id_].decode() for id_ in model.ids_of(USER_DEFINED)]
    steps, differ = sentencepiece_rules.normalizer_steps(
        model.normalizer, sentencepiece_symbols.guarded(symbols, model.normalizer.charsmap)
    )
    scores = model.scores.astype(np.float64)
    scores[~normal] = scores[normal].min() if normal.any() else 0
    unreachable = sentencepiece_rules.Unreachable(model, scores)
    unreachable.isolate(symbols)
    made: Unigram | CharBPE
    if model.kind == "unigram":
        made = Unigram(scores=unreachable.scores, unk_id=model.unk_id, byte_fallback=model.byte_fallback)
        differ += _rules_of_scores(model)
    else:
        made = CharBPE(
            merges=_merges_of(model),
            unk_token=model.pieces[model.unk_id].decode(),
            fuse_unk=True,
            byte_fallback=model.byte_fallback,
        )
    definition, symbol_rules = _with_symbols(definition, model, reason) if reason else (definition, [])
    return replace(
        definition,
        model=made,
        pretokenizer=unreachable.pretokenizer,
        normalizer=Sequence([*steps, *unreachable.steps]),
        decoder=gguf_models.decoder_of(model.normalizer.add_dummy_prefix, model.byte_fallback),
        # In a tokenizer.json, all tokens of the model have scores, or may be found as characters.
        added_ids=frozenset(range(model.pieces.n_ids, definition.vocab.n_ids)),
    ), [*differ, *unreachable.rules, *symbol_rules]


def _why_not_split(model: SentencePieceModel) -> str:
    """Return why user-defined pieces cannot be pretokens of their own; "" if they can, or if there are none."""
    if not model.ids_of(USER_DEFINED):
        return ""
    if model.kind != "unigram":
        return "only Unigram can have them as pretokens of their own"
    normal = model.scores[model.types == NORMAL].astype(np.float64)
    if sentencepiece_rules.exact_characters(normal) < 2 * sentencepiece_rules.EXACT_CHARACTERS:
        return "sums of scores are not exact"
    unknown = float(normal.min()) - sentencepiece_rules.UNKNOWN_PENALTY
    return sentencepiece_symbols.why_not_split(model, unknown) or ""


def _with_symbols(definition: Definition, model: SentencePieceModel, reason: str) -> tuple[Definition, list[Rule]]:
    """Return a definition with added tokens instead of user-defined pieces, which is not exactly equivalent."""
    ids = model.ids_of(USER_DEFINED)
    texts = [token.decode() for token in definition.vocab]
    for id_ in ids:
        texts[id_] = texts[id_].replace(MARK, " ")
    tokens = [AddedToken(texts[id_], id_, normalized=False) for id_ in ids]
    what = (
        "user-defined pieces are found first, which divides the text into several texts with a space before each, and "
        f"their scores are not compared with other pieces ({reason})"
    )
    shown = [form for id_ in ids for form in (texts[id_], f"a{texts[id_]}a", f" {texts[id_]} {texts[id_]}a")]
    more = replace(
        definition,
        vocab=Vocab.from_list(text.encode() for text in texts),
        added_tokens=(*definition.added_tokens, *tokens),
    )
    return more, [Rule(what, shown)]


def _check_can_be_components(model: SentencePieceModel) -> None:
    refused = {
        "it is a model of words": model.kind == "word",
        "spaces are put after words": model.treat_whitespace_as_suffix,
        "spaces are not escaped": not model.normalizer.escape_whitespaces,
        "some pieces are unused": model.kind == "unigram" and bool(model.ids_of(UNUSED)),
        "decoded text is changed by rules": model.denormalizer is not None and bool(model.denormalizer.charsmap),
    }
    if reason := next((why for why, is_so in refused.items() if is_so), None):
        raise FormatError(f"this model cannot be components of a tokenizer.json: {reason}")


def _rules_of_scores(model: SentencePieceModel) -> list[Rule]:
    normal = model.types == NORMAL
    pieces = [model.pieces[id_].decode() for id_ in np.flatnonzero(normal).tolist()]
    rules = []
    exact = sentencepiece_rules.exact_characters(model.scores[normal].astype(np.float64))
    if pieces and exact < sentencepiece_rules.EXACT_CHARACTERS:
        rules.append(sentencepiece_rules.sums_differ(pieces))
    if odd := sentencepiece_rules.without_characters(model):
        what = f"a character of the piece {odd[0]!r} is not a piece, and unknown characters have another score"
        rules.append(Rule(what, [text for piece in odd for text in (piece, piece[1:], piece[:-1], piece + piece[-1:])]))
    return rules


def _merges_of(model: SentencePieceModel) -> Any:
    if model.kind == "char":
        return np.empty((0, 3), dtype=np.uint32)
    vocabulary = Vocabulary(
        model="llama",
        split=None,
        tokens=[piece.decode() for piece in model.pieces],
        types=model.types,
        scores=model.scores,
        merges=[],
        ids={},
        flags={},
        charsmap=b"",
    )
    try:
        return gguf_merges.of_scores(vocabulary)
    except FormatError as error:
        raise FormatError(f"this model cannot be components: {str(error).replace(GGML, '')}") from None


# ---- from components


def model_of(definition: Definition) -> tuple[SentencePieceModel, list[Rule]]:
    """Return a model with the ids of components, except for some rules; FormatError if there is none.

    The model is converted back to components and compared: if nothing differs, ids are equal.
    """
    given: Any = definition.model
    made = _model(definition)
    try:
        there, rules = components_of(Definition(made.pieces, made, None, added_tokens=definition.added_tokens))
    except TokkitError as error:
        raise _refusal(str(error)) from None
    as_components: Any = there.model
    if isinstance(given, CharBPE):
        if not np.array_equal(as_components.merges, given.merges):
            raise _refusal("its merges cannot be expressed by scores of pieces")
    else:
        rules = [*{rule.what: rule for rule in (*rules, *_score_rules(definition, made, as_components))}.values()]
    pieces = [piece.decode() for piece in made.pieces]
    words = [piece.replace(MARK, " ") for piece in pieces[:2000]]
    texts = [text for word in words for text in (word, f" {word} ", f"a  {word}\r\n{word}", f"{word}\u0301\u0316")]
    if there.pretokenizer != definition.pretokenizer:
        shown = definition.pretokenizer or "none"
        rules.append(Rule(f"a {SUFFIX} does not split text before its model; the pretokenizer is {shown}", texts))
    if flat(there.normalizer) != flat(definition.normalizer):
        marks = ["\u0958", "e\u0301\u0316", "\ufb01\u0341", "\u1100\u1161", "\x85", "a\r\nb", "\u2581a\u2581"]
        rules.append(Rule(f"a {SUFFIX} normalizes text by different rules", [*marks, *texts]))
    return made, rules


def _refusal(reason: str) -> FormatError:
    return FormatError(f"these components cannot be a {SUFFIX}: {reason}")


def _score_rules(definition: Definition, made: SentencePieceModel, there: Unigram) -> list[Rule]:
    """Return the rules by which the scores of components differ from those of a model."""
    given: Any = definition.model
    n, normal = len(given.scores), np.flatnonzero(made.types == NORMAL)
    rules = []
    normal = normal[normal < n]
    if not np.array_equal(given.scores[normal], there.scores[normal]):
        pieces = [made.pieces[int(id_)].decode() for id_ in normal]
        rules.append(sentencepiece_rules.sums_differ(pieces))
    special = np.flatnonzero(made.types != NORMAL)
    special = special[special < n]
    higher = special[given.scores[special] > there.scores[special]]
    if len(higher):
        texts = [made.pieces[int(id_)].decode() for id_ in higher]
        rules.append(Rule(f"the text of {texts[0]!r} is found in text as that token, which no {SUFFIX} does", texts))
    return rules


def _model(definition: Definition) -> SentencePieceModel:
    model, vocab = definition.model, definition.vocab
    if not isinstance(model, (Unigram, CharBPE)):
        raise _refusal(f"the model is {described(model)}, not Unigram or BPE over characters")
    if len(vocab) != vocab.n_ids:
        raise _refusal(f"no token has the id {int(np.argmin(np.diff(vocab.offsets)))}, but ids must have no gaps")
    unknown = _unknown(definition)
    types = np.full(vocab.n_ids, NORMAL, dtype=np.uint8)
    for token in definition.added_tokens:
        if not token.special or not token.plain:
            raise _refusal(f"the added token {token.content!r} is found in text differently from a piece")
        types[token.id] = CONTROL
    types[unknown] = UNKNOWN
    if model.byte_fallback:
        ids = [vocab.get(name) for name in sorted(_BYTES)]
        if None in ids:
            raise _refusal("it has byte_fallback, but some bytes have no token")
        types[[id_ for id_ in ids if id_ is not None]] = BYTE
    if not (types == NORMAL).any():
        raise _refusal("all tokens are added ones")
    rules = _rules(definition)
    try:
        return SentencePieceModel(
            kind="unigram" if isinstance(model, Unigram) else "bpe",
            pieces=vocab,
            scores=_scores(model, vocab),
            types=types,
            normalizer=rules,
            byte_fallback=model.byte_fallback,
            unk_piece=vocab[unknown].decode(),
        )
    except TokkitError as error:
        raise _refusal(str(error)) from None


def _unknown(definition: Definition) -> int:
    model = definition.model
    if isinstance(model, Unigram):
        found = model.unk_id
    elif isinstance(model, CharBPE):
        odd = {"dropout": model.dropout, "continuing_subword_prefix": model.continuing_subword_prefix}
        odd |= {"end_of_word_suffix": model.end_of_word_suffix, "ignore_merges": model.ignore_merges}
        if given := next((name for name, value in odd.items() if value), None):
            raise _refusal(f"it has {given}={odd[given]!r}")
        if not (model.fuse_unk or model.byte_fallback):
            raise _refusal("adjacent unknown characters do not become one token (fuse_unk)")
        found = None if model.unk_token is None else definition.vocab.get(model.unk_token)
    if found is None:
        raise _refusal("it has no unknown token")
    return found


def _scores(model: Unigram | CharBPE, vocab: Vocab) -> Any:
    n = vocab.n_ids
    scores = np.zeros(n, dtype=np.float32)
    if isinstance(model, Unigram):
        scores[: len(model.scores)] = model.scores
        return scores
    # The earlier a token is merged, the higher its score; tokens whose merges are interleaved share a score.
    results, first = np.unique(model.merges[:, 2], return_index=True)
    last = len(model.merges) - 1 - np.unique(model.merges[::-1, 2], return_index=True)[1]
    score, end, before = 0, -1, ""
    for k in np.argsort(first).tolist():
        piece = vocab[int(results[k])].decode()
        run = piece[0] if piece == piece[0] * len(piece) else ""
        # Runs of one character usually share a score; then the shortest is last.
        score -= first[k] > end and not (run and run == before and first[k] == end + 1)
        end, before = max(end, last[k]), run
        scores[results[k]] = score
    alone = np.setdiff1d(np.arange(n), results)
    scores[alone] = score - 1 - np.arange(len(alone), dtype=np.float32)
    return scores


def _rules(definition: Definition) -> SentencePieceNormalizer:
    """Return the rules that are closest to a normalizer; FormatError if there are none."""
    steps = flat(definition.normalizer)
    charsmap = next((step.charsmap for step in steps if isinstance(step, LongestRules)), b"")
    if not charsmap:
        maps = (base64.b64decode(step.precompiled_charsmap) for step in steps if isinstance(step, Precompiled))
        charsmap = next(maps, b"")
    for prefix in (True, False):
        for removes in (True, False):
            made = SentencePieceNormalizer(
                name="", charsmap=charsmap, add_dummy_prefix=prefix, remove_extra_whitespaces=removes
            )
            wanted = sentencepiece_rules.normalizer_steps(made)[0]
            if _spaces(steps[: len(wanted)]) == _spaces(wanted):
                return made
    by_words = type(definition.pretokenizer).__name__ == "Sequence" and not _spaces(steps)
    if not by_words and definition.pretokenizer is not None:
        raise _refusal(f"the pretokenizer is {type(definition.pretokenizer).__name__}")
    if not by_words:
        named = ", ".join(type(step).__name__ for step in steps) or "as they are"
        raise _refusal(f"no model treats spaces in this way: {named}")
    return SentencePieceNormalizer(name="", charsmap=charsmap)


def _spaces(steps: list[Any]) -> list[Any]:
    return [step for step in steps if not isinstance(step, (LongestRules, Precompiled))]
