"""`tokkit report`: a row for each source, and one for all."""

from __future__ import annotations

import json
from pathlib import Path


def test_sources_are_reported_by_name_and_by_path(tokenizer: str, tmp_path: Path, run) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest\n")
    (tmp_path / "b.txt").write_text("straße naïve\n", encoding="utf-8")
    table = run("report", tokenizer, "en=a.txt", "de=b.txt").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["source", "en", "de", "all", "parity", "each"]
    assert "unknown" not in table[0], "a byte-level vocabulary has no unknown token"
    found = json.loads(run("report", tokenizer, "a.txt", "b.txt", "--json", "--reference", "b.txt").stdout)
    assert [row["source"] for row in found["sources"]] == ["a.txt", "b.txt"]
    assert found["sources"][1]["parity"] == 1
    assert found["all"]["tokens"] == sum(row["tokens"] for row in found["sources"])
    assert found["per"] == "character"


def test_a_source_that_is_not_there_is_one_line(tokenizer: str, tmp_path: Path, run) -> None:
    (tmp_path / "a.txt").write_text("low\n")
    for wrong in (["en=none.txt"], ["a.txt", "--reference", "en"]):
        result = run("report", tokenizer, *wrong)
        assert result.exit_code == 1
        assert result.stderr.startswith("tokkit: error: ")
    assert run("report", tokenizer).exit_code == 2
