"""`AlignedText` is changed and cut as tokenizers' NormalizedString, and stays aligned with its original."""

from __future__ import annotations

import pytest

from tokkit._core.align import AlignedText


def test_a_new_text_is_one_piece_of_itself() -> None:
    text = AlignedText("aé東🙂")
    assert (text.pieces, text.ids, text.utf8.decode()) == (["aé東🙂"], [None], "aé東🙂")
    assert text.spans().tolist() == [[0, 1], *[[1, 3]] * 2, *[[3, 6]] * 3, *[[6, 10]] * 4]
    assert text.bounds.tolist() == text.piece_spans().tolist() == [[0, 10]]
    assert AlignedText("").pieces == []


def test_changes_keep_each_byte_aligned() -> None:
    text = AlignedText("Éa")
    text.rewrite(lambda piece: [("▁", 1), ("e", 0), ("\u0301", 1), ("a", 0), ("!", 1)])
    assert text.utf8.decode() == "▁e\u0301a!"
    assert text.spans().tolist() == [*[[0, 0]] * 3, *[[0, 2]] * 3, [2, 3], [2, 3]]
    text.rewrite(lambda piece: [("x", -2), ("a", 0)])
    assert (text.utf8.decode(), text.spans().tolist()) == ("xa", [[0, 0], [2, 3]])


def test_cuts_drop_what_is_in_no_piece_and_later_changes_stay_inside_each() -> None:
    text = AlignedText("ab cd")
    text.cut(lambda piece: [(0, 2), (3, 5)])
    text.rewrite(lambda piece: [("_", 1), *((c, 0) for c in piece)])
    assert (text.pieces, text.utf8) == (["_ab", "_cd"], b"_ab_cd")
    assert text.piece_spans().tolist() == [[0, 2], [3, 5]]
    assert text.spans().tolist() == [[0, 0], [0, 1], [1, 2], [3, 3], [3, 4], [4, 5]]
    text.rewrite(lambda piece: [])
    assert (text.pieces, text.utf8) == ([], b"")


def test_spans_that_are_out_of_order_or_reach_too_far_are_refused() -> None:
    text = AlignedText("abc")
    for spans in ([(0, 4)], [(1, 2), (1, 3)], [(2, 1)]):
        with pytest.raises(ValueError, match="must be within"):
            text.cut(lambda piece, spans=spans: spans)
    assert text.pieces == ["abc"]


def test_a_function_that_fails_leaves_the_text_as_it_was() -> None:
    text = AlignedText("abc")

    def fails(piece: str) -> list[tuple[str, int]]:
        raise KeyError(piece)

    with pytest.raises(KeyError, match="abc"):
        text.rewrite(fails)
    with pytest.raises(ValueError, match=r"must be .character, change."):
        text.rewrite(lambda piece: [("ab", 0)])
    assert text.pieces == ["abc"]
