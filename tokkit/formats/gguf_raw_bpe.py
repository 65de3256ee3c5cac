"""Makes definitions of GGUF vocabularies of BPE over characters, as in Gemma 4: merges of text, not of byte symbols.

Merges run over whole lines, or over words for the model "whitespace". A character without a token becomes the tokens of
its bytes, <0x00> to <0xFF>; without those it is dropped, and nothing merges across it.
"""

from __future__ import annotations

import string
from itertools import groupby
from typing import Any

import numpy as np

from tokkit._core.align import AlignedText
from tokkit.decoders import byte_fallback, fuse, sequence
from tokkit.definition import Definition
from tokkit.errors import FormatError, VocabError
from tokkit.formats import gguf_models, gguf_splits
from tokkit.formats.gguf_vocabulary import BYTE_NAMES, GGML, UNUSED, Vocabulary
from tokkit.formats.model_json import pack
from tokkit.formats.tables import Table
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.normalizers.lowercase import Lowercase
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sequence import Sequence as NormalizersInTurn
from tokkit.pretokenizers.sequence import Sequence as InTurn
from tokkit.pretokenizers.split import Split
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.vocab import Vocab

WORDS = "whitespace"
_LINES = r"[^\n]+|\n+"
_NAME = ("<", "0", "x", "[0-9A-F]", "[0-9A-F]", ">")
_NOT_NAME = ("[^0]", "[^x]", "[^0-9A-F]", "[^0-9A-F]", "[^>]")
"""Patterns of the characters in the name of a byte, and of another character in the place of each but the first."""


def read(vocabulary: Vocabulary) -> Definition:
    """Return the definition of a vocabulary whose split is in gguf_splits.RAW; FormatError names the invalid key."""
    tokens = _tokens(vocabulary)
    ids = {text: id_ for id_, text in tokens.items()}
    falls_back = _has_bytes(ids)
    added = gguf_models.added_tokens(vocabulary, tokens)
    packed = pack(Table.of(ids), (), f"{GGML}tokens")
    merges = list(dict.fromkeys(vocabulary.merges))
    try:
        model = CharBPE(merges=merge_ids(packed, merges), byte_fallback=falls_back)
    except VocabError as error:
        raise FormatError(f"{GGML}merges: {error}") from None
    split = gguf_splits.name_in(vocabulary)
    apart: frozenset[int] = frozenset()
    steps, pretokenizers = _steps(vocabulary)
    if split in gguf_splits.WHOLE_NEWLINES:
        model, apart, more = _with_whole_newlines(model, packed, tokens)
        pretokenizers += more
    if not falls_back and any(len(text) == 1 for text in tokens.values()):
        characters = sorted({ord(text) for text in tokens.values() if len(text) == 1})
        pretokenizers.append(Split({"Regex": f"[^{_character_class(characters)}]"}, "Isolated"))
    return Definition(
        packed,
        model,
        InTurn(pretokenizers) if len(pretokenizers) > 1 else pretokenizers[0],
        normalizer=NormalizersInTurn(steps) if steps else None,
        postprocessor=gguf_models.framing(vocabulary, second_type=1),
        decoder=gguf_models.decoder_of(False, falls_back) if split != WORDS else _joined(falls_back),
        added_tokens=added,
        added_ids=apart,
    )


def _tokens(vocabulary: Vocabulary) -> dict[int, str]:
    """Return id → text; merges make tokens of any type, so an unused one is only left out if its text has another."""
    in_use = {text for text, kind in zip(vocabulary.tokens, vocabulary.types, strict=True) if kind != UNUSED}
    tokens: dict[int, str] = {}
    for id_, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types.tolist(), strict=True)):
        if text and (kind != UNUSED or text not in in_use):
            tokens[id_] = text
            in_use.add(text)
    return tokens


def _has_bytes(ids: dict[str, int]) -> bool:
    absent = sorted(BYTE_NAMES - ids.keys())
    if 0 < len(absent) < len(BYTE_NAMES):
        raise FormatError(f"{GGML}tokens: {256 - len(absent)} of the tokens <0x00> to <0xFF>; {absent[0]} is missing")
    return not absent


