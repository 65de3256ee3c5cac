"""What the core answers at once for sentencepiece's processor is what the general way and the real library answer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from conftest import LONG
from sentencepiece_zoo import NAMES, model, sentencepiece
from strategies import adversarial, documents
from tokkit.compat import sentencepiece as face

TYPES = (int, str, bytes, "numpy")
TEXTS = [
    *documents(4801, 200 if LONG else 20),
    *(adversarial(seed, 300).encode("utf-8", "replace").decode() for seed in range(4810, 4840 if LONG else 4814)),
    "",
    " ",
    "  two  spaces ▁a▁ ",
    "naïve café, 東京は素晴らしい ﬁ 🦜🦜 Привет مرحبا नमस्ते \x00\u0301",
    "long " * 5000,
]
ODD = ["\ud800", "a\udfff b", "\ud83d\ude42 c", b"\xff a", "東京".encode()[:-1], b"plain", "é".encode()]


class Text(str):
    """A str that the core leaves to the general way."""

    __slots__ = ()


def outcome(call: Any, *args: Any, **options: Any) -> Any:
    """What a call returns, arrays as lists, or the class of its error."""
    try:
        found = call(*args, **options)
    except Exception as error:
        return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
    arrays = isinstance(found, np.ndarray) or (isinstance(found, list) and found and isinstance(found[0], np.ndarray))
    return [np.asarray(one).tolist() for one in found] if arrays else found


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A model in our processor and in the real one."""
    data = model(request.param)
    return face.SentencePieceProcessor(model_proto=data), sentencepiece.SentencePieceProcessor(model_proto=data)


@pytest.mark.parametrize("chosen", TYPES)
def test_texts_one_by_one_and_in_a_batch_have_the_results_of_the_general_way(both: Any, chosen: Any) -> None:
    ours, theirs = both
    for options in ({}, {"reverse": True}, {"add_bos": True, "add_eos": True}, {"emit_unk_piece": True}):
        wanted = outcome(theirs.encode, TEXTS, out_type=chosen, **options)
        assert outcome(ours.encode, TEXTS, out_type=chosen, **options) == wanted
        general = outcome(ours.encode, [Text(text) for text in TEXTS], out_type=chosen, **options)
        assert general == wanted
        for text in TEXTS:
            one = outcome(ours.encode, text, out_type=chosen, **options)
            assert one == outcome(ours.encode, Text(text), out_type=chosen, **options), text


@pytest.mark.parametrize("chosen", TYPES)
def test_texts_that_are_not_plain_go_the_general_way_alone_and_in_a_batch(both: Any, chosen: Any) -> None:
    ours, theirs = both
    for odd in ODD:
        if not isinstance(odd, bytes) or odd.decode("utf-8", "replace").encode() == odd:
            assert outcome(ours.encode, odd, out_type=chosen) == outcome(theirs.encode, odd, out_type=chosen)
        alone = outcome(ours.encode, odd, out_type=chosen)
        batch = outcome(ours.encode, ["a b", odd, "c"], out_type=chosen)
        assert batch == alone if isinstance(alone, type) else batch[1] == alone, odd
    for wrong in (["a", 5], [None], ["a", ["b"]], 5):
        assert outcome(ours.encode, wrong, out_type=chosen) == outcome(theirs.encode, wrong, out_type=chosen), wrong


def test_random_ids_decode_as_in_the_general_way(both: Any) -> None:
    ours, theirs = both
    n, rng = theirs.get_piece_size(), random.Random(4802)
    special = [id_ for id_ in range(n) if theirs.is_control(id_) or theirs.is_byte(id_) or theirs.is_unknown(id_)]
    spaces = [id_ for id_ in range(n) if theirs.id_to_piece(id_).startswith("▁")]
    lists: list[list[int]] = [[], *([id_] for id_ in special[:40])]
    for _ in range(2000 if LONG else 200):
        pools = [special, spaces, range(n)]
        lists.append([rng.choice(rng.choice(pools)) for _ in range(rng.randrange(1, 12))])
    wanted = theirs.decode(lists)
    assert ours.decode(lists) == wanted
    assert [ours.decode(ids) for ids in lists] == [ours.decode(tuple(ids)) for ids in lists] == wanted
    pieces = [theirs.id_to_piece(ids) for ids in lists]
    assert ours.decode(pieces) == theirs.decode(pieces)
    assert [ours.decode(one) for one in pieces] == [ours.decode(tuple(one)) for one in pieces]
    assert ours.decode([*pieces, ["▁not a piece", "a"]]) == theirs.decode([*pieces, ["▁not a piece", "a"]])


