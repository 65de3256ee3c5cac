"""Flags of sentencepiece that read other files, or are refused, in the library and by spm_train's spelling."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.compat import sentencepiece as face
from tokkit.compat.sentencepiece.flags import REFUSED
from tokkit.errors import CorpusError, OptionError
from tokkit.formats.sentencepiece import read_model
from tokkit.models.sentencepiece import NORMAL, SentencePieceModel

PLAIN: dict[str, Any] = {"normalization_rule_name": "identity", "character_coverage": 1.0, "hard_vocab_limit": False}
WORDS = "low lower lowest newer newest wider\n" * 20


def model_of(tok: tokkit.Tokenizer) -> SentencePieceModel:
    model = tok.definition.model
    assert isinstance(model, SentencePieceModel)
    return model


def learnt(model: SentencePieceModel) -> list[str]:
    return [piece.decode() for piece, kind in zip(model.pieces, model.types, strict=True) if kind == NORMAL]


def by_flags(text: str, **flags: Any) -> SentencePieceModel:
    out = io.BytesIO()
    face.SentencePieceTrainer.train(sentence_iterator=iter(text.splitlines()), model_writer=out, **flags)
    return read_model(out.getvalue())


@pytest.mark.parametrize("model", ["unigram", "sp-bpe", "sp-word", "sp-char"])
def test_tsv_lines_count_as_often_as_they_say(tmp_path: Path, model: str) -> None:
    counted, repeated = tmp_path / "counts.tsv", tmp_path / "text.txt"
    counted.write_text("low lower\t3\r\nnew wider\t 2\nx\u2585\t5\n" + "y" * 50 + "\t4\n", encoding="utf-8", newline="")
    repeated.write_text("low lower\n" * 3 + "new wider\n" * 2, encoding="utf-8")
    options = {**PLAIN, "model": model, "vocab_size": 40, "max_sentence_length": 40}
    made = tokkit.train(counted, input_format="tsv", **options)
    assert made.fingerprint() == tokkit.train(repeated, **options).fingerprint()
    by_item = tokkit.train(iter(["low lower\t3", "new wider\t2\n"]), input_format="tsv", **options)
    assert by_item.fingerprint() == made.fingerprint()


@pytest.mark.parametrize("line", ["low", "low\t", "low\t0", "low\t-1", "low\t1.5", "low\tx\ty", "", "low\t1_0"])
def test_a_line_without_a_count_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "counts.tsv"
    path.write_text(f"a\t1\n{line}\nb\t1\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"counts\.tsv: .* is not a text, one tab and a count"):
        tokkit.train(path, model="sp-char", vocab_size=20, input_format="tsv")


def test_word_counts_are_no_lines_of_a_tsv() -> None:
    with pytest.raises(OptionError, match="input_format applies to lines of text"):
        tokkit.train({"a": 1}, model="sp-char", vocab_size=20, input_format="tsv")
    with pytest.raises(OptionError, match="input_format is 'csv'; it must be one of text, tsv"):
        tokkit.train(iter(["a"]), model="sp-char", vocab_size=20, input_format="csv")


@pytest.mark.parametrize("model", ["unigram", "sp-bpe"])
def test_no_piece_crosses_or_holds_the_delimiter(model: str) -> None:
    texts = ["ab||cd ab||cd"] * 20
    made = tokkit.train(iter(texts), model=model, vocab_size=60, pretokenization_delimiter="||", **PLAIN)
    assert any(len(piece) > 1 for piece in learnt(model_of(made)))
    assert not any("|" in piece or "bc" in piece for piece in learnt(model_of(made)))
    with pytest.raises(OptionError, match="both given"):
        tokkit.train(
            iter(texts), model=model, vocab_size=60, pretokenization_delimiter="||", pretokenizer=lambda s: [s], **PLAIN
        )
    with pytest.raises(OptionError, match="pretokenization_delimiter is given for a model of the type word"):
        tokkit.train(iter(texts), model="sp-word", vocab_size=60, pretokenization_delimiter="||")


def test_unigram_starts_from_the_pieces_of_a_file(tmp_path: Path) -> None:
    path, corpus = tmp_path / "seeds.tsv", tmp_path / "corpus.txt"
    corpus.write_text(WORDS, encoding="utf-8")
    path.write_text("low\t9\n\u2581low\t5\nest\t10\nnewe\t7\nzz\t5\nw lo\t3\nn\t1\n", encoding="utf-8")
    options = {**PLAIN, "model": "unigram", "vocab_size": 60, "seed_sentencepieces_file": path}
    made = model_of(tokkit.train(corpus, **options))
    assert {piece for piece in learnt(made) if len(piece) > 1} == {"low", "\u2581low", "est", "newe"}
    first = model_of(tokkit.train(corpus, **options, seed_sentencepiece_size=1))
    assert {piece for piece in learnt(first) if len(piece) > 1} == {"est"}
    assert learnt(made) == learnt(by_flags(WORDS, **PLAIN, vocab_size=60, seed_sentencepieces_file=str(path)))


@pytest.mark.parametrize(
    "text", ["", "low\n", "low\t\n", "\t3\n", "low\t0\n", "low\t-3\n", "low\t1.5\n", "low\t3\tx\n"]
)
def test_a_file_of_first_pieces_that_is_wrong_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "seeds.tsv"
    path.write_text(text, encoding="utf-8")
    for given in (path, tmp_path / "none"):
        with pytest.raises(CorpusError, match=r"seeds\.tsv|none"):
            tokkit.train(iter([WORDS]), model="unigram", vocab_size=60, seed_sentencepieces_file=given, **PLAIN)


def test_a_missing_surface_of_unknown_pieces_is_empty() -> None:
    made = by_flags("a b\n" * 9, model_type="char", vocab_size=10, unk_surface="")
    assert made.unk_surface == ""
    out = io.BytesIO()
    face.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b"]), model_writer=out, model_type="char", vocab_size=10, unk_surface=""
    )
    processor = face.SentencePieceProcessor(model_proto=out.getvalue())
    assert processor.decode(processor.encode("a z b")) == "a  b"


@pytest.mark.parametrize("name", list(REFUSED))
def test_flags_that_are_not_honoured_are_refused_by_name(name: str) -> None:
    default, instead = REFUSED[name]
    by_flags("a b", model_type="char", vocab_size=10, **{name: default})
    with pytest.raises(RuntimeError) as error:
        by_flags("a b", model_type="char", vocab_size=10, **{name: 1})
    assert f"{name} is not supported here; {instead}" in str(error.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"model_type": "bpe", "use_all_vocab": True}, "use_all_vocab is for the model types word and char"),
        (
            {"model_type": "word", "seed_sentencepieces_file": "x"},
            "seed_sentencepieces_file is for the model type unigram",
        ),
        ({"model_type": "char", "pretokenization_delimiter": "x"}, "pretokenization_delimiter is given for a model"),
        ({"model_type": "char", "required_chars": " "}, "required_chars has ' '"),
        ({"model_type": "char", "required_chars": "a\u2585"}, "required_chars has '\u2585'"),
        ({"model_type": "char", "unk_piece": ""}, "unk_piece is empty"),
    ],
)
def test_flags_that_sentencepiece_refuses_are_errors(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(RuntimeError) as error:
        by_flags("a b", vocab_size=20, hard_vocab_limit=False, **flags)
    assert said in str(error.value)


def test_required_characters_come_first_in_the_coverage() -> None:
    texts = ["a" * 98 + "捗" + "b"]
    options = {"model": "sp-char", "vocab_size": 20, "character_coverage": 0.98}
    assert set(learnt(model_of(tokkit.train(iter(texts), **options)))) == {"a", "b"}
    assert set(learnt(model_of(tokkit.train(iter(texts), required_chars="捗", **options)))) == {"a", "捗"}


def test_a_required_character_that_never_occurs_has_no_probability(tmp_path: Path) -> None:
    made = tokkit.train(iter(["a b"]), model="sp-char", vocab_size=20, required_chars="é")
    assert model_of(made).scores[model_of(made).pieces["é".encode()]] == -float("inf")
    made.save(tmp_path / "char.model")
    again = tokkit.load(tmp_path / "char.model")
    assert again.encode("aé b") == made.encode("aé b")
    assert again.decode(again.encode("aé b")) == "aé b"


def test_minloglevel_silences_the_log_during_the_training_only(caplog: pytest.LogCaptureFixture) -> None:
    flags = {"model_type": "char", "vocab_size": 10, "max_sentence_length": 10}
    by_flags("a b\n" + "c" * 30, minloglevel=2, **flags)
    assert not caplog.records
    by_flags("a b\n" + "c" * 30, **flags)
    assert "1 sentences of more than 10 bytes" in caplog.text
    assert logging.getLogger("tokkit").isEnabledFor(logging.WARNING)


def test_symbols_are_found_in_normalized_text() -> None:
    texts = iter(["x of\uff21 y\tz"] * 9)
    made = tokkit.train(
        texts, model="sp-char", vocab_size=20, user_defined_symbols=["ofA", "\t"], character_coverage=1.0
    )
    assert set(learnt(model_of(made))) == {"\u2581", "x", "y", "z"}
