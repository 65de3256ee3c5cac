"""Encodings equal those of tokenizers in all their columns, also truncated, padded and merged."""

from __future__ import annotations

import bisect
import copy
import functools
import itertools
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG
from rival_encodings import looked_up, ours, plain, said, vocab_of
from strategies import documents, texts
from tokkit import Encoding, OptionError, Vocab
from tokkit._core.text import to_utf8
from tokkit.encoding.alignment import character_spans
from tokkit.encoding.encoding import joined, replaced

if TYPE_CHECKING:
    import tokenizers

NAMES = ("bert-base-uncased", "roberta-base")
TEXTS = (
    *("", "a", "Hello there, world!", "It's un-believable: naïve Straße ǅ", " two  spaces \n", "日本語 text 🦜 👩‍💻."),
    *documents(3, 25, longest=70),
)


class Rival(NamedTuple):
    """A tokenizer of tokenizers that adds nothing, and its vocabulary as ours."""

    tokenizer: tokenizers.Tokenizer
    vocab: Vocab

    def both(self, text: str) -> tuple[Encoding, tokenizers.Encoding]:
        theirs = self.tokenizer.encode(text)
        return ours(theirs, self.vocab, text), theirs


@pytest.fixture(scope="module", params=NAMES)
def rival(request: pytest.FixtureRequest, shared: Path) -> Rival:
    tokenizers = pytest.importorskip("tokenizers")
    path = shared / "vocabs" / request.param / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"needs {path.parent.name}/{path.name} in the folder of TOKKIT_SHARED_DATA")
    made = plain(tokenizers.Tokenizer.from_file(str(path)))
    return Rival(made, vocab_of(made))


@pytest.fixture
def merge() -> Callable[..., tokenizers.Encoding]:
    return pytest.importorskip("tokenizers").Encoding.merge


def test_an_encoding_says_what_tokenizers_says(rival: Rival) -> None:
    for text in TEXTS:
        mine, theirs = rival.both(text)
        assert said(mine) == said(theirs), text
        assert looked_up(mine, len(text)) == looked_up(theirs, len(text)), text


def test_padding_on_either_side_is_as_tokenizers_pads(rival: Rival) -> None:
    for text in TEXTS[:12]:
        for direction in ("left", "right"):
            for length in (0, 1, 8, 40):
                mine, theirs = rival.both(text)
                padded = mine.pad(length, id=7, type_id=3, token="<p>", direction=direction)
                theirs.pad(length, direction=direction, pad_id=7, pad_type_id=3, pad_token="<p>")
                assert said(padded) == said(theirs)
                assert looked_up(padded, len(text)) == looked_up(theirs, len(text))
                assert said(mine) == said(rival.both(text)[0]), "the old one stays as it is"


def test_truncation_with_any_stride_is_as_tokenizers_truncates(rival: Rival) -> None:
    for text in TEXTS[:14]:
        for direction in ("left", "right"):
            for length, stride in ((0, 0), (0, 3), (1, 0), (2, 1), (3, 0), (3, 2), (5, 1), (8, 7), (500, 3)):
                mine, theirs = rival.both(text)
                cut = mine.truncate(length, stride=stride, direction=direction)
                theirs.truncate(length, stride, direction)
                assert said(cut) == said(theirs), (text, length, stride, direction)
                theirs.pad(6)
                cut = cut.pad(6)
                assert said(cut) == said(theirs)
                again = cut.truncate(2, stride=1)
                theirs.truncate(2, 1)
                assert said(again) == said(theirs)


def test_merging_is_as_tokenizers_merges(rival: Rival, merge: Callable[..., tokenizers.Encoding]) -> None:
    rng = random.Random(5)
    for _ in range(60):
        pairs = [rival.both(rng.choice(TEXTS)) for _ in range(rng.randint(0, 4))]
        cut = []
        for mine, theirs in pairs:
            length = rng.choice((1, 2, 4, 9, 500))
            if rng.random() < 0.5 and len(mine) / length < 4:
                mine = mine.truncate(length)
                theirs.truncate(length)
            cut.append((mine, theirs))
        for grow in (False, True):
            merged, wanted = Encoding.merge((mine for mine, _ in cut), growing_offsets=grow), merge(
                [theirs for _, theirs in cut], growing_offsets=grow
            )  # fmt: skip
            assert said(merged) == said(wanted)


