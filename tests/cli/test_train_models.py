"""`tokkit train --model`: tokenizers of subwords, words and characters, and their reports."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from pathlib import Path

import pytest

import tokkit

TEXT = "low lower lowest newer newest wider, the quick brown fox jumps over a lazy dog\n" * 50


@pytest.fixture
def corpus(run) -> str:
    Path("corpus.txt").write_text(TEXT)
    return "corpus.txt"


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (["wordpiece"], {}),
        (["wordpiece", "--score", "frequency", "--min-frequency", "3"], {"score": "frequency", "min_frequency": 3}),
        (
            ["wordpiece", "--no-lowercase", "--prefix", "@@", "--limit-alphabet", "20", "--initial-alphabet", "xyz"],
            {"lowercase": False, "prefix": "@@", "limit_alphabet": 20, "initial_alphabet": "xyz"},
        ),
        (
            ["wordpiece", "--no-strip-accents", "--no-chinese-chars", "--max-word-length", "7"],
            {"strip_accents": False, "handle_chinese_chars": False, "max_input_chars_per_word": 7},
        ),
        (["word"], {}),
        (["word", "--pattern", "whitespace", "--lowercase"], {"pattern": "whitespace", "lowercase": True}),
        (
            ["word", "--unk-token", "<unk>", "--special-token", "<pad>", "--special-token", "<unk>"],
            {"unk_token": "<unk>", "special_tokens": ["<pad>", "<unk>"]},
        ),
        (
            ["word", "--pattern", "[a-z]+(?= )|,", "--min-frequency", "60", "--vocab-size", "9"],
            {"pattern": "[a-z]+(?= )|,", "min_frequency": 60, "vocab_size": 9},
        ),
        (["char", "--min-frequency", "60"], {"min_frequency": 60}),
        (["char", "--level", "bytes"], {"level": "bytes"}),
        (["hybrid"], {}),
        (["hybrid", "--limit-alphabet", "9", "--prefix", "@@"], {"limit_alphabet": 9, "prefix": "@@"}),
        (
            ["hybrid", "--fallback", "byte", "--vocab-size", "530", "--pattern", "whitespace", "--lowercase"],
            {"fallback": "byte", "vocab_size": 530, "pattern": "whitespace", "lowercase": True},
        ),
    ],
)
def test_the_file_is_the_tokenizer_that_the_library_trains(run, corpus, args, options) -> None:
    size = options.pop("vocab_size", 300)
    given = [] if "--vocab-size" in args else ["--vocab-size", size]
    out = run("train", corpus, "-o", "tok.json", *given, "--model", *args)
    assert out.exit_code == 0, out.stderr
    same = tokkit.train([corpus], model=args[0], vocab_size=size, **options)
    assert tokkit.load("tok.json").fingerprint() == same.fingerprint()
    assert "round trip" not in out.stdout
    assert f"{len(same.vocab):,} tokens" in out.stdout


def test_explain_shows_pairs_scores_and_counts_of_the_first_merges(run, corpus) -> None:
    args = ("--model", "wordpiece", "--vocab-size", "100", "--explain", "--force")
    for score, meaning in (("pmi", "score = the ratio"), ("likelihood", "score = the gain in log-likelihood")):
        out = run("train", corpus, "-o", "a.json", "--score", score, *args)
        for said in ("count(xy)", "count(x)", "log ratio", meaning, "ratio = count(xy) · N / (count(x) · count(y))"):
            assert said in out.stdout
    about = json.loads(run("train", corpus, "-o", "a.json", "--score", "likelihood", "--json", *args).stdout)
    steps: list[object] = []
    tokkit.train([corpus], model="wordpiece", score="likelihood", vocab_size=100, explain=steps.append)
    assert about["model"] == "wordpiece"
    assert [step["token"] for step in about["explained"]] == [step.token for step in steps[:20]]
    assert about["explained"][0]["count"] * about["explained"][0]["total"] > 0
    out = run("train", corpus, "-o", "b.json", "--model", "wordpiece", "--score", "frequency", "--explain")
    assert "count(xy)" in out.stdout
    assert "score =" not in out.stdout


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "word", "char", "hybrid"])
def test_every_model_trains_on_the_bundled_corpus_and_the_next_commands_run(run, model) -> None:
    out = run("train", "--model", model)
    assert out.exit_code == 0, out.stderr
    assert "tokkit-demo.json" in out.stdout
    out = run("inspect", "tokkit-demo.json", "--sample", "Your own sentence.")
    assert out.exit_code == 0
    assert ("whole words, else their parts" in out.stdout) == (model == "hybrid")
    ids = run("encode", "tokkit-demo.json", input="hello\n").stdout
    assert run("decode", "tokkit-demo.json", input=ids).exit_code == 0


WAYS = [
    *(("bbpe",), ("bpe",), ("bpe", "--word-end", "attached"), ("word",), ("char",), ("char", "--level", "bytes")),
    *(("hybrid",), ("hybrid", "--fallback", "byte"), ("unigram",), ("unigram", "--byte-fallback"), ("sp-bpe",)),
    *(("wordpiece", "--score", score) for score in ("frequency", "likelihood", "pmi")),
]
TEXTS = ["low lower lowest", "  a  quick\tfox ", "newest, naïve 🦜 ㍿ dog!", "", " ", "LOW\u00a0東京\u200b 12x"]


@pytest.mark.parametrize("args", WAYS, ids=" ".join)
def test_save_train_and_convert_write_a_tokenizer_json_with_equal_ids_in_tokenizers(run, corpus, args) -> None:
    theirs = pytest.importorskip("tokenizers").Tokenizer.from_file
    more = ("--no-hard-vocab-limit",) if args[0] in ("unigram", "sp-bpe") else ()
    source = "tok.model" if args[0] in ("unigram", "sp-bpe") else "tok.json"
    for path in {source, "tok.json"}:
        assert run("train", corpus, "-o", path, "--vocab-size", 600, "--model", *args, *more).exit_code == 0
    tok = tokkit.load(source)
    tok.save("saved.json")
    assert run("convert", source, "converted.json").exit_code == 0
    expected = [tok.encode(text, special="all") for text in TEXTS]
    for path in ("tok.json", "saved.json", "converted.json"):
        assert [encoding.ids for encoding in theirs(path).encode_batch(TEXTS, add_special_tokens=False)] == expected


def test_sizes_counts_and_stdout_work_as_with_bytes(run, corpus) -> None:
    assert run("train", corpus, "-o", "t.json", "--model", "wordpiece", "--vocab-size", "60,70").exit_code == 0
    assert [len(tokkit.load(f"t-{size}.json").vocab) for size in (60, 70)] == [60, 70]
    Path("c.json").write_text(json.dumps({"low": 5, "lower": 2}))
    out = run("train", "--counts", "c.json", "-o", "-", "--model", "word")
    Path("w.json").write_bytes(out.stdout_bytes)
    assert list(tokkit.load("w.json").vocab) == [b"[UNK]", b"low", b"lower"]


def test_the_help_says_which_option_is_for_which_model(run) -> None:
    from tokkit.cli import train as module
    from tokkit.trainers.models import MODELS, _class_of

    text = " ".join(run("train", "--help").stdout.split())
    assert module.MODELS == MODELS
    for model in MODELS:
        names = {field.name for field in fields(_class_of(model)) if field.init}
        common = {"special_tokens", "min_frequency"}
        functions = {"pretokenizer", "allow_inconsistent_pretokenization"}  # of Python, and what is asked of them
        of_commands = {"watch"}  # of the command alone, which writes a page
        options = {name for name, models in module.BELONGS.items() if model in models}
        assert options - of_commands == names - common - functions
    params = {p.name: p for p in module.command.params}
    for name, models in module.BELONGS.items():
        said = (params[name].help or "").split(":")[0]
        assert set(said.split(", ")) <= set(models), name
    assert "wordpiece: choose merges by frequency" in text
    assert inspect.getdoc(module)
