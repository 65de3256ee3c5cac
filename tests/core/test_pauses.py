"""The positions between tokens are ranked as pauses, and invalid texts and spans are refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tokkit._core.documents import Pauses

NONE = np.empty((0, 2), dtype=np.int64)


def spans(*places: int) -> np.ndarray[Any, Any]:
    return np.array(list(pairwise(places)), dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((b"ab", spans(0, 1, 2), 5), "at is 5"),
        ((b"ab", spans(0, 1, 2), -1), "at is -1"),
        ((b"ab", spans(0, 3, 4), 0), "token 1 begins at 3; it must be from 0, the start before it, to 2"),
        ((b"ab", spans(1, 0, 1), 0), "token 1 begins at 0; it must be from 1"),
        ((b"ab", np.zeros((2, 3), dtype=np.int64), 0), r"shape \(2, 3\)"),
        ((b"\xf0", NONE, 0), "not valid UTF-8 at offset 0"),
        ((b"\x80a", NONE, 0), "not valid UTF-8 at offset 0"),
    ],
)
def test_what_is_no_text_of_tokens_is_refused(arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Pauses(*arguments)


def test_places_beyond_the_text_are_refused() -> None:
    pauses = Pauses(b"a b", spans(0, 1, 3), 0)
    for call in (lambda: pauses.chunk(2, 8, 2, False), lambda: pauses.chunk(0, 0, 2, False), lambda: pauses.trim(2, 4)):
        with pytest.raises(ValueError, match=r"first is|the span is"):
            call()
    assert [pauses.byte(place) for place in (-1, 0, 1, 2, 3)] == [0, 0, 1, 3, 3]
    assert (pauses.count(0, 1), pauses.count(0, 2), pauses.count(1, 9)) == (1, -1, -1)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("", (0, 0), (0, 0)),
        ("```\nx", (0, 0), (ord("`"), 3)),
        ("```\nx\n```\n", (0, 0), (0, 0)),
        ("x\n~~~~\n", (0, 0), (ord("~"), 4)),
        ("~~~\n~~~~~ \n", (ord("~"), 4), (0, 0)),
        ("~~~~ x\n", (ord("~"), 4), (ord("~"), 4)),
        ("    ```\n", (0, 0), (0, 0)),
        ("``` a`b\n", (0, 0), (0, 0)),
        ("``\n", (0, 0), (0, 0)),
    ],
)
def test_a_fence_opens_and_closes_as_in_markdown(text: str, before: tuple[int, int], after: tuple[int, int]) -> None:
    found = Pauses(text.encode(), NONE, 3, before).fence
    assert (found[1] and found[0], found[1]) == after


def test_the_rest_of_a_line_opens_no_fence() -> None:
    assert Pauses(b"```\nx", NONE, 3, (0, 0), True).fence[1] == 0
