"""The table of split patterns, csrc/split/families.def, is the only place that knows a published pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import regex
from click.testing import CliRunner

import tokkit
from strategies import adversarial
from tokkit._core import split_families
from tokkit._core.text import isas, scan
from tokkit.cli import main
from tokkit.formats import tokenizer_json
from tokkit.pretokenizers import patterns

ROWS = split_families.patterns()
PACKAGE = Path(__file__).resolve().parents[2] / "tokkit"
TABLE = PACKAGE / "_core" / "csrc" / "split" / "families.def"


def sources(*suffixes: str) -> Iterator[Path]:
    return (path for path in PACKAGE.rglob("*") if path.suffix in suffixes and path != TABLE)


def test_names_and_patterns_are_unique_and_each_scanner_has_one() -> None:
    assert len({name for name, _, _ in ROWS}) == len({pattern for _, pattern, _ in ROWS}) == len(ROWS)
    assert {number for _, _, number in ROWS} == set(range(1, 1 + max(number for _, _, number in ROWS)))
    with pytest.raises(ValueError, match=f"from 0 to {max(number for _, _, number in ROWS)}"):
        scan("a", 1 + max(number for _, _, number in ROWS))


@pytest.mark.parametrize(("name", "pattern", "number"), ROWS)
def test_a_row_is_all_that_a_pattern_needs(name: str, pattern: str, number: int) -> None:
    text = "It's 1234 о́чень ГОРДЫЙ, I'LL\r\n\n  中文かな12，x!/\n\t_y² " + adversarial(11, 2000)
    matched = [len(text[:end].encode()) for match in regex.finditer(pattern, text) for end in match.span()]
    ends = sorted({0, len(text.encode()), *matched})[1:]  # what no match covers is a pretoken too
    assert all(scan(text, number, isa).tolist() == ends for isa in isas())
    assert patterns.resolve(name) == pattern
    assert patterns.SCANNERS[pattern] == number
    assert pattern in patterns.CUTTABLE
    made = tokkit.train(iter([text]), vocab_size=300, pattern=name)
    assert made.split_engine == "scanner"
    read_back = tokenizer_json.read(tokenizer_json.write(made.definition))  # it has one text for "gpt2" and "r50k"
    assert patterns.SCANNERS[read_back.pretokenizer.pattern] == number


@pytest.mark.parametrize("command", ["train", "inspect"])
def test_help_lists_the_names(command: str) -> None:
    told = " ".join(CliRunner().invoke(main, [command, "--help"]).output.split())
    assert ", ".join(patterns.NAMES) in told


def test_no_other_source_knows_a_family() -> None:
    ids = re.findall(r"^TK_FAMILY\((\w+), ", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(ids) == len({number for _, _, number in ROWS})
    named = re.compile(rf"(?:TK_SCAN|family|scan|blocks)_(?:{'|'.join(ids)})\b", re.IGNORECASE)
    assert not [path for path in sources(".c", ".h", ".pyx", ".pxd") if named.search(path.read_text("utf-8"))]
    texts = [*patterns.NAMES.values(), *(text for _, text, _ in split_families.in_files())]
    starts = {text.removeprefix("(?V1)")[:56] for text in texts if len(text) >= 56}
    assert not [path for path in sources(".py") if any(start in path.read_text("utf-8") for start in starts)]
