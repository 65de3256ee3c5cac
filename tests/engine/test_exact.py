"""Every instruction set and every way to cut a text gives the ids of the reference.

The reference is the pattern run by the `regex` package with classes of our own tables, and merging as its
definition reads. TOKKIT_LONG=1 makes it 50,000 examples, every code point in every context, and 200 MB of
adversarial text against tiktoken.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from code_points import code_points
from conftest import LONG, PUBLISHED, Small, slice_of
from reference.bpe_encode import rank_bpe
from reference.split import split
from reference.stretches import stand_in
from reference.utf8 import without_surrogates
from strategies import CONTEXTS, adversarial, texts
from tokkit._core.text import isas, scan, to_utf8
from tokkit.definition import Definition, Split
from tokkit.models import bpe
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.vocab import Vocab
from vocabularies import ALPHABETS, grown

if TYPE_CHECKING:
    import tiktoken

FAMILIES = {"r50k": patterns.R50K, "cl100k": patterns.CL100K, "o200k": patterns.O200K, "qwen2": patterns.QWEN2}
SPECIAL = "\ue0fe\ue0ff"  # in no text that is made here
MEMO = 1 << 16
# The last 64 bytes are left to the scalar scanner: with a tail, text that is shorter meets the others too.
TAILS = ("", "東の" * 15, " the" * 17, "\n" + "の's" * 20)


class Ways:
    """One vocabulary and pattern: the reference, and each way of ours to the same ids."""

    def __init__(self, tokens: list[bytes], pattern: str) -> None:
        self.pattern, self.ids = pattern, {token: id_ for id_, token in enumerate(tokens)}
        self.memo: dict[str, list[int]] = {}
        self.special_id = len(tokens)
        self.tiers = {}
        vocab = Vocab.from_list([*tokens, SPECIAL.encode()])
        for tier in ("scanner", "compiled", "regex"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TOKKIT_SPLIT", tier)
                made = tokkit.Tokenizer(Definition(vocab, BPE(), Split(pattern), {SPECIAL: self.special_id}))
            assert made.split_engine == tier
            self.tiers[tier] = made
        self.encoder = self.tiers["scanner"]._engine._core
        # Else no piece is ever cut at a safe boundary, and half of what is tested here is not there.
        assert self.encoder.unreachable == 0

    def reference(self, text: str) -> list[int]:
        found: list[int] = []
        for piece in split(self.pattern, text):
            if piece not in self.memo:
                if len(self.memo) >= MEMO:
                    self.memo.clear()
                self.memo[piece] = rank_bpe(piece.encode(), self.ids)
            found += self.memo[piece]
        return found

    def all_ways(self, text: str) -> Iterator[tuple[str, list[int]]]:
        for name in isas():
            ends = self.encoder.units(text, name)
            yield name, self.encoder.encode_pieces(to_utf8(text, name), ends).tolist()
        for tier in ("scanner", "compiled"):
            yield tier, self.tiers[tier].encode(text)

    def check(self, text: str) -> None:
        wanted = self.reference(without_surrogates(text))
        for way, found in self.all_ways(text):
            assert found == wanted, (way, text)
        old = of_all_versions(without_surrogates(text))
        assert self.tiers["regex"].encode(old) == self.reference(old), ("regex", old)


def of_all_versions(text: str) -> str:
    """The text without characters that Unicode 16.0 and that of `regex` see differently: its tier sees its own."""
    return "".join(map(stand_in, text))


@pytest.fixture(scope="module")
def ways(small: Small) -> dict[str, Ways]:
    tokens = list(small.tokens)
    for seed, alphabet in enumerate(ALPHABETS.values()):
        tokens = grown(seed, alphabet, 80, tokens)
    return {name: Ways(tokens, pattern) for name, pattern in FAMILIES.items()}


def dense_texts() -> st.SearchStrategy[str]:
    """Runs of few characters in which safe cuts, words of the vocabulary and other scripts alternate."""
    runs = [st.text(alphabet, max_size=30) for alphabet in ALPHABETS.values()]
    odd = st.sampled_from(
        ("\ud83e", "\udd9c", "\ud83e\udd9c", "'s", "'ſ", "\n", "  ", "x" * 61, "A", "b", "ʰ", "\u0301")
    )
    return st.lists(st.one_of(*runs, odd), max_size=8).map("".join)


@given(st.one_of(texts(), dense_texts()), st.integers(0, 66), st.sampled_from((1, 1, 2, 5)), st.sampled_from(TAILS))
@settings(max_examples=50_000 if LONG else 150)
def test_any_text_gives_the_references_ids_by_every_isa_and_tier(
    ways: dict[str, Ways], text: str, shift: int, times: int, tail: str
) -> None:
    for way in ways.values():
        way.check("x" * shift + text * times + tail)


@given(st.lists(st.one_of(texts(max_size=12), dense_texts()), min_size=2, max_size=4))
@settings(max_examples=5000 if LONG else 100)
def test_texts_between_special_tokens_are_split_as_texts_of_their_own(ways: dict[str, Ways], parts: list[str]) -> None:
    # Without surrogates: half a pair on both sides of a token would be two lone ones here, as it is there.
    parts = [without_surrogates(part).replace(SPECIAL[0], "") for part in parts]
    for way in ways.values():
        wanted = [id_ for part in parts for id_ in (*way.reference(part), way.special_id)][:-1]
        for tier in ("scanner", "compiled"):
            tok = way.tiers[tier]
            assert tok.encode(SPECIAL.join(parts), special="all") == wanted, (tier, parts)


@pytest.mark.parametrize("seed", range(200 if LONG else 4))
def test_adversarial_texts_give_the_references_ids_by_every_isa_and_tier(ways: dict[str, Ways], seed: int) -> None:
    rng = random.Random(seed)
    dense = "".join("".join(rng.choices(alphabet, k=rng.randint(1, 90))) for alphabet in ALPHABETS.values())
    for way in ways.values():
        way.check(adversarial(seed, 4000, surrogates=True))
        way.check(dense)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_code_point_in_context_is_cut_alike_by_regex_every_isa_and_automaton(family: str) -> None:
    pattern = FAMILIES[family]
    automaton = choose_compiled(pattern)
    stride = 1 if LONG else 127
    points = code_points()
    # Each context follows another kind of character, and begins at another place in its block.
    behind = (" ", "\n", "a", "A", "1", "!", "中", "\u0301", "'s", "\r\n\t")
    for turn, context in enumerate(CONTEXTS):
        chosen = points[turn % stride :: stride]
        if not LONG:
            chosen = [*range(0x100 + turn % 13, 0x3100, 13), *chosen]
        for i in range(0, len(chosen), 20_000):
            text = "".join(context.format(chr(cp)) + behind[cp % 10] for cp in chosen[i : i + 20_000])
            wanted = np.cumsum([len(piece.encode()) for piece in split(pattern, text)])
            for name in isas():
                assert np.array_equal(scan(text, patterns.SCANNERS[pattern], name), wanted), (name, context, i)
            assert np.array_equal(automaton.scan(text)[0], wanted), (context, i)


def choose_compiled(pattern: str) -> tokkit._core.split.SplitPattern:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKKIT_SPLIT", "compiled")
        return choose(pattern, keep_unmatched=False).split


@pytest.mark.parametrize("name", PUBLISHED)
def test_megabytes_of_adversarial_text_give_tiktokens_ids(
    load_shared: Callable[[str], tokkit.Tokenizer], load_tiktoken: Callable[[str], tiktoken.Encoding], name: str
) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    encoder = ours._engine._core
    done, seed = 0, 0
    while done < (50_000_000 if LONG else 300_000):  # bytes, for each of four vocabularies
        text = adversarial(seed, 100_000)
        wanted = theirs.encode_to_numpy(text, disallowed_special=())
        for isa in isas():
            utf8 = to_utf8(text, isa)
            found = encoder.encode_pieces(utf8, encoder.units(text, isa))
            assert np.array_equal(found, wanted), (seed, isa)
        done += len(utf8)
        seed += 1


@pytest.mark.parametrize("words", [0, 1 << 9, 1 << 16])
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_what_a_small_cache_forgets_changes_no_id(
    load_shared: Callable[[str], tokkit.Tokenizer],
    load_tiktoken: Callable[[str], tiktoken.Encoding],
    corpora: dict[str, Path],
    name: str,
    words: int,
) -> None:
    definition = load_shared(name).definition
    split_number = patterns.SCANNERS[definition.pretokenizer.pattern]
    special = definition.special_tokens.values()
    encoder = bpe.encoder(definition.vocab, definition.model, special, split_number, cache_words=words)
    for path in corpora.values():
        text = slice_of(path, 20_000)
        for start in range(0, len(text), 200_000):
            part = text[start : start + 200_000]
            wanted = load_tiktoken(name).encode_to_numpy(part, disallowed_special=())
            for _ in range(2):
                assert np.array_equal(encoder.encode_array(part), wanted), (path.name, start)
