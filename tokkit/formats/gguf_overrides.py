"""Rules of GGUF files that have no key: types of tokens that follow from their texts, white space from model names.

Programs that run GGUF files treat some tokens differently from what tokenizer.ggml.token_type says, because many files
have wrong types: tokens that end a text or a turn, or mark the parts of code to fill in, are control tokens. Only the
name of a model says which of its tokens include the white space next to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.strict_json import brief
from tokkit.formats.gguf_vocabulary import (
    BYTE,
    CONTROL,
    GGML,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Vocabulary,
)

ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
    "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>",
    "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
)  # fmt: skip
"""Tokens that end a text or a turn: control tokens, whatever the file says."""
ALWAYS_SHOWN = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
"""User-defined tokens, whatever the file says: gpt-oss has them around the parts of its answers."""
NOT_ENDS = (
    ("<|end|>", (("<|return|>", "<|call|>"), ("<|return|>", "<|calls|>"), ("<|call|>", "<|flush|>"),
                 ("<|calls|>", "<|flush|>")), USER_DEFINED),
    ("</s>", (("<|tool_response>",),), NORMAL),
)  # fmt: skip
"""Tokens of ENDS that end nothing beside all tokens of one of these groups, and their type in such vocabularies."""
FILL_IN: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "fim_pre": (
        ("prefix",),
        ("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",
         "<|prefix|>"),
    ),
    "fim_suf": (
        ("suffix",),
        ("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",
         "<|suffix|>"),
    ),
    "fim_mid": (
        ("middle",),
        ("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",
         "<|middle|>"),
    ),
    "fim_pad": ((), ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]")),
    "fim_rep": ((), ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>")),
    "fim_sep": ((), ("<|file_sep|>",)),
}  # fmt: skip
"""Key of a token for code to fill in → its older names, and texts of which one is the token if no key names it."""


class _Named(NamedTuple):
    """Models by a part of a key, and which of their tokens include white space."""

    key: str
    parts: tuple[str, ...]
    left: tuple[str, ...] = ()
    all_right_except: tuple[str, ...] | None = None


NAMED = (
    _Named("split", ("jina-v2-de", "jina-v2-es", "jina-v2-code"), left=("<mask>",)),
    _Named("architecture", ("nomic-bert-moe", "jina-bert-v3"), left=("<mask>",)),
    _Named("name", ("phi-3", "phi3"), all_right_except=("<unk>", "<s>", "<|endoftext|>")),
    _Named("name", ("modern-bert",), left=("[MASK]",)),
)
"""The first entry that applies counts: `left`, the tokens that include white space before them, or all with it after.

`key` is a field of Vocabulary; a name counts without regard to case.
"""


def apply(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary with the types by which its tokens are found in text; FormatError if that is not certain."""
    ids = _ids(vocabulary)
    types, found = vocabulary.types.copy(), vocabulary.types.copy()
    for id_ in (ids[text] for text in ENDS if text in ids):
        _make_control(types, found, id_)
    for key, (older, texts) in FILL_IN.items():
        if not any(name in vocabulary.ids for name in (key, *older)):
            _fill_in(vocabulary, ids, types, found, key, [ids[text] for text in texts if text in ids])
    for text in ALWAYS_SHOWN:
        if text in ids:
            types[ids[text]] = found[ids[text]] = USER_DEFINED
    for text, kind in _not_ends(ids).items():
        types[ids[text]] = found[ids[text]] = kind
    return replace(vocabulary, types=types, found=found)


def ends(vocabulary: Vocabulary) -> set[int]:
    """Return the ids of the tokens that end a text or a turn by their texts."""
    ids = _ids(vocabulary)
    return {ids[text] for text in ENDS if text in ids} - {ids[text] for text in _not_ends(ids)}


def stripped(vocabulary: Vocabulary) -> tuple[frozenset[int], frozenset[int]]:
    """Return the ids of the tokens that include the white space before them, and of those with it after them."""
    for rule in NAMED:
        value = getattr(vocabulary, rule.key) or ""
        if any(part in (value.lower() if rule.key == "name" else value) for part in rule.parts):
            break
    else:
        return frozenset(), frozenset()
    searched = np.flatnonzero(np.isin(vocabulary.found, (CONTROL, USER_DEFINED, UNKNOWN))).tolist()
    left = frozenset(id_ for id_ in searched if vocabulary.tokens[id_] in rule.left)
    if rule.all_right_except is None:
        return left, frozenset()
    return left, frozenset(id_ for id_ in searched if vocabulary.tokens[id_] not in rule.all_right_except)


def _ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids of the tokens that a rule names; an unused token counts too, unless one in use has its text."""
    texts = {*ENDS, *ALWAYS_SHOWN, *(text for _, names in FILL_IN.values() for text in names)}
    found: dict[str, int] = {}
    for id_, text in enumerate(vocabulary.tokens):
        if text in texts and (text not in found or vocabulary.types[id_] != UNUSED):
            found[text] = id_
    return found


def _not_ends(ids: Mapping[str, int]) -> dict[str, int]:
    """Return text → type of the tokens of ENDS that end nothing in this vocabulary."""
    return {
        text: kind
        for text, groups, kind in NOT_ENDS
        if text in ids and any(all(other in ids for other in group) for group in groups)
    }


def _make_control(types: NDArray[np.uint8], found: NDArray[np.uint8], id_: int) -> None:
    """Make a token one that is only found if special tokens may be; the model still has a normal or user-defined one.

    A byte or an unknown token stays what it is.
    """
    if types[id_] == UNUSED:
        types[id_] = CONTROL
    if types[id_] not in (BYTE, UNKNOWN):
        found[id_] = CONTROL


def _fill_in(
    vocabulary: Vocabulary,
    ids: Mapping[str, int],
    types: NDArray[np.uint8],
    found: NDArray[np.uint8],
    key: str,
    candidates: list[int],
) -> None:
    if len(candidates) > 1 and any(found[id_] != CONTROL for id_ in candidates):
        shown = ", ".join(f"{brief(vocabulary.tokens[id_])} (id {id_})" for id_ in candidates)
        raise FormatError(
            f"{GGML}{key}_token_id: missing, and {shown} can each be this token, of which programs make any one a "
            "control token: it is not certain which; a file with this key, or the model's tokenizer.json, is needed"
        )
    for id_ in candidates:
        _make_control(types, found, id_)
