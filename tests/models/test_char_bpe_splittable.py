"""Where a pretoken may be cut, the ids of both sides are those of the whole, for vocabularies made to break this."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from piece_stages import theirs, whole
from tokkit.errors import VocabError
from tokkit.models.base import CompiledModel
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.unicode_regex.atoms import atom
from tokkit.vocab import Vocab

LETTERS = "ab<>0éж漢字語，ก한🦜▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def drawn(seed: int) -> tuple[list[str], list[tuple[str, str]], dict[str, Any]]:
    """A vocabulary with tokens across boundaries of every kind, of bytes and of the unknown token too."""
    rng = random.Random(seed)
    known = rng.sample(LETTERS, rng.randint(3, len(LETTERS)))
    tokens = dict.fromkeys([*known, "<unk>"])
    n_bytes = rng.choice((0, 0, 128, 255, 256, 256, 256))
    tokens |= dict.fromkeys(rng.sample(BYTES, n_bytes))
    sides = list(tokens) if rng.random() < 0.3 else [token for token in tokens if len(token) == 1]
    merges = []
    for _ in range(rng.randint(0, 40)):
        left, right = rng.choice(sides), rng.choice(sides)
        merges.append((left, right))
        sides.append(left + right)
        tokens[left + right] = None
    if rng.random() < 0.3:
        rng.shuffle(merges)
    names = list(tokens)
    rng.shuffle(names)
    options: dict[str, Any] = {
        "unk_token": rng.choice((None, "<unk>", "<unk>", known[0], "absent")),
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": n_bytes > 0 and rng.random() < 0.9,
        "ignore_merges": rng.random() < 0.2,
        "dropout": rng.choice((None, None, None, 0.3)),
    }
    return names, merges, options


def made(names: list[str], merges: list[tuple[str, str]], options: dict[str, Any]) -> CompiledModel:
    vocab = Vocab.from_list([name.encode() for name in names])
    return CharBPE(merges=merge_ids(vocab, merges), **options).encoder(vocab)


def said(model: CompiledModel, text: str, seed: int | None = None) -> list[Any] | None:
    try:
        return [part.tolist() for part in model.encode(whole(text), seed=seed)]
    except VocabError:
        return None


@settings(max_examples=600 if LONG else 150)
@given(st.integers(0, 1 << 32), st.lists(st.text(LETTERS + "z界", max_size=60), min_size=1, max_size=8))
def test_parts_give_what_the_whole_gives(seed: int, texts: list[str]) -> None:
    names, merges, options = drawn(seed)
    vocab = Vocab.from_list([name.encode() for name in names])
    model = CharBPE(merges=merge_ids(vocab, merges), **options)
    encoder = model.encoder(vocab)
    allowed = model.splittable(vocab, encoder.core)
    for text in texts:
        places = [i for i in range(1, len(text)) if allowed[atom(text[i - 1]), atom(text[i])]]
        parts = [said(encoder, text[a:b]) for a, b in itertools.pairwise([0, *places, len(text)])]
        ids = said(encoder, text)
        if ids is None:
            assert None in parts
        else:
            assert ids[0] == [id_ for part in parts if part for id_ in part[0]]


def test_a_vocabulary_whose_bytes_merge_is_not_cut_beside_them() -> None:
    vocab = Vocab.from_list([name.encode() for name in ["<unk>", "漢", "a", *BYTES, "漢<0xE5>", "<0xE5><0xAD>"]])
    for merges, cut in (([("漢", "<0xE5>")], False), ([("<0xE5>", "<0xAD>")], False), ([], True)):
        model = CharBPE(merges=merge_ids(vocab, merges), byte_fallback=True, unk_token="<unk>")
        assert model.splittable(vocab, model.encoder(vocab).core)[atom("a"), atom("漢")] == cut


@settings(max_examples=300 if LONG else 100)
@given(st.integers(0, 1 << 32), st.text(LETTERS + "z界", max_size=60))
def test_these_vocabularies_give_what_tokenizers_gives(seed: int, text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    names, merges, options = drawn(seed)
    given = {name: value for name, value in options.items() if value is not None and name != "dropout"}
    rival = tokenizers.models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges, **given)
    found, wanted = said(made(names, merges, options), text), theirs(rival, text)
    assert (found is None) == (wanted is None)
    assert wanted is None or found is None or found[0] == wanted[0]
