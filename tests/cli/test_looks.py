"""What count, inspect, compare, bench, info and completion print."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tokkit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def other(run) -> str:
    tokkit.train(iter(["low lower lowest café"]), vocab_size=258).save("other.json")
    return "other.json"


def test_count_prints_tokens_of_each_file_and_of_all(run, tokenizer) -> None:
    tok = tokkit.load(tokenizer)
    Path("a.txt").write_text("low lower\n")
    Path("b.txt").write_text("")
    n = tok.count("low lower\n")
    assert run("count", tokenizer, "a.txt", "b.txt").stdout.split() == [str(n), "a.txt", "0", "b.txt", str(n), "total"]
    assert run("count", tokenizer, input="low lower\n").stdout == f"{n}\n"
    found = json.loads(run("count", tokenizer, "a.txt", "--json").stdout)
    assert found == {"files": [{"file": "a.txt", "tokens": n}], "total": n}


def test_count_answers_no_where_a_file_is_over_the_limit(run, tokenizer) -> None:
    Path("a.txt").write_text("low lower\n")
    n = tokkit.load(tokenizer).count("low lower\n")
    assert run("count", tokenizer, "a.txt", "--limit", n).exit_code == 0
    out = run("count", tokenizer, "a.txt", "--limit", n - 1)
    assert out.exit_code == 1
    assert "a.txt" in out.stderr
    assert out.stdout == f"{n}  a.txt\n"


def test_inspect_tells_what_a_tokenizer_is(run, tokenizer) -> None:
    out = run("inspect", tokenizer, "--sample", "low café").stdout
    for said in ("300", "gpt2", "scanner", "<|end|>=0", "longest tokens", "l+o", "␣caf", "3-7"):
        assert said in out
    about = json.loads(run("inspect", tokenizer, "--sample", "low 🙂", "--json").stdout)
    assert about["tokens"] == 300
    assert about["fingerprint"] == tokkit.load(tokenizer).fingerprint()
    assert [piece["id"] for piece in about["sample"]] == tokkit.load(tokenizer).encode("low 🙂")


def test_inspect_names_the_engine_of_a_pattern_of_ones_own(run) -> None:
    tokkit.train(iter(["low lower"]), vocab_size=258, pattern=r"\p{L}+|\P{L}+").save("own.json")
    out = run("inspect", "own.json").stdout
    assert "compiled" in out
    assert r"\p{L}+|\P{L}+" in out
    tokkit.train(iter(["low lower"]), vocab_size=258, pattern=r"\p{L}+(?=\. )|\p{L}|\P{L}").save("other.json")
    out = run("inspect", "other.json").stdout
    assert "the regex package, slowly (a look-ahead of more than one character)" in out


def test_inspect_lists_all_tokens(run, tokenizer) -> None:
    lines = run("inspect", tokenizer, "--tokens").stdout.split("\n")[:-1]
    assert len(lines) == 300
    assert lines[0] == "0\t<|end|>"
    tokens = json.loads(run("inspect", tokenizer, "--tokens", "--json").stdout)
    assert {t["id"]: bytes.fromhex(t["bytes"]) for t in tokens} == {
        i: t for t, i in tokkit.load(tokenizer).vocab.items()
    }


def test_inspect_ends_long_lists_and_says_how_to_see_all(run) -> None:
    special = [f"<|{i}|>" for i in range(771)]
    tokkit.train(iter(["low lower"]), vocab_size=1100, special_tokens=special).save("many.json")
    out = run("inspect", "many.json").stdout
    line = next(line for line in out.split("\n") if line.startswith("special tokens"))
    assert line.endswith("<|11|>=11  … and 759 more (--all shows them)")
    assert "<|12|>" not in out
    assert "<|770|>=770\n" in run("inspect", "many.json", "--all").stdout
    assert len(json.loads(run("inspect", "many.json", "--json").stdout)["special_tokens"]) == 771


@pytest.mark.parametrize(("model", "called"), [("bpe", "BPE"), ("hybrid", "BPE without merges"), ("bbpe", "BPE")])
def test_models_are_called_what_a_tokenizer_json_calls_them(run, model: str, called: str) -> None:
    tok = tokkit.train(iter(["low lower"]), model=model, vocab_size=300)
    tok.save("of.json")
    assert repr(tok).startswith("<Tokenizer: BPE, ")
    out = run("inspect", "of.json").stdout
    assert called in out
    assert "CharBPE" not in out
    if model != "bbpe":
        with pytest.raises(tokkit.TokkitError, match="BPE over characters"):
            tok.save("of.tiktoken")


def test_compare_counts_and_shows_where_two_tokenizers_part(run, tokenizer, other) -> None:
    Path("a.txt").write_text("x y\nlower café\n")
    found = json.loads(run("compare", tokenizer, other, "--json", "--", "a.txt").stdout)
    a, b = tokkit.load(tokenizer), tokkit.load(other)
    text = "x y\nlower café\n"
    assert found["total"]["bytes"] == len(text.encode())
    assert found["total"]["words"] == 4
    tokens = found["total"]["tokens"]
    assert (tokens[tokenizer]["tokens"], tokens["other.json"]["tokens"]) == (a.count(text), b.count(text))
    assert tokens["other.json"]["compression"] == round(a.count(text) / b.count(text), 3)
    place = found["first_differences"]["other.json"]
    assert (place["file"], place["line"]) == ("a.txt", 2)
    pieces = place["tokens"]
    assert "".join(pieces[tokenizer]) == "".join(pieces["other.json"])
    assert pieces[tokenizer] != pieces["other.json"]


def test_compare_prints_tables_and_takes_files_by_option(run, tokenizer, other) -> None:
    Path("a.txt").write_text("lower\n")
    Path("b.txt").write_text("lowest café\n")
    out = run("compare", tokenizer, other, "--file", "a.txt", "--file", "b.txt")
    assert out.exit_code == 0
    for said in (
        "a.txt: 6 bytes, 1 word, 1 text (each file, or record, is one text)\n",
        "all files: 19 bytes, 3 words, 2 texts",
        "tokens/word",
        "first difference of other.json",
    ):
        assert said in out.stdout


def test_compare_says_where_there_is_no_difference(run, tokenizer) -> None:
    Path("same.json").write_bytes(Path(tokenizer).read_bytes())
    Path("a.txt").write_text("lower\n")
    said = run("compare", tokenizer, "same.json", "--", "a.txt").stdout
    assert "same.json splits everything as the first does" in said


def test_compare_finds_the_next_common_end_however_far_it_is() -> None:
    from tokkit.cli.comparison import _first_common

    rng = np.random.default_rng(0)
    for length, ceiling in ((0, 10), (5, 10), (300, 100_000), (5000, 1_000_000)):
        a, b = (np.unique(rng.integers(0, ceiling, length)) for _ in range(2))
        common = np.intersect1d(a, b)
        assert _first_common(a, b) == (common[0] if len(common) else None)
    assert _first_common(np.arange(0, 9999, 2), np.arange(1, 9999, 2)) is None
    assert _first_common(np.append(np.arange(0, 9998, 2), 9999), np.array([9999])) == 9999


def test_compare_says_how_files_are_given(run, tokenizer) -> None:
    Path("a.txt").write_text("no tokenizer\n")
    out = run("compare", tokenizer, "a.txt")
    assert out.exit_code == 1
    assert "files to compare on are named after --" in out.stderr
    Path("broken.json").write_text("{")
    assert "are named after" not in run("compare", tokenizer, "broken.json").stderr


def test_one_thing_is_not_called_several(run, tokenizer) -> None:
    Path("a.txt").write_text("e")
    assert "a.txt: 1 byte, 1 word, 1 text (each file" in run("compare", tokenizer, "--", "a.txt").stdout
    assert run("inspect", tokenizer, "--sample", "e").stdout.endswith("\n1 token\n")
    Path("b.txt").write_text("e!")
    assert run("count", tokenizer, "b.txt", "--limit", 1).stderr == "tokkit: b.txt has more than 1 token\n"


def test_inspect_has_no_name_where_there_is_none(run, tokenizer) -> None:
    assert json.loads(run("inspect", tokenizer, "--json").stdout)["name"] is None
    assert "name            -\n" in run("inspect", tokenizer).stdout


def test_compare_uses_the_bundled_corpus_where_no_file_is_given(run, tokenizer) -> None:
    out = run("compare", tokenizer)
    assert out.exit_code == 0
    assert "bundled corpus" in out.stderr
    assert "english.txt" in out.stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_bench_checks_ids_and_names_who_is_absent(run, tokenizer, monkeypatch, threads) -> None:
    pytest.importorskip("tiktoken")
    monkeypatch.setitem(__import__("sys").modules, "gigatoken", None)
    Path("a.txt").write_text("low lower lowest café\n" * 200)
    args = ("bench", tokenizer, "a.txt", "--against", "tiktoken,gigatoken,quicktok", "--runs", 1, "--threads", threads)
    found = json.loads(run(*args, "--json").stdout)
    assert [encoder["name"] for encoder in found["encoders"]] == ["tokkit", "tiktoken"]
    assert all(encoder["cold_mb_s"] > 0 for encoder in found["encoders"])
    assert found["encoders"][1]["tokkit_warm_ratio"] > 0
    assert "not installed" in found["skipped"]["gigatoken"]
    assert "quicktok" in found["skipped"]
    assert (found["conditions"]["threads"], found["conditions"]["bytes"]) == (threads, 23 * 200)
    out = run(*args).stdout
    assert "gigatoken: not measured: not installed" in out
    assert "encode_ordinary" in out


def test_bench_gives_no_figure_for_a_rival_whose_ids_differ(run, tokenizer, monkeypatch) -> None:
    from tokkit.cli import rivals

    def wrong(tok: tokkit.Tokenizer, threads: int) -> rivals.Contender:
        return rivals.Contender("tiktoken", "0", "encode", lambda: lambda texts: [[1, 2, 3] for _ in texts])

    monkeypatch.setitem(rivals.RIVALS, "tiktoken", wrong)
    Path("a.txt").write_text("low lower\n")
    found = json.loads(run("bench", tokenizer, "a.txt", "--against", "tiktoken", "--runs", 1, "--json").stdout)
    assert "ids differ" in found["skipped"]["tiktoken"]
    assert run("bench", tokenizer, "a.txt", "--against", "nobody").exit_code == 2


def test_bench_measures_the_start_of_a_large_file_and_says_so(run, tokenizer) -> None:
    Path("a.txt").write_text("low lower lowest café\n" * 200)
    args = ("bench", tokenizer, "a.txt", "--against", "none", "--runs", 1, "--mb", 0.001)
    conditions = json.loads(run(*args, "--json").stdout)["conditions"]
    assert conditions["bytes"] == 1000 // 23 * 23, "whole lines"
    assert conditions["text"] == "the first 0.001 MB of a.txt"
    out = run(*args).stdout
    assert "the first 0.001 MB of a.txt: 989 bytes, 344 tokens (each file, or record, is one text)\n" in out
    assert "\n1 document, cut after line feeds: all 344 ids were found equal" in out
    Path("line.txt").write_text("é" * 1000)
    args = ("bench", tokenizer, "line.txt", "--against", "none", "--runs", 1, "--mb", 0.000_999, "--json")
    assert json.loads(run(*args).stdout)["conditions"]["bytes"] == 998, "whole characters"
    assert run("bench", tokenizer, "a.txt", "--mb", 0).exit_code == 2


def test_bench_measures_the_stages_of_encoding_where_asked(run, tokenizer) -> None:
    from tokkit._core.text import isas
    from tokkit.cli.stage_timing import STAGES

    Path("a.txt").write_text("low lower lowest café\n" * 2000)
    args = ("bench", tokenizer, "a.txt", "--against", "none", "--runs", 1)
    found = json.loads(run(*args, "--stages", "--json").stdout)
    assert found["stages"]["ghz"] > 0
    assert found["stages"]["limit"]["warm"] == [4.3, 6.3]
    assert [row["isa"] for row in found["stages"]["isas"]] == isas()
    for row in found["stages"]["isas"]:
        assert row["ids"] == found["tokens"]
        assert min(row[name] for name in ("scan", "warm", "cold", "warm_mb_s", "cold_mb_s")) > 0
        assert abs(sum(row[name] for name in STAGES) - row["warm"]) < 0.05, "stages add up"
    out = run(*args, "--stages").stdout
    assert "GHz (measured)" in out
    assert "limit of exact cl100k" in out
    assert all(f"\n{isa} " in out for isa in isas())
    assert "GHz" not in run(*args).stdout
    assert "stages" not in json.loads(run(*args, "--json").stdout)


def test_bench_gives_a_slow_encoder_one_pass_of_either_kind_and_says_so(run, tokenizer, monkeypatch) -> None:
    from tokkit.cli import measure

    ticks: list[int] = []
    builds = {"a": lambda: lambda texts: None}
    assert measure.time_encoders(builds, [b"low"], 5, lambda: ticks.append(1)).popitem()[1].warm_passes == 5
    slow = measure.time_encoders(builds, [b"low"], 5, lambda: ticks.append(1), seconds=0)["a"]
    assert (slow.cold_passes, slow.warm_passes) == (1, 1)
    assert len(ticks) == 2 * (3 + 5)
    Path("a.txt").write_text("low\n")
    out = run("bench", tokenizer, "a.txt", "--against", "none", "--runs", 4, "--progress", "json")
    assert "3+4" in out.stdout
    assert json.loads(out.stderr.splitlines()[0])["stage"] == "check", "not silent while the rivals are loaded"


def test_info_tells_versions_and_the_machine(run) -> None:
    about = json.loads(run("info", "--json").stdout)
    assert about["tokkit"] == tokkit.__version__
    assert about["packages"]["numpy"]
    assert about["threads"] >= 1
    assert "unicode tables" in run("info").stdout


def test_info_names_the_unicode_version_of_the_tables() -> None:
    from tokkit.cli.info import UNICODE_TABLES

    tables = ROOT / "tokkit" / "_core" / "csrc" / "text" / "unicode_tables.h"
    if not tables.is_file():
        pytest.skip("needs the C sources, which a checkout and the sdist have")
    assert UNICODE_TABLES in tables.read_text(encoding="utf-8")[:2000]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_of_the_shell(run, shell) -> None:
    out = run("completion", shell)
    assert out.exit_code == 0
    assert "_TOKKIT_COMPLETE" in out.stdout
    assert run("completion", "tcsh").exit_code == 2


def test_inspect_tells_what_a_sentencepiece_model_is(run, tmp_path) -> None:
    sentencepiece_zoo = pytest.importorskip("sentencepiece_zoo")
    (tmp_path / "x.model").write_bytes(sentencepiece_zoo.model("bpe-bytes"))
    out = run("inspect", str(tmp_path / "x.model"), "--sample", "low  café").stdout
    assert "SentencePiece BPE" in out
    assert "rules of the model, nmt_nfkc: a charsmap of" in out
    assert "▁low▁café" in out
    assert "trainer_spec" not in out  # which says where it was trained
    assert repr(tokkit.load(tmp_path / "x.model")).startswith("<Tokenizer: SentencePiece BPE, ")
