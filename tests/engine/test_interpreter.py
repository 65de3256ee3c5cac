"""A byte-level tokenizer gives equal ids, spans and words by the engine on bytes and by its components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import tokkit
from strategies import adversarial, documents
from tokkit import byte_symbols
from tokkit.definition import AddedToken, Definition
from tokkit.encoding import Encoding
from tokkit.engine.byte_level import ByteLevelEngine
from tokkit.engine.compile import engine_of
from tokkit.engine.interpreter import Interpreter
from tokkit.models.char_bpe import CharBPE
from tokkit.normalizers.lowercase import Lowercase
from tokkit.normalizers.unicode import NFC
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.sequence import Sequence
from tokkit.pretokenizers.split import Split
from tokkit.vocab import Vocab

ADDED = (
    AddedToken("<|end|>", 2000, special=True),
    AddedToken("<|end|>!", 2001, special=True, normalized=False),
    AddedToken("the", 2002, normalized=False),
    AddedToken("é", 2003, normalized=False),
)
CONDITIONS = (
    AddedToken("<mask>", 2000, special=True, lstrip=True),
    AddedToken("on", 2001, single_word=True),
    AddedToken("É", 2002, normalized=True, rstrip=True),
)
CUTS = ("gpt2", "cl100k", "o200k", "llama3", "qwen2", r"\p{N}{1,3}|\p{L}+", "none")
VOCAB = Vocab.from_list([b"any"])
Make = Callable[..., tokkit.Tokenizer]


def with_added(definition: Definition, added: tuple[AddedToken, ...]) -> Definition:
    vocab = definition.vocab.with_tokens({token.id: token.content.encode() for token in added})
    added_ids = frozenset(token.id for token in added)
    return replace(definition, vocab=vocab, added_tokens=added, special_tokens={}, added_ids=added_ids)


def as_components(definition: Definition) -> Definition:
    """The same tokenizer with symbols for bytes, as a file has it, run by components alone."""
    added = {token.id for token in definition.added_tokens}
    tokens = [
        token if id_ in added else byte_symbols.to_symbols(token).encode()
        for id_, token in enumerate(definition.vocab[id_] for id_ in range(definition.vocab.n_ids))
    ]
    split = definition.pretokenizer
    level = ByteLevel(add_prefix_space=False, use_regex=False)
    # The published patterns match all text, so that it is all one what becomes of the rest.
    parts = [] if split.pattern is None else [Split({"Regex": split.pattern}, "Isolated")]
    model = CharBPE(merges=definition.model.merges, ignore_merges=definition.model.whole_piece)
    return replace(
        definition,
        vocab=Vocab.from_list(tokens),
        model=model,
        pretokenizer=Sequence([*parts, level]),
        special_tokens={},
    )


def texts() -> list[str]:
    found = ["", " ", "the", "<|end|>", "<|end|>!the é<|end|", "on  <mask> on. É  é", "\ud7ff\ue000"]
    return [*found, *documents(733, 150), *(adversarial(seed, 2000) for seed in range(6))]


def compare(one: ByteLevelEngine | Interpreter, other: ByteLevelEngine | Interpreter) -> None:
    """Assert that two give equal ids, offsets, words and counts for every text.

    Offsets are those of characters: the spans of tokens over bytes part a character, those of symbols share it.
    """
    for text in texts():
        for special in ("text", "all"):
            mine, theirs = (
                Encoding(ids, spans, words, VOCAB, text)
                for _, ids, spans, words in (engine.aligned(text, special) for engine in (one, other))
            )
            for name in ("ids", "offsets", "word_ids"):
                assert getattr(mine, name) == getattr(theirs, name), (name, text[:200])
            assert one.encode(text, special) == mine.ids == other.encode(text, special)
            assert one.count(text, special) == other.count(text, special) == len(mine)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("whole_piece", [False, True])
def test_the_engine_over_bytes_and_the_components_find_the_same(
    make_tokenizer: Make, cut: str, whole_piece: bool
) -> None:
    made = make_tokenizer("merges", cut, keep_unmatched=True).definition
    made = with_added(replace(made, model=tokkit.BPE(made.model.merges, whole_piece)), ADDED)
    engine, components = engine_of(made), engine_of(as_components(made))
    assert isinstance(engine, ByteLevelEngine)
    assert components.split_engine == "components"
    compare(engine, components)


@pytest.mark.parametrize("normalizer", [None, NFC(), Lowercase()], ids=["none", "NFC", "Lowercase"])
def test_bytes_behind_components_are_those_of_components_alone(make_tokenizer: Make, normalizer: object) -> None:
    made = with_added(make_tokenizer("merges", "cl100k", keep_unmatched=True).definition, CONDITIONS)
    made = replace(made, normalizer=normalizer)
    mixed, components = engine_of(made), engine_of(as_components(made))
    assert isinstance(mixed, ByteLevelEngine)
    assert mixed.in_stages
    compare(mixed, Interpreter(made))
    compare(mixed, components)


def test_an_interpreter_of_what_the_engine_runs_finds_the_same(make_tokenizer: Make) -> None:
    for kind in ("rank", "merges"):
        made = with_added(make_tokenizer(kind, "o200k").definition, ADDED)
        compare(engine_of(made), Interpreter(made))


def test_batches_are_the_texts_one_by_one(make_tokenizer: Make) -> None:
    made = with_added(make_tokenizer("merges", "gpt2", keep_unmatched=True).definition, ADDED)
    chosen = texts()
    wanted = ByteLevelEngine(made).encode_batch(chosen, "all", 2)
    ids, offsets = engine_of(as_components(made)).encode_batch(chosen, "all", 2)
    assert np.array_equal(ids, wanted[0])
    assert np.array_equal(offsets, wanted[1])
    assert np.array_equal(ids, np.concatenate([Interpreter(made).encode_array(text, "all") for text in chosen]))


def test_both_decode_to_the_same_text(make_tokenizer: Make) -> None:
    from tokkit.decoders.byte_level import ByteLevel as ToText

    made = replace(with_added(make_tokenizer("merges", "gpt2").definition, ADDED), decoder=ToText())
    by_bytes, by_components = tokkit.Tokenizer(made), tokkit.Tokenizer(as_components(made))
    rng = np.random.default_rng(5)
    for _ in range(300):
        ids = rng.integers(0, 2004, rng.integers(0, 30)).tolist()
        assert by_bytes.decode(ids) == by_components.decode(ids)
        assert by_bytes.decode(ids, skip_special=True) == by_components.decode(ids, skip_special=True)
    assert by_bytes.decode([2003]) == "\ufffd"  # "é" is the symbol of a byte, and tokenizers reads it as that
