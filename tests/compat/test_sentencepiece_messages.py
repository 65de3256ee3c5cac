"""Protobuf messages of the drop-in for sentencepiece: schema, bytes and results as in the package itself."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from conftest import SHARED
from extras import extra
from sentencepiece_zoo import model, sentencepiece
from tokkit.compat import sentencepiece as face

extra("google.protobuf")

from sentencepiece import sentencepiece_model_pb2 as their_model  # noqa: E402
from sentencepiece import sentencepiece_pb2 as their_text  # noqa: E402

from tokkit.compat.sentencepiece import messages, schema, sentencepiece_model_pb2, sentencepiece_pb2  # noqa: E402


def fields(message: Any) -> list[Any]:
    """The fields of a message, its inner messages and enums, as data."""
    listed = [(f.name, f.number, f.type, f.default_value) for f in message.fields]
    enums = [[(enum.name, value.name, value.number) for value in enum.values] for enum in message.enum_types]
    return [message.full_name, sorted(listed), enums, [fields(inner) for inner in message.nested_types]]


PAIRS = [(sentencepiece_model_pb2, their_model, name) for name in ("ModelProto", "NormalizerSpec", "TrainerSpec")]
PAIRS += [(sentencepiece_pb2, their_text, name) for name in ("SentencePieceText", "NBestSentencePieceText")]


@pytest.mark.parametrize(("ours", "theirs", "name"), PAIRS)
def test_messages_have_the_fields_of_sentencepiece(ours: Any, theirs: Any, name: str) -> None:
    assert fields(getattr(ours, name).DESCRIPTOR) == fields(getattr(theirs, name).DESCRIPTOR)


def test_a_model_file_is_parsed_changed_and_written() -> None:
    made, other = sentencepiece_model_pb2.ModelProto(), their_model.ModelProto()
    for message in (made, other):
        message.ParseFromString(model("unigram-bytes"))
        message.pieces.add(piece="<new>", score=-1.5, type=message.SentencePiece.USER_DEFINED)
    assert made.SerializeToString() == other.SerializeToString()
    assert str(made) == str(other)
    assert made.trainer_spec.model_type == sentencepiece_model_pb2.TrainerSpec.UNIGRAM
    assert pickle.loads(pickle.dumps(made)) == made
    assert face.SentencePieceProcessor(model_proto=made).piece_to_id("<new>") == len(made.pieces) - 1


CALLS: list[tuple[str, Any, dict[str, Any]]] = [
    ("encode", "Hello 🦜 é", {"out_type": "proto"}),
    ("encode", ["Hello", "a 🦜"], {"return_type": "proto"}),
    ("encode_as_proto", "ab c", {}),
    ("nbest_encode", "ab c", {"out_type": "proto", "nbest_size": 1}),
    ("parallel_encode", "ab c", {"out_type": "proto", "chunk_len": 10}),
    ("decode", [5, 6, 7], {"out_type": "proto"}),
    ("decode", [[5], []], {"out_type": "proto"}),
    ("decode_pieces_as_proto", ["a", "🦜"], {}),
]


@pytest.mark.parametrize(("name", "given", "options"), CALLS)
def test_results_are_messages(name: str, given: Any, options: dict[str, Any]) -> None:
    data = model("unigram-bytes")
    made = getattr(face.SentencePieceProcessor(model_proto=data), name)(given, **options)
    other = getattr(sentencepiece.SentencePieceProcessor(model_proto=data), name)(given, **options)
    assert str(made) == str(other)
    first = made[0] if isinstance(made, list) else made
    assert isinstance(first, (sentencepiece_pb2.SentencePieceText, sentencepiece_pb2.NBestSentencePieceText))


PIECES: list[Any] = [
    [b"a", b"b"],
    [[], [b"a"]],
    [[b"a"], ["b"]],
    [["a"], [b"b"]],
    b"a",
    [b"", b""],
    [[5], []],
]


@pytest.mark.parametrize("given", PIECES, ids=repr)
@pytest.mark.parametrize("kind", [str, bytes, "offset_mapping"])
def test_texts_of_pieces_in_bytes_are_bytes(given: Any, kind: Any) -> None:
    data = model("unigram-bytes")
    both = [package.SentencePieceProcessor(model_proto=data) for package in (face, sentencepiece)]
    assert both[0].decode(given, return_type=kind) == both[1].decode(given, return_type=kind)
    if kind == "offset_mapping":
        for as_bytes in (False, True):
            results = [one.decode(given, return_type=kind, return_bytes=as_bytes) for one in both]
            assert results[0] == results[1]


@pytest.mark.parametrize("given", [["a", b"b"], [b"a", "b"], b"a \xc3\xa9", []], ids=repr)
def test_pieces_of_a_list_are_bytes_if_the_first_text_is(given: Any) -> None:
    data = model("unigram-bytes")
    both = [package.SentencePieceProcessor(model_proto=data) for package in (face, sentencepiece)]
    results = [one.encode(given, return_type="offset_mapping") for one in both]
    assert results[0] == results[1]


@pytest.mark.parametrize("call", ["nbest_encode", "parallel_encode"])
def test_offsets_are_only_for_one_segmentation(call: str) -> None:
    options = {"chunk_len": 10} if call == "parallel_encode" else {"nbest_size": 2}
    for package in (face, sentencepiece):
        made = package.SentencePieceProcessor(model_proto=model("unigram-bytes"))
        with pytest.raises(ValueError, match="offset_mapping"):
            getattr(made, call)("a", return_type="offset_mapping", **options)


def test_a_normalizer_is_a_model_without_pieces() -> None:
    options: dict[str, Any] = {"model_proto": model("unigram-plain"), "add_dummy_prefix": False}
    made = [package.SentencePieceNormalizer(**options).serialized_model_proto() for package in (face, sentencepiece)]
    parsed = [sentencepiece_model_pb2.ModelProto.FromString(data) for data in made]
    assert parsed[0].normalizer_spec == parsed[1].normalizer_spec
    assert not parsed[0].pieces


def test_without_protobuf_the_modules_name_it_and_texts_are_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(ImportError, match="sentencepiece_pb2 needs the package protobuf: pip install protobuf"):
        schema.make("x.proto", schema.TEXT, sentencepiece_pb2.__name__)
    monkeypatch.setattr(messages, "_texts", lambda: None)
    made = face.SentencePieceProcessor(model_proto=model("unigram-bytes")).encode("a 🦜", out_type="proto")
    assert made.text == "a 🦜"
    assert [piece.surface for piece in made.pieces][-4:] == ["", "", "", "🦜"]
    assert (made.pieces[-1].begin, made.pieces[-1].end) == (2, 6)


def run(code: str, *args: str) -> str:
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *args], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


OTHERS = ["sentencepiece.sentencepiece_model_pb2", "transformers.utils.sentencepiece_model_pb2_new"]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("first", [True, False])
def test_the_messages_of_other_packages_can_be_in_the_same_process(other: str, first: bool) -> None:
    extra(other.split(".")[0])
    names = [other, "tokkit.compat.sentencepiece.sentencepiece_model_pb2"]
    code = """
        import importlib, sys
        first, second = [importlib.import_module(name).ModelProto for name in sys.argv[1:]]
        made = first(pieces=[{"piece": "a"}])
        print(first is not second, second.FromString(made.SerializeToString()).pieces[0].piece)
    """
    assert run(code, *(names if first else names[::-1])) == "True a"


def test_transformers_reads_a_folder_of_a_model_with_these_modules(tmp_path: Path) -> None:
    extra("transformers")
    if SHARED is None or not (file := SHARED / "vocabs" / "t5" / "spiece.model").exists():
        pytest.skip("needs the shared vocabularies")
    (tmp_path / "spiece.model").write_bytes(file.read_bytes())
    code = """
        import sys
        from tokkit.compat import sentencepiece
        sys.modules["sentencepiece"] = sentencepiece
        from transformers import T5TokenizerFast
        from transformers.convert_slow_tokenizer import import_protobuf
        assert import_protobuf().__name__ == "tokkit.compat.sentencepiece.sentencepiece_model_pb2"
        print(T5TokenizerFast.from_pretrained(sys.argv[1])("Hello there, naïve world.")["input_ids"])
    """
    ids = sentencepiece.SentencePieceProcessor(model_file=str(file)).encode("Hello there, naïve world.")
    assert run(code, str(tmp_path)) == str([*ids, 1])
