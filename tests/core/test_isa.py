"""The scanners of every instruction set find the same pretokens as the scalar ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings

from conftest import LONG
from strategies import adversarial, texts
from tokkit._core.text import isas, scan
from tokkit.pretokenizers.patterns import SCANNERS

FAMILIES = sorted(set(SCANNERS.values()) - {0})
VECTOR = [name for name in isas() if name != "scalar"]
needs_vectors = pytest.mark.skipif(not VECTOR, reason="this machine has no vector scanner: scalar is all it runs")
DENSE = (
    "abXY sStTmMdD'lLvVrReE \t\n\r/!0123",
    "aB '\n",
    "\n/! a\r\t",
    "\x00\x1c\x1f\x7f\x0b\x0c\x85_[`{@AZaz \u00a0\u2028",
    "aé東ſ'sS \u0301\n",
    "中文〇〡⺀々\U00016ff0カー\u3099\u3040 !aB1。\x01\u200d\n",
)


def blocks(seed: int) -> Iterator[str]:
    """Texts of the few characters that decide boundaries, and of runs about as long as a block."""
    rng = random.Random(seed)
    for letters in DENSE:
        chosen = rng.sample(letters, min(len(letters), rng.choice([3, 5, 9, 40])))
        yield "".join(rng.choices([*chosen, "'s", " ", "\n"], k=600))
    yield "".join(rng.choice("aB '1\n!") * rng.choice([1, 2, 3, 60, 63, 64, 65, 130]) for _ in range(60))


@needs_vectors
@pytest.mark.parametrize("name", VECTOR)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_vector_scanner_cuts_as_the_scalar_one_does(name: str, family: int) -> None:
    for seed in range(400 if LONG else 60):
        for text in (*blocks(seed), adversarial(seed, 1500)):
            assert scan(text, family, name).tolist() == scan(text, family, "scalar").tolist(), (seed, text)


@needs_vectors
@pytest.mark.parametrize("name", VECTOR)
@pytest.mark.parametrize("family", FAMILIES)
def test_where_a_block_begins_changes_no_piece(name: str, family: int) -> None:
    text = "It's 1234567 o'clock,  isn't it?\n\n\tYES'LL//\r\n /x\n" * 6 + adversarial(7, 300)
    for shift in range(130 if LONG else 66):
        shifted = "x" * shift + " " + text
        assert scan(shifted, family, name).tolist() == scan(shifted, family, "scalar").tolist(), shift
    for end in range(len(text) - (130 if LONG else 66), len(text)):
        assert scan(text[:end], family, name).tolist() == scan(text[:end], family, "scalar").tolist(), end


@needs_vectors
@given(texts())
@settings(max_examples=300 if LONG else 100)
def test_any_text_is_cut_alike_by_all(text: str) -> None:
    for family in FAMILIES:
        expected = scan(text * 3, family, "scalar").tolist()
        for name in VECTOR:
            assert scan(text * 3, family, name).tolist() == expected, (name, family)


DIGEST = """
import hashlib, random, tokkit
from tokkit._core.text import isa
tok = tokkit.train(iter(["It's a test of 1234 words,  isn't it?\\n" * 3]), vocab_size=300, pattern="cl100k")
rng = random.Random(5)
text = "".join(rng.choices("abc XYZ's 12'll\\n\\t!?/é東", k=20000))
print(isa(), hashlib.sha256(tok.encode_to_numpy(text).tobytes()).hexdigest())
"""


def test_every_isa_gives_the_same_ids(run: Callable[..., str]) -> None:
    seen = dict(run(DIGEST, TOKKIT_ISA=name).split() for name in isas())
    assert list(seen) == isas()
    assert len(set(seen.values())) == 1


def test_an_isa_that_does_not_run_is_an_error_that_names_those_that_do(run: Callable[..., str]) -> None:
    code = "try:\n    import tokkit._core.encode.plan\nexcept OSError as error:\n    print(error)"
    assert run(code, TOKKIT_ISA="mmx").strip() == f"TOKKIT_ISA is 'mmx'; this machine runs {', '.join(isas())}"
