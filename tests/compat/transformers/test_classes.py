"""Each tokenizer class gives the ids of transformers 5.24, with and without a tokenizer.json, or is refused by name."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scripted_class_folders
import tokkit
import trained_class_folders
from extras import extra
from strategies import adversarial
from tokkit.compat import transformers as face
from tokkit.errors import TokkitError
from tokkit.registry.tokenizer_classes import choice, folder, model_types
from tokkit.registry.tokenizer_classes.table import CLASSES

transformers = extra("transformers", minversion="5.24")
extra("google.protobuf")  # with which transformers reads .model files

TEXTS = [
    *("Hello  world! don't stop—now", "  lead and trail  ", "", "   ", "a\tb\nc\r\n d", "🦜 emoji 👨‍👩‍👧 ok"),
    *("Café NAÏVE ﬁne ① ｶﾞ 한국어 你好 世界 12345", "<s> x</s>y <mask> z [MASK]w [CLS]<pad><|endoftext|>"),
    *("``quoted'' text e\u0301 ÀÉ", "x <extra_id_0> y en_XX eng_Latn __eng__ q", "def f(x):\n    return x**2  # ok\n"),
    *(adversarial(seed, 120) for seed in range(4)),
]
NO_VOCABULARY = {
    "Qwen3_5Tokenizer": "reads only tokenizer.json there",
    "NougatTokenizer": "reads only tokenizer.json there",
    "EsmcTokenizer": "its tokens are part of the class",
    "XGLMTokenizer": "gives garbage for a .model there, and is refused here",
}
"""Classes that are not compared without a tokenizer.json, and why."""
FAILS_THERE = {("NougatTokenizer", "pad_token"), ("EsmcTokenizer", "eos_token")}
"""Classes and arguments with which transformers raises."""
OPTIONS: dict[str, tuple[Any, ...]] = {
    "add_bos_token": (True,), "add_eos_token": (True,), "add_prefix_space": (True, False),
    "do_lower_case": (True, False), "strip_accents": (True, False), "tokenize_chinese_chars": (False,),
    "keep_accents": (True,), "legacy": (True, False), "extra_ids": (3,), "split_by_punct": (True,),
    "legacy_behaviour": (True,), "trim_offsets": (False,), "src_lang": ("fr_XX",), "clean_text": (False,),
    "cls_token": ("<mask>",), "eos_token": ("<e>",), "pad_token": (None, "<p>"), "mask_token": ("<m>",),
    "extra_special_tokens": (["<x>"], {"image_token": "<i>"}), "additional_special_tokens": (["<x>"],),
}  # fmt: skip
FOR_ALL = ("add_bos_token", "eos_token", "pad_token", "extra_special_tokens", "additional_special_tokens")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("vocabularies")
    trained_class_folders.vocabularies(made)
    return made


def arguments_of(name: str) -> Iterator[dict[str, Any]]:
    """Single arguments that a class may get: its own ones, and those of all classes."""
    row = CLASSES[name]
    languages = ("src_lang",) if row.languages is not None and "Bart" in name else ()
    for key in (*FOR_ALL, *languages, *(key for key in row.arguments if key in OPTIONS)):
        yield from ({key: value} for value in OPTIONS[key])


def loaded(path: Path, asked: dict[str, Any]) -> tuple[Any, Any]:
    """The tokenizers of both libraries; an exception for one that cannot be made."""
    made: list[Any] = []
    for library, errors in ((transformers, Exception), (face, TokkitError)):
        try:
            made.append(library.AutoTokenizer.from_pretrained(path, **asked))
        except errors as error:
            made.append(error)
    return made[0], made[1]


def state(tok: Any) -> list[Any]:
    """What is to be equal of a tokenizer, its ids apart."""
    rules = ("content", "lstrip", "rstrip", "single_word", "normalized", "special")
    added = {id_: [getattr(token, rule) for rule in rules] for id_, token in tok.added_tokens_decoder.items()}
    return [
        type(tok).__name__.replace("PreTrainedTokenizerFast", "TokenizersBackend"), len(tok), added,
        tok.special_tokens_map, list(tok.extra_special_tokens), tok.padding_side, tok.model_input_names,
    ]  # fmt: skip


def ids(tok: Any, text: str, pair: str | None) -> Any:
    if "boxes" in CLASSES[choice.name_of(type(tok).__name__)].inputs_too:  # a call there is one with boxes
        encoding = tok.backend_tokenizer.encode(text, pair)
        return encoding.ids, encoding.type_ids
    try:
        found = tok(text, pair)
    except Exception:  # tokenizers raises Exception for a model without its unknown token
        return None
    return found["input_ids"], found.get("token_type_ids")


def same(path: Path, asked: dict[str, Any]) -> None:
    """Compare both tokenizers of a folder."""
    theirs, ours = loaded(path, asked)
    if isinstance(theirs, Exception):
        assert (type(ours).__name__.removesuffix("Fast"), *asked) in FAILS_THERE
        return
    assert not isinstance(ours, Exception), f"{asked}: {ours}"
    assert state(ours) == state(theirs), asked
    n = 0
    for text, pair in itertools.product(TEXTS, (None, "b c")):
        expected = ids(theirs, text, pair)
        if expected is not None:
            n += 1
            assert ids(ours, text, pair) == expected, (asked, text, pair)
    assert n > 0, asked


@pytest.mark.parametrize("name", [name for name in trained_class_folders.of_files() if not CLASSES[name].inputs_always])
def test_classes_give_the_ids_of_transformers(
    name: str, source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "tokkit")  # of arguments without an effect
    if name == "RoFormerTokenizer":
        extra("rjieba")
    path = trained_class_folders.write(tmp_path / "files", name, source)
    theirs = transformers.AutoTokenizer.from_pretrained(path)
    theirs.save_pretrained(tmp_path / "saved")
    for asked in ({}, *arguments_of(name)):
        if name not in NO_VOCABULARY:
            same(path, asked)
        same(tmp_path / "saved", asked)


@pytest.mark.parametrize(
    "name", ["XLMRobertaTokenizer", "LlamaTokenizer", "BertTokenizer", "T5Tokenizer", "NllbTokenizer"]
)
def test_a_folder_is_loaded_alike_by_name_and_natively(name: str, source: Path, tmp_path: Path) -> None:
    path = trained_class_folders.write(tmp_path, name, source)
    theirs = transformers.AutoTokenizer.from_pretrained(path)
    native = tokkit.load(path)
    of_class = getattr(face, name).from_pretrained(path)
    for text in TEXTS:
        expected = theirs(text)["input_ids"]
        assert native(text, special="all").ids == of_class(text)["input_ids"] == expected


def test_every_class_that_transformers_chooses_has_a_row() -> None:
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES as NAMES

    known = {name: choice.name_of(name) for name in filter(None, NAMES.values())}
    assert {name for name, ours in known.items() if ours not in CLASSES} == set()
    theirs = {model_type: name for model_type, name in NAMES.items() if name and "Mistral" not in name}
    ours = {model_type: model_types.CLASS_OF[model_type] for model_type in theirs}
    assert ours == {model_type: name.removesuffix("Fast") for model_type, name in theirs.items()}


@pytest.mark.parametrize("name", [name for name, row in CLASSES.items() if row.refused])
def test_refused_classes_say_why_and_what_to_do(name: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(f'{{"tokenizer_class": "{name}"}}')
    with pytest.raises(tokkit.OptionError, match=f"{name} is not supported: .*"):
        folder.load(tmp_path)


def test_a_class_that_encodes_no_texts_alone_is_refused_in_calls(source: Path, tmp_path: Path) -> None:
    path = trained_class_folders.write(tmp_path, "MarkupLMTokenizer", source, tags_dict={"html": 0})
    theirs, ours = loaded(path, {})
    assert ours.backend_tokenizer.encode(TEXTS[0]).ids == theirs.backend_tokenizer.encode(TEXTS[0]).ids
    with pytest.raises(TokkitError, match="xpaths and node_labels"):
        ours(TEXTS[0])


def test_classes_in_python_do_not_split_special_tokens(tmp_path: Path) -> None:
    made = face.AutoTokenizer.from_pretrained(scripted_class_folders.write(tmp_path, "EsmTokenizer"))
    with pytest.raises(TokkitError, match="EsmTokenizer cannot split special tokens"):
        made("L<mask>A", split_special_tokens=True)
