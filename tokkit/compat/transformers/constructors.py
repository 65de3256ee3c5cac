"""Builds tokenizers from a vocabulary and merges, with the pipelines of transformers 5's classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tokkit.compat.tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

Given = dict[str, Any]
"""The arguments of a constructor, including vocab and merges."""


class Maker(NamedTuple):
    """(function that builds the tokenizer, function that then builds the post-processor from its special tokens)."""

    make: Callable[[Given], Tokenizer]
    around: Callable[[Any, Given], Any] | None = None


def byte_level(given: Given) -> Tokenizer:
    """Return GPT-2's pipeline."""
    spelling = {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    made = Tokenizer(models.BPE(given["vocab"], given.get("merges") or [], fuse_unk=False, **spelling))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=given.get("add_prefix_space", False))
    made.decoder = decoders.ByteLevel()
    return made


def word_piece(given: Given) -> Tokenizer:
    """Return BERT's pipeline."""
    made = Tokenizer(models.WordPiece(given["vocab"], unk_token=str(given.get("unk_token", "[UNK]"))))
    made.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=given.get("tokenize_chinese_chars", True),
        strip_accents=given.get("strip_accents"),
        lowercase=given.get("do_lower_case", True),
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##")
    return made


def llama(given: Given) -> Tokenizer:
    """Return Llama's pipeline, with a space before the text unless `add_prefix_space` is False."""
    made = Tokenizer(models.BPE(given["vocab"], given.get("merges") or [], fuse_unk=True, byte_fallback=True))
    is_first = given.get("add_prefix_space") in (None, True)
    scheme = ("always" if given.get("legacy") else "first") if is_first else "never"
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*steps, decoders.Strip(content=" ", left=1)] if is_first else steps)
    return made


def _bert_around(tok: Any, given: Given) -> Any:
    return processors.TemplateProcessing(
        single=f"{tok.cls_token}:0 $A:0 {tok.sep_token}:0",
        pair=f"{tok.cls_token}:0 $A:0 {tok.sep_token}:0 $B:1 {tok.sep_token}:1",
        special_tokens=[(tok.cls_token, tok.cls_token_id), (tok.sep_token, tok.sep_token_id)],
    )


def _roberta_around(tok: Any, given: Given) -> Any:
    ends = (tok.sep_token, tok.sep_token_id), (tok.cls_token, tok.cls_token_id)
    return processors.RobertaProcessing(*ends, given.get("trim_offsets", True), given.get("add_prefix_space", False))


MAKERS = {
    "GPT2Tokenizer": Maker(byte_level),
    "RobertaTokenizer": Maker(byte_level, _roberta_around),
    "BertTokenizer": Maker(word_piece, _bert_around),
    "LlamaTokenizer": Maker(llama),
}
"""Class → functions that build its tokenizers; other classes only load files."""
