"""A vocab.txt becomes the tokenizer of BERT's own code, and can be written again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokkit
from tokkit import formats
from tokkit.definition import AddedToken
from tokkit.errors import FormatError, OptionError
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert

LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "Un", "é", "e", "the"]
NAMES = ("bert-base-uncased", "bert-base-chinese", "bert-base-multilingual-cased")


def put(folder: Path, data: bytes | list[str]) -> Path:
    path = folder / "vocab.txt"
    path.write_bytes(data if isinstance(data, bytes) else "\n".join([*data, ""]).encode())
    return path


def test_a_line_number_is_the_id(tmp_path: Path) -> None:
    tok = tokkit.load(put(tmp_path, LINES))
    assert tok.encode("Unaffable é the x") == [5, 6, 7, 10, 11, 1]
    assert dict(tok.special_tokens) == {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    assert tok("the", "un").ids == [2, 11, 3, 5, 3]
    assert tok("the", "un").type_ids == [0, 0, 0, 1, 1]
    assert tok.decode([5, 6, 7, 11]) == "unaffable the"
    assert tokkit.load(tmp_path).encode("the") == [11]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_of_both_kinds_are_those_of_lines(end: str, tmp_path: Path) -> None:
    for last in ("", end):
        tok = tokkit.load(put(tmp_path, (end.join(LINES) + last).encode()))
        assert list(tok.vocab) == [line.encode() for line in LINES]


def test_an_empty_line_uses_up_an_id(tmp_path: Path) -> None:
    tok = tokkit.load(put(tmp_path, [*LINES[:5], "", "the", "", "un"]))
    assert tok.encode("the un") == [6, 8]
    assert 5 not in tok.vocab
    assert tok.n_ids == 9


def test_the_last_of_two_lines_alike_counts(tmp_path: Path) -> None:
    tok = tokkit.load(put(tmp_path, [*LINES, "the", "[SEP]"]))
    assert tok.encode("the") == [12]
    assert tok.special_tokens["[SEP]"] == 13
    assert 11 not in tok.vocab
    assert tok("the").ids == [2, 12, 13]


def test_white_space_is_part_of_a_token(tmp_path: Path) -> None:
    tok = tokkit.load(put(tmp_path, [*LINES, "them ", "a\u2028b"]))
    assert tok.vocab[12] == b"them "
    assert tok.vocab[13] == "a\u2028b".encode()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xef\xbb\xbf[PAD]\n[UNK]\n", "line 1: the file begins with a byte-order mark"),
        (b"[PAD]\nthe\n", r"no line is \[UNK\]"),
        (b"\n\n", r"no line is \[UNK\]"),
        (b"[UNK]\n\xff\n", "line 2: not UTF-8"),
        (b"", "the file is empty"),
        (b"[UNK]\nthe\r\nt\rhe\n", "line 3: a carriage return without a line feed"),
        (b"[UNK]\rthe\r", "line 1: a carriage return without a line feed"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(data: bytes, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf"vocab\.txt: {complaint}"):
        tokkit.load(put(tmp_path, data))


def test_a_file_of_another_name_is_known_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_bytes(b"[UNK]\r\nthe\r\n")
    assert tokkit.load(path).encode("the x") == [1, 0]


def test_without_cls_and_sep_nothing_is_put_around_a_text(tmp_path: Path) -> None:
    assert tokkit.load(put(tmp_path, ["[UNK]", "[CLS]", "the"]))("the").ids == [2]


def beside(folder: Path, name: str, value: object) -> None:
    (folder / name).write_text(json.dumps(value))


def test_files_beside_rule_the_case_and_lowercase_overrides_them(tmp_path: Path) -> None:
    path = put(tmp_path, LINES)
    cased, lower = [8, 6, 7], [5, 6, 7]
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    assert tokkit.load(path).encode("Unaffable") == lower
    beside(tmp_path, "tokenizer.json", {"normalizer": {**normalizer, "lowercase": False}})
    assert tokkit.load(path).encode("Unaffable") == cased
    beside(tmp_path, "tokenizer_config.json", {"model_max_length": 512})
    assert tokkit.load(path).encode("Unaffable") == cased
    beside(tmp_path, "tokenizer_config.json", {"do_lower_case": True, "strip_accents": False})
    assert tokkit.load(path).encode("Unaffable É") == [*lower, 9]
    assert tokkit.load(path, lowercase=False).encode("Unaffable") == cased
    assert tokkit.load(path, lowercase=False).definition.normalizer == Bert(strip_accents=False, lowercase=False)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("tokenizer_config.json", '{"do_lower_case": 1}', "do_lower_case: a boolean is needed, not an integer"),
        ("tokenizer_config.json", "[]", "an object is needed, not an array"),
        ("tokenizer.json", "{", "line 1, column 2: not JSON"),
        ("tokenizer.json", '{"normalizer": {"type": "BertNormalizer", "x": 1}}', "normalizer"),
    ],
)
def test_a_broken_file_beside_is_named(name: str, text: str, complaint: str, tmp_path: Path) -> None:
    path = put(tmp_path, LINES)
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=f"{name}: {complaint}"):
        tokkit.load(path)


def test_options_of_other_formats_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path, LINES)
    with pytest.raises(OptionError, match="pattern= was given"):
        tokkit.load(path, pattern="cl100k")
    with pytest.raises(OptionError, match="lowercase is 1; it must be True, False or None"):
        tokkit.load(path, lowercase=1)  # type: ignore[arg-type]
    tokkit.load(path).save(tmp_path / "x.json")
    with pytest.raises(OptionError, match=r"lowercase= is only for a vocab\.txt"):
        tokkit.load(tmp_path / "x.json", lowercase=True)
    assert tokkit.load(path, special_tokens={"<x>": 12}).encode("<x>", special="all") == [12]


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_written_is_read_again(lowercase: bool, tmp_path: Path) -> None:
    tok = tokkit.load(put(tmp_path, [*LINES, "", "the", "x"]), lowercase=lowercase)
    (tmp_path / "to").mkdir()
    written = tok.save(tmp_path / "to" / "vocab.txt")
    assert [path.name for path in written] == ["vocab.txt", "tokenizer_config.json"][: 1 if lowercase else 2]
    again = tokkit.load(tmp_path / "to")
    assert again.vocab == tok.vocab
    assert again.fingerprint() == tok.fingerprint()
    assert again.definition.normalizer == tok.definition.normalizer
    other = tokkit.load(tmp_path, lowercase=not lowercase)
    beside(tmp_path / "to", "tokenizer_config.json", {"model_max_length": 512, "do_lower_case": lowercase})
    other.save(tmp_path / "to" / "vocab.txt")
    assert json.loads((tmp_path / "to" / "tokenizer_config.json").read_text()) == {
        "model_max_length": 512,
        "do_lower_case": not lowercase,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
    }


def test_what_a_vocab_txt_cannot_say_is_not_written(tmp_path: Path) -> None:
    from dataclasses import replace

    made = tokkit.load(put(tmp_path, LINES)).definition
    more = AddedToken("the", 11)
    for changed, complaint in (
        (replace(made, model=WordPiece(max_input_chars_per_word=5)), "needs the model WordPiece"),
        (replace(made, normalizer=None), "needs BERT's normalizer"),
        (replace(made, normalizer=Bert(clean_text=False)), "needs BERT's normalizer"),
        (replace(made, pretokenizer=None), "needs the pretokenizer Bert"),
        (replace(made, postprocessor=None), "this tokenizer has None"),
        (replace(made, added_tokens=(*made.added_tokens, more)), "'the' differs"),
        (made.with_special_tokens({"<x>": 12}), "'<x>' differs"),
        (replace(made, vocab=made.vocab.with_tokens({12: b"a\nb"})), "has a line end"),
        (replace(made, vocab=made.vocab.with_tokens({12: b"\xff"})), "is not UTF-8"),
    ):
        with pytest.raises(FormatError, match=complaint):
            formats.write(changed, tmp_path / "out" / "vocab.txt")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_published_vocab_txt_is_the_tokenizer_json_beside_it(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "vocabs" / name
    one, other = tokkit.load(folder / "vocab.txt"), tokkit.load(folder / "tokenizer.json")
    assert one.vocab == other.vocab
    assert one.special_tokens == other.special_tokens
    assert one.fingerprint() == other.fingerprint()
    other.save(tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == (folder / "vocab.txt").read_bytes()


@pytest.mark.parametrize("lowercase", [True, False])
def test_ids_are_those_of_the_tokenizers_of_bert(lowercase: bool, shared: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = shared / "vocabs" / "bert-base-uncased" / "vocab.txt"
    theirs, ours = (
        tokenizers.BertWordPieceTokenizer(str(path), lowercase=lowercase),
        tokkit.load(path, lowercase=lowercase),
    )
    for text in ("Où sommes-nous? unaffable 中国 ÀÉÎ", "it's [MASK] ıſİẞ a\u0301\u0327\x00b"):
        assert ours(text, special="all").ids == theirs.encode(text).ids
