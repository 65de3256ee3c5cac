"""Normalization forms against Python's own, which is of another version of Unicode, and their quick way."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest

from code_points import code_points
from conftest import LONG, slice_of
from strategies import adversarial
from tokkit._core.align import AlignedText
from tokkit._core.text import category
from tokkit.normalizers.unicode import NFC, NFD, NFKC, NFKD

FORMS = [NFC, NFD, NFKC, NFKD]
UNASSIGNED = 29
ALIKE = [c for c in code_points() if (unicodedata.category(chr(c)) == "Cn") == (category(c) == UNASSIGNED)]
"""What is assigned, or not, in Python's version and in ours."""
ALIKE_SET = set(ALIKE)


def alike(text: str) -> str:
    return "".join(c for c in text if ord(c) in ALIKE_SET)


@pytest.mark.parametrize("form", FORMS)
def test_every_code_point_and_every_form_of_it_is_as_python_has_it(form: type) -> None:
    name = form.__name__
    for start in range(0, len(ALIKE), 4096):
        text = "".join(f"{chr(c)}\u0334{chr(c)}\u0345x" for c in ALIKE[start : start + 4096])
        for other in FORMS:
            text_of_form = unicodedata.normalize(other.__name__, text)
            if all(ord(c) in ALIKE_SET for c in set(text_of_form)):
                assert form().normalize_str(text_of_form) == unicodedata.normalize(name, text_of_form)


@pytest.mark.parametrize("form", FORMS)
def test_random_sequences_of_what_decomposes_and_composes_are_as_python_has_them(form: type) -> None:
    marks = [c for c in ALIKE if unicodedata.combining(chr(c))]
    parts = [c for c in ALIKE if unicodedata.decomposition(chr(c))]
    seconds = [ord(c) for p in parts for c in unicodedata.normalize("NFD", chr(p))]
    jamo = [*range(0x1100, 0x1200), *range(0xAC00, 0xD7A4)]
    rng = random.Random(11)
    for size in [1, 2, 3, 5, 8] * (600 if LONG else 200) + [1000] * 20:
        pool = rng.choice((marks, parts, seconds, jamo, marks + seconds + parts + [0x41, 0x20] * 500))
        text = "".join(chr(rng.choice(pool)) for _ in range(size))
        assert form().normalize_str(text) == unicodedata.normalize(form.__name__, text), ascii(text)


@pytest.mark.parametrize("form", FORMS)
def test_long_texts_are_as_python_has_them(form: type, bundled: str) -> None:
    for text in [bundled, *(adversarial(seed, 20_000) for seed in range(5))]:
        text = alike(text)
        assert form().normalize_str(text) == unicodedata.normalize(form.__name__, text)


@pytest.mark.parametrize("form", FORMS)
def test_corpora_are_as_python_has_them(form: type, corpora: dict[str, Path]) -> None:
    for path in corpora.values():
        text = alike(slice_of(path, 100_000))
        assert form().normalize_str(text) == unicodedata.normalize(form.__name__, text)


@pytest.mark.parametrize("form", FORMS)
def test_text_in_its_form_already_stays_aligned_with_itself(form: type, bundled: str) -> None:
    text = unicodedata.normalize(form.__name__, alike(bundled))
    aligned, untouched = AlignedText(text), AlignedText(text)
    form().normalize(aligned)
    assert aligned.utf8 == untouched.utf8
    assert (aligned.spans() == untouched.spans()).all()
