"""mistral-common reads the tekken.json files that tokkit writes, and gives equal ids."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import Small
from extras import extra
from strategies import adversarial, documents
from tokkit.pretokenizers import patterns

extra("mistral_common")
tekken: Any = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")

N_SPECIAL = 30
IMAGE = {"image_patch_size": 16, "max_image_size": 1024, "spatial_merge_size": 1}


def write(path: Path, small: Small, version: str, **more: Any) -> Path:
    """A file as Mistral's, with bytes in order and then what was learnt; the last ten tokens are not in use."""
    tokens = [bytes([byte]) for byte in range(256)] + [token for token in small.tokens if len(token) > 1]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": patterns.TEKKEN,
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) - 10 + N_SPECIAL,
        "default_num_special_tokens": N_SPECIAL,
        "version": version,
    }
    (path / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocab, **more}))
    return path / "tekken.json"


def special(*names: str, text: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return [{"rank": rank, "token_str": name, "is_control": name not in text} for rank, name in enumerate(names)]


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("v3", {}),
        ("v3", {"multimodal": IMAGE}),
        ("v7", {"special_tokens": None}),
        ("v11", {"special_tokens": special("<unk>", "<s>", "</s>", "[INST]"), "image": IMAGE}),
        ("v13", {"special_tokens": special("<unk>", "<s>", "</s>", "[THINK]", text=("[THINK]",)), "type": "Tekken"}),
    ],
)
def test_a_file_that_is_saved_again_is_the_same_tokenizer_for_mistral_common(
    tmp_path: Path, small: Small, version: str, more: dict[str, Any]
) -> None:
    source = write(tmp_path, small, version, **more)
    tok = tokkit.load(source)
    tok.save(tmp_path / "again-tekken.json")
    first, again = (tekken.Tekkenizer.from_file(path) for path in (source, tmp_path / "again-tekken.json"))
    assert again.version.value == first.version.value == version
    assert again.image == first.image
    assert again.n_words == first.n_words == tok.n_ids
    assert again._all_special_tokens == first._all_special_tokens
    for text in ["", *documents(5, 60), *(adversarial(seed, 500) for seed in range(10))]:
        expected = first.encode(text, bos=False, eos=False)
        assert tok.encode(text) == again.encode(text, bos=False, eos=False) == expected
        assert again.encode(text, bos=True, eos=True) == [1, *expected, 2]


def test_ranks_with_bytes_in_order_become_a_file_of_mistral_common(tmp_path: Path, small: Small) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [token for token in small.tokens if len(token) > 1]
    lines = [base64.b64encode(token) + b" %d\n" % (rank + 3) for rank, token in enumerate(tokens)]
    (tmp_path / "own.tiktoken").write_bytes(b"".join(lines))
    names = {"<unk>": 0, "<s>": 1, "</s>": 2}
    tok = tokkit.load(tmp_path / "own.tiktoken", pattern="tekken", special_tokens=names)
    tok.save(tmp_path / "tekken.json")
    rival = tekken.Tekkenizer.from_file(tmp_path / "tekken.json")
    assert rival.version.value == "v11"
    for text in documents(7, 60):
        assert rival.encode(text, bos=False, eos=False) == tok.encode(text)
