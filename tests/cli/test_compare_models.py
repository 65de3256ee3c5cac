"""`tokkit compare --train` on a held-out part, compared with figures counted by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tokkit
from extras import extra

LINES = [
    f"line {n} of the tale: low lower lowest newer wider, {'café' if n % 3 else 'naïve 東'} x{n}\n" for n in range(200)
]


@pytest.fixture
def corpus(run) -> str:
    Path("corpus.txt").write_text("\n".join(LINES))  # with blank lines between
    return "corpus.txt"


def passages_of(text: str) -> list[str]:
    """Return runs of whole lines, each of the fewest lines that have 200 bytes."""
    made = [""]
    for line in text.splitlines(keepends=True):
        if len(made[-1].encode()) >= 200:
            made.append("")
        made[-1] += line
    return made


def compared(run, *args: object) -> dict:
    out = run("compare", "--json", *args)
    assert out.exit_code == 0, out.stderr
    return json.loads(out.stdout)


def test_files_to_measure_on_that_are_trained_on_are_said_to_be(run, corpus) -> None:
    Path("other.txt").write_text("a line of another tale\n")

    def said(*files: str) -> str:
        return compared(run, "--train", "word", "--vocab-sizes", "100", corpus, "--", *files)["held_out"]["said"]

    rule = "(each file, or record, is one text)"
    assert said("other.txt") == f"measured on 1 text of 1 file {rule}, not trained on"
    assert said(f"../{Path.cwd().name}/{corpus}") == f"measured on 1 text of 1 file {rule}, 1 of them trained on"
    assert said("other.txt", corpus) == f"measured on 2 texts of 2 files {rule}, 1 of them trained on"


def test_models_are_trained_on_the_rest_and_measured_on_what_is_held_out(run, corpus) -> None:
    found = compared(run, "--train", "word,char,bbpe,bpe,wordpiece", "--vocab-sizes", "100,300", corpus)
    passages = passages_of("\n".join(LINES))
    kept = ["".join(passages[at : at + 9]) for at in range(0, len(passages), 10)]
    out = passages[9::10]
    about = found["held_out"]
    assert (about["texts"], about["words"]) == (len(out), sum(len(text.split()) for text in out))
    assert about["bytes"] == sum(len(text.encode()) for text in out)
    assert about["said"] == (
        "measured on every 10th passage (whole lines of 200 bytes or more, or a record), "
        f"{len(out)} of {len(passages)}, not trained on"
    )
    rows = {(row["model"], row["vocab_size_asked"]): row for row in found["rows"]}
    assert set(rows) == {(model, size) for model in ("word", "wordpiece") for size in (100, 300)} | {
        ("char", 100),
        ("bbpe", 300),
        ("bpe", 100),
        ("bpe", 300),
    }
    for (name, size), row in rows.items():
        options = {"lowercase": False} if name.startswith("word") else {}
        if name == "bpe":
            options = {"special_tokens": ["[UNK]"], "unk_token": "[UNK]"}
        tok = tokkit.train(iter(kept), model=name, vocab_size=size, **options)
        ids = [tok.encode(text) for text in out]
        n = sum(map(len, ids))
        assert (row["vocab_size"], row["tokens"]) == (len(tok.vocab), n)
        assert row["tokens_per_word"] == round(n / about["words"], 3)
        assert row["tokens_per_text"] == round(n / len(out), 1)
        assert row["longest_text"] == max(map(len, ids))
        assert row["bytes_per_token"] == round(about["bytes"] / n, 3)
        own = [id_ for _, id_ in tok.vocab.items() if id_ not in tok.special_tokens.values()]
        assert row["unused"] == len(set(own) - {id_ for text in ids for id_ in text})
        unknown = tok.special_tokens.get("[UNK]", -1)
        words = [word for text in out for word in text.split()]
        assert row["oov_rate"] == round(sum(unknown in tok.encode(word) for word in words) / len(words), 5), name
    assert rows["word", 100]["oov_rate"] > 0 == rows["bbpe", 300]["oov_rate"]


def test_models_are_called_as_train_calls_them(run, corpus) -> None:
    from tokkit.cli.train import MODELS

    found = compared(run, "--train", ",".join(MODELS), "--vocab-sizes", "80,400", corpus)
    assert {row["model"] for row in found["rows"]} == set(MODELS)
    Path("unseen.txt").write_text("low zß\n")
    found = compared(run, "--train", "bbpe,bpe", "--vocab-sizes", "300", corpus, "--", "unseen.txt")
    assert [(row["model"], row["oov_rate"]) for row in found["rows"]] == [("bbpe", 0.0), ("bpe", 0.5)]


def test_sizes_that_cannot_be_are_told_and_left_out(run, corpus) -> None:
    args = ("--train", "char,bbpe,wordpiece", "--vocab-sizes", "20,500,400,10000", corpus)
    found = compared(run, *args)
    assert (found["rows"][0]["model"], found["rows"][0]["vocab_size_asked"]) == ("char", 20)
    lacking = {(one["model"], one["vocab_size"]): one["reason"] for one in found["skipped"]}
    assert "at least 256" in lacking["bbpe", 20]
    assert "at least" in lacking["wordpiece", 20]
    assert "and no more" in lacking["char", 500]
    said = run("compare", *args).stderr
    assert "bbpe: no row for 20: it must be at least 256" in said
    assert "char: no row for 500, 10,000: the corpus gives" in said
    out = run("compare", "--train", "bbpe", "--vocab-sizes", "20", corpus)
    assert out.exit_code == 1
    assert "at least 256" in out.stderr


def test_files_behind_the_dashes_are_measured_on_instead(run, corpus) -> None:
    Path("a.txt").write_text("low lower\n\nunseen\n")
    Path("b.txt").write_text("lowest\n")
    found = compared(run, "--train", "word,hybrid", "--vocab-sizes", "300", corpus, "--", "a.txt", "b.txt")
    assert found["held_out"]["texts"] == 2
    word, hybrid = found["rows"]
    assert word["oov_rate"] == 0.25
    assert {file: of_file["tokens_per_word"] for file, of_file in word["files"].items()} == {"a.txt": 1.0, "b.txt": 1.0}
    assert hybrid["files"]["a.txt"]["tokens_per_word"] == round(8 / 3, 3)
    assert (
        hybrid["files"]["b.txt"] | {"tokens": 1, "bytes_per_token": 7.0, "longest_text": 1} == hybrid["files"]["b.txt"]
    )
    out = run("compare", "--train", "word", "--vocab-sizes", "300", corpus, "--", "a.txt", "b.txt").stdout
    assert "tokens per word and bytes per token, by file" in out
    assert "  b.txt   1.00  7.00\n" in out
    assert "longest tokens" in out
    assert "never used" in out


def test_records_and_the_bundled_corpus_are_read(run) -> None:
    Path("a.jsonl").write_text("".join(json.dumps({"body": line}) + "\n" for line in LINES))
    found = compared(run, "--train", "word", "--vocab-sizes", "50", "--field", "body", "a.jsonl", "--held-out", "0.25")
    assert found["held_out"]["texts"] == 50
    out = run("compare", "--train", "word,byte,hybrid-byte", "--vocab-sizes", "600")
    assert out.exit_code == 0
    assert "bundled corpus" in out.stderr
    assert "\n  english.txt " in out.stdout, "without the folder that all are in"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--train", "words", "corpus.txt"], 2, "unknown model 'words'"),
        (["--train", "", "corpus.txt"], 2, "unknown model ''"),
        (["--train", "word", "--vocab-sizes", "many", "corpus.txt"], 2, "write numbers of tokens"),
        (["--train", "word", "--held-out", "1", "corpus.txt"], 2, "--held-out"),
        (["--train", "word", "-"], 2, "standard input"),
        (["--train", "word", "--sample", "x", "corpus.txt"], 2, "--sample applies only with files"),
        (["--train", "word", "--special", "all", "corpus.txt"], 2, "--special applies only with files"),
        (["corpus.txt", "--threads", "2"], 2, "--threads applies only with --train"),
        (["--train", "word", "--plot", "-", "corpus.txt"], 2, "give the name of a file"),
        (["corpus.txt", "--vocab-sizes", "100"], 2, "--vocab-sizes applies only with --train"),
        (["corpus.txt", "--plot", "a.png"], 2, "--plot applies only with --train"),
        ([], 2, "Missing argument"),
        (["--train", "word", "absent.txt"], 1, "absent.txt"),
        (["--train", "word", "empty.txt"], 1, "of 0 passages in the corpus 0 are held out"),
        (["--train", "word", "short.txt"], 1, "1 passage in the corpus 0 are held out at --held-out 0.1"),
        (["--train", "word", "corpus.txt", "--", "absent.txt"], 1, "absent.txt"),
    ],
)
def test_what_cannot_be_compared_is_an_error_that_says_why(run, corpus, args, code, said) -> None:
    Path("empty.txt").write_text("")
    Path("short.txt").write_text("one line\n")
    out = run("compare", *args)
    assert out.exit_code == code
    assert said in out.stderr


def test_a_plot_without_matplotlib_says_what_to_install(run, corpus, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = run("compare", "--train", "word", "--vocab-sizes", "100", "--plot", "a.png", corpus)
    assert out.exit_code == 1
    assert "pip install 'pytokkit[plot]'" in out.stderr
    assert not Path("a.png").exists()


def test_a_plot_is_a_png_that_takes_its_name_when_it_is_whole(run, corpus) -> None:
    extra("matplotlib")
    args = ("compare", "--train", "word,char", "--vocab-sizes", "50,100", corpus, "--plot", "a.png")
    assert run(*args).exit_code == 0
    assert Path("a.png").read_bytes().startswith(b"\x89PNG\r\n")
    Path("a.png").write_bytes(b"old")
    out = run(*args)
    assert out.exit_code == 1
    assert "--force" in out.stderr
    assert Path("a.png").read_bytes() == b"old"
    assert run(*args, "--force").exit_code == 0
    assert sorted(path.name for path in Path().iterdir()) == ["a.png", "corpus.txt"]


def test_a_sample_stands_side_by_side(run, tokenizer) -> None:
    tokkit.train(iter(LINES), model="word", vocab_size=300).save("word.json")
    stretches = compared(run, tokenizer, "word.json", "--sample", "low lowest")
    tok = tokkit.load(tokenizer)
    pieces = [piece for stretch in stretches for piece in stretch["tokens"][tokenizer]]
    assert pieces == [tok.vocab[id_].decode().replace(" ", "␣") for id_ in tok.encode("low lowest")]
    assert [stretch["tokens"]["word.json"] for stretch in stretches] == [["low"], ["lowest"]]
    out = run("compare", tokenizer, "word.json", "--sample", "low lowest").stdout
    assert out.splitlines()[1].split()[:2] == ["low", "low"]
    assert "2 tokens" in out


def test_words_with_unknown_parts_are_counted_once(run) -> None:
    tokkit.train({"low": 1, ".": 1}, model="char", vocab_size=6).save("char.json")
    Path("a.txt").write_text("low xyx x.x\tlow? ☃ wool.")
    found = compared(run, "char.json", "--", "a.txt")
    assert found["total"]["tokens"]["char.json"]["oov_rate"] == round(4 / 6, 5)
    assert found["tokenizers"]["char.json"]["unused"] == 0
