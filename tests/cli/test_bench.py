"""`tokkit bench --train`, `--memory` and `--plan`: measurements in separate processes, and the plan of a large run."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import pytest

import tokkit
from tokkit.cli import bench, bench_processes, measure, plan, rivals
from tokkit.errors import OptionError

RATES = plan.Rates(
    file_bytes=10**8, text_bytes=2 * 10**8, ids=5 * 10**7, id_bytes=2, encode_seconds=1.0, count_seconds=2.0,
    words=10**6, half_words=707_107, count_file_bytes=10**7, merge_words_s=5e6,
)  # fmt: skip


@pytest.fixture(autouse=True)
def corpus(run) -> None:
    Path("a.txt").write_text("low lower lowest café\nnewer wider newest\n" * 400, encoding="utf-8")


def test_training_and_memory_are_measured_in_processes(run, tokenizer) -> None:
    args = ("bench", tokenizer, "a.txt", "--against", "none", "--runs", 1, "--train", "--memory", "--vocab-size", 300)
    done = run(*args, "--json")
    found = json.loads(done.stdout)
    assert [row["model"] for row in found["training"]["rows"]] == [said for _, _, said in bench_processes.TRAINERS]
    assert all(row["name"] == "tokkit" for row in found["training"]["rows"])
    assert found["training"]["skipped"] == found["memory"]["skipped"] == {}
    (row,) = found["memory"]["rows"]
    assert 1e6 < found["memory"]["python"] < row["load_peak"] <= row["encode_peak"] * 1.1
    bench_processes.show(found)


def test_a_rival_without_figures_is_named_with_the_reason(monkeypatch) -> None:
    learnt = {"tokkit": "a", "tokenizers": "b", "sentencepiece": "b"}

    def made_up(job, runs, tick):
        if job["what"] == "train":
            return {"seconds": 1.0, "peak": 10, "tokens": 5, "digest": learnt[job["who"]]}
        return {"seconds": 1.0, "peak": 10, "digest": job["who"]}

    monkeypatch.setattr(bench_processes, "_times", made_up)
    monkeypatch.setattr(bench_processes, "_version", lambda name: "1")
    others = ["tokenizers", "sentencepiece"]
    found = bench_processes.training("low\n", others, vocab_size=300, threads=1, runs=1, tick=lambda: None)
    assert found["skipped"] == {"byte-level BPE, tokenizers": "it trained a different vocabulary"}
    assert [row["same_vocabulary"] for row in found["rows"]] == [None, None, False, None, False]
    tok = tokkit.train(iter(["low lower"]), vocab_size=260)
    of_memory = bench_processes.memory(tok, "low\n", others, runs=1, tick=lambda: None)
    assert of_memory["skipped"] == {"tokenizers": "ids differ"}
    monkeypatch.undo()
    with pytest.raises(bench_processes.Failed, match="not installed: pip install no-such-library"):
        bench_processes._version("no-such-library")
    with pytest.raises(bench_processes.Failed, match="KeyError"):
        bench_processes._run({"what": "train", "who": "tokkit"})


def test_the_rivals_of_the_command_are_those_that_can_be_built() -> None:
    assert tuple(rivals.RIVALS) == bench.RIVALS
    assert {name for _, others, _ in bench_processes.TRAINERS for name in others} <= {*bench.NAMES}


@pytest.mark.parity
@pytest.mark.parametrize("threads", [1, 2])
def test_toktok_gives_the_ids_of_an_encoding_that_it_knows(shared: Path, threads: int) -> None:
    pytest.importorskip("toktok", reason="needs toktok-rs")
    tok = tokkit.load(shared / "vocabs" / "cl100k_base.tiktoken")
    same_ids(tok, rivals.toktok(tok, threads))
    with pytest.raises(rivals.Unavailable, match="only built-in vocabularies: cl100k_base"):
        rivals.toktok(tokkit.train(iter(["low lower"]), vocab_size=260), threads)


@pytest.mark.parity
@pytest.mark.parametrize("threads", [1, 2])
def test_nanotoken_gives_the_ids_of_a_wordpiece_file(shared: Path, threads: int) -> None:
    pytest.importorskip("nanotoken")
    tok = tokkit.load(shared / "vocabs" / "bert-base-uncased" / "tokenizer.json")
    same_ids(tok, rivals.nanotoken(tok, threads))


@pytest.mark.parity
@pytest.mark.parametrize("threads", [1, 2])
def test_tokenizers_gives_the_ids_whatever_its_version(shared: Path, threads: int) -> None:
    pytest.importorskip("tokenizers")
    tok = tokkit.load(shared / "vocabs" / "gpt2" / "tokenizer.json")
    same_ids(tok, rivals.tokenizers(tok, threads))


def same_ids(tok: tokkit.Tokenizer, rival: rivals.Contender) -> None:
    texts = ["low lower lowest café\n", "", "Hello, world!", "東京 12345"]
    found = measure.rows(rival.build()(texts))
    assert measure.first_difference([tok.encode_to_numpy(text) for text in texts], found) is None


@pytest.mark.parity
def test_gigabpe_trains_in_a_process_of_its_own() -> None:
    pytest.importorskip("gigabpe")
    job = {"what": "train", "model": "bbpe", "text": "a.txt", "vocab_size": 40, "threads": 1, "who": "gigabpe"}
    found = bench_processes._run(job)
    assert 20 < found["tokens"] <= 40
    assert found["peak"] > 1e6


def test_the_figures_are_drawn(run, tokenizer) -> None:
    pytest.importorskip("matplotlib")
    args = ("bench", tokenizer, "a.txt", "--against", "none", "--runs", 1, "--plot", "a.png")
    assert run(*args).exit_code == 0
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "exists" in run(*args).stderr
    assert run(*args, "--force").exit_code == 0


def test_sizes_are_read_as_people_write_them() -> None:
    assert [plan.size_of(text) for text in ("1TB", "10 tb", "500GB", "1.5M", "12", "2PB")] == [
        1e12, 1e13, 5e11, 1.5e6, 12.0, 2e15,
    ]  # fmt: skip
    for wrong in ("", "TB", "0GB", "1XB", "-1TB", "1 TB of text"):
        with pytest.raises(OptionError, match="it must be a size such as 500GB"):
            plan.size_of(wrong)


def test_a_plan_follows_its_formulas() -> None:
    assert math.isclose(RATES.growth, 0.5, abs_tol=1e-4)
    assert math.isclose(RATES.words_in(4e8), 2e6, rel_tol=1e-4)
    found = plan.planned(RATES, 1e12, 100, price=0.05)
    count, merge, encode = found["steps"]
    assert (found["shards"], found["ids"], found["text_bytes"]) == (1000, 5 * 10**11, 2e12)
    assert math.isclose(encode["hours"], 1e4 / 100 / 3600)
    assert math.isclose(count["core_hours"], 2e4 / 3600)
    assert encode["writes"] == 1e12
    leaves, last = 1000 * RATES.words_in(1e9), 100 * RATES.words_in(1e10)
    assert math.isclose(merge["hours"] * 3600, (leaves / 100 + last) / 5e6)
    assert merge["limit"] == "its last step, on one core"
    assert math.isclose(found["hours"], sum(step["hours"] for step in found["steps"]))
    assert math.isclose(found["cost"], 0.05 * 100 * found["hours"])
    slow = plan.planned(RATES, 1e12, 100, network=1e9)
    assert [step["limit"] for step in slow["steps"]] == ["network", merge["limit"], "network"]
    assert slow["steps"][2]["hours"] == 1e12 / 1e9 / 3600
    assert slow["cores_for_network"] == 10
    alone = plan.planned(RATES, 5e8, 64)
    assert (alone["shards"], alone["steps"][1]["hours"] > 0) == (1, False), "one shard has nothing to merge"


def test_a_plan_is_computed_from_a_shard_that_is_measured(run, tokenizer) -> None:
    lines = Path("a.txt").read_text(encoding="utf-8").splitlines()
    Path("a.jsonl").write_text("".join(json.dumps({"body": line}) + "\n" for line in lines))
    args = ("bench", tokenizer, "a.jsonl", "--field", "body", "--plan", "10GB")
    found = json.loads(run(*args, "--cores", 4, "--network", 100, "--price", 1, "--json").stdout)
    rates, made = found["rates"], found["plan"]
    tok = tokkit.load(tokenizer)
    assert rates["ids"] == sum(len(tok.encode(line)) for line in lines)
    assert rates["text_bytes"] == sum(len(line.encode()) for line in lines)
    assert rates["file_bytes"] == Path("a.jsonl").stat().st_size
    assert 0 <= rates["growth"] <= 1
    assert made["shards"] == 10
    assert made["cost"] > 0
    out = run(*args).stdout
    assert "10 GB in 10 shards on 1 core:" in out
    assert "limited by" in out


def test_a_plan_needs_one_file_with_text(run, tokenizer) -> None:
    assert "give its name" in run("bench", tokenizer, "--plan", "1TB").stderr
    Path("none.txt").write_text("")
    assert "none.txt has no text" in run("bench", tokenizer, "none.txt", "--plan", "1TB").stderr
    assert run("bench", tokenizer, "a.txt", "--plan", "much").exit_code != 0


def test_the_job_imports_nothing_of_tokkit_for_a_rival() -> None:
    source = Path(bench_processes.bench_job.__file__).read_text(encoding="utf-8")
    code = (
        source.partition("if __name__")[0]
        + "print([m for m in sys.modules if m.startswith('tokkit')], peak_bytes() > 0)"
    )
    done = subprocess.run([__import__("sys").executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"
