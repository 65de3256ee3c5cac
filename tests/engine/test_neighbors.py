"""BPE whose text is cut between characters that no token joins: the ids and offsets are those of the whole text."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from conftest import LONG
from tokkit._core.text import isas, use_isa
from tokkit.engine.interpreter import Interpreter
from tokkit.formats import tokenizer_json
from tokkit.tokenizer import Tokenizer

CHARACTERS = "ab.é日本語のはト。、，！\u3000\u2581\u2003ü한글𠀀🦜\u0600\ufeff"
UNKNOWN = "zЖ中々ﾊ𐀀"
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
SPACES = [
    ({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, REPLACE]}, None),
    ({"type": "Replace", "pattern": {"String": "é"}, "content": "a"}, None),
    ({"type": "Replace", "pattern": {"String": "a"}, "content": "日"}, None),
    (None, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}),
    (None, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}),
    (None, {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}),
    (None, {"type": "Split", "pattern": {"String": "の"}, "behavior": "Isolated", "invert": False}),
    ({"type": "Lowercase"}, None),
    (None, None),
]  # fmt: skip


def definition(rng: random.Random) -> dict[str, Any]:
    """A tokenizer.json of BPE with bytes for unknown characters, and random merges."""
    vocab = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *CHARACTERS]
    merges: list[tuple[str, str]] = []
    for _ in range(rng.choice((5, 40, 200))):
        left, right = rng.choice(vocab[257:]), rng.choice(vocab[257:])
        if left + right not in vocab and len(left + right) < 7:
            vocab.append(left + right)
            merges.append((left, right))
    rng.shuffle(merges)
    normalizer, pretokenizer = rng.choice(SPACES)
    model = {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": rng.random() < 0.5, "byte_fallback": True,
        "ignore_merges": rng.random() < 0.2, "vocab": {token: id_ for id_, token in enumerate(vocab)},
        "merges": merges,
    }  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": pretokenizer, "post_processor": None, "decoder": None, "model": model,
    }  # fmt: skip


def text(rng: random.Random) -> str:
    alphabet = CHARACTERS * 4 + UNKNOWN + " \n" * rng.choice((1, 8))
    return "".join(rng.choices(alphabet, k=rng.choice((3, 40, 300))))


@pytest.mark.parametrize("seed", range(400 if LONG else 20))
def test_cuts_between_neighbors_change_no_id_and_no_offset(seed: int) -> None:
    rng = random.Random(seed)
    tok = Tokenizer(tokenizer_json.read(json.dumps(definition(rng)).encode()))
    slow = Interpreter(tok.definition)
    try:
        for each in [text(rng) for _ in range(6)]:
            wanted = slow.encode(each, "text")
            _, ids, spans, _ = slow.aligned(each, "text")
            for isa in isas():
                use_isa(isa)
                assert tok.encode(each) == wanted, each
                found = tok.engine.aligned(each, "text")
                assert found[1].tolist() == ids.tolist(), each
                assert found[2].tolist() == spans.tolist(), each
    finally:
        use_isa(None)


def test_units_of_text_without_spaces_end_between_characters() -> None:
    rng = random.Random(3)
    made = definition(rng) | {"normalizer": SPACES[0][0], "pre_tokenizer": None}
    made["model"] |= {"merges": [("日", "本")], "ignore_merges": False}
    made["model"]["vocab"].setdefault("日本", len(made["model"]["vocab"]))
    tok = Tokenizer(tokenizer_json.read(json.dumps(made).encode()))
    assert tok.engine.encoder.units("日本語の日本a語").tolist() == [6, 9, 12, 18, 19, 22]


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(400 if LONG else 25))
def test_the_ids_are_those_of_tokenizers(seed: int) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(1000 + seed)
    made = json.dumps(definition(rng))
    theirs = tokenizers.Tokenizer.from_str(made)
    ours = Tokenizer(tokenizer_json.read(made.encode()))
    for each in [text(rng) for _ in range(6)]:
        wanted = theirs.encode(each, add_special_tokens=False)
        assert ours.encode(each) == wanted.ids, each
