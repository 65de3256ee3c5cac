"""benchmarks.bench_calls compares results before it measures, knows its floors, and says which rows it left out."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit

# The benchmarks are not installed; tokkit is what the other tests run (benchmarks/__init__.py).
sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.calls import left_out, libraries
from benchmarks.calls.equal import by_distribution, difference
from benchmarks.calls.measure import Found, measure
from benchmarks.calls.rows import USERS, Group, Row, read_texts

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TOKKIT_SHARED_DATA") or ROOT.parent / "shared" / "data")
Span = namedtuple("Span", ["start", "end"])


def group(*rows: Row) -> Group:
    """Return rows that are run on the number 2 (ours) and the number 3 (theirs)."""
    return Group("numbers", "", rows, make=lambda ours: 2 if ours else 3, inputs=lambda side: [side] * 5)


def bench(*options: str, data: Path) -> subprocess.CompletedProcess[str]:
    path = [str(Path(tokkit.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "TOKKIT_SHARED_DATA": str(data)}
    environment.pop("PYTHONSAFEPATH", None)
    command = [sys.executable, "-m", "benchmarks.bench_calls", "--rounds", "1", "--sentences", "20", "--documents", "2"]
    return subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([1, (2, 3)], [1, (2, 3)]),
        (Span(1, 2), (1, 2)),
        ({"a": np.arange(3)}, {"a": np.arange(3)}),
        ([np.arange(3)], [np.arange(3)]),
        (1.0, 1.000001),
        (np.float32(0.5), 0.5),
        (type("Found", (list,), {})([1]), [1]),
    ],
)
def test_equal_results_have_no_difference(ours: Any, theirs: Any) -> None:
    assert difference(ours, theirs) == ""


@pytest.mark.parametrize(
    ("ours", "theirs", "where"),
    [
        ([1, (2, 3)], [1, (2, 4)], "[1][1]: 3, not 4"),
        ([1], (1,), ": a list, not a tuple"),
        ([1, 2], [1], ": 2 elements, not 1"),
        ({"a": 1}, {"b": 1}, ": keys ['a', 'b'] on one side only"),
        (np.arange(3), np.arange(3, dtype=np.int32), ": int64, not int32"),
        ([np.arange(3)], [np.arange(1, 4)], "[0]: other numbers"),
        (np.zeros((1, 2)), np.zeros((2, 1)), ": shape (1, 2), not (2, 1)"),
        (1.0, 1.01, ": 1.0, not 1.01"),
        ("a", None, ": a str, not a NoneType"),
    ],
)
def test_a_difference_says_where_it_is(ours: Any, theirs: Any, where: str) -> None:
    assert difference(ours, theirs) == where


def test_samplers_are_compared_by_their_distributions() -> None:
    def draw(side: np.random.Generator) -> int:
        return int(side.integers(4))

    def loaded(side: np.random.Generator) -> int:
        return draw(side) or draw(side)

    one, other = np.random.default_rng(1), np.random.default_rng(2)
    assert by_distribution(draw)(one, other) == ""
    compare = by_distribution(lambda side: loaded(side) if side is one else draw(side))
    assert " times, not " in compare(one, other)


def test_a_row_whose_results_differ_has_no_ratio() -> None:
    row = Row("itself", lambda side, given: side)
    found = measure(group(row), row, 1)
    assert (found.why_not, found.times, found.is_met) == ("DIFFERENT: 2, not 3", 0.0, False)


def test_a_call_that_raises_is_a_row_that_fails() -> None:
    row = Row("nothing", lambda side, given: given[9])
    assert measure(group(row), row, 1).why_not == "FAILS: IndexError: list index out of range"


def test_a_row_makes_the_calls_of_both_sides_with_the_inputs_of_the_original() -> None:
    seen: list[tuple[int, list[int]]] = []
    row = Row("both", lambda side, given: seen.append((side, given)), before=lambda side, given: side * 10)
    found = measure(group(row), row, 2)
    assert found.why_not == ""
    assert {side for side, _ in seen} == {20, 30}
    assert all(given == [3] * 5 for _, given in seen)


@pytest.mark.parametrize(
    ("row", "ours", "theirs", "met"),
    [
        (Row("a", id), 1.0, 1.17, True),  # within 3 %
        (Row("a", id), 1.0, 1.15, False),
        (Row("a", id, floor=8), 1.0, 7.0, False),
        (Row("a", id, floor=8), 1.0, 8.0, True),
        (Row("a", id), 3.9e-7, 3e-7, True),  # a tenth of a microsecond more
        (Row("a", id), 4.1e-7, 3e-7, False),
        (Row("a", id, apart=USERS), 9.0, 1.0, True),
    ],
)
def test_a_row_keeps_its_floor_within_three_percent_or_a_tenth_of_a_microsecond(
    row: Row, ours: float, theirs: float, met: bool
) -> None:
    assert Found(group(row), row, ours, theirs, theirs / ours).is_met is met


def test_names_of_rows_are_told_apart() -> None:
    for one in libraries.groups(read_texts("bundled", 5, 1), list(libraries.FAMILIES)):
        names = [row.name for row in one.rows]
        assert len(names) == len({*names}), one.library
        assert all(row.floor >= 1 for row in one.rows)


CLASSES = {
    "tokenizers": (
        "tokkit.compat.tokenizers",
        "tokenizers",
        "Tokenizer Encoding AddedToken NormalizedString PreTokenizedString Token normalizers pre_tokenizers decoders "
        "processors models trainers implementations",
    ),
    "transformers": ("tokkit.compat.transformers", "transformers", "PreTrainedTokenizerFast BatchEncoding"),
    "sentencepiece": (
        "tokkit.compat.sentencepiece",
        "sentencepiece",
        "SentencePieceProcessor SentencePieceNormalizer SentencePieceTrainer",
    ),
    "tiktoken": ("tokkit.compat.tiktoken", "tiktoken", "Encoding"),
    "gensim": ("tokkit.embeddings", "gensim.models", "KeyedVectors Word2Vec FastText"),
}
"""Library → our module, the original's, and the classes of which every name that both have needs a row or a reason."""


