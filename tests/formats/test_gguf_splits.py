"""The split patterns of GGUF files, run in turn, equal the one pattern that they are combined to."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import regex

import tokkit
from conftest import LONG
from gguf_files import gguf, strings
from reference.split import split
from strategies import CONTEXTS, documents
from tokkit import byte_symbols
from tokkit._core.align import AlignedText
from tokkit.errors import FormatError
from tokkit.formats import gguf_splits
from tokkit.formats.gguf_vocabulary import Vocabulary
from tokkit.pretokenizers import patterns, regex_split
from tokkit.pretokenizers.choice import choose
from tokkit.pretokenizers.sequence import Sequence
from tokkit.pretokenizers.split import Split
from tokkit.unicode_regex.versions import as_of_version

KINDS = "aZé中カ'st1٣²  \n\r\t!.…。(|,)\u0301\u200d\U00040000/"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
"""As programs that run GGUF files have it: what it does not match is kept."""
LLAMA3 = patterns.LLAMA3
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
BY_TURNS = {
    "starcoder": (r"\p{N}", GPT2),
    "gpt-2": (GPT2,),
    "minicpm5": (r"\p{N}{1,3}", LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+")),
    "bloom": (BLOOM,),
    "viking": (BLOOM, r"\p{N}"),
    "deepseek-v3": patterns.DEEPSEEK_V3_IN_TURN,
    "stablelm2": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    ),
    "seed-coder": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+",
    ),
}


def in_turn(splits: tuple[str, ...], text: str) -> list[str]:
    pieces = [text]
    for pattern in splits:
        pieces = [part for piece in pieces for part in cut_by(pattern, piece)]
    return pieces


def cut_by(pattern: str, text: str) -> list[str]:
    if pattern in (BLOOM, gguf_splits.VIKING):  # they name characters, for which the others would stand in
        return [text[a:b] for a, b in regex_split.spans(pattern, text, keep_unmatched=True)]
    return split(pattern, text, keep_unmatched=True)


def texts() -> list[str]:
    rng = random.Random(911)
    short = ["".join(rng.choices(KINDS, k=rng.randint(1, 10))) for _ in range(20_000 if LONG else 2500)]
    points = [context.format(chr(c)) for c in (*range(0x80), 0xA0, 0xB2, 0x345, 0x2028, 0x3000) for context in CONTEXTS]
    return [*short, *points, *documents(913, 150)]


@pytest.mark.parametrize("name", BY_TURNS)
def test_splits_in_turn_are_the_one_pattern_of_a_name(name: str) -> None:
    cut = gguf_splits.find(name, None).split
    chosen = choose(cut.pattern, keep_unmatched=cut.keep_unmatched).split
    for text in texts()[:: 1 if LONG else 4]:
        expected = in_turn(BY_TURNS[name], text)
        assert cut_by(cut.pattern or "", text) == expected, repr(text)
        if chosen is not None and not isinstance(chosen, int):
            ends, dropped = chosen.scan(text.encode())
            assert not dropped.any()
            pieces = [text.encode()[a:b].decode() for a, b in pairwise([0, *ends.tolist()])]
            assert pieces == [piece for piece in expected if piece], repr(text)


@pytest.mark.parametrize("name", sorted(gguf_splits.PATTERNS))
def test_every_name_is_run_in_the_core(name: str) -> None:
    cut = gguf_splits.find(name, None).split
    assert choose(cut.pattern, keep_unmatched=cut.keep_unmatched).engine != "regex"


def test_each_pattern_of_a_family_that_we_publish_has_a_name() -> None:
    known = set(gguf_splits.PATTERNS.values())
    assert known >= set(patterns.NAMES.values()) - {patterns.R50K, patterns.CL100K}


def test_a_name_that_is_not_known_is_told_the_others() -> None:
    with pytest.raises(FormatError, match=r"tokenizer\.ggml\.pre: the split 'no-name' is unknown.*falcon.*gpt-2"):
        gguf_splits.find("no-name", None)
    assert gguf_splits.find("no-name", "gpt2") == gguf_splits.find("gpt-2", None)


@pytest.mark.parametrize("name", sorted(gguf_splits.IN_TURN))
def test_splits_in_turn_cut_as_one_after_another_by_the_regex_package(name: str) -> None:
    splits = gguf_splits.find(name, None).split
    parts = Sequence([Split({"Regex": text}, "Isolated") for text in splits])
    for text in [*texts()[:: 1 if LONG else 24], "1234567 12.5 a12345b", "IMGIMGABZ <sentinel:12>", "x\u3000。y ~！"]:
        aligned = AlignedText(text)
        parts.pretokenize(aligned)
        pieces = [text]
        for pattern in splits:
            pieces = [piece[a:b] for piece in pieces for a, b in spans_of(pattern, piece)]
        assert aligned.pieces == pieces, text


def spans_of(pattern: str, piece: str) -> list[tuple[int, int]]:
    """The matches of a pattern in a piece, and what is between them; an empty match cuts too."""
    bounds = {0, len(piece)}
    for match in regex.compile(pattern).finditer(as_of_version(pattern, piece)):
        bounds.update(match.span())
    return list(pairwise(sorted(bounds)))


@pytest.mark.parametrize("name", ["falcon", "deepseek-coder"])
def test_a_file_whose_splits_run_in_turn_is_loaded_and_saved(name: str, tmp_path: Path) -> None:
    tokens = [byte_symbols.SYMBOLS[byte] for byte in range(256)] + ["He", "ll", "12", "Ġw"]
    keys = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": name,
        "tokenizer.ggml.tokens": strings(tokens),
        "tokenizer.ggml.merges": strings(["H e", "l l", "1 2", "Ġ w"]),
    }
    (tmp_path / "model.gguf").write_bytes(gguf(keys))
    tok = tokkit.load(tmp_path / "model.gguf")
    ids = tok.encode("Hello, world 1234!")
    assert tok.decode(ids) == "Hello, world 1234!"
    assert 256 in ids
    assert (258 in ids) == (name == "falcon")
    tok.save(tmp_path / "saved.json")
    assert tokkit.load(tmp_path / "saved.json").encode("Hello, world 1234!") == ids


def test_old_files_without_a_name_are_split_as_their_architecture_is() -> None:
    def split_of(**general: str) -> str | None:
        none = np.zeros(0, np.uint8)
        return gguf_splits.name_in(Vocabulary("gpt2", None, [], none, np.zeros(0, np.float32), [], {}, {}, **general))

    assert [split_of(architecture=name) for name in ("gptneox", "aquila", "falcon")] == ["gpt-2", "gpt-2", "falcon"]
    assert split_of(architecture="llama") is None
    assert set(gguf_splits.OF_ARCHITECTURE.values()) <= {*gguf_splits.PATTERNS, *gguf_splits.IN_TURN}


def test_digits_of_afmoe_are_in_groups_of_three_from_the_right_the_first_with_the_text_before() -> None:
    pattern = gguf_splits.IN_TURN["afmoe"][0]
    for text, pieces in (
        ("ab1234567x89 12", ["ab1", "234", "567", "x89", " 12"]),
        ("123456", ["123", "456"]),
        ("no digits", ["no digits"]),
        ("٣12²5 ", ["٣1", "2²5", " "]),
    ):
        assert [text[a:b] for a, b in spans_of(pattern, text)] == pieces


def test_whole_pretokens_of_youtu_and_granite_skip_merging() -> None:
    assert all(gguf_splits.find(name, None).whole_piece for name in ("youtu", "granite-embed-multi-97m", "minicpm5"))
