"""Columns of .csv, .tsv and .parquet files (pyarrow) and of data frames are read as texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from extras import extra
from tokkit.corpus.readers import documents
from tokkit.errors import CorpusError

ROWS = [{"text": "one", "n": 1}, {"text": "two, “2”\nlines", "n": 2}, {"text": "", "n": 3}]
TEXTS = [row["text"] for row in ROWS]


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.parquet"])
def test_columns_of_tables_are_texts(tmp_path: Path, name: str) -> None:
    pandas = extra("pandas")
    extra("pyarrow")
    frame, path = pandas.DataFrame(ROWS), tmp_path / name
    if name == "rows.parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    assert list(documents(path)) == list(documents(frame)) == list(documents(frame["text"])) == TEXTS
    with pytest.raises(CorpusError, match=r"has no column 'body'; it has 'text', 'n'"):
        list(documents(path, field="body"))


def test_tables_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    pyarrow = extra("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorpusError, match=r"a\.parquet cannot be read"):
        list(documents(tmp_path / "a.parquet"))
    (tmp_path / "a.csv").write_bytes(b"text\n\xff\n")
    with pytest.raises(CorpusError, match=r"record 1: byte 0 is not UTF-8"):
        list(documents(tmp_path / "a.csv"))
    assert list(documents(tmp_path / "a.csv", errors="replace")) == ["\ufffd"]
    with pytest.raises(TypeError, match="the text number 2 is NoneType; it must be str"):
        list(documents(pyarrow.table({"text": ["a", None]})))
    parquet = extra("pyarrow.parquet")
    for column, message in (
        (["a", None], r"record 2: the column 'text' is empty \(null\)"),
        ([1, 2], "record 1: .* type int"),
    ):
        parquet.write_table(pyarrow.table({"text": column}), tmp_path / "b.parquet")
        with pytest.raises(CorpusError, match=message):
            list(documents(tmp_path / "b.parquet"))
