"""`tokkit compare` shows the texts that do not come back, marks lost white space, and takes the options of train."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokkit
from tokkit.cli.train import command as train_command
from tokkit.cli.usage import lossy_winners, said_of_losses
from tokkit.cli.vocab_sizes import Passages

CODE = "".join(f"def f{n}(x, y{n % 7}):\n    if x:\n        return x\n    return y{n % 7}\n\n" for n in range(90))


@pytest.fixture
def corpus(run) -> str:
    Path("code.txt").write_text(CODE)
    return "code.txt"


def compared(run, *args: object) -> dict:
    out = run("compare", "--json", *args)
    assert out.exit_code == 0, out.stderr
    return json.loads(out.stdout)


def test_the_share_of_restored_texts_is_that_of_decoding(run, corpus) -> None:
    lines = CODE.splitlines()
    options = {"unigram": {"vocab_size": 40, "hard_vocab_limit": False}, "bbpe": {"vocab_size": 300}}
    for model, more in options.items():
        tokkit.train(iter(lines), model=model, **more).save(f"{model}.json")
    Path("lines.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    found = compared(run, "unigram.json", "bbpe.json", "--", "lines.jsonl")
    for model in options:
        tok = tokkit.load(f"{model}.json")
        back = sum(tok.decode(tok.encode(line)) == line for line in lines)
        assert found["total"]["tokens"][f"{model}.json"]["restored_rate"] == round(back / len(lines), 5)
    rates = found["total"]["tokens"]
    assert rates["bbpe.json"]["restored_rate"] == 1 > rates["unigram.json"]["restored_rate"] > 0
    assert rates["bbpe.json"]["spaces_lost_rate"] == 0 < rates["unigram.json"]["spaces_lost_rate"]


def test_a_winner_that_loses_white_space_is_marked(run, corpus) -> None:
    args = ("--train", "bbpe,unigram", "--vocab-sizes", 300, corpus)
    found = compared(run, *args)
    tokens = {row["model"]: row["tokens"] for row in found["rows"]}
    (winner,) = found["lossy_winners"]
    fewer = round(1 - tokens["unigram"] / tokens["bbpe"], 4)
    assert winner == {
        "vocab_size": 300, "name": "unigram", "spaces_lost_rate": 1.0, "best_without_loss": "bbpe", "fewer": fewer
    }  # fmt: skip
    out = run("compare", *args).stdout
    assert f" {tokens['unigram']}* " in out
    assert f" {tokens['bbpe']} " in out
    assert "* unigram does not give back the white space of 100.0% of texts: it needs " in out
    assert f"{fewer:.1%} fewer tokens than bbpe, which does\n" in out


def test_files_of_tokenizers_are_marked_too(run, corpus) -> None:
    tokkit.train(corpus, model="wordpiece", vocab_size=120, lowercase=False).save("words.json")
    tokkit.train(corpus, vocab_size=280).save("bytes.json")
    out = run("compare", "bytes.json", "words.json", "--", corpus).stdout
    assert "* words.json does not give back the white space of 100.0% of texts" in out
    assert "restored" in out
    assert "*" not in run("compare", "words.json", "--", corpus).stdout, "one tokenizer wins against nothing"


def test_marks_are_for_fewer_tokens_than_all_that_lost_nothing() -> None:
    def marked(**rows: tuple[int, float]) -> list[tuple]:
        found = lossy_winners({k: {"tokens": n, "spaces_lost_rate": lost} for k, (n, lost) in rows.items()})
        assert [loss["spaces_lost_rate"] for loss in found] == [rows[loss["name"]][1] for loss in found]
        return [(loss["name"], loss["best_without_loss"], loss["fewer"]) for loss in found]

    assert marked() == marked(a=(5, 0.5)) == marked(a=(5, 0.0), b=(6, 1.0), c=(5, 0.2)) == []
    assert marked(a=(6, 0.5), b=(5, 0.1)) == [("b", None, None)]
    assert marked(a=(10, 0.0), b=(6, 0.1), c=(8, 0.0), d=(7, 1.0)) == [("b", "c", 0.25), ("d", "c", 0.125)]
    sizes = [
        {"name": "u", "spaces_lost_rate": r, "best_without_loss": "b", "fewer": f} for r, f in ((0.5, 0.2), (1, 0.1))
    ]
    (line,) = said_of_losses(sizes)
    assert line == (
        "* u does not give back the white space of 100.0% of texts: "
        "it needs 10.0% to 20.0% fewer tokens than b, which does"
    )
    assert said_of_losses([sizes[0] | {"fewer": None}]) == ["* u does not give back the white space of 50.0% of texts"]


def test_lowercase_letters_are_no_lost_white_space(run) -> None:
    Path("a.txt").write_text("Low LOWER low")
    tokkit.train({"low": 3, "lower": 3, " low": 2, " lower": 1}, vocab_size=265).save("bytes.json")
    words = {"low": 5, "lower": 4}
    tokkit.train(words, model="word", lowercase=True, vocab_size=3).save("words.json")
    found = compared(run, "bytes.json", "words.json", "--", "a.txt")["total"]
    rates = found["tokens"]["words.json"]
    assert (rates["restored_rate"], rates["spaces_lost_rate"], found["lossy_winners"]) == (0, 0, [])


def test_options_of_train_apply_to_the_models_that_have_them(run, corpus) -> None:
    options = ("--pattern", "o200k", "--no-remove-extra-whitespaces", "--min-frequency", 2, "--special-token", "<a>")
    args = ("--train", "bbpe,unigram", "--vocab-sizes", 300, corpus, "--", corpus)
    rows = {row["model"]: row for row in compared(run, *options, *args)["rows"]}
    special = {"vocab_size": 300, "special_tokens": ["<a>"]}
    one = tokkit.train(corpus, pattern="o200k", min_frequency=2, **special)
    other = tokkit.train(corpus, model="unigram", remove_extra_whitespaces=False, hard_vocab_limit=False, **special)
    assert (rows["bbpe"]["tokens"], rows["unigram"]["tokens"]) == (one.count(CODE), other.count(CODE))
    plain = {row["model"]: row for row in compared(run, *args)["rows"]}
    assert rows["bbpe"]["tokens"] != plain["bbpe"]["tokens"]
    theirs = compared(run, "--remove_extra_whitespaces=false", "--special-token", "<a>", *args)["rows"]
    assert {row["model"]: row for row in theirs}["unigram"]["tokens"] == rows["unigram"]["tokens"]


def test_the_unit_is_the_models_or_the_one_given(run, corpus) -> None:
    def tokens(*options: object) -> int:
        return compared(run, "--train", "bbpe", "--vocab-sizes", 280, *options, corpus, "--", corpus)["rows"][0][
            "tokens"
        ]

    assert tokens() == tokens("--unit", "file") == tokkit.train(corpus, vocab_size=280).count(CODE)
    assert tokens("--unit", "line") == tokkit.train(corpus, vocab_size=280, unit="line").count(CODE)
    assert tokens() < tokens("--unit", "line")


def test_what_is_kept_of_the_corpus_is_trained_on_in_the_unit(tmp_path, monkeypatch) -> None:
    from tokkit.cli.inputs import Reading

    (tmp_path / "a.txt").write_text(CODE)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": f"record\n {n}"}) + "\n" for n in range(8)))
    passages = Passages([str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl")], Reading("line"), 0.25)
    found = list(passages)
    assert "".join(text for path, text, _, is_record in found if not is_record) == CODE
    assert [out for *_, out, _ in found] == [n % 4 == 3 for n in range(len(found))]
    kept = [text for _, text, out, is_record in found if not out and not is_record]
    documents = list(passages.training("file", bare=False))
    assert "".join(text for text in documents if "record" not in text) == "".join(kept)
    assert [text for text in documents if "record" in text] == [t for *_, t, out, rec in found if rec and not out]
    assert documents[0] == "".join(text for _, text, *_ in found[:3])
    lines = list(passages.training("line", bare=True))
    assert [line for line in lines if "rec" not in line][:3] == CODE.splitlines()[:3]
    assert "".join(passages.training("line", bare=False)) == "".join(documents)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--train", "bbpe", "--score", "pmi"], 2, "--score is for wordpiece, which --train does not name"),
        (["--train", "unigram", "--min-frequency", "2"], 2, "--min-frequency is for bbpe or bpe or"),
        (["--train", "byte", "--level", "bytes"], 2, "--level cannot be given for byte, which sets it"),
        (["--train", "wordpiece-frequency", "--score", "pmi"], 2, "--score cannot be given for wordpiece-frequency"),
        (["--train", "bbpe,bpe", "--pattern", "cl100k"], 1, "bpe: pattern is 'cl100k'; it must be one of"),
        (["--train", "unigram", "--character-coverage", "7"], 1, "unigram: character_coverage is 7.0"),
        (["--unit", "line"], 2, "--unit applies only with --train"),
        (["--byte_fallback=true"], 2, "--byte-fallback applies only with --train"),
        (["--special-token", "x"], 2, "--special-token applies only with --train"),
        (["--train", "bbpe", "--state", "x"], 2, "No such option"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, corpus, args, code, said) -> None:
    out = run("compare", *args, corpus)
    assert out.exit_code == code
    assert said in out.stderr


def test_options_are_those_of_train(run) -> None:
    from tokkit.cli.compare import NOT_TAKEN, command
    from tokkit.cli.train_options import BELONGS

    own, theirs = ({p.name: p for p in c.params} for c in (command, train_command))
    for name in (*BELONGS, "unit", "min_frequency", "special_token"):
        assert (name in own) == (name not in NOT_TAKEN or name in ("pattern", "special")), name
        if name in own and name not in NOT_TAKEN:
            assert (own[name].opts, own[name].help) == (theirs[name].opts, theirs[name].help)
            assert own[name].envvar == [variable.replace("_TRAIN_", "_COMPARE_") for variable in theirs[name].envvar]
