"""The trie of tokens finds each token, whatever their order when it is built."""

from __future__ import annotations

import random

import pytest

from tokkit._core.align import AlignedText
from tokkit.errors import VocabError
from tokkit.models.wordlevel import WordLevel
from tokkit.vocab import Vocab


def tokens_of(kind: str, rng: random.Random) -> list[str]:
    """Return tokens no two of which are alike."""
    if kind == "alike for long":  # more than the builder sorts byte by byte
        made = {"a" * rng.randrange(55, 75) + "".join(rng.choices("abé", k=rng.randrange(4))) for _ in range(400)}
    elif kind == "one in another":
        made = {"ab" * 300} | {("ab" * 300)[:n] for n in range(1, 600)}
    else:
        made = {"".join(rng.choices("aB0 é中🦜\0\x7f", k=rng.randrange(1, 5))) for _ in range(3000)}
    listed = sorted(made)
    rng.shuffle(listed)
    return listed


@pytest.mark.parametrize("kind", ["alike for long", "one in another", "short"])
def test_tokens_in_any_order_are_found_and_others_are_not(kind: str) -> None:
    rng = random.Random(9)
    tokens = tokens_of(kind, rng)
    unknown = len(tokens)
    model = WordLevel(unk_token="<unk>").encoder(Vocab.from_list([t.encode() for t in [*tokens, "<unk>"]]))
    for id_, token in enumerate(tokens):
        assert model.encode(AlignedText(token))[0].tolist() == [id_]
        longer = token + "x"
        assert model.encode(AlignedText(longer))[0].tolist() == [unknown]


def test_the_least_id_of_two_tokens_that_are_alike_is_named() -> None:
    tokens = [f"{number:03}".encode() for number in random.Random(3).sample(range(1000), 200)]
    with pytest.raises(VocabError, match=f"the ids 17 and 200 have the same token, {tokens[17]!r}"):
        WordLevel(unk_token="000").encoder(Vocab.from_list([*tokens, tokens[17]]))
