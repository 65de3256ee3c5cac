"""The longest match and bytes as models: compared with naive twins, on every path of the core."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG
from reference.longest_match import longest_match
from strategies import adversarial, documents
from tokkit._core.align import AlignedText
from tokkit._core.text import isas, use_isa
from tokkit.definition import Definition
from tokkit.engine.interpreter import Interpreter
from tokkit.errors import OptionError, VocabError
from tokkit.models.byte_ids import ByteIds, byte_vocab
from tokkit.models.longest_match import LongestMatch
from tokkit.tokenizer import Tokenizer
from tokkit.unicode_regex.atoms import atom
from tokkit.vocab import Vocab

LETTERS = ["a", "b", " ", "\n", "é", "中", "文", "😀", "▁", "\u3000", "1", ".", "\u0600"]
END = "<|endoftext|>"


def random_vocab(seed: int, *, whole: bool = True) -> list[bytes]:
    """Return tokens: all bytes or some of them, pieces of texts cut anywhere, also inside characters."""
    rng = random.Random(seed)
    made = [bytes([byte]) for byte in range(256) if whole or rng.random() < 0.95]
    for _ in range(rng.randrange(300)):
        text = "".join(rng.choices(LETTERS, k=rng.randrange(1, 9))).encode()
        start = rng.randrange(len(text))
        made.append(text[start : start + rng.randrange(1, 20)])
    rng.shuffle(made)
    return list(dict.fromkeys(made))


def tokenizer(tokens: list[bytes], **options: object) -> Tokenizer:
    vocab = Vocab.from_list([END.encode(), *tokens])
    return Tokenizer(
        Definition(vocab, LongestMatch(**options), None, special_tokens={END: 0}, added_ids=frozenset({0}))
    )


def some_texts(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    found = ["".join(rng.choices(LETTERS, k=rng.randrange(120))) for _ in range(n)]
    found += [*documents(seed, n // 2, longest=300), *(adversarial(seed + k, 400) for k in range(n // 8))]
    return [*found, "", " ", "\n\n", "a" * 70, "中" * 40, f"a{END}b"]


@pytest.fixture(params=isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    use_isa(request.param)
    yield request.param
    use_isa(None)


def test_ids_spans_and_text_are_those_of_the_twin(isa: str) -> None:
    for seed in range(30 if LONG else 6):
        tokens = random_vocab(seed)
        tok = tokenizer(tokens)
        ids = {token: id_ for id_, token in enumerate(tokens, 1)}
        slow = Interpreter(tok.definition)
        for text in some_texts(seed, 60):
            text = text.encode("utf-8", "replace").decode()
            wanted = longest_match(text.encode(), ids)
            assert tok.encode(text) == [id_ for id_, _, _ in wanted], text
            assert tok.encode(text) == [id_ for id_, _, _ in wanted], text  # from the cache
            found = tok(text)
            assert found.byte_offsets == [(start, end) for _, start, end in wanted], text
            assert slow.encode(text) == tok.encode(text)
            assert tok.decode(tok.encode(text)) == text
            assert (
                tok.decode_bytes([id_ for id_, _, _ in wanted[:1]]) == text.encode()[: wanted[0][2]] if wanted else True
            )


def test_whole_texts_are_their_parts_for_batches_threads_and_streams() -> None:
    tok = tokenizer(random_vocab(77))
    assert tok.whole_reason == ""
    text = " ".join(some_texts(3, 400)).encode("utf-8", "replace").decode() * 8
    wanted = tok.encode(text)
    ids, offsets = tok.encode_batch([text, "", text[:1000]], threads=2)
    assert ids[: len(wanted)].tolist() == wanted
    assert ids[offsets[2] :].tolist() == tok.encode(text[:1000])
    assert tok.encode_to_numpy(text, threads=2).tolist() == wanted
    assert tok.count(text) == len(wanted)
    stream = tok.decode_stream()
    assert "".join(map(stream.step, wanted)) + stream.flush() == text


def test_special_tokens_are_text_unless_they_are_allowed() -> None:
    tok = tokenizer(random_vocab(1))
    assert tok.encode(f"a{END}b", special="all").count(0) == 1
    assert 0 not in tok.encode(f"a{END}b")
    with pytest.raises(tokkit.SpecialTokenError, match="at byte 1"):
        tok.encode(f"a{END}b", special="raise")


@settings(max_examples=300 if LONG else 80)
@given(st.integers(0, 1 << 32), st.text(LETTERS, max_size=30))
def test_bytes_without_a_token_are_unknown_or_refused(seed: int, text: str) -> None:
    tokens = random_vocab(seed, whole=False)
    ids = {token: id_ for id_, token in enumerate([b"?", *tokens]) if id_}
    vocab = Vocab.from_list([b"<unk>", *tokens])
    found = LongestMatch(unk_token="<unk>").encoder(vocab, added_ids=[0]).encode(AlignedText(text))
    wanted = longest_match(text.encode(), ids, 0)
    assert found[0].tolist() == [id_ for id_, _, _ in wanted]
    assert found[1].tolist() == [[start, end] for _, start, end in wanted]
    bare = LongestMatch().encoder(vocab, added_ids=[0])
    if 0 in found[0]:
        with pytest.raises(VocabError, match="this longest_match model has no unknown token"):
            bare.encode(AlignedText(text))
    else:
        assert bare.encode(AlignedText(text))[0].tolist() == found[0].tolist()


def test_a_text_with_a_byte_that_has_no_token_is_refused_by_the_tokenizer() -> None:
    tok = tokenizer([b"a", b"b"])
    assert tok.encode("ab") == [1, 2]
    with pytest.raises(VocabError, match="has characters without a token"):
        tok.encode("abc")
    with pytest.raises(VocabError, match="has characters without a token"):
        tok.encode_batch(["ab", "c"])


def test_texts_are_cut_exactly_where_no_token_lies_across() -> None:
    model, vocab = LongestMatch(), Vocab.from_list([b"a b", "é1".encode(), b"\xe4\xb8", "。".encode(), b"x", b"y"])
    allowed = model.splittable(vocab, model.encoder(vocab).core)
    for left, right, may in [
        ("a", " ", False), (" ", "b", False), ("b", "a", True), ("b", " ", True), ("é", "1", False),
        ("中", "1", False), ("x", "y", True), ("a", "中", True),
    ]:  # fmt: skip
        assert allowed[atom(left), atom(right)] == may, (left, right)
    assert not model.splittable(Vocab.from_list([b"\xadx"]), model.encoder(vocab).core)[atom("中"), atom("x")]
    assert model.splittable(Vocab.from_list([]), model.encoder(vocab).core).all()


def test_two_tokens_of_the_same_bytes_are_refused() -> None:
    with pytest.raises(VocabError, match="the ids 1 and 2 have the same token, b'a'"):
        LongestMatch().encoder(Vocab.from_list([b"b", b"a", b"a"]))
    with pytest.raises(OptionError, match="unk_token is '<unk>', which is not in the vocabulary"):
        LongestMatch(unk_token="<unk>").encoder(Vocab.from_list([b"b"]))


def test_another_spelling_becomes_the_token_too() -> None:
    model = LongestMatch(spellings={0: "ab"})
    vocab = Vocab.from_list([b"<s>", b"a", b"b", b"<", b"s", b">"])
    assert model.encoder(vocab).encode(AlignedText("aab<s>"))[0].tolist() == [1, 0, 3, 4, 5]
    assert model.encoder(vocab, added_ids=[0]).encode(AlignedText("aab"))[0].tolist() == [1, 1, 2]


def test_tokens_of_any_text_make_it_again(corpora: dict[str, Path]) -> None:
    tok = tokenizer(random_vocab(9))
    for path in corpora.values():
        text = path.read_text(encoding="utf-8")[:20_000]
        assert tok.decode(tok.encode(text)) == text


# ---- bytes


@pytest.mark.parametrize("offset", [0, 3, 6])
def test_ids_of_bytes_are_their_values_and_an_offset(offset: int) -> None:
    tok = Tokenizer(Definition(byte_vocab(offset), ByteIds(offset), None))
    assert tok._engine.encoder is not None
    for text in [*some_texts(offset, 60), "aé中😀" * 20_000]:
        text = text.encode("utf-8", "replace").decode()
        wanted = (np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64) + offset).tolist()
        assert tok.encode(text) == wanted
        assert tok.encode_to_numpy(text, threads=2).tolist() == wanted
        assert tok.encode_batch([text, "a"], threads=2)[0].tolist() == [*wanted, 97 + offset]
        n = len(text.encode())
        assert tok(text).byte_offsets == [(at, at + 1) for at in range(n)]


def test_a_vocabulary_without_all_bytes_is_refused() -> None:
    with pytest.raises(VocabError, match="the vocabulary has 256 ids; the 256 bytes have those from 1 on"):
        ByteIds(1).encoder(byte_vocab(0))
    with pytest.raises(OptionError, match="ByteIds: offset is -1"):
        ByteIds(-1)
