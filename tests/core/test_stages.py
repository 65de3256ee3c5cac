"""The stages of encoding that are timed give the pretokens and ids of encoding, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

import tokkit
from strategies import adversarial
from tokkit._core.encode.stage_timer import STAGES, StageTimer, clock_hertz, scan_seconds
from tokkit._core.text import isa, isas, scan
from tokkit.cli import stage_timing
from tokkit.engine.byte_level import ByteLevelEngine
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.unicode_regex.compile import compile_pattern

PATTERNS = ("cl100k", "gpt2", r"\p{L}+|\p{N}", r"[a-z]+| [a-z]+")


def timer_of(tok: tokkit.Tokenizer, texts: list[str]) -> StageTimer:
    encoder = ByteLevelEngine(tok.definition).encoder
    assert encoder is not None
    return StageTimer(encoder, texts)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", isas())
def test_the_last_stage_gives_the_ids_and_no_stage_before_it_more(make_tokenizer, pattern: str, name: str) -> None:
    tok = make_tokenizer("rank", pattern)
    texts = [adversarial(seed, 3000) for seed in range(8)] + ["", "the lower newest low " * 90]
    timer = timer_of(tok, texts)
    counts = {stage: timer.run(stage, isa=name)[1:] for stage in STAGES}
    assert counts["all"][1] == sum(map(tok.count, texts)) == timer.run("all", isa=name, fresh=True)[2]
    assert counts["scan"][0] == counts["keys"][0] == counts["probe"][0] == counts["emit"][0] > 0
    assert counts["scan"][1] == counts["keys"][1] == 0
    assert 0 < counts["probe"][1] == counts["emit"][1] <= counts["all"][1]


@pytest.mark.parametrize("name", isas())
def test_scanning_alone_counts_the_pieces_of_the_scanner(name: str) -> None:
    texts = [adversarial(seed, 3000) for seed in range(4)] + [""]
    pattern = patterns.NAMES["cl100k"]
    family = patterns.SCANNERS[pattern]
    pieces = sum(len(scan(text, family, name)) for text in texts)
    compiled = compile_pattern(pattern, keep_unmatched=True)
    for split in (family, compiled):
        seconds, counted = scan_seconds(split, texts, isa=name)
        assert seconds > 0
        assert counted == pieces
    with pytest.raises(ValueError, match="scanner"):
        scan_seconds(99, texts)


def test_where_every_piece_is_a_token_nothing_misses(make_tokenizer) -> None:
    tok = make_tokenizer("rank", r"(?s:.)")
    timer = timer_of(tok, ["plain ASCII, one byte a piece\n" * 50])
    n = 30 * 50
    assert [timer.run(stage)[1:] for stage in STAGES] == [(n, 0), (n, 0), (n, n), (n, n), (0, n)]


@pytest.mark.parametrize("name", isas())
def test_words_of_many_ids_are_written_and_counted_whole(name: str) -> None:
    vocab = tokkit.Vocab.from_list([bytes([byte]) for byte in range(256)])
    tok = tokkit.Tokenizer(tokkit.Definition(vocab, tokkit.BPE(), tokkit.Split(patterns.NAMES["cl100k"])))
    text = "".join(f" {chr(97 + i % 26)}{'wordsof14ids'[: 4 + i % 8]}" for i in range(2000))
    timer = timer_of(tok, [text])
    assert timer.run("probe", isa=name)[2] == timer.run("emit", isa=name)[2] == timer.run("all", isa=name)[2] > 12_000


def test_an_unknown_stage_or_isa_is_an_error_that_leaves_all_as_it_was(make_tokenizer) -> None:
    tok = make_tokenizer("rank", "cl100k")
    timer, text, before = timer_of(tok, ["low"]), adversarial(1, 2000), isa()
    expected = tok.encode_to_numpy(text)
    with pytest.raises(ValueError, match="stage is 'merge'"):
        timer.run("merge")
    with pytest.raises(ValueError, match="isa is 'mmx'"):
        timer.run("scan", isa="mmx")
    assert isa() == before
    assert np.array_equal(tok.encode_to_numpy(text), expected)


def test_texts_that_are_not_utf8_are_refused(make_tokenizer) -> None:
    encoder = ByteLevelEngine(make_tokenizer("rank", "cl100k").definition).encoder
    assert encoder is not None
    with pytest.raises(ValueError, match="not valid UTF-8"):
        StageTimer(encoder, [b"\xff"])
    with pytest.raises(TypeError):
        StageTimer(None, ["a"])  # type: ignore[arg-type]


def test_the_clock_is_that_of_a_processor() -> None:
    assert 5e7 < clock_hertz() < 2e10


def test_no_figures_where_the_regex_package_cuts(make_tokenizer) -> None:
    pattern = r"(?<=ab)x|(?s:.)"
    assert choose(pattern, keep_unmatched=False).engine == "regex"
    tok = make_tokenizer("rank", pattern)
    assert ByteLevelEngine(tok.definition).encoder is None
    found = stage_timing.measured(tok.definition, [b"xx"], 1)
    assert found["isas"] == []
    assert "regex" in stage_timing.title(found)
    assert found["tier"] == "regex"
