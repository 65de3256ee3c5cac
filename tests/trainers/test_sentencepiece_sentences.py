"""SentencePiece models learn tabs and line ends, and a text of an iterator is one sentence, as in sentencepiece."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.formats.sentencepiece import read_model
from tokkit.models.sentencepiece import NORMAL, SentencePieceModel

OURS = {"unigram": "unigram", "bpe": "sp-bpe", "word": "sp-word", "char": "sp-char"}
CODE = "if a:\n\tb = 1\n"
PLAIN: dict[str, Any] = {"normalization_rule_name": "identity", "character_coverage": 1.0, "hard_vocab_limit": False}
PLAIN["remove_extra_whitespaces"] = False


def normal(model: object) -> dict[str, float]:
    assert isinstance(model, SentencePieceModel)
    rows = zip(model.pieces, model.scores.tolist(), model.types.tolist(), strict=True)
    return {piece.decode(): score for piece, score, kind in rows if kind == NORMAL}


def ours(source: Any, kind: str, **options: Any) -> dict[str, float]:
    return normal(tokkit.train(source, model=OURS[kind], **{"vocab_size": 60, **PLAIN, **options}).definition.model)


def theirs(source: Path | Iterable[str], kind: str, **options: Any) -> dict[str, float]:
    rival = pytest.importorskip("sentencepiece")
    file = io.BytesIO()
    given = {"input": str(source)} if isinstance(source, Path) else {"sentence_iterator": iter(source)}
    rival.SentencePieceTrainer.train(
        **given, model_writer=file, model_type=kind, minloglevel=3, num_threads=1,
        **{"vocab_size": 60, **PLAIN, **options},
    )  # fmt: skip
    return normal(read_model(file.getvalue()))


@pytest.mark.parametrize("model", ["unigram", "sp-bpe", "sp-char"])
@pytest.mark.parametrize("rule", [{"normalization_rule_name": "identity"}, {"normalization_rules": {"q": "k"}}])
def test_code_comes_back_with_its_tabs_and_line_ends(model: str, rule: dict[str, Any]) -> None:
    options = {name: value for name, value in PLAIN.items() if name != "normalization_rule_name"}
    tok = tokkit.train(iter([CODE + "\n\tc"] * 30), model=model, vocab_size=30, **options, **rule)
    for text in (CODE, "a\tb", "\t\t1\n\n=", "if\ta"):
        assert tok.decode(tok.encode(text)) == text


@pytest.mark.parametrize("kind", list(OURS))
def test_alphabets_of_code_are_those_of_sentencepiece(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "code.txt"
    path.write_text((CODE + "\tc\x1fd\te\r\n") * 30, encoding="utf-8", newline="")
    for source in (path, [CODE + "\tc\n\r\n", "x\n\n\ty", "\n", "", "\x1fz"] * 30):
        given = source if isinstance(source, Path) else iter(source)
        mine, right = ours(given, kind), theirs(source, kind)
        if kind in ("unigram", "bpe"):  # test_sentencepiece_parity.py compares the pieces
            mine, right = ({p: 0.0 for p in found if len(p) == 1} for found in (mine, right))
        assert mine.keys() == right.keys()
        assert kind in ("word", "unigram") or {"\t", "\n"} <= mine.keys() or isinstance(source, Path)
        assert not any("\x1f" in piece for piece in mine)
        assert max(abs(score - right[piece]) for piece, score in mine.items()) < 1e-5


def test_files_are_read_by_lines_and_other_documents_are_one_sentence(tmp_path: Path) -> None:
    lines, records, paragraphs = (tmp_path / name for name in ("a.txt", "a.jsonl", "b.txt"))
    lines.write_text("a\nb\n", encoding="utf-8")
    records.write_text(json.dumps({"text": "a\nb\n"}) + "\n", encoding="utf-8")
    paragraphs.write_text("a\nb\n\n", encoding="utf-8")
    whole = {"\u2581a\nb"}
    assert ours(lines, "word").keys() == {"\u2581a", "\u2581b"}
    assert ours(iter(["a\nb\n"]), "word").keys() == ours(iter([b"a\nb\r\n\n"]), "word").keys() == whole
    assert ours(records, "word").keys() == ours(paragraphs, "word", unit="paragraph").keys() == whole


def test_a_long_text_of_an_iterator_is_left_out_whole(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["ab\n" * 20, "cd\n", "ef\u2585\ngh"]
    made = ours(iter(texts), "char", max_sentence_length=30)
    assert made.keys() == {"\u2581", "c", "d"}
    assert "1 sentences of more than 30 bytes" in caplog.text
    assert "1 sentences are left out that hold" in caplog.text


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_sample_takes_whole_texts_and_keeps_the_ends_of_lines_in_them(shuffle: bool) -> None:
    options = {"input_sentence_size": 5, "shuffle_input_sentence": shuffle, "max_sentence_length": 10}
    texts = ["a\r\nb\n", "", "\n", "x" * 11, "c\u2585"] * 50
    made = ours(iter(texts), "word", **options)
    assert made == {"\u2581a\r\nb": 0.0}


def test_a_sample_of_a_file_keeps_what_its_lines_end_with(tmp_path: Path) -> None:
    path = tmp_path / "crlf.txt"
    path.write_text("a\r\n" * 9, encoding="utf-8", newline="")
    assert ours(path, "word").keys() == ours(path, "word", input_sentence_size=5).keys() == {"\u2581a\r"}


@pytest.mark.parametrize("spaces", [True, False])
def test_a_corpus_of_code_through_an_iterator_comes_back(spaces: bool) -> None:
    options = {**PLAIN, "remove_extra_whitespaces": spaces}
    tok = tokkit.train(iter([CODE] * 30), model="sp-bpe", vocab_size=30, **options)
    assert tok.decode(tok.encode(CODE)) == CODE
    assert tok.decode(tok.encode("a\tb")) == "a\tb"
