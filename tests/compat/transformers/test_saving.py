"""Tokenizers that transformers and tokkit's drop-in save are loaded by both with equal ids and special tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from both_transformers import plain
from extras import extra
from tokkit.compat import transformers as face

transformers = extra("transformers", minversion="5.24")

SQUARE = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "mask", "pad", "sep", "unk")}
BERT = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
CONFIGS: dict[str, dict[str, Any]] = {
    "bert-base-chinese": BERT,
    "bert-base-multilingual-cased": BERT,
    "bert-base-uncased": {**BERT, "do_lower_case": True},
    "clip": {"tokenizer_class": "CLIPTokenizer"},
    "falcon": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>"},
    "gpt-neox": {"tokenizer_class": "GPTNeoXTokenizer"},
    "gpt2": {"tokenizer_class": "GPT2Tokenizer"},
    "mistral-v1": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "unk_token": "<unk>"},
    "modernbert": {"tokenizer_class": "PreTrainedTokenizerFast", **SQUARE},
    "mpt": {"tokenizer_class": "GPTNeoXTokenizer"},
    "phi-2": {"tokenizer_class": "CodeGenTokenizer"},
    "phi-3": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>"},
    "roberta-base": {"tokenizer_class": "RobertaTokenizer"},
    "t5": {
        "tokenizer_class": "T5Tokenizer",
        "extra_ids": 100,
        "additional_special_tokens": [f"<extra_id_{i}>" for i in range(100)],
    },
    "whisper-large-v3": {"tokenizer_class": "WhisperTokenizer"},
    "xlnet": {"tokenizer_class": "XLNetTokenizer", "additional_special_tokens": ["<eop>", "<eod>"]},
}
TEXTS = [
    "Hello world <extra_id_0> a",
    "  two  spaces\n<s>hi</s> there <|endoftext|> x",
    "größer 日本 [MASK] [CLS]",
    "<|0.00|> <mask> <pad> <|assistant|> NEWTOK <X>",
]


def as_loaded(tok: Any) -> None:
    """Leave a tokenizer as it was loaded."""


def changed(tok: Any) -> None:
    tok.add_tokens(["NEWTOK"])
    tok.add_special_tokens({"pad_token": "<P>", "additional_special_tokens": ["<X>"]})
    tok.chat_template = "{{ messages }}"
    tok.model_max_length = 77


def state(tok: Any) -> dict[str, Any]:
    ids = [tok(text)["input_ids"] for text in TEXTS]
    return {
        "ids": ids,
        "pair": tok(*TEXTS[:2])["input_ids"],
        "text": [tok.decode(one, skip_special_tokens=skip) for one in ids[:3] for skip in (False, True)],
        **{name: plain(getattr(tok, name)) for name in (
            *("special_tokens_map", "all_special_tokens", "all_special_ids", "extra_special_tokens"),
            *("added_tokens_decoder", "model_max_length", "padding_side", "chat_template", "model_input_names"),
        )},
    }  # fmt: skip


CHANGED = ("bert-base-uncased", "gpt2", "t5", "clip")


@pytest.mark.parametrize(
    ("name", "change"), [*((name, as_loaded) for name in CONFIGS), *((name, changed) for name in CHANGED)]
)
def test_saved_folders_are_loaded_equally(shared: Path, tmp_path: Path, name: str, change: Any) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "tokenizer.json").symlink_to(shared / "vocabs" / name / "tokenizer.json")
    (source / "tokenizer_config.json").write_text(json.dumps(CONFIGS[name]))
    expected = None
    for library, place in ((transformers, "theirs"), (face, "ours")):
        tok = library.AutoTokenizer.from_pretrained(source)
        change(tok)
        expected = state(tok) if expected is None else expected
        assert state(tok) == expected
        tok.save_pretrained(tmp_path / place)
        for loader in (transformers, face):
            assert state(loader.AutoTokenizer.from_pretrained(tmp_path / place)) == expected
    files = [sorted(path.name for path in (tmp_path / place).iterdir()) for place in ("theirs", "ours")]
    assert files[0] == files[1]