def test_a_pair_of_sequences_is_looked_up_as_in_tokenizers(rival: Rival) -> None:
    for first, second in (("Hello there, world", "It's fine"), ("", "b c"), ("a b c", ""), ("日本 b", "ï 🦜")):
        theirs = rival.tokenizer.encode(first, second)
        a, b = rival.both(first)[0], rival.both(second)[0]
        ranges = {0: (0, 1), 1: (1, 2)}
        b = replaced(b, type_ids=functools.partial(np.ones, len(b), dtype=np.uint32))
        mine = joined([a, b], ranges=ranges)
        assert said(mine) == said(theirs)
        assert looked_up(mine, 20) == looked_up(theirs, 20)
        for direction in ("left", "right"):
            theirs.pad(len(theirs) + 2, direction=direction)
            mine = mine.pad(len(mine) + 2, direction=direction)
            assert said(mine) == said(theirs)
            assert looked_up(mine, 20) == looked_up(theirs, 20)


def letters(text: str) -> Encoding:
    """One token a character of `text`, each its own word; the ids are those of a vocabulary of all bytes."""
    spans, end = [], 0
    for character in text:
        spans.append((end, end := end + len(character.encode())))
    vocab = Vocab.from_list([bytes([byte]) for byte in range(256)])
    n = len(text)
    ids = np.array([ord(c) % 256 for c in text], dtype=np.uint32)
    return Encoding(ids, np.array(spans, dtype=np.int64).reshape(n, 2), np.arange(n, dtype=np.int32), vocab, text)


@given(texts(max_size=20), st.integers(1, 9), st.integers(0, 8), st.sampled_from(("left", "right")))
@settings(max_examples=200 if LONG else 80)
def test_the_parts_of_a_cut_encoding_cover_it(text: str, length: int, stride: int, direction: str) -> None:
    whole = letters(text)
    if stride >= length:
        if len(whole) > length:
            with pytest.raises(OptionError, match=f"stride is {stride}; .* {length} tokens"):
                whole.truncate(length, stride=stride, direction=direction)
        return
    cut = whole.truncate(length, stride=stride, direction=direction)
    parts = [cut, *cut.overflowing]
    if direction == "left":
        parts.reverse()
    assert [len(part) for part in (parts[:-1] if direction == "right" else parts[1:])] == [length] * (len(parts) - 1)
    words = [part.word_ids for part in parts]
    assert all(a[len(a) - stride :] == b[:stride] for a, b in itertools.pairwise(words) if stride)
    first, *later = parts
    assert first.word_ids + [w for part in later for w in part.word_ids[stride:]] == whole.word_ids
    for part in parts:
        assert [text[a:b] for a, b in part.offsets] == [text[w] for w in part.word_ids]
        data = text.encode()
        assert [data[a:b].decode() for a, b in part.byte_offsets] == [text[w] for w in part.word_ids]


@given(texts(max_size=12), st.integers(0, 30), st.integers(0, 30), st.sampled_from(("left", "right")))
@settings(max_examples=100)
def test_padding_can_be_taken_off_again(text: str, length: int, more: int, direction: str) -> None:
    whole = letters(text)
    padded = whole.pad(length, direction=direction).pad(more, direction=direction)
    assert len(padded) == max(len(whole), length, more)
    assert sum(padded.attention_mask) == len(whole)
    keep = np.flatnonzero(padded.attention_mask)
    assert [padded.offsets[i] for i in keep] == whole.offsets
    assert [padded.ids[i] for i in keep] == whole.ids


