"""Pieces merged in units, beside the same pieces merged whole: equal in everything, whatever the vocabulary."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import slice_of
from piece_stages import metaspace, theirs, whole
from strategies import documents
from tokkit.errors import VocabError
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.models.pieces import PieceModel
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


def made(names: list[str], merges: list[tuple[str, str]], options: dict[str, Any], **more: Any) -> PieceModel:
    vocab = Vocab.from_list([name.encode() for name in names])
    return CharBPE(merges=merge_ids(vocab, merges), **options).encoder(vocab, **more)


def said(model: PieceModel, text: str, seed: int | None = None) -> list[Any] | None:
    try:
        return [part.tolist() for part in model.encode(whole(text), seed=seed)]
    except VocabError:
        return None


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 1 << 32), st.lists(st.text(LETTERS + "z界", max_size=60), min_size=1, max_size=8))
def test_units_give_what_whole_pieces_give(seed: int, texts: list[str]) -> None:
    names, merges, options = drawn(seed)
    alone = made(names, merges, options, cache_units=0, cuts=False)
    assert alone._core.cuts[:2] == (False, False)
    for units in (0, 2, 1 << 8):
        model = made(names, merges, options, cache_units=units)
        assert model._core.cuts[1]
        for text in texts * 2:
            assert said(model, text) == said(alone, text)
            assert said(model, text, seed) == said(alone, text, seed)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32), st.text(LETTERS + "z界", max_size=60))
def test_units_give_what_tokenizers_gives(seed: int, text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    names, merges, options = drawn(seed)
    given = {name: value for name, value in options.items() if value is not None and name != "dropout"}
    rival = tokenizers.models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges, **given)
    found, wanted = said(made(names, merges, options), text), theirs(rival, text)
    assert (found is None) == (wanted is None)
    assert wanted is None or found is None or found[0] == wanted[0]


@pytest.mark.parametrize("seed", range(20))
def test_long_units_and_full_caches_change_nothing(seed: int) -> None:
    """Units of 9 to 16 tokens take two lines of the cache, others one: they must not see one another's."""
    names, merges, options = drawn(seed)
    options |= {"dropout": None, "unk_token": "<unk>"}
    alone = made(names, merges, options, cache_units=0, cuts=False)
    models = [made(names, merges, options, cache_units=units) for units in (2, 4, 64, 1 << 12)]
    rng = random.Random(seed)
    letters = rng.sample("abzé<>", 3)
    for _ in range(300):
        text = "".join("▁" + "".join(rng.choices(letters, k=rng.randint(0, 18))) for _ in range(rng.randint(1, 12)))
        text += "".join(rng.choices(LETTERS, k=rng.randint(0, 20)))
        wanted = said(alone, text)
        for model in models:
            assert said(model, text) == wanted
    for model in models:
        info = model.cache_info()
        assert info["units"] <= info["most_units"]


def test_a_vocabulary_whose_bytes_merge_is_not_cut_beside_them() -> None:
    names = ["<unk>", "漢", *BYTES, "漢<0xE5>", "<0xE5><0xAD>"]
    for merge in (("漢", "<0xE5>"), ("<0xE5>", "<0xAD>"), None):
        merges = [] if merge is None else [merge]
        options = {"byte_fallback": True, "unk_token": "<unk>"}
        with_cuts, without = (made(names, merges, options, cuts=cuts) for cuts in (True, False))
        for text in ("漢字漢字", "字字漢", "漢漢字"):
            assert said(with_cuts, text) == said(without, text)


def test_published_vocabularies_give_the_same_in_units(shared: Path, corpora: dict[str, Path]) -> None:
    import json

    fields = json.loads((shared / "vocabs" / "mistral-v1" / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    vocab = Vocab.from_mapping({token.encode(): id_ for token, id_ in fields["vocab"].items()})
    options = {name: fields[name] for name in CharBPE.__dataclass_fields__ if name in fields and name != "merges"}
    bpe = CharBPE(merges=merge_ids(vocab, fields["merges"]), **options)
    alone, model = bpe.encoder(vocab, cuts=False, cache_units=0), bpe.encoder(vocab)
    texts = documents(8, 60) + [slice_of(corpus, 60_000) for corpus in corpora.values()]
    for text in texts:
        for one, other in zip(model.encode(metaspace(text)), alone.encode(metaspace(text)), strict=True):
            assert one.tolist() == other.tolist()
