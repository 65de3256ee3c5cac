"""Decoding by a table gives what the chain of decoders gives, for any ids."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from decoders.decoders import CHAINS, COMPONENTS, FRAGMENTS, json_of
from tokkit.decoders import table
from tokkit.decoders.base import Decoder
from tokkit.decoders.byte_fallback import ByteFallback
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.ctc import CTC
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence
from tokkit.decoders.spaced import Spaced
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece

VOCAB = [*FRAGMENTS, *(f"<0x{byte:02X}>" for byte in range(256)), "▁the", "Ġ東"]
IDS = st.lists(st.one_of(st.integers(0, len(VOCAB) - 1), st.integers(0, 11)), max_size=12)
BY_TOKEN = [part for part in COMPONENTS if isinstance(part, table.BY_TOKEN)]
TABLES = {id(d): table.build(d, VOCAB) for d in (*COMPONENTS, *CHAINS, Spaced())}


@pytest.mark.parametrize("decoder", [d for d in (*COMPONENTS, *CHAINS) if TABLES[id(d)]], ids=lambda d: repr(d)[:60])
@settings(max_examples=500 if LONG else 15)
@given(ids=IDS)
def test_a_table_decodes_as_its_decoder(decoder: Decoder, ids: list[int]) -> None:
    assert TABLES[id(decoder)].decode(ids) == decoder.decode([VOCAB[id_] for id_ in ids])


@settings(max_examples=1000 if LONG else 150)
@given(
    head=st.lists(st.sampled_from(BY_TOKEN), max_size=3),
    turn=st.sampled_from([[], [ByteFallback()], [ByteFallback(), Fuse()], [ByteLevel()], [Fuse()]]),
    tail=st.lists(st.sampled_from(COMPONENTS), max_size=2),
    ids=IDS,
)
def test_a_table_of_any_chain_that_has_one_decodes_as_the_chain(
    head: list[Decoder], turn: list[Decoder], tail: list[Decoder], ids: list[int]
) -> None:
    decoder = Sequence([*head, *turn, *(tail if turn and not isinstance(turn[-1], ByteFallback) else [])])
    made = table.build(decoder, VOCAB)
    assert made is not None
    for some in (ids, ids[:1], ids[:2]):
        assert made.decode(some) == decoder.decode([VOCAB[id_] for id_ in some])


@pytest.mark.parametrize(
    "decoder",
    [
        CTC(),
        Sequence([ByteFallback(), Metaspace()]),
        Sequence([CTC(), Fuse()]),
        Sequence([ByteFallback(), ByteLevel()]),
    ],
    ids=repr,
)
def test_a_chain_that_looks_at_its_neighbours_has_no_table(decoder: Decoder) -> None:
    assert table.build(decoder, VOCAB) is None


def test_a_decoder_of_ones_own_has_no_table() -> None:
    class Shout(WordPiece):
        def decode_chain(self, tokens: Iterable[str]) -> list[str]:
            return [token.upper() for token in tokens]

    assert table.build(Shout(), VOCAB) is None
    assert table.build(Sequence([Fuse(), Shout()]), ["a"]).decode([0, 0]) == "AA"


def test_an_empty_token_between_bytes_breaks_their_run() -> None:
    decoder = Sequence([Replace({"String": "▁"}, ""), ByteFallback(), Fuse()])
    made = table.build(decoder, ["<0xC3>", "▁", "<0xA9>"])
    assert made.decode([0, 2]) == "é"
    assert made.decode([0, 1, 2]) == "\ufffd\ufffd"
    assert made.decode([0, 0]) == "\ufffd\ufffd"
    assert made.decode([1, 0, 2, 1]) == "é"


@pytest.mark.parametrize(
    "decoder", [ByteLevel(), Metaspace(), WordPiece(), Sequence([Fuse(), Strip("a", 1, 0)])], ids=repr
)
def test_ids_come_as_lists_arrays_and_iterators_and_bad_ones_are_errors(decoder: Decoder) -> None:
    made = table.build(decoder, ["▁", "##", None, "", "a"])
    ids = [0, 1, 3, 4, 1, 0]
    text = made.decode(ids)
    for same in (tuple(ids), iter(ids), np.array(ids), np.array(ids, dtype=np.uint32), np.array(ids, dtype=np.int8)):
        assert made.decode(same) == text
    for bad in (2, 5, -1, 2**70):
        for ids in ([bad], [bad, 0], [0, bad], [0, bad, 0]):
            with pytest.raises(KeyError):
                made.decode(ids)
    for bad in (True, 1.0, "a", None):
        with pytest.raises(TypeError):
            made.decode([0, bad, 0])


def test_tokens_without_a_decoder_are_joined_by_spaces_as_in_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {"a": 0, "##b": 1, "▁c": 2, "": 3}
    theirs = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, "a"))
    made = table.build(Spaced(), list(vocab))
    for ids in ([], [0], [3], [0, 1, 2], [3, 3], [1, 3, 2, 0]):
        assert made.decode(ids) == theirs.decode(ids) == Spaced().decode([list(vocab)[id_] for id_ in ids])


@pytest.mark.parametrize(
    ("name", "decoder"),
    [
        ("mistral-v1", Sequence([Replace({"String": "▁"}, " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)])),
        ("t5", Metaspace()),
        ("bert-base-uncased", WordPiece()),
        ("phi-2", ByteLevel()),
    ],
)
def test_tables_of_real_vocabularies_decode_as_tokenizers(shared: Path, name: str, decoder: Decoder) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(shared / "vocabs" / name / "tokenizer.json"))
    assert json_of(decoder)["type"] in str(theirs.decoder)
    made = table.build(decoder, [theirs.id_to_token(id_) for id_ in range(theirs.get_vocab_size())])
    rng = np.random.default_rng(7)
    for n in [0, 1, 1, 2, 2, 3, 10, 100, *[5] * 200, *[20] * 200]:
        ids = rng.integers(0, theirs.get_vocab_size(), n)
        if rng.random() < 0.5:  # the special and the byte tokens stand at the front
            ids[rng.random(n) < 0.5] %= 260
        assert made.decode(ids) == made.decode(ids.tolist()) == theirs.decode(ids, skip_special_tokens=False)
    for path in sorted((shared / "corpora").glob("*.txt")):
        ids = theirs.encode(path.read_bytes()[:20000].decode("utf-8", "ignore"), add_special_tokens=False).ids
        assert made.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
