"""`tokkit count`: numbers of tokens, limits and prices."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tokkit
from tokkit.cli.costs import Price, Prices

if TYPE_CHECKING:
    from conftest import Run

TABLE = """\
currency = "USD"

[gpt-4o]
input = 2.50
output = 10.00
window = 1000

["gpt-4o-mini"]
input = 0.15
output = 0.60

[old]
input = 10
"""


@pytest.fixture
def texts(run: Run) -> dict[str, str]:
    """Files in the folder of the run: name → text."""
    found = {"a.txt": "low lower lowest\nnewer 東京\n", "b.txt": "wider", "empty.txt": ""}
    for name, text in found.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("prices.toml").write_text(TABLE, encoding="utf-8")
    return found


def test_counts_are_those_of_the_library_and_stand_as_in_wc(run: Run, texts: dict[str, str], tokenizer: str) -> None:
    tok = tokkit.load(tokenizer)
    counts = {name: tok.count(text) for name, text in texts.items()}
    out = run("count", tokenizer, *texts)
    width = len(str(sum(counts.values())))
    rows = [f"{n:>{width}}  {name}" for name, n in [*counts.items(), ("total", sum(counts.values()))]]
    assert out.stdout.splitlines() == rows
    assert run("count", tokenizer, input=texts["a.txt"]).stdout == f"{counts['a.txt']}\n"
    assert run("count", tokenizer, "a.txt").stdout == f"{counts['a.txt']}  a.txt\n"


def test_lines_words_and_bytes_are_those_of_wc(run: Run, texts: dict[str, str], tokenizer: str) -> None:
    out = run("count", tokenizer, "-l", "-w", "-c", *texts)
    rows = [line.split() for line in out.stdout.splitlines()]
    for row, (name, text) in zip(rows, texts.items(), strict=False):
        lines, words, size = text.count("\n"), len(text.split()), len(text.encode())
        assert row == [str(lines), str(words), str(size), str(tokkit.load(tokenizer).count(text)), name]
    assert rows[-1][-1] == "total"
    about = json.loads(run("count", tokenizer, "--lines", "--json", *texts).stdout)
    assert about["files"][0]["lines"] == 2
    assert about["totals"]["lines"] == 2
    assert about["total"] == about["totals"]["tokens"]


def test_all_ways_to_read_a_file_count_the_same(run: Run, tokenizer: str, bundled: str) -> None:
    Path("long.txt").write_text(bundled * 8, encoding="utf-8")
    Path("marked.txt").write_bytes(b"\xef\xbb\xbflow lower\r\n")
    for name in ("long.txt", "marked.txt"):
        text = Path(name).read_bytes().decode("utf-8-sig")
        wanted = tokkit.load(tokenizer).count(text)
        for more in ((), ("--threads", "2"), ("--lines",), ("--input-errors", "replace")):
            assert json.loads(run("count", tokenizer, name, "--json", *more).stdout)["total"] == wanted
    Path("r.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    records = tokkit.load(tokenizer).count("low") + tokkit.load(tokenizer).count("lower")
    assert run("count", tokenizer, "r.jsonl").stdout.split()[0] == str(records)


def test_a_limit_is_an_exit_code(run: Run, texts: dict[str, str], tokenizer: str) -> None:
    n = tokkit.load(tokenizer).count(texts["a.txt"])
    assert run("count", tokenizer, "a.txt", "--limit", n).exit_code == 0
    out = run("count", tokenizer, *texts, "--limit", n - 1)
    assert out.exit_code == 1
    assert f"a.txt has more than {n - 1} tokens" in out.stderr
    assert "b.txt" not in out.stderr
    about = json.loads(run("count", tokenizer, *texts, "--limit", n - 1, "--json").stdout)
    assert about["over"] == ["a.txt"]


def test_costs_come_from_the_table(run: Run, texts: dict[str, str], tokenizer: str) -> None:
    n = tokkit.load(tokenizer).count(texts["a.txt"])
    args = ("count", tokenizer, "a.txt", "--prices", "prices.toml", "--price")
    out = run(*args, "gpt-4o", "--output-tokens", "400")
    amount = (Decimal("2.50") * n + Decimal("10.00") * 400) / 1_000_000
    assert f"cost of gpt-4o: {amount.normalize():f} USD" in out.stdout
    assert f"({n} input tokens at 2.50 per million, 400 output tokens at 10.00)" in out.stdout
    about = json.loads(run(*args, "old", "--json").stdout)
    wanted = {"model": "old", "input_tokens": n, "output_tokens": 0, "currency": "USD"}
    assert about["cost"] == wanted | {"amount": f"{(Decimal(10) * n / 1_000_000).normalize():f}"}
    assert "over" not in about


def test_a_window_of_the_table_is_a_limit(run: Run, texts: dict[str, str], tokenizer: str) -> None:
    args = ("count", tokenizer, "a.txt", "--prices", "prices.toml", "--price", "gpt-4o")
    assert run(*args, "--output-tokens", "900").exit_code == 0
    out = run(*args, "--output-tokens", "995")
    assert out.exit_code == 1
    assert "a.txt has more than 5 tokens, which is the room in the window of gpt-4o" in out.stderr


def test_a_model_that_the_table_lacks_is_an_error_with_its_keys(
    run: Run, texts: dict[str, str], tokenizer: str
) -> None:
    out = run("count", tokenizer, "a.txt", "--prices", "prices.toml", "--price", "gpt-5")
    assert out.exit_code == 1
    assert "no prices for 'gpt-5'; it has gpt-4o, gpt-4o-mini, old" in out.stderr
    out = run("count", tokenizer, "a.txt", "--prices", "prices.toml", "--price", "old", "--output-tokens", "2")
    assert out.exit_code == 1
    assert "[old]: 2 output tokens have no price" in out.stderr
    assert run("count", tokenizer, "a.txt", "--prices", "prices.toml").exit_code == 1
    out = run("count", tokenizer, "a.txt", "--price", "gpt-4o")
    assert out.exit_code == 2
    assert "give --prices FILE" in out.stderr
    assert run("count", tokenizer, "a.txt", "--prices", "none.toml").exit_code == 1


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[a", "is not TOML"),
        ("a = 5", "a is not a section"),
        ("[a]\noutput = 5", "no price for input"),
        ('[a]\ninput = "5"', "input is '5'"),
        ("[a]\ninput = -1", "input is -1"),
        ("[a]\ninput = nan", "at least 0"),
        ("[a]\ninput = inf", "at least 0"),
        ("[a]\ninput = true", "input is True"),
        ("[a]\ninput = 1\nwindow = 1.5", "window is"),
        ("[a]\ninput = 1\nprice = 2", "unknown key 'price'"),
        ("currency = 5", "currency is 5"),
        ("\xff", "is not TOML"),
    ],
)
def test_a_table_that_is_wrong_says_where(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(table.encode("latin-1"))
    with pytest.raises(tokkit.FormatError, match=said):
        Prices.read(path)


def test_the_worked_prices_are_exact(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(TABLE, encoding="utf-8")
    prices = Prices.read(tmp_path / "prices.toml")
    assert prices.of("gpt-4o").cost(1_000_000, 1_000_000) == Decimal("12.50")
    assert prices.of("gpt-4o-mini").cost(1234, 567) == Decimal("0.0005253")
    assert prices.of("old").cost(3) == Decimal("0.00003")
    with pytest.raises(tokkit.OptionError, match="2 output tokens have no price"):
        prices.of("old").cost(3, 2)
    assert Price(Decimal("0.1")).cost(0) == 0
    for n in (-1, 1.5, True, None):
        with pytest.raises(tokkit.OptionError, match="at least 0"):
            prices.of("old").cost(n)
