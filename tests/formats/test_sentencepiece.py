"""Model files are read and written as by sentencepiece; errors for damaged files name the position."""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG, SHARED
from normalizers.charsmaps import charsmap
from sentencepiece_zoo import NAMES, model, sentencepiece, texts
from tokkit.errors import FormatError, OptionError
from tokkit.files import protobuf
from tokkit.files.protobuf import written
from tokkit.formats import sentencepiece as model_file
from tokkit.tokenizer import Tokenizer


def piece(text: bytes, score: float | None = 0.0, type_: int = 1) -> bytes:
    parts = written(1, text) + (b"" if score is None else written(2, score))
    return written(1, parts + (written(3, type_) if type_ != 1 else b""))


UNK = piece(b"<unk>", 0.0, 2)
LEAST = UNK + piece(b"a", -1.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_is_read_and_written_is_the_same_byte_for_byte(name: str) -> None:
    data = model(name)
    assert model_file.write(model_file.read(data)) == data


def test_published_models_are_the_same_byte_for_byte() -> None:
    paths = sorted(SHARED.glob("vocabs/*/*.model"))
    if not paths:
        pytest.skip("needs published vocabularies: set TOKKIT_SHARED_DATA to their folder")
    for path in paths:
        assert model_file.write(model_file.read(path.read_bytes())) == path.read_bytes(), path


def test_the_name_of_a_file_or_its_content_says_what_it_is(tmp_path: Path) -> None:
    data = model("unigram-plain")
    rival = sentencepiece.SentencePieceProcessor(model_proto=data)
    for name in ("x.model", "spiece.model", "anything"):
        (tmp_path / name).write_bytes(data)
        assert tokkit.load(tmp_path / name).encode("Hello") == rival.encode("Hello")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "tokenizer.model").write_bytes(data)
    tok = tokkit.load(tmp_path / "dir")
    assert tok.save(tmp_path / "y.model") == [tmp_path / "y.model"]
    assert (tmp_path / "y.model").read_bytes() == data
    with pytest.raises(OptionError, match="its text is not split"):
        tokkit.load(tmp_path / "x.model", pattern="gpt2")


def test_changed_flags_are_written_so_that_sentencepiece_reads_them() -> None:
    from dataclasses import replace

    made = model_file.read_model(model("bpe-plain"))
    rules = replace(made.normalizer, add_dummy_prefix=False, remove_extra_whitespaces=False, charsmap=b"", name="x")
    back = replace(rules, charsmap=charsmap({b"a": b"<A>"}), escape_whitespaces=False)
    changed = replace(made, normalizer=rules, denormalizer=back, unk_surface="[?]", treat_whitespace_as_suffix=True)
    data = model_file.write_model(changed)
    assert model_file.write_model(model_file.read_model(data)) == data
    rival = sentencepiece.SentencePieceProcessor(model_proto=data)
    tok = Tokenizer(model_file.read(data))
    for text in texts():
        assert tok.encode(text) == rival.encode(text), text
    ids = tok.encode("a banana 🦜")
    assert tok.decode(ids) == rival.decode(ids)
    assert "<A>" in tok.decode(ids)
    assert tok.decode_bytes(ids).decode() == tok.decode(ids)
    stream = tok.decode_stream()
    assert "".join(map(stream.step, ids)) + stream.flush() == tok.decode(ids)


def test_what_is_not_known_is_kept() -> None:
    odd = piece(b"b")[:-1] + b"\0" + b""
    odd = written(1, written(1, b"b") + written(2, -2.0) + written(200, b"more") + written(3, 1))
    trainer = written(2, written(3, 1) + written(199, b"later") + written(300, 7))
    rules = written(3, written(1, "x") + written(99, b"rule"))
    data = LEAST + odd + trainer + rules + written(4, b"self test") + written(777, "extension")
    assert model_file.write(model_file.read(data)) == data


