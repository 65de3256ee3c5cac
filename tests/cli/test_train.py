"""`tokkit train`: options, files and reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokkit

TEXT = "low lower lowest newer newest wider, the quick brown fox jumps over a lazy dog\n" * 50


@pytest.fixture
def corpus(run) -> str:
    Path("corpus.txt").write_text(TEXT)
    return "corpus.txt"


def test_without_input_it_trains_on_the_bundled_corpus_and_shows_a_round_trip(run) -> None:
    out = run("train")
    assert out.exit_code == 0
    assert len(tokkit.load("tokkit-demo.json").vocab) == 2000
    for said in (
        "2,000 tokens",
        "bytes per token",
        "first merges",
        "tokkit-demo.json",
        "round trip: exact",
        "try next",
    ):
        assert said in out.stdout
    assert "bundled corpus" in out.stderr
    assert run("train").exit_code == 0, "the demo may overwrite its own file"
    assert run("train", "-o", "mine.json", "--vocab-size", 300).exit_code == 0
    assert len(tokkit.load("mine.json").vocab) == 300


@pytest.mark.parametrize("model", ["bbpe", "unigram"])
def test_the_demo_replaces_nothing_but_what_it_would_write(run, model: str) -> None:
    name = "tokkit-demo.json" if model == "bbpe" else "tokkit-demo.model"
    assert run("train", "--model", model).exit_code == 0
    written = Path(name).read_bytes()
    assert run("train", "--model", model).exit_code == 0
    assert Path(name).read_bytes() == written
    for other in (b"my notes", b"", None):
        if other is None:
            tokkit.train({"ab": 2}, vocab_size=257).save("other.json")
            other = Path("other.json").read_bytes()
        Path(name).write_bytes(other)
        out = run("train", "--model", model)
        assert out.exit_code == 1
        assert f"{name} exists and is another tokenizer; overwrite it with --force" in out.stderr
        assert Path(name).read_bytes() == other
    assert run("train", "--model", model, "--force").exit_code == 0
    assert Path(name).read_bytes() == written


def test_the_commands_that_the_demo_names_next_do_run(run) -> None:
    out = run("train")
    assert run("inspect", "tokkit-demo.json", "--sample", "Your own sentence.").exit_code == 0
    ids = run("encode", "tokkit-demo.json", input="Hello, world!\n").stdout
    assert run("decode", "tokkit-demo.json", input=ids).stdout == "Hello, world!\n"
    assert "tokkit inspect tokkit-demo.json" in out.stdout


def test_the_file_is_the_tokenizer_that_the_library_trains(run, corpus) -> None:
    args = ("--vocab-size", 280, "--special-token", "<|a|>", "--special-token", "<|b|>", "--pattern", "cl100k")
    assert run("train", corpus, "-o", "tok.json", *args).exit_code == 0
    same = tokkit.train([corpus], vocab_size=280, special_tokens=["<|a|>", "<|b|>"], pattern="cl100k")
    assert tokkit.load("tok.json").fingerprint() == same.fingerprint()


def test_options_reach_the_trainer(run, corpus) -> None:
    out = run(
        "train", corpus, "-o", "a.json", "--max-token-length", 2, "--split", "none", "--min-frequency", 2, "--json"
    )
    assert out.exit_code == 0
    tok = tokkit.load("a.json")
    assert max(len(token) for token in tok.vocab) == 2
    assert tok.definition.pretokenizer.pattern is None


@pytest.mark.parametrize("sizes", [("270,280", "290"), ("270", "280,290"), ("270,280,290",)])
def test_several_sizes_give_files_with_the_size_in_their_names(run, corpus, sizes) -> None:
    out = run("train", corpus, "-o", "tok.json", *(arg for size in sizes for arg in ("--vocab-size", size)))
    assert out.exit_code == 0
    for size in (270, 280, 290):
        assert len(tokkit.load(f"tok-{size}.json").vocab) == size


def test_the_report_as_json_is_one_object(run, corpus) -> None:
    about = json.loads(run("train", corpus, "-o", "tok.json", "--vocab-size", 270, "--json").stdout)
    made = about["tokenizers"][0]
    assert made["vocab_size"] == 270
    assert made["file"] == "tok.json"
    assert len(made["first_merges"]) == 10
    assert made["first_merges"][0] in ("␣+l", "w+e", "e+r", "␣+t")
    assert made["bytes_per_token"] > 1
    assert made["fingerprint"] == tokkit.load("tok.json").fingerprint()


def test_a_corpus_too_small_for_the_size_says_the_size_reached(run, corpus) -> None:
    out = run("train", corpus, "-o", "tok.json", "--vocab-size", 5000)
    assert out.exit_code == 0
    assert f"{len(tokkit.load('tok.json').vocab)} tokens, fewer than" in out.stderr


def test_counts_train_as_the_text_they_come_from_does(run) -> None:
    Path("c.tsv").write_text("low\t5\n lower\t3\n low\t1\n low\t1\n")
    Path("c.json").write_text(json.dumps({"low": 5, " lower": 3, " low": 2}))
    for name in ("c.tsv", "c.json"):
        assert run("train", "--counts", name, "-o", f"{name}.json", "--vocab-size", 262).exit_code == 0
    assert Path("c.tsv.json").read_bytes() == Path("c.json.json").read_bytes()
    same = tokkit.train({"low": 5, " lower": 3, " low": 2}, vocab_size=262)
    assert tokkit.load("c.tsv.json").fingerprint() == same.fingerprint()


@pytest.mark.parametrize(
    ("name", "content"),
    [("c.tsv", "low 5\n"), ("c.tsv", "low\tfive\n"), ("c.tsv", "\t5\n"), ("c.json", "[1]"), ("c.json", '{"a": "b"}'),
     ("c.json", "{"), ("c.json", '{"a": true}'), ("c.tsv", "\xff\t1".encode("latin-1")), ("c.tsv", "")],
)  # fmt: skip
def test_counts_that_are_none_are_an_error(run, name, content) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    out = run("train", "--counts", name, "-o", "tok.json", "--vocab-size", 262)
    assert out.exit_code == 1
    assert out.stderr.startswith("tokkit: error: ")
    assert not Path("tok.json").exists()


def test_sentencepiece_options_of_the_same_meaning_are_understood(run, corpus) -> None:
    args = (f"--input={corpus},{corpus}", "--model_prefix=m", "--vocab_size=270", "--num_threads=1")
    assert run("train", *args).exit_code == 0
    assert len(tokkit.load("m.json").vocab) == 270
    args = (f"--input={corpus}", "--model_prefix=m", "--vocab_size=60", "--num_threads=1")
    out = run("train", *args, "--model_type=bpe", "--hard_vocab_limit=false", "--user_defined_symbols=low,new")
    assert out.exit_code == 0, out.stderr
    assert list(tokkit.load("m.model").vocab)[:5] == [b"<unk>", b"<s>", b"</s>", b"low", b"new"]
    out = run("train", *args, "--model_type=magic", "--force")
    assert out.exit_code == 2
    assert "sp-bpe" in out.stderr
    assert run("train", *args, "--user_defined_symbols=a").exit_code == 2


def test_stdin_trains_and_stdout_takes_the_tokenizer(run, corpus) -> None:
    out = run("train", "-", "-o", "-", "--vocab-size", 270, input=TEXT)
    assert out.exit_code == 0
    Path("out.json").write_bytes(out.stdout_bytes)
    run("train", corpus, "-o", "tok.json", "--vocab-size", 270)
    assert Path("tok.json").read_bytes() == out.stdout_bytes


@pytest.mark.parametrize(
    ("format_", "name"), [("gpt2", "folder"), ("tiktoken", "x.tiktoken"), ("tokenizer.json", "x.json")]
)
def test_every_format_is_written(run, corpus, format_, name) -> None:
    assert run("train", corpus, "-o", name, "--format", format_, "--vocab-size", 270).exit_code == 0
    pattern = {} if format_ == "tokenizer.json" else {"pattern": "gpt2"}
    assert len(tokkit.load(name, **pattern).vocab) == 270
    out = run("train", corpus, "-o", name, "--format", format_, "--vocab-size", 271)
    assert out.exit_code == 1
    assert len(tokkit.load(name, **pattern).vocab) == 270


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["-o", "t.json", "--model", "magic"], 2, "bbpe, bpe, wordpiece, word, char"),
        (["-o", "t.json", "--score", "frequency"], 2, "--score is for --model wordpiece, not for bbpe"),
        (["-o", "t.json", "--model", "word", "--max-token-length", "3"], 2, "--max-token-length is for --model bbpe"),
        (["-o", "t.json", "--model", "char", "--pattern", "gpt2"], 2, "--pattern is for --model bbpe or bpe or word"),
        (["-o", "t.json", "--model", "wordpiece", "--explain", "--level", "bytes"], 2, "--level is for --model char"),
        (["-o", "t.json", "--model", "word", "--explain"], 2, "is for --model bbpe or bpe or wordpiece or unigram"),
        (["-o", "t.json", "--model", "wordpiece", "--vocab-size", "20"], 1, "needs at least"),
        (["-o", "t.json", "--model", "wordpiece", "--special-token", "[X]"], 1, "[UNK]"),
        (["-o", "t.json", "--model", "wordpiece", "--format", "tiktoken"], 1, "t.json"),
        (["-o", "t.json", "--model", "word", "--pattern", "("], 1, "("),
        ([], 2, "-o"),
        (["-o", "t.bin"], 2, ".json"),
        (["-o", "t.model"], 1, "t.model"),
        (["-o", "t.json", "--vocab-size", "many"], 2, "many"),
        (["-o", "t.json", "--vocab-size", "100"], 1, "vocab_size is 100; it must be at least 256"),
        (["-o", "t.json", "--vocab-size", "100,300"], 1, "vocab_size is [100, 300]"),
        (["-o", "t.json", "--pattern", ""], 2, "write none for no split"),
        (["-o", "t.json", "--vocab-size", "256", "--special-token", "<s>"], 1, "257"),
        (["-o", "t.json", "--pattern", "(("], 1, "(("),
        (["-o", "no/folder/t.json"], 1, "no/folder"),
        (["-o", "t.json", "--special-token", ""], 1, "empty"),
        (["-o", "-", "--vocab-size", "270,280"], 2, "several"),
        (["-o", "t.json", "--threads", "0"], 2, "threads"),
        (["-o", "t.json", "--counts", "corpus.txt"], 2, "both"),
        (["-o", "-", "--format", "gpt2", "--vocab-size", "260"], 2, "several files"),
    ],
)
def test_a_wrong_option_says_what_would_be_right(run, corpus, args, code, said) -> None:
    out = run("train", corpus, *args)
    assert out.exit_code == code
    assert said in out.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["corpus.txt"]


def test_what_the_format_cannot_hold_is_said_before_the_training(run, corpus, monkeypatch) -> None:
    counted = []
    monkeypatch.setattr("tokkit.trainers.count_words", lambda *args, **options: counted.append(args))
    out = run("train", corpus, "-o", "tok.json", "--pattern", r"(?x)\w+ | \W+")
    assert out.exit_code == 1
    assert r"\w" in out.stderr
    assert not counted


@pytest.mark.parametrize("target", ["tok.json", "-"])
def test_what_the_format_says_of_a_trial_names_the_users_file(run, corpus, target) -> None:
    out = run("train", corpus, "-o", target, "--pattern", r"(?x)\w+ | \W+")
    assert out.exit_code == 1
    assert out.stderr.startswith("tokkit: error: " + ("tok.json: pattern" if target != "-" else "pattern"))
    out = run("train", corpus, "-o", "folder", "--format", "gpt2", "--pattern", "cl100k")
    assert out.stderr.startswith("tokkit: error: folder: vocab.json and merges.txt are read with GPT-2's pattern")


def test_special_tokens_that_a_format_loses_are_found_before_the_training(run, corpus, monkeypatch) -> None:
    from tokkit import loading

    counted: list[object] = []
    monkeypatch.setattr("tokkit.trainers.count_words", lambda *args, **options: counted.append(args))
    load = loading.load
    plain = tokkit.train({"a": 1}, vocab_size=256)
    monkeypatch.setattr(loading, "load", lambda path, **options: load(path, **options) and plain)
    out = run("train", corpus, "-o", "folder", "--format", "gpt2", "--special-token", "<s>")
    assert out.exit_code == 1
    assert out.stderr.startswith("tokkit: error: folder: ")
    assert "cannot hold the special token '<s>'" in out.stderr
    assert not counted
    assert not Path("folder").exists()


@pytest.mark.parametrize("name", ["tok.json", "tok.tiktoken", "folder"])
def test_special_tokens_are_kept_or_refused_by_every_format(run, corpus, name) -> None:
    format_ = ("--format", "gpt2") if name == "folder" else ()
    for special in ("<s>", "<a b>"):
        out = run("train", corpus, "-o", name, "--vocab-size", 260, "--special-token", special, "--force", *format_)
        if out.exit_code == 0 and name != "tok.tiktoken":
            assert dict(tokkit.load(name).special_tokens) == {special: 0}
        elif out.exit_code:
            assert out.stderr.startswith(f"tokkit: error: {name}: ")
            assert name == "folder"


def test_the_library_s_arguments_are_called_by_their_flags(run) -> None:
    Path("bad.txt").write_bytes(b"low\xff")
    out = run("train", "bad.txt", "-o", "tok.json")
    assert "--input-errors replace or ignore" in out.stderr
    assert "input_errors" not in out.stderr


def test_compression_is_measured_on_the_whole_corpus_or_its_first_megabyte(run, corpus) -> None:
    assert "the corpus takes" in run("train", corpus, "-o", "a.json", "--vocab-size", 260).stdout
    Path("large.txt").write_text(TEXT * 300)
    out = run("train", "large.txt", "-o", "b.json", "--vocab-size", 260).stdout
    assert "the first 999,9" in out
    assert "bytes take" in out


def test_a_rank_file_has_its_pattern_beside_it_or_says_that_it_has_none(run, corpus) -> None:
    out = run("train", corpus, "-o", "x.tiktoken", "--vocab-size", 260, "--special-token", "<|a|>")
    assert "x.tiktoken.json has the split pattern and special tokens" in out.stderr
    assert tokkit.load("x.tiktoken").special_tokens == {"<|a|>": 0}
    Path("x.tiktoken").unlink()
    assert run("train", corpus, "-o", "x.tiktoken", "--vocab-size", 260).exit_code == 1  # the other file exists
    out = run("train", corpus, "-o", "-", "--format", "tiktoken", "--vocab-size", 260)
    assert "a list of ranks does not contain the split pattern" in out.stderr


def test_a_bad_input_leaves_the_old_file_as_it_was(run, corpus) -> None:
    Path("tok.json").write_text("old")
    Path("bad.txt").write_bytes(b"low\xff\xfe")
    Path("empty.txt").write_text("")
    for name in ("bad.txt", "empty.txt", "absent.txt", "."):
        out = run("train", name, "-o", "tok.json", "--force")
        assert out.exit_code == 1
        assert out.stderr.startswith("tokkit: error: ")
    assert Path("tok.json").read_text() == "old"
    out = run("train", corpus, "-o", "tok.json")
    assert out.exit_code == 1
    assert "--force" in out.stderr