@pytest.mark.parametrize("library", CLASSES)
def test_every_public_name_has_a_row_or_a_reason(library: str) -> None:
    ours, theirs, classes = CLASSES[library]
    original = pytest.importorskip(theirs)
    source = "".join(path.read_text() for path in (ROOT / "benchmarks" / "calls").glob(f"of_{library}*.py"))
    words = {*re.findall(r"\w+", source)}
    without = set()
    for name in classes.split():
        mine, wanted = (dir(getattr(module, name)) for module in (importlib.import_module(ours), original))
        # sentencepiece has each name twice: encode_as_ids and EncodeAsIds.
        twice = {one for one in mine if library == "sentencepiece" and one[0].isupper()}
        public = {one for one in {*mine} & {*wanted} - twice if not one.startswith("_")}
        without |= {f"{name}.{one}" for one in public - words - {name}}
    assert without == {*left_out.REASONS[library]}


def test_rows_that_depend_on_no_vocabulary_are_measured_once() -> None:
    made = list(libraries.groups(read_texts("bundled", 5, 1), ["t5", "bert"]))
    first, second = ([row for row in one.rows if row.once] for one in made if one.library == "tokenizers")
    assert first
    assert not second


def test_vocabularies_that_are_absent_are_skipped_with_the_reason(tmp_path: Path) -> None:
    done = bench("--families", "bert", "--only", "^tokenizers", data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tokenizers bert: skipped, " in done.stderr
    assert str(tmp_path) in done.stderr or "not installed" in done.stderr


def test_a_small_run_compares_and_measures(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    if not (SHARED / "vocabs" / "bert-base-uncased" / "tokenizer.json").is_file():
        pytest.skip("needs the shared vocabularies")
    path = tmp_path / "calls.json"
    done = bench("--families", "bert", "--only", "bert (encode a sent|get_vocab$)", "--json", str(path), data=SHARED)
    assert done.returncode in (0, 1), done.stderr  # 1: a floor that a busy machine does not keep
    found = json.loads(path.read_text(encoding="utf-8"))
    assert {"versions", "CPU", "texts", "seconds", "rivals"} <= {*found["conditions"]}
    rows = {row["call"]: row for table in found["tables"] for row in table["rows"] if "call" in row}
    for name in ("encode a sentence", "encode a sentence, then ids", "get_vocab"):
        assert float(rows[name]["×"]) > 0, rows[name]
    assert found["tables"][-1]["rows"][-1]["library"] == "all"
