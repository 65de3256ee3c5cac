"""Normalization forms, compared with Python's unicodedata, which has another Unicode version; and their quick check."""

from __future__ import annotations

import functools
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


@functools.cache
def alike(text: str) -> str:
    return "".join(c for c in text if ord(c) in ALIKE_SET)


@functools.cache
def every_code_point_in_every_form() -> list[str]:
    found = []
    for start in range(0, len(ALIKE), 4096):
        text = "".join(f"{chr(c)}\u0334{chr(c)}\u0345x" for c in ALIKE[start : start + 4096])
        found += [unicodedata.normalize(form.__name__, text) for form in FORMS]
    return [text for text in found if all(ord(c) in ALIKE_SET for c in set(text))]


@pytest.mark.parametrize("form", FORMS)
def test_every_code_point_and_every_form_of_it_is_as_python_has_it(form: type) -> None:
    for text in every_code_point_in_every_form():
        assert form().normalize_str(text) == unicodedata.normalize(form.__name__, text)


@functools.cache
def random_sequences() -> list[str]:
    marks = [c for c in ALIKE if unicodedata.combining(chr(c))]
    parts = [c for c in ALIKE if unicodedata.decomposition(chr(c))]
    seconds = [ord(c) for p in parts for c in unicodedata.normalize("NFD", chr(p))]
    jamo = [*range(0x1100, 0x1200), *range(0xAC00, 0xD7A4)]
    rng, found = random.Random(11), []
    for size in [1, 2, 3, 5, 8] * (600 if LONG else 300) + [1000] * 20:
        pool = rng.choice((marks, parts, seconds, jamo, marks + seconds + parts + [0x41, 0x20] * 500))
        found.append("".join(chr(rng.choice(pool)) for _ in range(size)))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_random_sequences_of_what_decomposes_and_composes_are_as_python_has_them(form: type) -> None:
    for text in random_sequences():
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
