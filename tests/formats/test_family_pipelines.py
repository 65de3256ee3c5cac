"""The pipelines of model families, with vocabularies trained here, give the ids of tokenizers.

Of most families no file is at hand. So one is made: byte-level BPE trained with the family's pattern, whose
tokenizer.json the installed tokenizers loads. Lest writer and reader share a mistake, tokenizers also gets the
vocabulary with the split as the family publishes it, made of its own components.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import LONG, slice_of
from strategies import CONTEXTS, adversarial, documents
from tokkit.formats import gguf_splits, symbol_tables
from tokkit.pretokenizers import patterns

tokenizers = pytest.importorskip("tokenizers")

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_CAPITALS = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = rf"{_WORD}|{_CAPITALS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
GPT2, DIGITS = "ByteLevel", "Digits"
"""Components of tokenizers, in place of a pattern."""

# Family → our pattern, and the splits that tokenizers is given, in turn.
FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "gpt2": (patterns.BYTE_LEVEL, (GPT2,)),
    "r50k": (
        patterns.R50K,
        (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",),
    ),
    "cl100k": (
        patterns.CL100K,
        (
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
            r"\s*[\r\n]|\s+(?!\S)|\s",
        ),
    ),
    "o200k": (patterns.O200K, (O200K,)),
    "llama3": (patterns.LLAMA3, (LLAMA3,)),
    "qwen2": (patterns.QWEN2, (LLAMA3.replace("{1,3}", ""),)),
    "qwen3.5": (
        patterns.QWEN3_5,
        (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
            r"\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
    "tekken": (patterns.TEKKEN, (TEKKEN,)),
    "kimi-k2": (
        patterns.KIMI_K2,
        (r"[\p{Han}]+|" + O200K.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace(r"[\r\n/]*", r"[\r\n]*"),),
    ),
    "deepseek-v3": (
        patterns.DEEPSEEK_V3,
        (
            r"\p{N}{1,3}",
            "[一-龥\u3040-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
            r""" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
        ),
    ),
    "starcoder": (gguf_splits.DIGITS_APART, (DIGITS, GPT2)),
    "minicpm5": (gguf_splits.MINICPM5, (r"\p{N}{1,3}", LLAMA3.replace("{1,3}", "+"))),
}
CORPORA = ("english-prose", "english-technical", "de", "fr", "zh", "ja", "ko")


@pytest.fixture(scope="module")
def corpus(request: pytest.FixtureRequest, bundled: str) -> str:
    """A slice of each shared corpus, where they are at hand, and the bundled one."""
    try:
        paths = request.getfixturevalue("corpora")
    except pytest.skip.Exception:
        return bundled
    return "\n".join([bundled, *(slice_of(paths[name], 40_000)[:40_000] for name in CORPORA)])


@pytest.fixture(scope="module")
def trained(corpus: str) -> Callable[[str], tokkit.Tokenizer]:
    """Family → a tokenizer of 3,000 tokens, trained once."""

    @functools.cache
    def train(family: str) -> tokkit.Tokenizer:
        return tokkit.train(iter(corpus.splitlines(keepends=True)), vocab_size=3000, pattern=FAMILIES[family][0])

    return train


@functools.cache
def texts() -> list[str]:
    points = [*range(0, 0x250, 1 if LONG else 3), *range(0x2E80, 0x3200, 7), 0x1680, 0x2028, 0xFEFF, 0x1F600, 0x20000]
    in_context = ["\n".join(context.format(chr(c)) for c in points) for context in CONTEXTS]
    factor = 20 if LONG else 1
    return ["", " ", *in_context, *documents(941, 150 * factor), *(adversarial(s, 3000) for s in range(8 * factor))]


def by_hand(tok: tokkit.Tokenizer, splits: tuple[str, ...]) -> Any:
    """Return the vocabulary in tokenizers, with the splits made of its own components."""
    spelt = symbol_tables.write(tok.definition)
    pairs = [tuple(merge.split(" ")) for merge in spelt.lines().decode().split("\n")[:-1]]
    model = tokenizers.models.BPE(spelt.table.as_dict(), pairs, ignore_merges=spelt.whole_piece)
    made = tokenizers.Tokenizer(model)
    components = [component(split) for split in splits]
    if GPT2 not in splits:
        components.append(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(components)
    made.decoder = tokenizers.decoders.ByteLevel()
    return made


def component(split: str) -> Any:
    if split == GPT2:
        return tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    if split == DIGITS:
        return tokenizers.pre_tokenizers.Digits(individual_digits=True)
    return tokenizers.pre_tokenizers.Split(tokenizers.Regex(split), "isolated")


def test_all_published_families_are_here() -> None:
    assert set(FAMILIES) >= set(patterns.NAMES)
    assert len(FAMILIES) == 12


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_are_those_of_tokenizers(
    family: str, tmp_path: Path, corpus: str, trained: Callable[[str], tokkit.Tokenizer]
) -> None:
    tok = trained(family)
    assert tok.n_ids == 3000
    tok.save(tmp_path / "tokenizer.json")
    rivals = [tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), by_hand(tok, FAMILIES[family][1])]
    again = tokkit.load(tmp_path / "tokenizer.json")
    assert again.fingerprint() == tok.fingerprint()
    chosen = [*texts(), corpus[:100_000], corpus[-300_000:]] if LONG else [*texts(), corpus[:8_000], corpus[-10_000:]]
    ours = [tok.encode(text) for text in chosen]
    assert [again.encode(text) for text in chosen] == ours
    for rival in rivals:
        for text, mine, theirs in zip(chosen, ours, rival.encode_batch(chosen), strict=True):
            assert mine == theirs.ids, text[:200]
            assert tok.decode(mine) == text


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_of_a_batch_and_offsets_are_those_of_one_text(
    family: str, trained: Callable[[str], tokkit.Tokenizer]
) -> None:
    tok = trained(family)
    chosen = texts()
    ids, offsets = tok.encode_batch(chosen, threads=2)
    for k, text in enumerate(chosen):
        mine = ids[offsets[k] : offsets[k + 1]].tolist()
        assert mine == tok.encode(text)
        encoding = tok(text)
        assert encoding.ids == mine
        joined = b"".join(text.encode()[a:b] for a, b in encoding.byte_offsets)
        assert joined.decode() == text
