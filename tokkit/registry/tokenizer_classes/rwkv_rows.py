"""Tokenizer classes of RWKV's world models, which are code in their repositories, not in transformers.

Decoding joins the bytes of tokens, as RWKV's own programs do; those classes decode each token alone, so that parts of a
character become U+FFFD there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError
from tokkit.files import files
from tokkit.formats import rwkv
from tokkit.models.longest_match import LongestMatch
from tokkit.registry.tokenizer_classes.row import Given, Row, Template
from tokkit.registry.tokenizer_classes.tokens import AddedToken

FILE = "rwkv_vocab_v20230424.txt"
_ALSO_THE_END = "<|endoftext|>"
"""The text of the token 0 in the vocabulary of Rwkv6Tokenizer, besides that of its bos_token."""


def _world(given: Given, paths: Mapping[str, str]) -> Definition:
    if "vocab_file" not in paths:
        raise FormatError(f"the vocabulary is missing: this class needs {FILE}")
    path = paths["vocab_file"]
    with files.naming(path):
        definition = rwkv.read(files.read_bytes(path), special_tokens={})
        if 0 in definition.vocab:
            raise FormatError(f"the id 0 is {definition.vocab[0]!r}; this class gives it to bos_token")
    first = given["bos_token"]
    given["added_tokens_decoder"] = {0: AddedToken.of(first), **(given.get("added_tokens_decoder") or {})}
    return replace(definition, vocab=definition.vocab.with_tokens({0: str(first).encode()}))


def _world_6(given: Given, paths: Mapping[str, str]) -> Definition:
    return replace(_world(given, paths), model=LongestMatch(spellings={0: _ALSO_THE_END}))


def _after_all(draft: Any, given: Given, texts: list[str]) -> dict[str, int]:
    """Number the special tokens after all others, also those that are tokens of the vocabulary."""
    return {text: draft.n_own + number for number, text in enumerate(texts)}


def _around(draft: Any, given: Given) -> Template:
    return ("bos:0 $A:0", "bos:0 $A:0 bos:0 $B:0") if given["add_bos_token"] else ("$A:0", "$A:0 $B:0")


_ROLES = {"bos_token": "<s>", "eos_token": "<s>", "unk_token": "<s>"}
_ROW = Row(roles=_ROLES, arguments={"add_bos_token": False}, files={"vocab_file": FILE}, template=_around)

ROWS: dict[str, Row] = {
    "Rwkv6Tokenizer": replace(_ROW, scripted=_world_6),
    "RwkvTokenizer": replace(_ROW, scripted=_world, numbers=_after_all),
    "Rwkv5Tokenizer": Row(
        refused=(
            "repositories have two versions of it, of which one cuts text into words first; load the vocabulary by its "
            f"own path, {FILE}"
        )
    ),
}
