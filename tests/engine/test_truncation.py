"""Texts are truncated to a number of tokens at either end, never inside a character."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tokkit
from tokkit.errors import OptionError
from tokkit.models.char_bpe import CharBPE
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit

TEXT = "The quick brown fox — Größe, 漢字 and 🦊🦊 — jumps.\n\n"


@pytest.mark.parametrize("options", [{"model": "bbpe"}, {"model": "wordpiece"}, {"model": "char", "level": "bytes"}])
def test_what_is_kept_is_a_beginning_or_an_end_that_fits_and_is_long(options: dict[str, str]) -> None:
    tok = tokkit.train(iter([TEXT, "fox jumps brown"] * 4), vocab_size=300, **options)
    rng = random.Random(5)
    for _ in range(40):
        text = "".join(rng.choices(TEXT, k=rng.randint(0, 40)))
        for n in (0, 1, 2, 5, 1000):
            for side in ("right", "left"):
                part, count = tok.truncate(text, n, side=side)
                assert text.endswith(part) if side == "left" else text.startswith(part)
                assert tok.count(part) == count <= max(n, 0)
                if part != text and options["model"] == "char":  # one more character would be too many bytes
                    more = text[-len(part) - 1 :] if side == "left" else text[: len(part) + 1]
                    assert tok.count(more) > n


def test_the_end_of_a_text_is_kept_with_side_left() -> None:
    tok = tokkit.train(iter(["a b"]), vocab_size=256)
    assert tok.truncate("one two", 3, side="left") == ("two", 3)
    assert tok.truncate("ab🦊", 3, side="left") == ("", 0)
    assert tok.truncate("ab🦊", 5, side="left") == ("b🦊", 5)
    with pytest.raises(OptionError, match=r"side is .middle."):
        tok.truncate("one", 3, side="middle")  # type: ignore[arg-type]


def test_the_size_of_a_vocabulary_has_two_names() -> None:
    tok = tokkit.train(iter(["a b"]), vocab_size=256, special_tokens=[])
    assert len(tok) == tok.vocab_size == 256
    assert len(tok.with_special_tokens({"<|end|>": 300})) == 257


def test_what_is_kept_has_ids_where_a_part_of_a_word_has_none() -> None:
    vocab = tokkit.Vocab.from_list([b"a", b"b</w>"])
    merges = np.empty((0, 3), dtype=np.uint32)
    model = CharBPE(merges=merges, unk_token="absent", end_of_word_suffix="</w>")
    tok = tokkit.Tokenizer(tokkit.Definition(vocab, model, WhitespaceSplit()))
    assert tok.encode("aab ab") == [0, 0, 1, 0, 1]
    assert tok.truncate("aab ab", 4) == ("aab ", 3)  # "aab a" has no ids, for no word may end with "a"
    assert tok.truncate("aab ab", 2) == ("", 0)
    assert tok.truncate("aab ab", 4, side="left") == ("ab ab", 4)
    assert tok.truncate("a" * 5000 + "b", 5000) == ("", 0)
