"""What can be a corpus: folders, tables, records and data frames; and lists of files that look like texts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tokkit
from tokkit.cli import main
from tokkit.corpus.readers import Corpus, documents
from tokkit.errors import CorpusError

ROWS = [{"text": "one", "n": 1}, {"text": "two, “2”\nlines", "n": 2}, {"text": "", "n": 3}]
TEXTS = [row["text"] for row in ROWS]


def test_a_folder_is_read_by_suffix_at_any_depth_and_in_order(tmp_path: Path) -> None:
    for name, data in {
        "b.txt": b"b",
        "a/z.md": b"z",
        "a/deep/r.jsonl": b'{"text": "r"}\n',
        "c.TXT.gz": gzip.compress(b"c"),
        "config.json": b"{}",
        "image.png": b"\x89PNG",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert list(documents(tmp_path)) == ["r", "z", "b", "c"]
    assert list(documents([tmp_path / "a", str(tmp_path / "b.txt")])) == ["r", "z", "b"]


def test_a_folder_without_text_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(
        CorpusError, match=r"only files of '\.png'; in a folder, files with these suffixes are read: \.txt, \.md"
    ):
        Corpus(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="a folder with no files"):
        Corpus(tmp_path / "empty")


@pytest.mark.parametrize("rows", [ROWS, TEXTS], ids=["records", "texts"])
def test_a_json_array_is_its_texts_or_records(tmp_path: Path, rows: list[Any]) -> None:
    path = tmp_path / "rows.json"
    path.write_text("\ufeff" + json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    assert list(documents(path)) == TEXTS
    packed = tmp_path / "rows.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(rows).encode()))
    assert list(documents(packed)) == TEXTS


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"text": "a"}', "holds a JSON object; .* must hold an array"),
        (b'"a"', "holds a JSON value"),
        (b'[{"body": "a"}]', r"record 1: no text in the field 'text', but the fields \['body'\]"),
        (b'["a", 3]', "record 2: no text in the field 'text', but a int"),
        (b'["a"', "line 1, column 5: not JSON"),
        (b'["\xff"]', "byte 2 of the file is not UTF-8"),
    ],
)
def test_a_json_file_of_another_form_is_an_error(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        list(documents(path))


def test_only_a_corpus_is_made_of_records_and_commands_count_the_text_of_the_file(tmp_path: Path) -> None:
    tokkit.train(iter(["x"]), vocab_size=256).save(tmp_path / "t.json")
    (tmp_path / "rows.json").write_text('["a"]')
    done = CliRunner().invoke(main, ["count", str(tmp_path / "t.json"), str(tmp_path / "rows.json")])
    assert done.output.split()[0] == "5"


def test_rows_and_columns_of_data_frames_are_texts() -> None:
    class DataFrame:
        """Iterates over the names of its columns, as that of pandas does."""

        columns = ("text", "n")

        def __getitem__(self, name: str) -> list[object]:
            return [row[name] for row in ROWS]

        def __iter__(self) -> Iterator[str]:
            return iter(self.columns)

    class Dataset:
        column_names = ("text", "n")

        def __iter__(self) -> Iterator[dict[str, Any]]:
            return iter(ROWS)

    for source in (DataFrame(), Dataset(), ROWS, tuple(ROWS), iter(ROWS)):
        assert list(documents(source)) == TEXTS
    for wrong in (DataFrame(), Dataset()):
        with pytest.raises(CorpusError, match="has no column 'body'; it has 'text', 'n'"):
            Corpus(wrong, field="body")
    with pytest.raises(CorpusError, match=r"the text number 1: no text in the field 'body'"):
        list(documents(ROWS, field="body"))
    with pytest.raises(TypeError, match="the text number 1 is int; it must be str"):
        list(documents(DataFrame(), field="n"))


def test_texts_that_are_names_of_files_are_an_error_that_says_what_to_write(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in "ab"]
    for name in names:
        Path(name).write_text("text")
    for source in (iter(names), tmp_path.glob("*"), (name for name in names)):
        with pytest.raises(CorpusError, match=r"give the files as a list, list\(paths\)"):
            tokkit.train(source, vocab_size=300)
    assert list(documents(iter([*names, "a text"]))) == [*names, "a text"]
    assert list(documents(name + "\n" for name in names)) == [name + "\n" for name in names]


def test_texts_where_paths_belong_are_an_error_that_says_what_to_write() -> None:
    for source in ("hello world", ["hello world"], ["one", "two"]):
        with pytest.raises(CorpusError, match=r"does not exist; if this is a text and not a path, give iter\(texts\)"):
            tokkit.train(source, vocab_size=300)


NESTED = [
    {"doc": {"text": "one", "n": 1}, "text": "not this"},
    {"doc": {"text": "two"}, "a.b": {"c": "deep"}},
    {"doc": {"text": "three"}, "doc.text": "whole name"},
]


def test_a_dot_leads_into_a_record_unless_a_field_has_that_name(tmp_path: Path) -> None:
    wanted = ["one", "two", "whole name"]
    assert list(documents(iter(NESTED), field="doc.text")) == wanted
    for name, data in {
        "a.jsonl": "".join(json.dumps(row) + "\n" for row in NESTED),
        "a.json": json.dumps(NESTED),
    }.items():
        (tmp_path / name).write_text(data)
        assert list(documents(tmp_path / name, field="doc.text")) == wanted, name
    assert list(documents(iter([NESTED[1]]), field="a.b.c")) == ["deep"]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("doc.body", r"no text in the field 'doc\.body', but the fields \['n', 'text'\] in 'doc'"),
        ("doc.text.x", r"no text in the field 'doc\.text\.x', but a str in 'doc\.text'"),
        ("doc.n", r"no text in the field 'doc\.n', but int in it"),
        ("doc", r"no text in the field 'doc', but dict in it"),
        ("x.text", r"no text in the field 'x\.text', but the fields \['doc', 'text'\]$"),
        (".text", r"no text in the field '\.text', but the fields \['doc', 'text'\]$"),
    ],
)
def test_what_a_nested_field_lacks_is_named(tmp_path: Path, field: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(NESTED[0]) + "\n")
    for source in (tmp_path / "a.jsonl", iter(NESTED[:1])):
        with pytest.raises(CorpusError, match=message):
            list(documents(source, field=field))


def test_a_dot_leads_into_columns_of_structures(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="tables are read by pyarrow")
    from pyarrow import csv, ipc, parquet

    table = pyarrow.table({"doc": [{"text": "one"}, {"text": "two"}], "a.b": ["x", "y"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    for source in (tmp_path / "a.parquet", tmp_path / "a.arrow", table):
        assert list(documents(source, field="doc.text")) == ["one", "two"]
        assert list(documents(source, field="a.b")) == ["x", "y"]
        with pytest.raises(CorpusError, match=r"no column 'x\.text'; it has 'doc', 'a\.b'"):
            list(documents(source, field="x.text"))
    csv.write_csv(table.select(["a.b"]), tmp_path / "a.csv")
    assert list(documents(tmp_path / "a.csv", field="a.b")) == ["x", "y"]
    with pytest.raises(CorpusError, match=r"no column 'a\.b\.c'"):
        list(documents(tmp_path / "a.csv", field="a.b.c"))
