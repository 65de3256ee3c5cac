"""`tokkit train --model unigram` writes .model files, with our flags and with sentencepiece's."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import tokkit
from tokkit.cli import sentencepiece_options

TEXT = "low lower lowest newer newest wider, the quick brown fox jumps over a lazy dog in 1999\n" * 50


@pytest.fixture
def corpus(run) -> str:
    Path("corpus.txt").write_text(TEXT)
    return "corpus.txt"


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (["unigram"], {}),
        (["unigram", "--m-step", "counts", "--token-cost", "0"], {"m_step": "counts", "token_cost": 0.0}),
        (["sp-bpe", "--split-digits", "--no-add-dummy-prefix"], {"split_digits": True, "add_dummy_prefix": False}),
        (["sp-bpe", "--split_digits=true", "--add_dummy_prefix=0"], {"split_digits": True, "add_dummy_prefix": False}),
        (["sp-word", "--no-hard-vocab-limit"], {"hard_vocab_limit": False}),
        (["sp-char", "--character_coverage=0.9", "--pad_id=3"], {"character_coverage": 0.9, "pad_id": 3}),
        (
            ["unigram", "--user-defined-symbols", 'fox,"a,b"', "--control-symbols", "<c>", "--control-symbols", "<d>"],
            {"user_defined_symbols": ["fox", "a,b"], "control_symbols": ["<c>", "<d>"]},
        ),
        (["unigram", "--special-token", "<mask>", "--max-sentence-length", "0"],
         {"special_tokens": ["<mask>"], "max_sentence_length": None}),
        (["sp-bpe", "--split_digits", "--add_dummy_prefix", "false"],
         {"split_digits": True, "add_dummy_prefix": False}),
        (["sp-bpe", "--pretokenization_delimiter=er", "--self_test_sample_size=3", "--accept_language", "en"],
         {"pretokenization_delimiter": "er"}),
    ],
)  # fmt: skip
def test_the_file_is_the_tokenizer_that_the_library_trains(run, corpus, args, options) -> None:
    size = 50 if args[0] != "sp-word" else 300
    out = run("train", corpus, "-o", "tok.model", "--vocab-size", size, "--model", *args)
    assert out.exit_code == 0, out.stderr
    same = tokkit.train([corpus], model=args[0], vocab_size=size, **options)
    assert tokkit.load("tok.model").fingerprint() == same.fingerprint()
    assert f"{len(same.vocab):,} tokens" in out.stdout


def test_explain_shows_sizes_likelihoods_and_what_was_pruned(run, corpus) -> None:
    args = ("train", corpus, "-o", "a.model", "--model", "unigram", "--vocab-size", "45", "--explain")
    out = run(*args)
    assert out.exit_code == 0, out.stderr
    for said in ("round", "pieces", "kept", "log-likelihood", "tokens", "left out before round 1:"):
        assert said in out.stdout
    about = json.loads(run(*args, "--json", "--force").stdout)
    told: list[object] = []
    tokkit.train([corpus], model="unigram", vocab_size=45, explain=told.append)
    assert [r["pieces"] for r in about["explained"]] == [r.pieces for r in told]
    assert about["explained"][0]["log_likelihood"] < 0


@pytest.mark.parametrize("model", sentencepiece_options.MODELS)
def test_every_model_trains_on_the_bundled_corpus_and_the_next_commands_run(run, model) -> None:
    out = run("train", "--model", model)
    assert out.exit_code == 0, out.stderr
    assert "tokkit-demo.model" in out.stdout
    assert run("inspect", "tokkit-demo.model", "--sample", "Your own sentence.").exit_code == 0
    ids = run("encode", "tokkit-demo.model", input="hello\n").stdout
    assert run("decode", "tokkit-demo.model", input=ids).exit_code == 0


def test_sizes_counts_and_stdout_work_as_with_bytes(run, corpus) -> None:
    assert run("train", corpus, "-o", "t.model", "--model", "unigram", "--vocab-size", "40,50").exit_code == 0
    assert [len(tokkit.load(f"t-{size}.model").vocab) for size in (40, 50)] == [40, 50]
    Path("c.json").write_text(json.dumps({"low": 5, "lower": 2}))
    out = run("train", "--counts", "c.json", "-o", "-", "--model", "sp-bpe", "--vocab-size", "12")
    Path("w.model").write_bytes(out.stdout_bytes)
    assert b"\xe2\x96\x81low" in list(tokkit.load("w.model").vocab)


def test_rules_of_a_tsv_are_read_and_wrong_ones_are_an_error(run, corpus) -> None:
    Path("rules.tsv").write_text("71\t6B\n")
    args = ("train", corpus, "-o", "t.model", "--model", "sp-char", "--vocab-size", "40", "--force")
    out = run(*args, "--normalization_rule_tsv=rules.tsv", "--character-coverage", "1")
    assert out.exit_code == 0, out.stderr
    vocab = list(tokkit.load("t.model").vocab)
    assert b"k" in vocab
    assert b"q" not in vocab
    Path("rules.tsv").write_text("no hex\n")
    for name in ("rules.tsv", "none.tsv"):
        out = run(*args, "--normalization-rule-tsv", name)
        assert out.exit_code == 2
        assert name in out.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--vocab-size", "9000"], 1, "--no-hard-vocab-limit"),
        (["--vocab-size", "10"], 1, "this corpus needs at least"),
        (["--vocab-size", "3"], 1, "it must be at least 4"),
        (["--vocab-size", "50", "--character-coverage", "2"], 1, "character_coverage is 2.0"),
        (["--vocab-size", "50", "--character-coverage", "nan"], 1, "character_coverage is nan"),
        (["--vocab-size", "50", "--pattern", "gpt2"], 2, "--pattern is for --model bbpe or bpe or word"),
        (["--vocab-size", "50", "--min-frequency", "2"], 1, "min_frequency is not an option"),
        (["--vocab-size", "50", "--byte_fallback=perhaps"], 2, "byte_fallback"),
        (["--vocab-size", "50", "-o", "x.tiktoken"], 1, "x.tiktoken"),
    ],
)
def test_what_cannot_be_is_said_before_or_after_training_but_never_a_traceback(run, corpus, args, code, said) -> None:
    out = run("train", corpus, "-o", "t.model", "--model", "unigram", *args)
    assert out.exit_code == code, out.output
    assert said in out.stderr
    assert not Path("t.model").exists()


def test_a_switch_of_sentencepiece_does_not_take_the_next_argument(run, corpus) -> None:
    out = run("train", "--byte_fallback", corpus, "--model_type=char", "--vocab_size=300", "--model_prefix=c")
    assert out.exit_code == 0, out.stderr
    assert b"<0x41>" in list(tokkit.load("c.model").vocab)


def test_a_prefix_names_a_model_and_its_vocabulary(run, corpus) -> None:
    from tokkit.compat import sentencepiece

    args = ("train", corpus, "--model_type=bpe", "--model_prefix=small")
    assert run(*args, "--vocab_size=50").exit_code == 0
    sentencepiece.SentencePieceTrainer.train(input=corpus, model_type="bpe", vocab_size=50, model_prefix="same")
    assert Path("small.vocab").read_bytes() == Path("same.vocab").read_bytes()
    out = run(*args, "--vocab_size=50")
    assert out.exit_code == 1
    assert "small.model" in out.stderr
    Path("small.model").unlink()
    assert "small.vocab" in run(*args, "--vocab_size=50").stderr
    assert run(*args, "--vocab_size=45,50", "--vocabulary_output_piece_score=false").exit_code == 0
    assert Path("small-45.vocab").read_text(encoding="utf-8").splitlines()[:3] == ["<unk>", "<s>", "</s>"]
    assert run("train", corpus, "-o", "own.model", "--model", "sp-bpe", "--vocab-size", "50").exit_code == 0
    assert not Path("own.vocab").exists()


def test_lines_with_counts_and_pieces_to_start_from_are_read_from_files(run, corpus) -> None:
    Path("counts.tsv").write_text("low lower\t3\nnew\t2\n")
    args = ("--model", "unigram", "--vocab-size", "40", "--no-hard-vocab-limit")
    out = run("train", "counts.tsv", "--input_format=tsv", "-o", "a.model", *args)
    assert out.exit_code == 0, out.stderr
    Path("seeds.tsv").write_text("low\t9\n")
    out = run("train", corpus, "--seed_sentencepieces_file=seeds.tsv", "-o", "b.model", *args)
    assert out.exit_code == 0, out.stderr
    assert max(map(len, list(tokkit.load("b.model").vocab)[3:])) == 3


@pytest.mark.parametrize("name", sentencepiece_options.REFUSED)
def test_flags_that_are_not_honoured_are_refused_by_name(run, corpus, name) -> None:
    from tokkit.compat.sentencepiece.flags import REFUSED

    assert set(REFUSED) == set(sentencepiece_options.REFUSED)
    args = ("train", corpus, "--model_type=bpe", "--vocab_size=50", "--model_prefix=p")
    out = run(*args, f"--{name}=1")
    assert out.exit_code == 2
    assert f"{name} is not supported here" in out.stderr
    assert run(*args, f"--{name}=0").exit_code == 0


def test_minloglevel_hides_warnings(run) -> None:
    Path("long.txt").write_text("a b\n" + "c" * 5000 + "\n")
    args = ("train", "long.txt", "--model_type=char", "--vocab_size=10", "--model_prefix=m", "--force")
    try:
        assert "1 sentences of more than 4192 bytes" in run(*args).stderr
        assert "1 sentences of more than 4192 bytes" not in run(*args, "--minloglevel=2").stderr
    finally:
        logging.getLogger("tokkit").setLevel(logging.NOTSET)
