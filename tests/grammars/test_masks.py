"""The tokens that grammars allow at each step are those of the naive twin, also for tokens that cut characters."""

from __future__ import annotations

import random
import threading
from functools import cache
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import LONG
from reference.grammars import Naive
from tokkit import limits
from tokkit.errors import GrammarError
from tokkit.grammars import Choice, CompiledGrammar, Grammar, GrammarConstraint, Json, JsonSchema, Regex, TokenSpellings

TEXT = ['{"name": "Ann", "tags": ["red", "naïve"], "n": -12.5, "東京": null} [true, false] 🦜 a,b c"d\\n'] * 8
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 4},
        "n": {"type": "number", "minimum": -1.5, "maximum": 20},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 2},
        "of": {"$ref": "#"},
    },
    "required": ["n"],
}
GRAMMARS = [
    Regex(r"[a-z]+(, [a-z]+)*"), Regex(r"(?i)naïve|東.{0,2}|\W\p{L}+"), Regex(r"[^a-zA-Z\"]{3,9}"), Regex(r"(a|b)?c*"),
    Choice(["red", "read", "東京", "東", "🦜🦜"]), Json(), Json(whitespace="compact"), JsonSchema(PERSON),
    JsonSchema(PERSON | {"additionalProperties": False}, whitespace="spaced"),
    JsonSchema({"type": "string", "pattern": r"^\w+\n?\"$"}), JsonSchema({"type": "string", "minLength": 1}),
]  # fmt: skip


@cache
def byte_level() -> tokkit.Tokenizer:
    made = tokkit.train(iter(TEXT), vocab_size=330, pattern=None)
    return made.with_special_tokens({"<|end|>": 340, '"': 341})


@cache
def sentencepiece() -> tokkit.Tokenizer:
    return tokkit.train(iter(TEXT), model="sp-bpe", vocab_size=330, byte_fallback=True)


@cache
def unigram_without_bytes() -> tokkit.Tokenizer:
    return tokkit.train(iter(TEXT), model="unigram", vocab_size=60, hard_vocab_limit=False)


TOKENIZERS = [byte_level, sentencepiece, unigram_without_bytes]


def ids_of(words: np.ndarray) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())


def walk(constraint: GrammarConstraint, rng: random.Random, steps: int) -> list[int]:
    """Ids that the constraint allows, until the text may end and does, or so many."""
    made: list[int] = []
    while len(made) < steps:
        allowed = constraint.allowed_ids()
        if not len(allowed) or (constraint.finished and rng.random() < 0.3):
            break
        made.append(int(rng.choice(allowed)))
        constraint.advance(made[-1])
    return made


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda each: repr(each)[:40])
def test_masks_are_those_of_the_naive_twin_at_every_step(grammar: Grammar, tokenizer: Any) -> None:
    tokens = TokenSpellings(tokenizer())
    try:
        compiled = grammar.compile(tokens)
    except GrammarError:
        assert tokens.alphabet is not None  # which lacks what the grammar needs
        return
    naive, rng = Naive(grammar.rules()), random.Random(1)
    constraint, data = compiled.start(), b""
    for step in range(6 if LONG else 5 if tokenizer is byte_level else 3):
        spelt = [tokens.first.get(i, t) if step == 0 else t for i, t in enumerate(tokens.inside)]
        if tokens.alphabet is None:
            assert ids_of(constraint.allowed()) == naive.allowed(data, spelt)
            assert constraint.finished == naive.state(data)[0]
        else:  # a dead end may be nearer than the twin knows
            assert ids_of(constraint.allowed()) <= naive.allowed(data, spelt)
        ids = constraint.allowed_ids().tolist()
        if not ids:
            break
        id_ = rng.choice(ids)
        constraint.advance(id_)
        data += spelt[id_]


@pytest.mark.parametrize("tokenizer", TOKENIZERS[:2], ids=lambda make: make.__name__)
def test_bytes_are_those_that_decoding_adds(tokenizer: Any) -> None:
    made = tokenizer()
    tokens, rng = TokenSpellings(made), random.Random(3)
    ids = [id_ for id_, text in enumerate(tokens.inside) if text and tokens.first.get(id_, text)]
    for _ in range(200):
        some = rng.choices(ids, k=6)
        spelt = tokens.first.get(some[0], tokens.inside[some[0]]) + b"".join(tokens.inside[id_] for id_ in some[1:])
        try:
            text = spelt.decode()
        except UnicodeDecodeError:
            continue
        stream = made.decode_stream()
        assert made.decode(some) == "".join([*map(stream.step, some), stream.flush()]) == text


