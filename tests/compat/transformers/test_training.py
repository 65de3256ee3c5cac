"""`train_new_from_iterator` of transformers and of tokkit's drop-in: equal vocabularies, ids and special tokens.

tokenizers numbers characters inside words, and at their ends, in another order in each process: of WordPiece and of
BPE with a suffix, sets of tokens are compared. Unigram is trained by our own steps: its special tokens are compared.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extras import extra
from tokkit.compat import transformers as face

transformers = extra("transformers", minversion="5.24")

NUMBERED = ["falcon", "gpt-neox", "gpt2", "mistral-v1", "modernbert", "mpt", "phi-2", "phi-3", "roberta-base",
            "whisper-large-v3"]  # fmt: skip
UNORDERED = ["bert-base-chinese", "bert-base-multilingual-cased", "bert-base-uncased", "clip"]
UNIGRAM = ["t5", "xlnet"]
EVALUATED = ["low lower newest widest", "größer 日本 <|0.00|> <extra_id_0> xyz", "  two   spaces  \n",
             "Hello [MASK] <s>a</s> fox", "<|endoftext|>a b   c", "🦜é"]  # fmt: skip
RENAMED = {"<unk>": "<UNK2>", "[CLS]": "[CC]", "<|endoftext|>": "<EE>", "</s>": "</SS>"}
OPTIONS: list[dict[str, Any]] = [
    {"vocab_size": 400},
    {"vocab_size": 600, "new_special_tokens": ["<NEW>"]},
    {"vocab_size": 500, "special_tokens_map": RENAMED},
    {"vocab_size": 450, "min_frequency": 3},
    {"vocab_size": 450, "max_token_length": 4},
]


def corpus() -> list[str]:
    rng = random.Random(3)
    words = ["".join(rng.choice("abcdefghij") for _ in range(rng.randint(1, 7))) for _ in range(300)]
    lines = ["low lower lowest newest widest: hello world's (test) 12 34", "Das ist größer – 日本語 текст 🦜 </s>",
             "  two   spaces\n\n  and lines\ttabs", "The quick brown fox jumps over the lazy dog. "]  # fmt: skip
    return [*lines * 12, *(" ".join(rng.choices(words, k=12)) for _ in range(200))]


def batches() -> Iterator[list[str]]:
    texts = corpus()
    yield from (texts[at : at + 50] for at in range(0, len(texts), 50))


def trained(path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    theirs, ours = (made.PreTrainedTokenizerFast(tokenizer_file=str(path)) for made in (transformers, face))
    return tuple(tok.train_new_from_iterator(batches(), **options) for tok in (theirs, ours))


def roles(tok: Any) -> Any:
    added = {id_: repr(token) for id_, token in tok.added_tokens_decoder.items()}
    return tok.special_tokens_map, tok.all_special_tokens, tok.extra_special_tokens, added


def stages(tok: Any) -> Any:
    file = json.loads(tok.backend_tokenizer.to_str())
    return [file[name] for name in ("normalizer", "pre_tokenizer", "decoder")]


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_training_gives_equal_ids(shared: Path, name: str, options: dict[str, Any]) -> None:
    theirs, ours = trained(shared / "vocabs" / name / "tokenizer.json", options)
    assert ours.get_vocab() == theirs.get_vocab()
    assert roles(ours) == roles(theirs)
    assert stages(ours) == stages(theirs)
    for text in EVALUATED:
        assert ours(text)["input_ids"] == theirs(text)["input_ids"]
        assert ours(text, text)["input_ids"] == theirs(text, text)["input_ids"]


@pytest.mark.parametrize("name", UNORDERED)
@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[2]], ids=str)
def test_training_gives_equal_sizes_and_characters_where_their_order_varies(
    shared: Path, name: str, options: dict[str, Any]
) -> None:
    theirs, ours = trained(shared / "vocabs" / name / "tokenizer.json", options)
    assert len(ours) == len(theirs)
    # Merges of equal counts go by these ids.
    differ = set(ours.get_vocab()) ^ set(theirs.get_vocab())
    assert all(len(token.removeprefix("##").removesuffix("</w>")) > 1 for token in differ)
    assert roles(ours) == roles(theirs)
    assert stages(ours) == stages(theirs)
    assert ours.tokenize("low fox") == theirs.tokenize("low fox")


@pytest.mark.parametrize("name", UNIGRAM)
@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_unigram_keeps_all_added_tokens(shared: Path, name: str, options: dict[str, Any]) -> None:
    theirs, ours = trained(shared / "vocabs" / name / "tokenizer.json", options)
    assert roles(ours) == roles(theirs)
    assert stages(ours) == stages(theirs)
    assert set(ours.get_vocab()) == set(theirs.get_vocab())  # the order of equal scores varies there
    assert ours.decode(ours("low lower newest")["input_ids"], skip_special_tokens=True) == "low lower newest"


CONFIGS = {
    "whisper-large-v3": {"tokenizer_class": "WhisperTokenizer"},
    "gpt-neox": {"tokenizer_class": "GPTNeoXTokenizer"},
    "phi-2": {"tokenizer_class": "PreTrainedTokenizerFast"},
    "mpt": {"tokenizer_class": "PreTrainedTokenizerFast"},
    "bert-base-uncased": {"tokenizer_class": "BertTokenizer"},
    "roberta-base": {"tokenizer_class": "RobertaTokenizer"},
    "gpt2": {"tokenizer_class": "GPT2Tokenizer", "pad_token": "<pad>"},
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("options", [{}, {"new_special_tokens": ["<NEW>"], "special_tokens_map": RENAMED}], ids=str)
def test_added_tokens_of_loaded_files_stay_whole(
    shared: Path, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    (tmp_path / "tokenizer.json").symlink_to(shared / "vocabs" / name / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(CONFIGS[name]))
    theirs, ours = (
        made.AutoTokenizer.from_pretrained(tmp_path).train_new_from_iterator(["low lower"] * 50, 400, **options)
        for made in (transformers, face)
    )
    assert ours.get_vocab() == theirs.get_vocab()
    assert roles(ours) == roles(theirs)
    for text in EVALUATED:
        assert ours.tokenize(text) == theirs.tokenize(text)
    if name == "whisper-large-v3" and not options:
        assert (len(ours), ours.tokenize("<|0.00|>")) == (1870, ["<|0.00|>"])
