"""A folder is loaded as its class says, a file as it is; what cannot be exact is refused with the reason."""

from __future__ import annotations

import importlib.util
import json
import logging
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import tokkit
import trained_class_folders
from tokkit.compat import sentencepiece
from tokkit.compat import transformers as face
from tokkit.errors import FormatError, OptionError, TokkitError
from tokkit.registry.tokenizer_classes.table import CLASSES

PAGES = Path(__file__).resolve().parents[3] / "docs"
TEXT = "The word and the other words"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("vocabularies")
    trained_class_folders.vocabularies(made)
    return made


def raw_ids(path: Path) -> list[int]:
    return list(sentencepiece.SentencePieceProcessor(model_file=str(path)).encode(TEXT))


@pytest.mark.parametrize(
    ("name", "offset", "first", "last"),
    [
        ("XLMRobertaTokenizer", 1, [0], [2]),
        ("CamembertTokenizer", 4, [5], [6]),
        ("MBartTokenizer", 1, [], [2, "en_XX"]),
    ],
)
def test_classes_of_fairseq_number_pieces_anew(
    source: Path, tmp_path: Path, name: str, offset: int, first: list[Any], last: list[Any]
) -> None:
    folder = trained_class_folders.write(tmp_path, name, source)
    made = tokkit.load(folder)
    ends = [[made.special_tokens[id_] if isinstance(id_, str) else id_ for id_ in side] for side in (first, last)]
    assert made(TEXT, special="all").ids == [
        *ends[0],
        *(id_ + offset for id_ in raw_ids(source / "unigram.model")),
        *ends[1],
    ]


@pytest.mark.parametrize("name", ["RobertaTokenizer", "LongformerTokenizer"])
def test_roberta_is_wrapped_without_a_tokenizer_json(source: Path, tmp_path: Path, name: str) -> None:
    folder = trained_class_folders.write(tmp_path, "RobertaTokenizer", source, tokenizer_class=name)
    made = tokkit.load(folder)
    plain = tokkit.load(source / "bytes").encode(TEXT)
    assert made(TEXT).ids == [made.vocab["<s>"], *plain, made.vocab["</s>"]]


def test_a_folder_goes_by_its_class_and_a_file_by_its_text(source: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    tokkit.load(source / "vocab.txt", lowercase=False).save(file)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    assert tokkit.load(file).encode(TEXT) != tokkit.load(file).encode(TEXT.lower())
    assert tokkit.load(tmp_path).encode(TEXT) == tokkit.load(file).encode(TEXT.lower())


@pytest.mark.parametrize("stated", [{"tokenizer_class": "NoTokenizer"}, {"tokenizer_class": "NoTokenizerFast"}])
def test_an_unknown_class_needs_a_tokenizer_json(
    source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, stated: dict[str, Any]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(stated))
    shutil.copy(source / "vocab.txt", tmp_path)
    with pytest.raises(OptionError, match="there is no tokenizer class NoTokenizer"):
        face.AutoTokenizer.from_pretrained(tmp_path)
    tokkit.load(source / "vocab.txt").save(tmp_path / "tokenizer.json")
    with caplog.at_level(logging.WARNING, "tokkit"):
        made = tokkit.load(tmp_path)
    assert "NoTokenizer is unknown; tokenizer.json is used as it is" in caplog.text
    assert made.encode(TEXT) == tokkit.load(tmp_path / "tokenizer.json").encode(TEXT)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe\x00", b'{"tokenizer_class": 3}'])
def test_a_damaged_config_is_named_or_changes_nothing(source: Path, tmp_path: Path, content: bytes) -> None:
    tokkit.load(source / "vocab.txt").save(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_bytes(content)
    if content.startswith(b'{"'):
        assert tokkit.load(tmp_path).encode(TEXT)
        return
    with pytest.raises(FormatError, match=r"tokenizer_config\.json"):
        tokkit.load(tmp_path)


@pytest.mark.parametrize("name", [name for name, row in CLASSES.items() if row.files and not row.refused])
def test_a_folder_without_vocabulary_files_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    with pytest.raises(TokkitError) as caught:
        face.AutoTokenizer.from_pretrained(tmp_path)
    assert (name if name != "TokenizersBackend" else "no tokenizer in this directory") in str(caught.value)


def test_the_page_has_a_row_for_each_class() -> None:
    spec = importlib.util.spec_from_file_location("tables", PAGES / "_site" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    text = (PAGES / "coming-from" / "transformers.md").read_text("utf-8")
    table = re.compile(r"\| `\w+` \|( [^|]+ \|){4}")
    rows = [line for line in tables.on_page_markdown(text).splitlines() if table.fullmatch(line)]
    assert [line.split("`")[1] for line in rows] == sorted(CLASSES)