def test_special_tokens_and_tokens_without_text_are_never_allowed() -> None:
    constraint = Regex(r".*").compile(byte_level()).start()
    assert not {340, 341} & set(constraint.allowed_ids().tolist())
    for id_ in (340, 341, 335, -1, 4000):
        with pytest.raises(GrammarError):
            constraint.advance(id_)


def test_a_wrong_id_is_refused_and_the_place_stays() -> None:
    constraint = Regex("aa+b").compile(byte_level()).start()
    a = byte_level().encode("a")[0]
    constraint.advance(a)
    before = constraint.allowed_ids().tolist()
    with pytest.raises(GrammarError, match=r"b'b', is not allowed after 'a': at byte 0"):
        constraint.advance(byte_level().encode("b")[0])
    assert constraint.allowed_ids().tolist() == before


def test_copies_go_their_own_way() -> None:
    constraint = Regex("ab|cd").compile(byte_level()).start()
    copy = constraint.copy()
    constraint.advance(byte_level().encode("a")[0])
    copy.advance(byte_level().encode("c")[0])
    assert (constraint.allowed_ids().tolist(), copy.allowed_ids().tolist()) == tuple(
        byte_level().encode(text) for text in "bd"
    )


def test_logits_of_other_tokens_become_minus_infinity() -> None:
    constraint = Regex("a|b").compile(byte_level()).start()
    logits = np.ones(400, dtype=np.float32)
    constraint.mask(logits)
    assert np.flatnonzero(logits == 1).tolist() == constraint.allowed_ids().tolist()
    first = min(constraint.allowed_ids().tolist())
    short = np.ones(first + 1, dtype=np.float32)
    constraint.mask(short)
    assert np.flatnonzero(short == 1).tolist() == [first]


def test_what_the_vocabulary_cannot_spell_is_said() -> None:
    with pytest.raises(GrammarError, match="with the characters of the vocabulary"):
        Choice(["Ω"]).compile(unigram_without_bytes())
    some = Choice(["Ω", "red"]).compile(unigram_without_bytes())
    constraint = some.start()
    while not constraint.finished:
        constraint.advance(int(constraint.allowed_ids()[0]))


def test_characters_are_spelt_byte_by_byte_where_the_bytes_are_tokens() -> None:
    tokens = TokenSpellings(byte_level())
    assert tokens.alphabet is None
    some = TokenSpellings(byte_level())
    some.inside = [b"" if text in (b"\x04", "é".encode()[1:]) else text for text in tokens.inside]
    assert some.alphabet is not None
    lacking = {chr(c) for c in range(0x300) if c not in some.alphabet}
    assert lacking == {chr(c) for c in range(0x300) if {0x04, 0xA9} & set(chr(c).encode())}
    assert ord("東") in some.alphabet
    spelt = {"a", "é", "東", "▁"}
    whole = TokenSpellings(byte_level())
    whole.inside = [*(each.encode() for each in spelt), "ab é".encode(), b"\xf0\x9f"]
    assert {chr(c) for c in whole.alphabet.points()} == spelt  # type: ignore[union-attr]


def test_states_are_discarded_within_the_limit_and_masks_stay_the_same() -> None:
    tokens = TokenSpellings(byte_level())
    free = Json().compile(tokens)
    with limits.using(grammar_bytes=80_000):
        bounded = Json().compile(tokens)
    one, other = free.start(), bounded.start()
    held = []
    for number, id_ in enumerate(byte_level().encode('[{"a": ' * 100)):
        assert ids_of(one.allowed()) == ids_of(other.allowed())
        one.advance(id_)
        other.advance(id_)
        assert bounded.n_bytes < 80_000
        if number % 100 == 0:
            held.append((one.copy(), other.copy()))
    assert free.n_bytes > 160_000
    for one, other in held:
        assert ids_of(one.allowed()) == ids_of(other.allowed())
    with limits.using(grammar_bytes=3000):
        small = Json().compile(tokens)
    with pytest.raises(GrammarError, match="grammar_bytes"):
        walk(small.start(), random.Random(5), 60)


@pytest.mark.threads
def test_threads_may_share_a_compiled_grammar() -> None:
    compiled = JsonSchema(PERSON).compile(byte_level())
    expected = [walk(JsonSchema(PERSON).compile(byte_level()).start(), random.Random(seed), 40) for seed in range(4)]
    made: dict[int, list[int]] = {}

    def run(seed: int) -> None:
        made[seed] = walk(compiled.start(), random.Random(seed), 40)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [made[seed] for seed in range(4)] == expected


def test_a_compiled_grammar_says_its_size() -> None:
    compiled = Regex("a").compile(byte_level())
    assert isinstance(compiled, CompiledGrammar)
    assert f"{compiled.n_bytes:,} bytes" in repr(compiled)