def test_arrays_are_given_without_lists_and_cannot_be_written(tok: tokkit.Tokenizer) -> None:
    encoding = tok("Some text, and é🦜").pad(30)
    arrays = encoding.as_arrays()
    for name, array in arrays.items():
        values = np.array([-1 if v is None else v for v in getattr(encoding, name)])
        assert np.array_equal(array, values), name
        assert array.dtype == {"ids": np.uint32, "attention_mask": np.uint8, "offsets": np.int64}.get(name, array.dtype)
    assert list(encoding.as_arrays("offsets", "ids")) == ["offsets", "ids"]
    with pytest.raises(ValueError, match="read-only"):
        encoding.as_arrays("ids")["ids"][0] = 1
    with pytest.raises(OptionError, match="'tokens' is not a column"):
        encoding.as_arrays("tokens")
    with pytest.raises(AttributeError):
        encoding.ids = []  # type: ignore[misc]


def test_encodings_are_equal_by_content_and_survive_pickling(tok: tokkit.Tokenizer) -> None:
    encoding = tok("Some text, and é🦜 more of it").truncate(4, stride=1).pad(6, direction="left")
    for other in (pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding)):
        assert other == encoding
        assert said(other) == said(encoding)
    assert encoding != encoding.pad(7)
    assert encoding != tok("Some text")
    assert encoding != encoding.ids
    assert repr(tok("a")) == f"<Encoding of 1 tokens: {tok.encode('a')[0]}>"


def test_an_empty_span_stays_empty_where_it_is() -> None:
    text = "é🦜a"
    spans = np.array([[0, 0], [2, 2], [1, 2], [3, 5], [6, 6], [7, 7], [2, 7]])
    encoding = Encoding(np.zeros(7, dtype=np.uint32), spans, None, Vocab.from_list([b"a"]), text)
    assert encoding.offsets == [(0, 0), (1, 1), (0, 1), (1, 2), (2, 2), (3, 3), (1, 3)]
    in_bytes = Encoding(np.zeros(7, dtype=np.uint32), spans, None, Vocab.from_list([b"a"]), text.encode())
    assert in_bytes.offsets == encoding.offsets


def test_character_spans_are_those_that_python_counts() -> None:
    rng = random.Random(8)
    for text in [*documents(19, 60, longest=90), *documents(20, 20, longest=50, surrogates=True)]:
        utf8 = to_utf8(text)
        ends = sorted(rng.randint(0, len(utf8)) for _ in range(20))
        spans = [(a, b) for a, b in itertools.pairwise([0, *ends, len(utf8)]) if a < b]
        # Which character of the text each byte is of: a pair of surrogates is one of the core's.
        of_byte, at = [], 0
        for character in utf8.decode():
            of_byte += [(at, at + 1)] * len(character.encode())
            at += 1
            if character > "\uffff" and text[at - 1] < "\U00010000":
                of_byte[-4:] = [(at - 1, at + 1)] * 4
                at += 1
        assert at == len(text)
        wanted = [[of_byte[a][0], of_byte[b - 1][1]] for a, b in spans]
        array = np.array(spans, dtype=np.int64).reshape(-1, 2)
        assert character_spans(text, array).tolist() == wanted
        if at == len(utf8.decode()):
            assert character_spans(utf8, array).tolist() == wanted


@pytest.mark.parametrize("longer", ["é", "漢字", "🦜", "e\u0301"])
def test_character_spans_of_text_that_is_mostly_ascii(longer: str) -> None:
    # Moved together up to the next character of several bytes; these spans are in and out of order, empty and long.
    rng = random.Random(9)
    for n in (0, 5, 40, 700, 2000):
        text = "".join(rng.choice(["a", "b", " "]) if rng.random() < 0.98 else longer for _ in range(n))
        utf8 = text.encode()
        starts = [i for i, byte in enumerate(utf8) if byte & 0xC0 != 0x80]
        begun = [bisect.bisect_left(starts, i) for i in range(len(utf8) + 2)]
        ordered = sorted(rng.randint(0, len(utf8)) for _ in range(n))
        spans = list(itertools.pairwise(ordered))
        for chosen in (spans, rng.sample(spans, len(spans)), [(a, a) for a in ordered], [(0, b) for b in ordered]):
            array = np.array(chosen, dtype=np.int64).reshape(-1, 2)
            wanted = [[begun[a + 1] - (a < len(utf8)), begun[b]] for a, b in chosen]
            assert character_spans(text, array).tolist() == wanted