def test_a_trainer_spec_is_made_of_what_differs_from_the_usual() -> None:
    assert model_file.trainer_spec(model_type=1, vocab_size=8000, unk_id=0) == b""
    made = model_file.trainer_spec(pad_id=3, user_defined_symbols=["a", "b"], bos_id=-1, character_coverage=0.5)
    says = protobuf.values(made, model_file.TRAINER_FIELDS, "it")
    assert (says["pad_id"], says["bos_id"], says["character_coverage"]) == (3, -1, 0.5)
    assert says["user_defined_symbols"] == ["a", "b"]
    with pytest.raises(OptionError, match="'nope' is not a field of a trainer_spec"):
        model_file.trainer_spec(nope=1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "there are no pieces"),
        (LEAST + b"\x0a", "byte 27: a varint does not end"),
        (LEAST + b"\x0a\xff\xff\xff\xff\x7f", "a field is longer than the rest"),
        (LEAST + b"\x0a" + b"\xff" * 11, "a varint has more than 10 bytes"),
        (LEAST + b"\x00\x00", "the number of a field"),
        (LEAST + b"\x0b", "the wire type of a field"),
        (written(1, b"\x0a\x7fx") + LEAST, "byte 4: a field is longer than the rest"),
        (written(1, written(1, 5)) + LEAST, "the wrong wire type"),
        (LEAST + piece(b"x", float("nan")), "the score of piece 2 is nan"),
        (LEAST + piece(b"x", float("-inf")), "the score of piece 2 is -inf"),
        (LEAST + piece(b"a"), "the pieces 1 and 2 are both 'a'"),
        (LEAST + piece(b""), "the piece 2 is empty"),
        (LEAST + piece(b"\xff"), r"pieces\[2\].piece is not UTF-8"),
        (LEAST + piece(b"x\xe3\x81") + piece(b"\x82"), r"pieces\[3\].piece is not UTF-8"),
        (LEAST + piece(b"x", 0.0, 7), r"pieces\[2\].type is 7"),
        (LEAST + piece(b"x", 0.0, -1), r"pieces\[2\].type is -1"),
        (piece(b"a"), "0 pieces have the type unknown"),
        (LEAST + piece(b"<u>", 0.0, 2), "2 pieces have the type unknown"),
        (LEAST + piece(b"<0x00>", 0.0, 6), "has the type byte, but byte_fallback is not set"),
        (LEAST + written(2, written(35, True)), "byte_fallback needs a byte piece for each byte"),
        (LEAST + written(2, written(3, 9)), "trainer_spec.model_type is 9"),
        (LEAST + written(2, written(3, b"x")), "trainer_spec, byte 0: model_type has wire type 2"),
        (LEAST + written(2, 5), "trainer_spec has wire type 0; it must be a message"),
        (LEAST + written(2, b"\x0a\x05x"), "trainer_spec, byte 0: a field has 5 bytes; only 1 are left"),
        (LEAST + written(2, written(44, b"\xff")), "trainer_spec.unk_surface: not UTF-8 at byte 0"),
        (LEAST + written(3, written(2, b"\0")), "normalizer_spec.precompiled_charsmap: it ends before its trie does"),
        (
            LEAST + written(5, written(2, b"\3\0\0\0abc")),
            "denormalizer_spec.precompiled_charsmap: the size of its trie",
        ),
    ],
)
def test_what_is_wrong_is_refused_by_place(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        model_file.read(data)


def test_maps_that_point_anywhere_are_refused_or_run() -> None:
    good = charsmap({b"a": b"x", "é".encode(): b"e", b"ab": b"", "東".encode(): b"  "})
    rng = random.Random(5)
    for _ in range(3000 if LONG else 300):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data) // 4) * 4
            data[at : at + 4] = struct.pack("<I", rng.choice((0, 0xFFFFFFFF, rng.getrandbits(32), rng.getrandbits(13))))
        with contextlib.suppress(FormatError):
            tok = Tokenizer(model_file.read(LEAST + written(3, written(2, bytes(data)))))
            assert tok.encode("a ab é 東\0") is not None


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_half_a_character_is_never_replaced(kind: int) -> None:
    for half in (b"\xe6", b"\xe6\x9d", b"\xf0\x9f", b"\xc3"):
        map_ = charsmap({half: b"x", b"a\xe6": b"y"})
        data = LEAST + written(2, written(3, kind)) + written(3, written(2, map_))
        tok = Tokenizer(model_file.read(data))
        assert tok("a東é🦜東").offsets[-1][1] == 5
        assert tok.encode("東") == tok.encode("é")


def wrecked(data: bytes, rng: random.Random) -> bytes:
    """A file that is cut, or in which some bytes are others, more, or gone."""
    made = bytearray(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(made) + 1)
        made[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(made)


@pytest.mark.parametrize("seed", range(8 if not LONG else 200))
def test_wrecked_files_are_refused_or_run(seed: int) -> None:
    rng = random.Random(seed)
    small = model("char-symbols")
    head = LEAST + b"".join(piece(b"<0x%02X>" % b, 0.0, 6) for b in range(256)) + written(2, written(35, True))
    for _ in range(40):
        with contextlib.suppress(FormatError):
            tok = Tokenizer(model_file.read(wrecked(small if rng.random() < 0.3 else head, rng)))
            assert isinstance(tok.decode(tok.encode("a東 <s>\0x")), str)


@given(st.binary(max_size=200))
@settings(max_examples=200 if LONG else 80)
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        model_file.read(data)
    with contextlib.suppress(FormatError):
        model_file.read(LEAST + data)


FIELDS = st.lists(
    st.tuples(st.integers(1, 40), st.one_of(st.integers(0, 2**63 - 1), st.binary(max_size=20), st.booleans())),
    max_size=8,
)


@given(FIELDS)
def test_messages_come_back_and_what_is_there_is_not_written_anew(fields: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(written(number, value) for number, value in fields)
    assert b"".join(data[f.start : f.end] for f in protobuf.fields(data, "it")) == data
    assert [(f.number, f.value) for f in protobuf.fields(data, "it")] == [(n, v) for n, v in fields]
    kinds = {"x": protobuf.Kind(41, int, 5), "y": protobuf.Kind(42, str, [], repeated=True)}
    assert protobuf.updated(data, kinds, {"x": 5, "y": []}, "it") == data
    more = protobuf.updated(data, kinds, {"x": -1, "y": ["a", "b"]}, "it")
    assert protobuf.values(more, kinds, "it") == {"x": -1, "y": ["a", "b"]}
    assert protobuf.updated(more, kinds, {"x": -1, "y": ["a", "b"]}, "it") == more


def test_tokens_without_a_place_in_a_model_are_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    from tokkit.definition import AddedToken

    definition = model_file.read(LEAST)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: definition.with_special_tokens({"<x>": 7}), "no token has the id 2"),
        (lambda: definition.with_special_tokens({"a": 1}), "the added token 'a' cannot be in a .model"),
        (
            lambda: replace(definition, added_tokens=(AddedToken("a", 1),), special_tokens={}),
            "the added token 'a' cannot be in a .model",
        ),
    ]
    for make, message in cases:
        with pytest.raises(FormatError, match=message):
            model_file.write(make())  # type: ignore[arg-type]


def test_the_scores_are_the_floats_of_the_file() -> None:
    made = model_file.read_model(LEAST + piece(b"b", 0.1))
    assert made.scores.dtype == np.float32
    assert made.scores.tolist() == [0.0, -1.0, np.float32(0.1)]
