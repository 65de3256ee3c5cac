"""Added tokens, a normalizer and Metaspace together, compared with tokenizers: which pretoken begins the text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from tokkit._core.align import AlignedText
from tokkit.definition import AddedToken
from tokkit.engine.special_tokens import AddedTokens
from tokkit.pretokenizers.metaspace import SCHEMES, Metaspace

rival = pytest.importorskip("tokenizers")
TOKENS = (AddedToken("<s>", 0, special=True), AddedToken("x", 1, rstrip=True), AddedToken("y", 2, lstrip=True))


class Strip:
    """A normalizer that both sides have."""

    def normalize(self, text: AlignedText) -> None:
        text.cut(lambda piece: [(len(piece) - len(piece.lstrip()), len(piece.rstrip()))] if piece.strip() else [])


@settings(max_examples=300 if LONG else 100)
@given(
    text=st.lists(st.sampled_from(["<s>", "x", "y", " ", "a", "ab", "▁"]), max_size=7).map("".join),
    scheme=st.sampled_from(SCHEMES),
    split=st.booleans(),
    strip=st.booleans(),
)
def test_the_first_piece_is_the_one_that_begins_the_original(text: str, scheme: str, split: bool, strip: bool) -> None:
    tokenizer = rival.Tokenizer(rival.models.WordLevel({}, unk_token="?"))
    words = ["".join(p) for n in range(1, 5) for p in itertools.product(["▁", "a", "b"], repeat=n)]
    vocab = {"?": 0, **{word: 10 + k for k, word in enumerate(words)}}
    tokenizer.model = rival.models.WordLevel(vocab, unk_token="?")
    tokenizer.pre_tokenizer = rival.pre_tokenizers.Metaspace("▁", scheme, split)
    if strip:
        tokenizer.normalizer = rival.normalizers.Strip()
    for token in TOKENS:
        made = rival.AddedToken(
            token.content, lstrip=token.lstrip, rstrip=token.rstrip, normalized=token.normalized, special=token.special
        )
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([made])
    encoding = tokenizer.encode(text, add_special_tokens=False)

    aligned, added = AlignedText(text), AddedTokens(TOKENS)
    added.cut(aligned, "all")
    if strip:
        Strip().normalize(aligned)
    added.cut_normalized(aligned, "all")
    Metaspace("▁", scheme, split).pretokenize(aligned)
    pieces = zip(aligned.pieces, aligned.ids, strict=True)
    named = [TOKENS[id_].content if id_ is not None else piece if piece in vocab else "?" for piece, id_ in pieces]
    assert named == [token if token in vocab else token.strip() for token in encoding.tokens]
