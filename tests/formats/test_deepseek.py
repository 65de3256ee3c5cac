"""DeepSeek's three split patterns, run in turn, compared with the one pattern we combine them to, and its scanner."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from both_pipelines import Both
from conftest import LONG
from reference.split import split
from strategies import CONTEXTS, adversarial, documents
from tokkit._core.text import isas, scan, to_utf8
from tokkit.definition import Definition
from tokkit.errors import FormatError
from tokkit.formats import tokenizer_json
from tokkit.pretokenizers.patterns import DEEPSEEK_V3, DEEPSEEK_V3_IN_TURN, SCANNERS
from tokkit.pretokenizers.sequence import Sequence

KINDS = 'aZé中㐀カ・゛\u3040ー1٣  \n\r\t!."«\u0301\x01\x7f\u200d\ue000한'
Make = Callable[..., Definition]


def in_turn(text: str) -> list[str]:
    pieces = [text]
    for pattern in DEEPSEEK_V3_IN_TURN:
        pieces = [part for piece in pieces for part in split(pattern, piece, keep_unmatched=True)]
    return pieces


def short_texts(n: int) -> list[str]:
    rng = random.Random(907)
    return ["".join(rng.choices(KINDS, k=rng.randint(1, 9))) for _ in range(n)]


def test_three_splits_in_turn_are_the_one_pattern() -> None:
    code_points = [context.format(chr(c)) for c in (*range(0x300), *range(0x2E80, 0x3200, 3)) for context in CONTEXTS]
    for text in [*short_texts(50_000 if LONG else 5000), *documents(911, 400), *code_points]:
        assert split(DEEPSEEK_V3, text) == in_turn(text), repr(text)


@pytest.mark.parametrize("isa", isas())
def test_the_scanner_cuts_as_three_splits_in_turn(isa: str) -> None:
    for text in [*short_texts(300), "".join(short_texts(2000)), *(adversarial(seed, 2000) for seed in range(30))]:
        utf8, last = to_utf8(text), 0
        for end, piece in zip(scan(text, SCANNERS[DEEPSEEK_V3], isa).tolist(), in_turn(utf8.decode()), strict=True):
            assert utf8[last:end].decode() == piece
            last = end


def test_the_file_has_the_three_and_no_other_three_are_taken(make: Make) -> None:
    pytest.importorskip("tokenizers")
    value = json.loads(tokenizer_json.write(make(pattern=DEEPSEEK_V3)))
    parts = value["pre_tokenizer"]["pretokenizers"]
    assert [part["pattern"]["Regex"] for part in parts[:3]] == list(DEEPSEEK_V3_IN_TURN)
    # The published file has the line ends themselves in its third pattern.
    regex = parts[2]["pattern"]["Regex"]
    parts[2]["pattern"]["Regex"] = regex.replace(r"\r", "\r").replace(r"\n", "\n")
    assert tokenizer_json.read(json.dumps(value).encode()).pretokenizer.pattern == DEEPSEEK_V3
    for key, other in (("behavior", "Removed"), ("invert", True), ("pattern", {"Regex": "a"})):
        changed = json.loads(json.dumps(value))
        changed["pre_tokenizer"]["pretokenizers"][1][key] = other
        runs = tokenizer_json.read(json.dumps(changed).encode())
        assert isinstance(runs.pretokenizer, Sequence), "three that are others run one by one"
        both = Both(changed)
        for text in ("東京 abc, 123 あい!", *short_texts(60)):
            assert both.encodings(text)
    changed["pre_tokenizer"]["pretokenizers"][1]["pattern"] = {"Regex": r"\X"}
    with pytest.raises(FormatError, match=r"pre_tokenizer\.pretokenizers\[1\]\.pattern\.Regex: pattern, at 0"):
        tokenizer_json.read(json.dumps(changed).encode())
