"""Writes pickles of the installed tokkit as JSON lines of a list.

`python tests/pickles/make.py > tests/pickles/0.1.0.json` with each release; test_pickles.py loads it with later ones.
"""

from __future__ import annotations

import base64
import json
import pickle
import tempfile
import zlib
from typing import Any

import numpy as np

import tokkit
from tokkit import nn
from tokkit.chat import ChatTemplate
from tokkit.compat import sentencepiece, tiktoken

CORPUS = ["low lower lowest", "newer wider new", "naïve café, 東京 🙂", "the quick brown fox jumps"] * 9
TEXTS = ["low lowest new", "  naïve  東京\n🙂 zebra", "<|end|> the [UNK] fox", ""]
IDENTITY = {"normalization_rule_name": "identity", "hard_vocab_limit": False}
KINDS: dict[str, dict[str, Any]] = {
    "bbpe": {"special_tokens": ["<|end|>"]},
    "bpe": {},
    "wordpiece": {},
    "word": {},
    "char": {},
    "unigram": IDENTITY,
    "sp-bpe": IDENTITY,
    "sp-word": IDENTITY,
    "sp-char": IDENTITY,
}
STAGED = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "[0-9]+"}, "behavior": "Isolated", "invert": False},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        ],
    },
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"a": {"id": "a", "ids": [1], "tokens": ["a"]}},
    },
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
              "vocab": [["<unk>", 0.0], ["a", -1.0], ["▁", -2.0], ["▁low", -3.0], ["est", -2.5], ["n", -4.0]]},
}  # fmt: skip


def tokenizers() -> dict[str, tokkit.Tokenizer]:
    """Return a tokenizer of each engine and kind of component."""
    from tokkit.formats import tokenizer_json

    made = {
        kind: tokkit.train(iter(CORPUS), model=kind, vocab_size=280, threads=1, **options)
        for kind, options in KINDS.items()
    }
    limited = made["bbpe"].definition
    fields = {name: getattr(limited, name) for name in limited.__slots__}
    more = {"truncation": tokkit.Truncation(max_length=5), "padding": tokkit.Padding(pad_id=0, pad_token="!")}
    made["limited"] = tokkit.Tokenizer(tokkit.Definition(**{**fields, **more}))
    made["staged"] = tokkit.Tokenizer(tokenizer_json.from_json(STAGED))
    return made


def ids_of(tok: tokkit.Tokenizer) -> list[Any]:
    """Return what a tokenizer makes of the texts, and of that."""
    ids = [tok.encode(text, special="all") for text in TEXTS]
    return [ids, [tok(text).ids for text in TEXTS], [tok.decode(found) for found in ids]]


def objects() -> dict[str, Any]:
    """Return what is pickled besides tokenizers, each with something that can be compared by ==."""
    toks = tokenizers()
    cache = nn.KVCache(window=3)
    cache.append(np.arange(8, dtype=np.float32).reshape(1, 1, 4, 2), np.ones((1, 1, 4, 2), np.float32))
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("own", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<e>": 300})
    with tempfile.TemporaryDirectory() as folder:
        (model,) = toks["sp-bpe"].save(f"{folder}/a.model")
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    pair = toks["wordpiece"]("low lower", "newest")
    return {
        "Encoding": [pair, [pair.ids, [list(span) for span in pair.offsets], list(pair.type_ids)]],
        "Vocab": [toks["bpe"].vocab, [token.decode() for token in toks["bpe"].vocab]],
        "ChatTemplate": [ChatTemplate("<s>{{ messages[0].content }}"), ["<s>low"]],
        "SentencePieceProcessor": [processor, [processor.encode("low zebra")]],
        "tiktoken": [encoding, [encoding.encode("low <e>", allowed_special="all")]],
        "KVCache": [cache, [cache.length, cache.first]],
        "TransformerConfig": [
            config := nn.TransformerConfig(dim=8, n_heads=2, causal=True),
            [config.dim, config.causal],
        ],
        "Rope": [nn.Rope(nn.RopeConfig(head_dim=4)), [4]],
        "Embedding": [nn.Embedding(np.eye(2, dtype=np.float32)), [[1.0, 0.0]]],
    }


def packed(value: Any) -> str:
    """Return a pickle as text."""
    return base64.b85encode(zlib.compress(pickle.dumps(value, protocol=4), 9)).decode()


if __name__ == "__main__":
    made = [(name, tok, ids_of(tok)) for name, tok in tokenizers().items()]
    made += [(name, value, seen) for name, (value, seen) in objects().items()]
    entries = (json.dumps({"name": name, "pickle": packed(value), "seen": seen}) for name, value, seen in made)
    print("[", ",\n".join(entries), "]", sep="\n")