@pytest.mark.parametrize("wrong", [-1, 1.5, "1", None, True])
def test_positions_that_are_no_counts_are_errors(tok: tokkit.Tokenizer, wrong: object) -> None:
    encoding = tok("some text")
    looks = (
        *(encoding.token_to_chars, encoding.token_to_word, encoding.token_to_sequence, encoding.char_to_token),
        *(encoding.char_to_word, encoding.word_to_chars, encoding.word_to_tokens, encoding.pad, encoding.truncate),
        lambda value: encoding.char_to_token(0, value),
        lambda value: encoding.truncate(1, stride=value),
    )
    for look in looks:
        with pytest.raises(OptionError, match="must be an int of at least 0"):
            look(wrong)
    for change in (encoding.pad, encoding.truncate):
        with pytest.raises(OptionError, match='must be "left" or "right"'):
            change(1, direction="up")


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    ids, spans, vocab = np.zeros(2, dtype=np.uint32), np.zeros((2, 2), dtype=np.int64), Vocab.from_list([b"a"])
    for given_spans, words in ((spans[:1], None), (spans[:, 0], None), (spans, np.zeros(3, dtype=np.int32))):
        with pytest.raises(OptionError, match="2 ids need spans of shape"):
            Encoding(ids, given_spans, words, vocab, "a")


def test_what_overflows_costs_nothing_until_it_is_asked_for() -> None:
    n = 200_000
    spans = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    encoding = Encoding(np.zeros(n, dtype=np.uint32), spans, None, Vocab.from_list([b"a"]), "a" * n)
    cut = encoding.truncate(n // 2, stride=n // 2 - 1)
    merged = Encoding.merge([cut, cut])
    assert len(merged) == n
    assert len(cut.pad(n).ids) == n


@pytest.mark.parametrize(
    "options",
    [
        {"special_tokens": ["<|x|>"], "vocab_size": 270},
        {"model": "bpe", "word_end": "attached", "special_tokens": ["[UNK]"], "unk_token": "[UNK]", "vocab_size": 40},
        {"model": "wordpiece", "vocab_size": 60},
        {"model": "word", "vocab_size": 20},
        {"model": "hybrid", "fallback": "byte", "vocab_size": 560},
        {"model": "unigram", "vocab_size": 40, "hard_vocab_limit": False},
        {"model": "sp-bpe", "vocab_size": 400, "hard_vocab_limit": False, "byte_fallback": True},
    ],
    ids=lambda options: options.get("model", "bbpe"),
)
def test_token_bytes_are_keys_of_the_vocabulary_and_tokens_are_those_of_the_file(options: Any, tmp_path: Path) -> None:
    tok = tokkit.train(iter(["low lower lowest newest the"] * 20), **options)
    tok.save(tmp_path / "t.json")
    model = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["model"]["vocab"]
    names = set(model) if isinstance(model, dict) else {name for name, _ in model}
    for found in (tok("low lower the ünknown 日本 <|x|> [UNK] 🙂", special="all"), tok(" the lowest")):
        assert [tok.vocab[token] for token in found.token_bytes] == found.ids
        assert [tok.vocab[id_] for id_ in found.ids] == found.token_bytes
        unknown = {tok.vocab.get("<unk>"), tok.vocab.get("[UNK]")}  # `tokens` has the text that it stands for
        assert names.issuperset(token for token, id_ in zip(found.tokens, found.ids, strict=True) if id_ not in unknown)
