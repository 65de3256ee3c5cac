"""Pieces added to SentencePiece models are in their files, and give the ids that sentencepiece gives with them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.conversion import add_pieces, add_tokens
from tokkit.errors import OptionError, VocabError
from tokkit.formats.sentencepiece import write

MODELS = ["unigram", "sp-bpe", "sp-word", "sp-char"]
LINES = ["low lower lowest newer newest wider", "a fox, a dog! <extra", "xyz zyx 12 <1>"] * 9
TEXTS = [
    "low<extra_id_0>er",
    "<extra_id_0>",
    "  <extra_id_0>  lowest <extra_id_0><extra_id_0>",
    "lowestnew a low est<extra_id_00>",
    "x\uff1cextra_id_0> <extra_id_0>\u0338 >\u0338",
    "",
]


@pytest.fixture
def tok(request: pytest.FixtureRequest) -> tokkit.Tokenizer:
    return tokkit.train(iter(LINES), model=request.param, vocab_size=50, hard_vocab_limit=False, character_coverage=1.0)


@pytest.mark.parity
@pytest.mark.parametrize("tok", MODELS, indirect=True)
def test_added_pieces_are_those_of_an_edited_file_in_sentencepiece(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    rival = pytest.importorskip("sentencepiece", reason="compares with sentencepiece: pip install sentencepiece")
    pytest.importorskip("google.protobuf", reason="edits the file as a message: pip install protobuf")
    schema = importlib.import_module("tokkit.compat.sentencepiece.sentencepiece_model_pb2")
    edited = schema.ModelProto.FromString(write(tok.definition))
    edited.pieces.add(piece="<extra_id_0>", score=0.0, type=4)
    edited.pieces.add(piece="\u2581lowest", score=-2.5) if tok.vocab.get("\u2581lowest".encode()) is None else None
    more, ids = add_pieces(tok, ["<extra_id_0>"])
    if len(edited.pieces) > more.n_ids:
        more, _ = add_pieces(more, {"\u2581lowest": -2.5}, kind="normal")
    assert ids.tolist() == list(range(tok.n_ids))
    more.save(tmp_path / "more.model")
    assert schema.ModelProto.FromString((tmp_path / "more.model").read_bytes()) == edited
    right = rival.SentencePieceProcessor(model_proto=edited.SerializeToString())
    again = tokkit.load(tmp_path / "more.model")
    for text in TEXTS:
        assert more.encode(text) == again.encode(text) == right.encode(text), text
        assert more.decode(more.encode(text)) == right.decode(right.encode(text)), text
    assert (tok.n_ids in more.encode("a<extra_id_0>")) == ("words" not in repr(tok))  # a model of words has whole words


@pytest.mark.parametrize("tok", ["unigram"], indirect=True)
def test_special_tokens_that_were_added_before_become_control_pieces(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    more = add_pieces(add_tokens(tok, ["<mask>"], special=True).tokenizer, ["<extra>"]).tokenizer
    more.save(tmp_path / "x.model")
    assert more.special_tokens["<mask>"] == tok.n_ids
    assert tokkit.load(tmp_path / "x.model").encode("low<extra>") == more.encode("low<extra>")
    assert more.encode("low<extra>")[-1] == tok.n_ids + 1


@pytest.mark.parametrize(
    ("pieces", "options", "error", "said"),
    [
        ("<a>", {}, TypeError, "must be a list of them"),
        (["<a>", "<a>"], {}, VocabError, "given twice"),
        (["lo"], {}, VocabError, "is a piece already, with the id"),
        (["<s>"], {}, VocabError, "is a piece already, with the id 1"),
        (["a b"], {}, OptionError, "text without a space, which is U+2581"),
        ([""], {}, OptionError, "must be text"),
        (["\ud800"], {}, OptionError, "must be text"),
        ([1], {}, OptionError, "must be text"),
        ({"<a>": float("nan")}, {}, OptionError, "the score of '<a>' is nan"),
        ({"<a>": 1e39}, {}, OptionError, "it must be a finite number"),
        ({"<a>": "1"}, {}, OptionError, "it must be a finite number"),
        (["<a>"], {"kind": "normal"}, OptionError, "normal pieces need scores"),
        (["<a>"], {"kind": "control"}, OptionError, "kind is 'control'; it must be one of user_defined, normal"),
    ],
)
@pytest.mark.parametrize("tok", ["sp-bpe"], indirect=True)
def test_pieces_that_cannot_be_added_are_errors(
    tok: tokkit.Tokenizer, pieces: Any, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as raised:
        add_pieces(tok, pieces, **options)
    assert said in str(raised.value)


def test_other_models_have_no_pieces() -> None:
    with pytest.raises(OptionError, match="use add_tokens"):
        add_pieces(tokkit.train(iter(LINES), vocab_size=260), ["<a>"])