def _steps(vocabulary: Vocabulary) -> tuple[list[Any], list[Any]]:
    """Return the parts of the normalizer, and of the pretokenizer."""
    if vocabulary.model == WORDS:
        # Single characters only, so İ is i without the dot above that the full mapping adds.
        lower = [Replace({"String": "İ"}, "i"), Lowercase()] if vocabulary.flags.get("normalizer.lowercase") else []
        return lower, [WhitespaceSplit()]
    if gguf_splits.name_in(vocabulary) == WORDS:
        return [], [Split({"Regex": r"\S+"}, "Isolated")]
    return [Replace({"String": " "}, gguf_models.SPACE)], [Split({"Regex": _LINES}, "Isolated")]


def _joined(falls_back: bool) -> sequence.Sequence:
    return sequence.Sequence([*([byte_fallback.ByteFallback()] if falls_back else []), fuse.Fuse()])


def _character_class(points: list[int]) -> str:
    """Return the inside of a class of these characters, for a pattern."""
    ranges = []
    for _, run in groupby(enumerate(points), lambda item: item[1] - item[0]):
        own = ["\\" + chr(point) if chr(point) in string.punctuation else chr(point) for _, point in run]
        ranges.append(own[0] if len(own) == 1 else f"{own[0]}-{own[-1]}")
    return "".join(ranges)


def _with_whole_newlines(
    model: CharBPE, packed: Vocab, tokens: dict[int, str]
) -> tuple[CharBPE, frozenset[int], list[Split]]:
    """Return a model in which a line of newlines that is a token gets its id; ids it never gives; splits it needs.

    If merges do not make all such tokens, whole pretokens get their ids; then tokens that merges never make are taken
    from the model, so that no other pretoken is affected. The tokens of bytes must stay: a line that is the name of
    one is cut where no merge would cross.
    """
    runs = {id_: text for id_, text in tokens.items() if text.strip("\n") == ""}
    if not _unmade(model, packed, runs):
        return model, frozenset(), []
    apart = frozenset(_unmade(model, packed, {id_: text for id_, text in tokens.items() if id_ not in runs}))
    cuts = []
    if model.byte_fallback:
        named = frozenset(id_ for id_ in apart if tokens[id_] in BYTE_NAMES)
        apart -= named
        cuts = [_cut_of_names(model, packed, [tokens[id_] for id_ in named])] if named else []
    merges = model.merges[~np.isin(model.merges[:, 2], list(apart))]
    return CharBPE(merges=merges, byte_fallback=model.byte_fallback, ignore_merges=True), apart, cuts


def _cut_of_names(model: CharBPE, packed: Vocab, names: list[str]) -> Split:
    """Return a split that cuts a line which is the name of a byte in two, where merging its characters does too."""
    encoder = model.encoder(packed)
    ends = [set(encoder.encode(AlignedText(name))[1][:-1, 1].tolist()) for name in names]
    common = set.intersection(*ends)
    if len(names) < len(BYTE_NAMES) or not common:
        raise FormatError(
            f"{GGML}merges: the tokens <0x00> to <0xFF> are made by merges, or no place in them is free of merges; "
            "that is not supported beside tokens of newlines that merges do not make"
        )
    first = "".join(_NAME[: min(common)])
    # One match is the whole line unless it is a name; the last one is the beginning of a name.
    others = [r"[^<][\s\S]*", "".join(_NAME) + r"[\s\S]+"]
    others += ["".join(_NAME[:n]) + other + r"[\s\S]*" for n, other in enumerate(_NOT_NAME, 1)]
    others += ["".join(_NAME[:n]) + r"(?![\s\S])" for n in range(1, len(_NAME))]
    return Split({"Regex": "|".join([*others, first])}, "Isolated")


def _unmade(model: CharBPE, packed: Vocab, tokens: dict[int, str]) -> list[int]:
    """Return the ids of the tokens of several characters that merging the characters of their text does not make.

    Of texts with newlines and other characters, which are no pretokens, all are returned.
    """
    encoder = model.encoder(packed)
    many = [(id_, text) for id_, text in tokens.items() if len(text) > 1]
    alone = [(id_, text) for id_, text in many if "\n" not in text]
    lines = AlignedText("\n".join(text for _, text in alone))
    Split({"String": "\n"}, "Removed").pretokenize(lines)
    ids, _, words = encoder.encode(lines)
    made = np.full(len(alone), -1, dtype=np.int64)
    made[words] = ids
    made[np.bincount(words, minlength=len(alone)) != 1] = -1
    found = [id_ for (id_, _), result in zip(alone, made.tolist(), strict=True) if result != id_]
    for id_, text in many:
        if "\n" in text and (text.strip("\n") or encoder.encode(AlignedText(text))[0].tolist() != [id_]):
            found.append(id_)
    return found
