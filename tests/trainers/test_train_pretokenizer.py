"""A `pretokenizer` in Python decides what pieces may span, as in sentencepiece's trainer."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.compat import sentencepiece as face
from tokkit.errors import OptionError
from tokkit.formats.sentencepiece import read_model
from tokkit.models.sentencepiece import NORMAL, SentencePieceModel

TEXT = (
    "lowerCase newestCase widerCase<new> 1234 banana\n" * 20
    + "low lower lowest newer newest wider, the quick brown fox jumps over 12 lazy dogs in 1999\n" * 30
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def camel(line: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z]+|[0-9]|▁+|\x1f|[^a-z0-9▁\x1f]", line)


def trained(library: Any, path: Path, **flags: Any) -> SentencePieceModel:
    file = io.BytesIO()
    library.SentencePieceTrainer.train(
        input=str(path), model_writer=file, num_threads=1, minloglevel=3, pretokenizer=camel, **flags
    )
    return read_model(file.getvalue())


def pieces(model: SentencePieceModel) -> list[str]:
    return [piece.decode() for piece, kind in zip(model.pieces, model.types, strict=True) if kind == NORMAL]


@pytest.mark.parametrize(
    "flags",
    [{}, {"user_defined_symbols": ["<new>", "an"]}, {"split_by_whitespace": False}, {"add_dummy_prefix": False}],
)
def test_no_piece_crosses_the_parts_that_it_returns(corpus: Path, flags: dict[str, Any]) -> None:
    rival = pytest.importorskip("sentencepiece")
    flags = {"vocab_size": 80, **flags}
    made, right = (trained(library, corpus, model_type="bpe", **flags) for library in (face, rival))
    assert made.pieces == right.pieces
    found = pieces(trained(face, corpus, model_type="unigram", **flags))
    assert all(len(camel(piece)) == 1 for piece in found)
    assert max(map(len, found)) > 3


@pytest.mark.parametrize("model", ["unigram", "sp-bpe"])
def test_what_it_returns_is_checked(corpus: Path, model: str) -> None:
    options: dict[str, Any] = {"model": model, "vocab_size": 60, "hard_vocab_limit": False}
    with pytest.raises(OptionError, match="pretokenizer made 'low' of '▁low"):
        tokkit.train(corpus, pretokenizer=lambda line: ["low"], **options)
    made = tokkit.train(
        corpus, pretokenizer=lambda line: ["lo", "w"], allow_inconsistent_pretokenization=True, **options
    )
    assert isinstance(made.definition.model, SentencePieceModel)
    assert {"lo", "w"} <= set(pieces(made.definition.model)) <= {"lo", "l", "o", "w"}
    with pytest.raises(ZeroDivisionError):
        tokkit.train(corpus, pretokenizer=lambda line: [line[1 // 0]], **options)


def test_models_of_words_have_none(corpus: Path) -> None:
    with pytest.raises(OptionError, match="a model of the type word"):
        tokkit.train(corpus, model="sp-word", pretokenizer=camel)
    with pytest.raises(OptionError, match="it must be a function"):
        tokkit.train(corpus, model="unigram", pretokenizer="camel")  # type: ignore[call-overload]