def test_ids_and_lists_that_are_not_plain_decode_or_are_refused_as_in_the_library(both: Any) -> None:
    ours, theirs = both
    n = theirs.get_piece_size()
    for given in ([n], [-1], [3, n], [[3], [n]], [3.5], ["a", 3], [None], [[3], 4], [[3], []], [[], [3]]):
        assert outcome(ours.decode, given) == outcome(theirs.decode, given), given
    for given in ([True, 3], [np.int64(3), 4], np.array([3, 4]), np.array([[3, 4]]), (3, 4), [3, True]):
        assert ours.decode(given) == ours.decode(np.asarray(given, dtype=np.int64)), given


def test_look_ups_in_tables_are_those_of_the_general_way(both: Any) -> None:
    ours, theirs = both
    n = theirs.get_piece_size()
    ids = [*range(min(n, 400)), n - 1]
    for name in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte", "IdToPiece"):
        call, wanted = getattr(ours, name), getattr(theirs, name)(ids)
        assert call(ids) == call(tuple(ids)) == [call(id_) for id_ in ids] == wanted, name
        for wrong in (n, -1, 1 << 70, [3, n], [3, -1], "a", None, 3.5, [3, None]):
            assert isinstance(outcome(call, wrong), type), (name, wrong)
        assert call([]) == []
    pieces = [*theirs.id_to_piece(ids), "", "not a piece", "\u2581\u2581?"]
    for names in (pieces, [piece.encode() for piece in pieces]):
        for _ in range(2):  # the second time they are in the table
            wanted = theirs.piece_to_id(names)
            assert ours.piece_to_id(names) == [ours.piece_to_id(name) for name in names] == wanted
    assert isinstance(outcome(ours.piece_to_id, 5), type)
    assert isinstance(outcome(ours.piece_to_id, ["a", 5]), type)


def test_tables_follow_the_vocabulary_and_the_model(both: Any) -> None:
    ours, _ = both
    made = face.SentencePieceProcessor()
    assert isinstance(outcome(made.id_to_piece, 0), type)
    made.load_from_serialized_proto(ours.serialized_model_proto())
    assert made.id_to_piece([0, 1]) == ours.id_to_piece([0, 1])
    if made._loaded.model.kind in ("unigram", "bpe"):
        made.set_vocabulary(["a"])
        unused = [made.is_unused(id_) for id_ in range(made.get_piece_size())]
        assert any(unused)
        assert made.is_unused(list(range(len(unused)))) == unused
        made.reset_vocabulary()
        assert not any(made.is_unused(list(range(len(unused)))))


def test_samples_of_one_seed_are_the_same_for_all_types(both: Any) -> None:
    ours, theirs = both
    if ours._loaded.model.kind not in ("unigram", "bpe"):
        return
    sizes = (-1, 5) if ours._loaded.model.kind == "unigram" else (-1,)
    for text in TEXTS[:6]:
        for size in sizes:
            found: list[Any] = []
            for chosen in (int, "numpy", "serialized_proto", str):
                face.set_random_generator_seed(7)
                found.append(ours.encode(text, out_type=chosen, enable_sampling=True, alpha=0.3, nbest_size=size))
            assert found[0] == found[1].tolist()
            assert sentencepiece_ids(found[2]) == found[0]
            assert theirs.decode(found[3]) == theirs.decode(found[0]) or theirs.unk_id() in found[0]


def sentencepiece_ids(data: bytes) -> list[int]:
    """The ids of the pieces in a serialized message."""
    from tokkit.files import protobuf

    pieces = [field.value for field in protobuf.fields(data, "text") if field.number == 2]
    return [next(f.value for f in protobuf.fields(piece, "piece") if f.number == 2) for piece in pieces]
