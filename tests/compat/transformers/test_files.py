"""Tokenizer files of transformers and of tokkit's drop-in: each loads what the other saves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tokkit
import transformers_folders
from both_transformers import Load, all_same, loader, outcome, same, state
from extras import extra
from tokkit.compat import transformers as face

transformers = extra("transformers", minversion="5.0")


@pytest.fixture(scope="module")
def load(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(shared, tmp_path_factory.mktemp("folders"))


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "t5", "phi-3", "gpt-neox"])
def test_what_is_saved_is_loaded_here_and_there(load: Load, tmp_path: Path, name: str) -> None:
    both = load(name)
    for tok, place in zip(both, ("theirs", "ours"), strict=True):
        tok.add_tokens(["newtok"])
        tok.add_special_tokens({"additional_special_tokens": ["<A>"], "pad_token": "<P>"})
        tok.model_max_length = 77
        files = tok.save_pretrained(tmp_path / place)
        assert all(Path(file).is_file() for file in files)
        again = type(tok).from_pretrained(tmp_path / place)
        assert outcome(lambda again=again: state(again)) == outcome(lambda tok=tok: state(tok))
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == sorted(
        path.name for path in (tmp_path / "theirs").iterdir()
    )
    crossed = (
        transformers.AutoTokenizer.from_pretrained(tmp_path / "ours"),
        face.AutoTokenizer.from_pretrained(tmp_path / "theirs"),
    )
    same(crossed, state)
    same((both[0], crossed[0]), state)
    assert crossed[0].chat_template == crossed[1].chat_template == both[0].chat_template


def test_lengths_of_a_tokenizer_json_become_sides(shared: Path, tmp_path: Path) -> None:
    value = json.loads((shared / "vocabs/gpt2/tokenizer.json").read_bytes())
    value["truncation"] = {"direction": "Left", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    value["padding"] = {
        "strategy": {"Fixed": 6}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 50256, "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(value))
    both = tuple(made.AutoTokenizer.from_pretrained(tmp_path) for made in (transformers, face))
    same(both, state)
    same(both, lambda t: (t("a b c d e f g"), t(["a", "b c"], padding=True), t.padding_side, t.truncation_side))


def test_what_cannot_be_loaded_raises_errors_of_the_same_classes(tmp_path: Path) -> None:
    both = transformers, face
    (tmp_path / "empty").mkdir()
    all_same(both, [
        lambda made: made.AutoTokenizer.from_pretrained(tmp_path / "missing"),
        lambda made: made.AutoTokenizer.from_pretrained("no-org/no-such-name"),
        lambda made: made.AutoTokenizer.from_pretrained(tmp_path / "empty"),
        lambda made: made.AutoTokenizer(),
        lambda made: made.PreTrainedTokenizerFast(),
        lambda made: made.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "missing.json")),
    ])  # fmt: skip


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "t5", "phi-3"])
def test_live_objects_become_tokenizers_with_equal_ids(load: Load, name: str) -> None:
    theirs, _ = load(name)
    theirs.add_tokens(["newtok"])
    theirs.add_special_tokens({"pad_token": "<P>"})
    theirs(["a", "b c"], padding=True, truncation=True, max_length=8)  # which sets lengths in the object's backend
    ours = tokkit.from_transformers(theirs)
    for text in ["Hello  world's newtok <P> é", "", "a " * 20]:
        assert ours(text, special="all").ids == theirs(text)["input_ids"]
    wrapped = face.PreTrainedTokenizerFast(tokenizer_object=theirs)
    assert wrapped("newtok <P>")["input_ids"] == theirs("newtok <P>")["input_ids"]
    with pytest.raises(tokkit.OptionError, match="is a dict"):
        tokkit.from_transformers({})


SEVERAL = {
    "gpt2": {"encoder.json": "vocab.json", "vocab.bpe": "merges.txt"},
    "roberta-base": {"vocab.json": "vocab.json", "merges.txt": "merges.txt"},
    "bert-base-uncased": {"vocab.txt": "vocab.txt"},
    "t5": {"spiece.model": "spiece.model"},
}
"""Name of a tokenizer → its files without a tokenizer.json: as they are called in the shared data, and in a folder."""


@pytest.mark.parametrize("name", SEVERAL)
def test_folders_without_a_tokenizer_json_give_equal_ids(shared: Path, tmp_path: Path, name: str) -> None:
    if name == "t5":
        extra("google.protobuf")  # by which transformers reads .model files
    for file, called in SEVERAL[name].items():
        shutil.copy(shared / "vocabs" / name / file, tmp_path / called)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(transformers_folders.CONFIGS[name]))
    both = tuple(made.AutoTokenizer.from_pretrained(tmp_path) for made in (transformers, face))
    same(both, lambda t: t(["Hello  worlds <s></s> é", "x"], ["pair of it", "y"], return_token_type_ids=True))
    same(both, lambda t: (t.decode(t("Hello world")["input_ids"], True), len(t), t.special_tokens_map))


def test_names_are_found_in_the_cache_of_the_hub(load: Load, tmp_path: Path, run: Callable[..., str]) -> None:
    _, tok = load("phi-3")
    for name in ("org--tiny", "tiny"):
        cached = tmp_path / "hub" / f"models--{name}"
        (cached / "refs").mkdir(parents=True)
        (cached / "refs/main").write_text("0" * 40)
        tok.save_pretrained(cached / "snapshots" / ("0" * 40))
    code = """
from tokkit.compat.transformers import AutoTokenizer
for name in ("org/tiny", "tiny"):
    tok = AutoTokenizer.from_pretrained(name)
    print(tok.name_or_path, tok.pad_token, tok.chat_template is not None)
for name in ("org/none", "none"):
    try:
        AutoTokenizer.from_pretrained(name)
    except OSError as error:
        print(error)
"""
    assert run(code, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1").splitlines() == [
        "org/tiny <|endoftext|> True",
        "tiny <|endoftext|> True",
        "org/none is neither a folder nor in the hub's cache; run tokkit fetch org/none to download it",
        "none is neither a folder nor in the hub's cache; run hf download none to download it",
    ]
