"""The engine gives the ids, spans, words and masks of tokenizers 0.23 for BERT's vocabularies.

test_bert_engine.py compares the engine with the components on a small vocabulary; here are the published ones, with
each option that cuts, fills up, pairs or cases. TOKKIT_LONG=1 reads 20,000 texts and each context of each code point.
"""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from both_pipelines import Both
from code_points import code_points
from conftest import LONG, slice_of
from newer_characters import NEWER, known
from pipelines import Json, padding, truncation
from strategies import CONTEXTS, adversarial, documents
from tokkit._core.text import isas, use_isa

pytest.importorskip("tokenizers")
NAMES = ("bert-base-uncased", "bert-base-chinese", "bert-base-multilingual-cased")
CASING = [
    {"clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": strip, "lowercase": lower}
    for clean in (True, False)
    for chinese in (True, False)
    for strip in (None, True, False)
    for lower in (True, False)
]
MIXED = (
    "École ÀÉÎ naïve",
    "中国 にほんご 한국어",
    "İıſẞ Σίσυφος",
    "a\u0301\u0327\x00b\ufffd\u200b \u00ad",
    "[MASK] x[SEP]",
)


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest, shared: Path) -> Json:
    """A published tokenizer.json."""
    return read(shared / "vocabs" / request.param / "tokenizer.json")


@pytest.fixture(scope="module")
def both(made: Json) -> Both:
    return engine_and_rival(made)


def engine_and_rival(made: Json, **changed: Any) -> Both:
    if changed and not LONG:  # no more of the vocabulary than this, as it is read for each option anew
        vocab = {token: id_ for token, id_ in made["model"]["vocab"].items() if id_ < 5000}
        changed["model"] = made["model"] | {"vocab": vocab}
    found = Both(copy.copy(made) | changed)
    assert found.ours._engine.encoder is not None
    return found


def texts(seed: int, n: int, longest: int = 400) -> Iterator[str]:
    rng = random.Random(seed)
    for text in documents(seed, n, longest=longest):
        yield known(text)
        yield known("".join(rng.choices([*MIXED, text[:20], " ", "the", "un", "able"], k=rng.randint(1, 6))))


def test_seeded_texts_give_the_encodings_of_tokenizers(both: Both) -> None:
    for text in texts(801, 10_000 if LONG else 100):
        both.encodings(text)


@pytest.mark.parametrize("isa", [name for name in isas() if name != "neon"])
def test_corpora_give_the_encodings_of_tokenizers(both: Both, corpora: dict[str, Path], isa: str) -> None:
    use_isa(isa)
    try:
        for path in corpora.values():
            text = slice_of(path, 10_000 if isa == isas()[-1] else 4000)[: 1_000_000 if isa == isas()[-1] else 100_000]
            for start in range(0, len(text), 2000):
                both.encodings(known(text[start : start + 2000]))
    finally:
        use_isa(None)


@functools.cache
def read(path: Path) -> Json:
    """What a file of JSON has, which is read once."""
    found: Json = json.loads(path.read_text(encoding="utf-8"))
    return found


@functools.cache
def in_turn(turn: int) -> list[int]:
    """The code points that take their turn in this context of all."""
    one_in = (1, 1, len(CONTEXTS)) if LONG else (32, 120 * len(CONTEXTS), 8000)
    points = (c for c in code_points() if c not in NEWER)
    return [c for c in points if (c + turn) % one_in[(c >= 0x3100) + (c >= 0x30000)] == 0]


def test_every_code_point_in_context_gives_the_encodings_of_tokenizers(both: Both) -> None:
    """Each takes its turn in one context of all, the common ones in several; special tokens keep them apart."""
    for turn, context in enumerate(CONTEXTS):
        chosen = in_turn(turn)
        for i in range(0, len(chosen), 2000):
            both.encodings("[SEP]".join(context.format(chr(c)) for c in chosen[i : i + 2000]))


@pytest.mark.parametrize("seed", range(60 if LONG else 3))
def test_options_cut_fill_up_and_pair_as_tokenizers_does(made: Json, seed: int) -> None:
    rng: Any = random.Random(seed)
    changed = {
        "truncation": rng.choice((None, truncation(rng), {**truncation(rng), "max_length": rng.choice((25, 64))})),
        "padding": rng.choice((None, padding(rng), padding(rng))),
        "normalizer": {"type": "BertNormalizer", **rng.choice((CASING[0], rng.choice(CASING)))},
    }
    found = engine_and_rival(made, **changed)
    assert found.everything(rng, [*MIXED, *texts(seed, 6, longest=90)])


@pytest.mark.parametrize("options", CASING, ids=lambda options: "-".join(map(str, options.values())))
def test_every_option_of_the_normalizer_is_that_of_tokenizers(shared: Path, options: dict[str, Any]) -> None:
    made = read(shared / "vocabs" / "bert-base-multilingual-cased" / "tokenizer.json")
    found = engine_and_rival(made, normalizer={"type": "BertNormalizer", **options})
    for text in [*MIXED, known(adversarial(9, 3000)), *texts(811, 500 if LONG else 10)]:
        found.encodings(text)


def test_the_limit_of_a_word_is_that_of_tokenizers(both: Both) -> None:
    for n in (99, 100, 101, 102):
        for unit in "aé中가д1🦜":
            both.encodings(f"x {unit * n} y{unit * n}.{unit * (n - 1)}Z")
    both.encodings("a" * 100_000)
