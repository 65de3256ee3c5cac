"""Folders of RWKV's tokenizer classes, whose code is in repositories: their facts on a small vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.compat.transformers import AutoTokenizer
from tokkit.errors import FormatError, OptionError

END = "<|rwkv_tokenizer_end_of_text|>"
FILE = "rwkv_vocab_v20230424.txt"


def folder_of(path: Path, name: str, lines: str = "", **config: Any) -> Path:
    own = [f"{byte + 1} {(chr(byte) if byte < 128 else bytes([byte]))!r} 1\n" for byte in range(256)]
    more = "257 '\\n\\n' 2\n258 ' the' 4\n259 'the' 3\n"
    (path / FILE).write_text("".join(own) + more + lines, encoding="utf-8")
    code = {"AutoTokenizer": [f"hf_rwkv_tokenizer.{name}", None]}
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, "auto_map": code, **config}))
    return path


def test_rwkv_6_reads_two_texts_as_the_end(tmp_path: Path) -> None:
    tok = AutoTokenizer.from_pretrained(folder_of(tmp_path, "Rwkv6Tokenizer"))
    assert tok("the<s> the<|endoftext|>\n\n").input_ids == [259, 0, 258, 0, 257]
    assert (tok.bos_token_id, tok.eos_token_id, len(tok), tok.vocab_size) == (0, 0, 260, 260)
    assert tok.tokenize("é the") == ["\ufffd", "\ufffd", " the"]
    assert tok.decode(tok("é😀 the").input_ids) == "é😀 the"
    assert tokkit.load(tmp_path).encode("<s>") == [61, 116, 63]
    assert 0 not in tokkit.load(tmp_path).encode("<|endoftext|>")


def test_bos_is_put_before_each_text_if_asked(tmp_path: Path) -> None:
    tok = AutoTokenizer.from_pretrained(folder_of(tmp_path, "Rwkv6Tokenizer", add_bos_token=True))
    assert tok("the", " the").input_ids == [0, 259, 0, 258]
    assert tok("the the the", truncation=True, max_length=2).input_ids == [0, 259]


def test_an_end_that_is_a_token_has_an_id_of_its_own_in_rwkv_7(tmp_path: Path) -> None:
    listed = {"0": {"content": END, "special": True, "normalized": False}}
    roles = {"bos_token": END, "eos_token": "\n\n", "pad_token": END, "unk_token": END}
    tok = AutoTokenizer.from_pretrained(folder_of(tmp_path, "RwkvTokenizer", added_tokens_decoder=listed, **roles))
    assert tok(f"{END}the\n\n the").input_ids == [0, 259, 260, 258]
    assert tok.eos_token_id == 260
    assert tok.decode([0, 259, 257, 260]) == f"{END}the\n\n\n\n"
    assert tok.decode([0, 259, 257, 260], skip_special_tokens=True) == "the\n\n"
    assert tokkit.load(tmp_path).encode("\n\n") == [257]
    assert tok(["the", "the the"], padding=True).input_ids == [[259, 0], [259, 258]]


def test_folders_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=f"Rwkv5Tokenizer is not supported: .*{FILE}"):
        tokkit.load(folder_of(tmp_path, "Rwkv5Tokenizer"))
    with pytest.raises(FormatError, match="the id 0 is b'xy'; this class gives it to bos_token"):
        tokkit.load(folder_of(tmp_path, "RwkvTokenizer", "0 'xy' 2\n"))
    (tmp_path / FILE).unlink()
    with pytest.raises(FormatError, match=f"the vocabulary is missing: this class needs {FILE}"):
        tokkit.load(tmp_path)
