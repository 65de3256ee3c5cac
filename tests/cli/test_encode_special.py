"""`tokkit encode --add-special --pair --max-length --pad` writes lines as a model expects them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokkit

FIRST = ["the quick brown fox", "", "low lower lowest newer wider", "jumps"]
SECOND = ["over", "a lazy dog", "café 東京 and more of it", ""]
LINES = ("encode", "--unit", "line")
COLUMNS = ("ids", "type_ids", "attention_mask", "special_tokens_mask", "offsets", "word_ids")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a WordPiece tokenizer with [CLS], [SEP] and [PAD]."""
    path = tmp_path_factory.mktemp("bert") / "tok.json"
    tokkit.train(iter(FIRST + SECOND), model="wordpiece", vocab_size=120).save(path)
    return str(path)


@pytest.fixture
def files(run) -> tuple[str, str]:
    Path("a.txt").write_text("\n".join(FIRST) + "\n")
    Path("b.txt").write_text("\n".join(SECOND) + "\n")
    return "a.txt", "b.txt"


def lines(out) -> list[list[int]]:
    assert out.exit_code == 0, out.stderr
    return [list(map(int, line.split())) for line in out.stdout.split("\n")[:-1]]


def test_special_tokens_are_those_of_the_library(run, bert, files) -> None:
    tok = tokkit.load(bert)
    a, b = files
    assert lines(run(*LINES, bert, a, "--add-special")) == [tok(text).ids for text in FIRST]
    pairs = [tok(*texts).ids for texts in zip(FIRST, SECOND, strict=True)]
    assert lines(run(*LINES, bert, a, "--add-special", "--pair", b)) == pairs
    bare = [tok(*texts, add_special=False).ids for texts in zip(FIRST, SECOND, strict=True)]
    assert lines(run(*LINES, bert, a, "--pair", b)) == bare
    assert lines(run(*LINES, bert, "--add-special", "--pair", b, input=Path(a).read_text())) == pairs
    whole = lines(run("encode", bert, a, "--add-special", "--pair", b))
    assert whole == [tok(Path(a).read_text(), Path(b).read_text()).ids]


@pytest.mark.parametrize("strategy", ["longest-first", "only-first", "only-second"])
def test_texts_are_cut_and_what_is_cut_off_is_written_with_a_stride(run, bert, files, strategy) -> None:
    tok = tokkit.load(bert)
    a, b = files
    Path(a).write_text("\n".join([FIRST[0], FIRST[2], FIRST[2]]))
    Path(b).write_text("\n".join([SECOND[1], SECOND[2], SECOND[1]]))
    cut = tokkit.Truncation(max_length=27, strategy=strategy.replace("-", "_"), stride=2)
    expected = []
    for first, second in zip((FIRST[0], FIRST[2], FIRST[2]), (SECOND[1], SECOND[2], SECOND[1]), strict=True):
        encoding = tok(first, second, truncation=cut)
        expected.append([encoding.ids, *(part.ids for part in encoding.overflowing)])
    args = (*LINES, bert, a, "--pair", b, "--add-special", "--max-length", 27, "--truncation", strategy)
    out = run(*args, "--stride", 2)
    assert [list(map(int, line.split())) for line in out.stdout.split("\n")] == [
        ids for parts in expected for ids in parts
    ]
    assert len(out.stdout.split("\n")) > 3, "some of it is cut"
    assert [list(map(int, line.split())) for line in run(*args).stdout.split("\n")] == [parts[0] for parts in expected]


@pytest.mark.parametrize(("pad", "length"), [("longest", None), ("max-length", 30), ("40", 40)])
def test_lines_are_filled_up_and_masks_say_so(run, bert, files, pad, length) -> None:
    tok = tokkit.load(bert)
    expected = tok.encodings(FIRST, SECOND, truncation=30, padding=tokkit.Padding(length=length, pad_id=0))
    args = ("--add-special", "--pair", files[1], "--pad", pad, "--max-length", 30, "--output", "full")
    out = run(*LINES, bert, files[0], *args)
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    assert [row["text"] for row in rows] == [0, 1, 2, 3]
    for row, encoding in zip(rows, expected, strict=True):
        for name in COLUMNS:
            theirs = getattr(encoding, name)
            assert row[name] == ([list(span) for span in theirs] if name == "offsets" else theirs), name
    assert len({len(row["ids"]) for row in rows}) == 1
    assert rows[3]["tokens"][-1] == "[PAD]"


def test_other_outputs_have_the_same_tokens(run, bert, files) -> None:
    args = (*LINES, bert, files[0], "--add-special", "--pad", "longest")
    ids = lines(run(*args))
    assert [json.loads(line) for line in run(*args, "--output", "json").stdout.splitlines()] == ids
    tok = tokkit.load(bert)
    pieces = [line.split(" ") for line in run(*args, "--output", "tokens").stdout.splitlines()]
    assert pieces == [[tok.vocab[id_].decode() for id_ in line] for line in ids]
    full = [json.loads(line) for line in run(*LINES, bert, files[0], "--output", "full").stdout.splitlines()]
    assert [row["ids"] for row in full] == [tok.encode(text) for text in FIRST]


