"""Many threads that share a model get the tokens that each would get alone, without memory leaks."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from piece_stages import whole
from tokkit._core.encode.models import PieceEncoder
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.models.unigram import Unigram
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.vocab import Vocab

NAMES = ["<unk>", "a", "b", "ab", "ba", "aba", "##a", "##b", "▁", "▁a", "漢"]
VOCAB = Vocab.from_list([name.encode() for name in NAMES])
MERGES = merge_ids(VOCAB, [("a", "b"), ("b", "a"), ("ab", "a"), ("▁", "a")])
MODELS: dict[str, Any] = {
    "bpe": CharBPE(merges=MERGES, unk_token="<unk>", dropout=0.5),
    "unigram": Unigram(scores=[-float(i) for i in range(len(NAMES))], unk_id=0),
    "wordpiece": WordPiece(unk_token="<unk>"),
    "wordlevel": WordLevel(unk_token="<unk>"),
}


def texts(n: int) -> list[str]:
    rng = random.Random(1)
    return ["".join(rng.choices("ab▁漢x", k=rng.choice((1, 3, 10, 80, 3000)))) for _ in range(n)]


@pytest.mark.parametrize("kind", MODELS)
def test_threads_that_share_a_model_get_what_each_gets_alone(kind: str) -> None:
    alone, shared = (MODELS[kind].encoder(VOCAB) for _ in range(2))
    seed = 5 if kind == "bpe" else None
    work = [(text, s) for text in texts(100) for s in (None, seed)]

    def encode(model: Any, item: tuple[str, int | None]) -> list[Any]:
        return [part.tolist() for part in model.encode(whole(item[0]), seed=item[1])]

    wanted = [encode(alone, item) for item in work]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(lambda item: encode(shared, item), work)) == wanted


def test_the_core_refuses_tables_that_do_not_fit_the_vocabulary() -> None:
    import numpy as np

    marks = np.zeros(VOCAB.n_ids, dtype=np.uint8)
    for kind, added_ids, options in (
        ("char", marks, {}),
        ("bpe", marks[1:], {}),
        ("bpe", marks, {"merges": np.zeros((1, 2), dtype=np.uint32)}),
        ("unigram", marks, {"scores": np.zeros(2)}),
    ):
        with pytest.raises(ValueError, match=r"kind is|added_ids has|merges has|scores has"):
            PieceEncoder(kind, VOCAB.blob, VOCAB.offsets, added_ids, options)
    empty = Vocab.from_list([])
    for kind, options in (("bpe", {"drops_unknown": True}), ("wordpiece", {}), ("wordlevel", {})):
        model = PieceEncoder(kind, empty.blob, empty.offsets, marks[:0], options)
        assert len(model.encode(whole(""))[0]) == 0


@pytest.mark.parametrize("seed", range(6))
def test_tokens_that_are_no_text_do_no_harm(seed: int) -> None:
    """A vocabulary made by hand may hold any bytes; spans then still lie on characters, in order."""
    rng = random.Random(seed)
    parts = sorted({bytes(rng.choices("a漢é".encode(), k=rng.randint(1, 4))) for _ in range(60)})
    vocab = Vocab.from_list([b"<unk>", *(part for part in parts if part)])
    kinds = [
        CharBPE(merges=merge_ids(vocab, []), unk_token="<unk>", byte_fallback=True),
        Unigram(scores=[-1.0] * vocab.n_ids, unk_id=0, byte_fallback=True),
        WordPiece(unk_token="<unk>", continuing_subword_prefix=""),
        WordLevel(unk_token="<unk>"),
    ]
    for kind in kinds:
        model = kind.encoder(vocab)
        for _ in range(100):
            text = "".join(rng.choices("a漢éx", k=rng.choice((1, 5, 12, 90))))
            _, spans, _ = model.encode(whole(text))
            starts = {len(text[:i].encode()) for i in range(len(text) + 1)}
            assert {place for span in spans.tolist() for place in span} <= starts
            assert spans[:, 0].tolist() == sorted(spans[:, 0].tolist())
