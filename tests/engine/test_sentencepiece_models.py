"""SentencePiece models of all types, compared with sentencepiece and with a naive twin."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tokkit
from conftest import LONG, SHARED
from reference.sentencepiece import Twin
from sentencepiece_zoo import NAMES, model, sentencepiece, texts
from tokkit.definition import AddedToken, definition_of
from tokkit.engine.sentencepiece import SentencePieceEngine
from tokkit.errors import OptionError, SpecialTokenError, VocabError
from tokkit.formats import sentencepiece as model_file
from tokkit.models.sentencepiece import NORMAL, UNUSED, SentencePieceModel
from tokkit.tokenizer import Tokenizer
from tokkit.vocab import Vocab

SOME = ("unigram-symbols", "bpe-bytes", "word-suffix", "char-identity")


def pair(name: str) -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    data = model(name)
    return Tokenizer(model_file.read(data)), sentencepiece.SentencePieceProcessor(model_proto=data)


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_offsets_are_those_of_sentencepiece(name: str) -> None:
    tok, rival = pair(name)
    for text in texts():
        theirs = rival.encode(text, out_type="offset_mapping")
        ours = tok(text)
        assert ours.ids == theirs["ids"], text
        assert ours.offsets == theirs["offsets"], text


@pytest.mark.parametrize("name", NAMES)
def test_a_plain_twin_gives_the_same_pieces_and_normalizes_alike(name: str) -> None:
    tok, rival = pair(name)
    definition = tok.definition.model
    assert isinstance(definition, SentencePieceModel)
    twin = Twin(definition)
    for text in list(texts())[:: 16 if "bpe" not in name else 10]:
        normalized = twin.normalize(text[:300])
        assert normalized == rival.normalize(text[:300]), text
        pieces = [twin.pieces.get(part, definition.unk_id) for part in getattr(twin, definition.kind)(normalized)]
        joined = [a for a, b in pairwise([*pieces, None]) if not a == b == definition.unk_id]
        if not definition.byte_fallback:
            assert tok.encode(text[:300]) == joined, text


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_decoded_as_sentencepiece_decodes_them(name: str) -> None:
    tok, rival = pair(name)
    n, rng = tok.n_ids, random.Random(2)
    odd = [i for i in range(n) if rival.is_control(i) or rival.is_unknown(i) or rival.is_byte(i)]
    odd += [i for i in range(n) if rival.id_to_piece(i).startswith("▁")][:40]
    for _ in range(2000 if LONG else 200):
        ids = [rng.choice(odd if rng.random() < 0.7 else range(n)) for _ in range(rng.randrange(9))]
        assert tok.decode(ids) == rival.decode(ids), ids
        stream = tok.decode_stream()
        assert "".join(map(stream.step, ids)) + stream.flush() == rival.decode(ids), ids


@pytest.mark.parametrize("name", ["unigram-bytes", "bpe-bytes", "char-bytes", "bpe-identity", "unigram-identity"])
def test_what_a_model_can_say_comes_back(name: str) -> None:
    tok, _ = pair(name)
    for text in ("東京は素晴らしい", "Hello world", "a 🦜 b", "x"):
        assert tok.decode(tok.encode(text)) == text


def test_a_space_mark_in_the_text_is_a_space_when_it_comes_back() -> None:
    tok, rival = pair("bpe-identity")
    assert tok.decode(tok.encode("a▁b")) == rival.decode(rival.encode("a▁b")) == "a b"


@pytest.mark.parametrize("name", SOME)
def test_all_ways_to_encode_agree(name: str) -> None:
    tok, _ = pair(name)
    several = list(texts())[:60]
    ids, offsets = tok.encode_batch(several, threads=2)
    for k, text in enumerate(several):
        one = tok.encode(text)
        assert ids[offsets[k] : offsets[k + 1]].tolist() == one == tok.encode_to_numpy(text.encode()).tolist()
        assert tok.count(text) == len(one)
    again = pickle.loads(pickle.dumps(tok))
    assert again.encode(several[12]) == tok.encode(several[12])
    assert again.fingerprint() == tok.fingerprint()


def test_special_tokens_are_text_unless_they_are_allowed() -> None:
    tok, rival = pair("unigram-symbols")
    text = "a<ctl> b</s>"
    assert tok.encode(text) == rival.encode(text)
    ctl, end = rival.piece_to_id("<ctl>"), rival.piece_to_id("</s>")
    assert tok.encode(text, special="all") == [*rival.encode("a"), ctl, *rival.encode(" b"), end]
    assert tok.encode(text, special={"</s>"}) == [*rival.encode("a<ctl> b"), end]
    assert tok(text, special="all").offsets[-1] == (8, 12)
    with pytest.raises(SpecialTokenError, match=r"'<ctl>' at byte 1"):
        tok.encode(text, special="raise")
    with pytest.raises(OptionError, match="is not a special token"):
        tok.encode(text, special={"b"})


def test_a_special_token_that_another_added_token_overlaps_is_refused_by_its_name() -> None:
    plain = tokkit.train(iter(["low lower lowest slow slower"]), model="sp-bpe", vocab_size=24).definition
    token = AddedToken("s>x", plain.vocab.n_ids, normalized=False)
    vocab = plain.vocab.with_tokens({token.id: b"s>x"})
    tok = Tokenizer(
        replace(plain, vocab=vocab, added_tokens=(*plain.added_tokens, token), added_ids=frozenset({token.id}))
    )
    with pytest.raises(SpecialTokenError, match="'</s>' at byte 4"):
        tok.encode("low </s>x", special="raise")
    assert tok.encode("low s>x", special="raise") == tok.encode("low s>x")


def test_special_tokens_can_be_added_and_are_kept_in_the_file(tmp_path: Path) -> None:
    tok, _ = pair("bpe-plain")
    more = tok.with_special_tokens({"<|im_start|>": tok.n_ids})
    more.save(tmp_path / "x.model")
    rival = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    assert rival.is_control(tok.n_ids)
    again = tokkit.load(tmp_path / "x.model")
    assert again.encode("a<|im_start|>", special="all") == more.encode("a<|im_start|>", special="all")
    assert again.fingerprint() == more.fingerprint() != tok.fingerprint()


def test_words_begin_where_a_piece_begins_with_a_space() -> None:
    tok, _ = pair("unigram-plain")
    encoding = tok("the house of the sea")
    begins = [tok.vocab[id_].startswith("▁".encode()) for id_ in encoding.ids]
    assert encoding.word_ids == (np.cumsum(begins) - 1).tolist()
    assert tok("").word_ids == []


@pytest.mark.parametrize("name", SOME)
def test_texts_of_every_size_and_odd_ones_are_encoded_alike(name: str) -> None:
    tok, rival = pair(name)
    for text in ("\0", "a\0b", "x" * 100_000, " " * 10_000 + "x", "🦜" * 5000, "ab" * 20_000):
        assert tok.encode_to_numpy(text).tolist() == rival.encode(text)
    assert tok.encode("a\ud800b") == tok.encode("a\ufffdb")


@pytest.mark.parametrize("name", ["unigram-plain", "bpe-plain"])
def test_unused_pieces_are_not_found(name: str) -> None:
    data = model(name)
    made = model_file.read_model(data)
    valid = {made.pieces[id_] for id_ in range(0, made.pieces.n_ids, 3)}
    less = made.restricted(valid)
    assert {UNUSED, NORMAL} < set(less.types.tolist())
    rival = sentencepiece.SentencePieceProcessor(model_proto=model_file.write_model(less))
    tok = Tokenizer(definition_of(less))
    for text in texts():
        assert tok.encode(text) == rival.encode(text), text


def test_published_models_give_the_ids_of_sentencepiece() -> None:
    paths = sorted(SHARED.glob("vocabs/*/*.model"))
    if not paths:
        pytest.skip("needs published vocabularies: set TOKKIT_SHARED_DATA to their folder")
    for path in paths:
        tok, rival = tokkit.load(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
        for text in texts():
            assert tok.encode(text) == rival.encode(text), (path, text)


def test_what_cannot_be_a_model_is_refused_by_name() -> None:
    pieces = Vocab.from_list([b"<unk>", b"a"])
    good = {"kind": "unigram", "pieces": pieces, "scores": [0, -1], "types": [2, 1]}
    for wrong, error, message in (
        ({"kind": "x"}, OptionError, "the kind of model is 'x'"),
        ({"scores": [0]}, VocabError, "scores have the shape"),
        ({"scores": [0, np.nan]}, VocabError, "the score of piece 1 is nan"),
        ({"types": [2, 2]}, VocabError, "2 pieces have the type unknown"),
        ({"types": [1, 1]}, VocabError, "0 pieces have the type unknown"),
        ({"types": [2, 9]}, VocabError, "they must be from 1 to 6"),
        ({"types": [2, 6]}, VocabError, "'a' has the type byte, but byte_fallback is not set"),
        ({"byte_fallback": True}, VocabError, "byte_fallback needs a byte piece for each byte"),
        ({"pieces": Vocab.from_list([b"a", b"a"])}, VocabError, "the pieces 0 and 1 are both 'a'"),
        ({"pieces": Vocab.from_list([b"", b"a"])}, VocabError, "the piece 0 is empty"),
    ):
        with pytest.raises(error, match=message):
            SentencePieceModel(**{**good, **wrong})
    with pytest.raises(OptionError, match="for SentencePiece models, not for"):
        SentencePieceEngine(tokkit.train(iter(["a"]), vocab_size=256).definition)
