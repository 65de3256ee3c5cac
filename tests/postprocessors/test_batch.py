"""Padded arrays equal encodings made one by one, and the batches of tokenizers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import documents
from tokkit import Encoding, OptionError, Vocab
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.postprocessors import lengths
from tokkit.postprocessors.batch import Flat, batch
from tokkit.postprocessors.layout import Postprocessor
from work import work_of

from .conftest import OURS, Rival, theirs

VOCAB = Vocab.from_list([b"x"] * 200)


def flat(texts: list[list[int]]) -> Flat:
    ids = np.array([id_ for text in texts for id_ in text], dtype=np.uint32)
    return ids, np.cumsum([0, *map(len, texts)])


def one_by_one(
    processor: Postprocessor, rows: list[tuple[list[int], ...]], padding: Padding, cut: Truncation | None, special: bool
) -> list[list[list[int]]]:
    """The naive twin: an encoding for each row, padded together."""
    encodings = []
    for row in rows:
        parts = [
            Encoding(np.array(ids, dtype=np.uint32), np.zeros((len(ids), 2), dtype=np.int64), None, VOCAB, "")
            for ids in row
        ]
        encodings.append(processor.process(*parts, add_special=special, truncation=cut))
    made = lengths.pad(encodings, padding)
    return [[e.ids, e.type_ids, e.attention_mask, e.special_tokens_mask] for e in made]


@pytest.mark.parametrize("name", OURS)
def test_a_batch_is_what_its_encodings_are_one_by_one(name: str) -> None:
    rng = random.Random(name)
    for _ in range(40):
        pair = rng.random() < 0.5
        n = rng.randint(0, 6)
        rows = [
            tuple([rng.randrange(200) for _ in range(rng.randint(0, 9))] for _ in range(1 + pair)) for _ in range(n)
        ]
        padding = Padding(
            length=rng.choice((None, None, 40)),
            direction=rng.choice(("left", "right")),
            pad_to_multiple_of=rng.choice((None, 0, 8)),
            pad_id=rng.choice((0, 9)),
            pad_type_id=rng.choice((0, 3)),
        )
        cut = rng.choice(
            (None, Truncation(max_length=rng.randint(6, 20), direction=rng.choice(("left", "right"))))
        )  # fmt: skip
        special = rng.random() < 0.8
        wanted = one_by_one(OURS[name], rows, padding, cut, special)
        made = batch(
            OURS[name],
            [flat([row[i] for row in rows]) for i in range(1 + pair)],
            padding,
            truncation=cut,
            add_special=special,
        )
        assert [[array[i].tolist() for array in made] for i in range(n)] == wanted
        assert [array.dtype for array in made] == [np.uint32, np.uint32, np.uint8, np.uint8]
        assert {array.shape for array in made} == {(n, len(wanted[0][0]) if n else made.ids.shape[1])}


ROWS = st.lists(st.lists(st.integers(0, 199), max_size=6), max_size=5)


@given(ROWS, st.integers(2, 9), st.sampled_from(("left", "right")), st.sampled_from(("left", "right")))
@settings(max_examples=100)
def test_a_cut_batch_has_what_python_slices_have(
    rows: list[list[int]], most: int, cut_from: str, pad_from: str
) -> None:
    made = batch(
        OURS["bert"],
        [flat(rows)],
        Padding(direction=pad_from),
        truncation=Truncation(max_length=most, direction=cut_from),
    )
    for row, ids, mask in zip(rows, made.ids, made.attention_mask, strict=True):
        room = most - 2
        kept = row[:room] if cut_from == "right" else row[max(0, len(row) - room) :]
        assert ids[mask == 1].tolist() == [101, *kept, 102]
        assert sorted(mask.tolist(), reverse=pad_from == "right") == mask.tolist()


def test_batches_are_those_of_tokenizers(rival: Rival) -> None:
    texts = ["Hello there, world", "", "It's naïve 🦜", *documents(9, 30, longest=80)]
    made = rival.tokenizer
    made.post_processor = theirs(OURS["bert"])
    made.enable_truncation(12, direction="left")
    made.enable_padding(direction="left", pad_id=4, pad_type_id=2)
    padding, cut = Padding(direction="left", pad_id=4, pad_type_id=2), Truncation(max_length=12, direction="left")
    of = [rival.bare.encode(text).ids for text in texts]
    for inputs, columns in ((texts, [of]), ([*zip(texts, texts[::-1], strict=True)], [of, of[::-1]])):
        wanted = made.encode_batch(inputs)
        found = batch(OURS["bert"], [flat(column) for column in columns], padding, truncation=cut)
        for name, array in found._asdict().items():
            assert array.tolist() == [getattr(encoding, name) for encoding in wanted], name


def test_batches_that_cannot_be_are_errors() -> None:
    bert, two = OURS["bert"], flat([[1, 2, 3, 4], [5]])
    with pytest.raises(OptionError, match="text 0 has 6 tokens, more than the padded length 5"):
        batch(bert, [two], Padding(length=5))
    with pytest.raises(OptionError, match="max_length is 1; it must be at least 2"):
        batch(bert, [two], Padding(), truncation=Truncation(max_length=1))
    with pytest.raises(OptionError, match="stride is 3; it must be less than the 3 tokens that remain of the 4 of"):
        batch(bert, [two], Padding(), truncation=Truncation(max_length=5, stride=3))
    with pytest.raises(OptionError, match=r"texts have the sizes \[2, 1\]"):
        batch(bert, [two, flat([[1]])], Padding())
    for texts in ([], [two] * 3):
        with pytest.raises(OptionError, match="give one \\(ids, offsets\\)"):
            batch(bert, texts, Padding())
    ids, offsets = two
    for wrong in ((ids, offsets + 1), (ids, offsets[::-1]), (ids[:-1], offsets), (ids, offsets[:0])):
        with pytest.raises(OptionError, match="offsets must be ascending, from 0"):
            batch(bert, [wrong], Padding())
    for wrong in ((ids.astype(np.int64), offsets), (ids, offsets.astype(float))):
        with pytest.raises(OptionError, match="must be uint32"):
            batch(bert, [wrong], Padding())


def test_nothing_of_python_runs_for_each_token_of_a_thousand_texts() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(60, 180, 1000)
    ids = rng.integers(0, 30_000, int(sizes.sum()), dtype=np.uint32)
    texts = [(ids, np.cumsum([0, *sizes.tolist()]))]
    assert work_of(batch, OURS["bert"], texts, Padding(), truncation=Truncation(max_length=128)) < 2000