def test_the_token_to_fill_up_with_is_the_files_or_the_one_given(run, tokenizer, bert, files) -> None:
    out = run(*LINES, tokenizer, files[0], "--pad", "40")
    assert out.exit_code == 1
    assert "--pad-token" in out.stderr
    ids = lines(run(*LINES, tokenizer, files[0], "--pad", "70", "--pad-token", "<|end|>"))
    assert [line[-1] for line in ids] == [0] * 4
    assert "no token 'nope'" in run(*LINES, bert, files[0], "--pad", "40", "--pad-token", "nope").stderr
    stated = json.loads(Path(bert).read_text()) | {
        "padding": {
            "strategy": "BatchLongest",
            "direction": "Left",
            "pad_to_multiple_of": None,
            "pad_id": 4,
            "pad_type_id": 1,
            "pad_token": "[MASK]",
        }
    }
    Path("left.json").write_text(json.dumps(stated))
    ids = lines(run(*LINES, "left.json", files[0], "--pad", "40"))
    assert [line[0] for line in ids] == [4] * 4


def test_decode_leaves_special_tokens_out_where_asked(run, bert, tokenizer, files) -> None:
    ids = run(*LINES, bert, files[0], "--add-special", "--pad", "longest").stdout
    assert run("decode", bert, "--skip-special", "--unit", "line", input=ids).stdout == Path(files[0]).read_text()
    assert "[PAD]" in run("decode", bert, input=ids).stdout
    marked = run("encode", tokenizer, "--special", "all", input="low<|end|>er\n").stdout
    assert run("decode", tokenizer, "--skip-special", input=marked).stdout == "lower\n"
    half = str(tokkit.load(tokenizer).vocab[b"\xe6"])
    assert run("decode", tokenizer, "--skip-special", input=half).stdout_bytes == b"\xe6"
    run("encode", tokenizer, "--special", "all", "--output", "bin", "-o", "x.bin", input="low<|end|>er\n")
    assert run("decode", tokenizer, "x.bin", "--skip-special").stdout == "lower\n"


def test_files_without_a_last_line_end_stay_lines_of_their_own(run, bert) -> None:
    Path("a.txt").write_text("the fox")
    Path("b.txt").write_text("dog\n")
    tok = tokkit.load(bert)
    assert lines(run(*LINES, bert, "a.txt", "b.txt", "--add-special")) == [tok("the fox").ids, tok("dog").ids]
    assert run(*LINES, bert, "a.txt", "--add-special").stdout == " ".join(map(str, tok("the fox").ids))
    assert run(*LINES, bert, "--add-special", "--pad", "longest", input="").stdout == ""


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--add-special", "--max-length", "1"], 1, "max_length is 1; it must be at least 2"),
        (["--add-special", "--max-length", "2", "--pair", "b.txt"], 1, "max_length is 2; it must be at least 3"),
        (["--max-length", "5", "--stride", "5"], 1, "stride is 5; it must be less than max_length, 5"),
        (["--max-length", "-1"], 2, "--max-length"),
        (["--stride", "1"], 2, "--max-length"),
        (["--truncation", "only-first"], 2, "--max-length"),
        (["--pad", "max-length"], 2, "--max-length"),
        (["--pad-token", "[PAD]"], 2, "--pad"),
        (["--pad", "most"], 2, "longest, max-length"),
        (["--pad", "²"], 2, "longest, max-length"),
        (["--pad", "3"], 1, "text 1 has"),
        (["--max-length", "3", "--truncation", "only-second"], 1, "there is only one text"),
        (["--pair", "b.txt", "--max-length", "3", "--truncation", "only-second"], 1, "must cut"),
        (["--pair", "short.txt"], 1, "--pair has 1 text, fewer"),
        (["--pair", "long.txt"], 1, "more texts than the input"),
        (["--pair", "absent.txt"], 1, "absent.txt"),
        (["--pair", "-", "-"], 2, "standard input"),
        (["--add-special", "--output", "npy"], 2, "not npy"),
        (["--pad", "longest", "--output", "bin", "-o", "x.bin"], 2, "not bin"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_the_numbers(run, bert, files, args, code, said) -> None:
    Path("short.txt").write_text("one\n")
    Path("long.txt").write_text("one\n" * 9)
    out = run(*LINES, bert, files[0], *args)
    assert out.exit_code == code
    assert said in out.stderr


def test_a_file_that_fails_half_way_is_not_written(run, bert, files) -> None:
    out = run(*LINES, bert, files[0], "--pair", files[1], "--pad", "9", "-o", "out.ids")
    assert out.exit_code == 1
    assert not Path("out.ids").exists()
