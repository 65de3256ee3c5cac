"""Wrong values in tokenizer_config.json: an error names the file and the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import generators
from tokkit.compat.transformers import AutoTokenizer
from tokkit.errors import FormatError

RIGHT: dict[str, Any] = {
    "model_max_length": 64,
    "pad_token": {"content": "<|end|>", "lstrip": False, "special": True, "__type": "AddedToken"},
    "eos_token": "<|end|>",
    "bos_token": None,
    "extra_special_tokens": {"image_token": "<|model|>"},
    "added_tokens_decoder": {"300": {"content": "<|end|>", "special": True}},
    "model_input_names": ["input_ids"],
}


def write(folder: Path, **changed: Any) -> Path:
    generators.tokenizer().save(folder / "tokenizer.json", overwrite=True)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(RIGHT | changed))
    return path


def test_right_values_are_read(tmp_path: Path) -> None:
    write(tmp_path)
    tok = AutoTokenizer.from_pretrained(tmp_path)
    assert (tok.pad_token, tok.image_token, tok.bos_token) == ("<|end|>", "<|model|>", None)
    assert (tok.model_max_length, tok.model_input_names) == (64, ["input_ids"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model_max_length", "64", "model_max_length: an integer or a number or null is needed, not a string"),
        ("model_max_length", True, "model_max_length: an integer or a number or null is needed, not a boolean"),
        ("pad_token", False, "pad_token: a string or an object is needed, not a boolean"),
        ("pad_token", {"content": 1}, r"pad_token\.content: a string is needed, not an integer"),
        ("pad_token", {"content": "a", "lstrip": "no"}, r"pad_token\.lstrip: a boolean is needed, not a string"),
        ("pad_token", "a\ud800", r"'\\ud800' is a lone surrogate, not text"),
        ("extra_special_tokens", [["a"]], r"extra_special_tokens\.0: a string or an object is needed, not an array"),
        ("extra_special_tokens", "a", "extra_special_tokens: an array or an object or null is needed"),
        ("additional_special_tokens", {}, "additional_special_tokens: an array or null is needed, not an object"),
        ("added_tokens_decoder", {"{}": "a"}, "added_tokens_decoder: '{}' is not an id"),
        ("added_tokens_decoder", {"-1": "a"}, "added_tokens_decoder: '-1' is not an id"),
        ("added_tokens_decoder", [], "added_tokens_decoder: an object or null is needed, not an array"),
        ("model_input_names", "input_ids", "model_input_names: an array is needed, not a string"),
    ],
)
def test_a_wrong_value_is_named(key: str, value: object, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, **{key: value})
    with pytest.raises(FormatError, match=f"{path.name}.*{message}"):
        AutoTokenizer.from_pretrained(tmp_path)


def test_a_config_of_a_model_may_have_other_values_under_these_keys(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "pad_token": 0, "max_len": "long"}))
    assert AutoTokenizer.from_pretrained(tmp_path).pad_token == "<|end|>"
