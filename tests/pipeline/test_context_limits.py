"""Texts longer than the positions of the model, and memory that is checked before it is allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.context_shift import shift
from tokkit.pipeline import memory
from tokkit.pipeline.prompt_cache import PromptCache


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("models") / "small"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_a_text_goes_on_by_leaving_out_its_older_half(model: Any, dtype: str) -> None:
    model = model.with_cache(dtype)
    ids = model.ids("the cat sat on the mat").tolist()
    decoder, cache, expected = model.decoder, model.decoder.cache(), []
    hidden = decoder([ids], [cache])
    for _ in range(150):
        expected.append(int(decoder.logits(hidden[-1:])[0].argmax()))
        if cache.length == 64:
            shift(decoder.config, cache, keep=5, n=29)
        hidden = decoder([expected[-1:]], [cache])
    options = {"max_new_tokens": 150, "context_shift": 5, "banned": ()}
    made = model.generate_all([ids], **options)[0][0]
    ends = [at for at, id_ in enumerate(expected) if id_ in model.eos_ids]
    wanted = expected[: ends[0] + 1] if ends else expected
    assert len(wanted) > 100
    assert made.ids == wanted
    assert model.generate_ids(ids, prompt_lookup=4, **options)[:40] == wanted[:40]
    assert [text.ids for text in model.generate_all([ids, ids[:3]], n=2, **options)[0]] == [wanted] * 2
    held = PromptCache(model)
    assert model.generate_ids(ids, held_caches=held, **options) == wanted
    assert len(held) == 0  # it would be the cache of no text
    assert len(model.generate_ids(ids, max_new_tokens=150)) == 64 - len(ids)


def test_where_a_context_cannot_be_shifted_it_is_said_before(model: Any, tmp_path: Path) -> None:
    for options, message in (
        ({"context_shift": 63}, "context_shift is 63; it must be less than 63"),
        ({"context_shift": -1}, "context_shift is -1"),
        ({"context_shift": 4, "num_beams": 2}, "without num_beams and draft"),
        ({"context_shift": 4, "draft": model}, "without num_beams and draft"),
    ):
        with pytest.raises(OptionError, match=message):
            model.generate("the cat", max_new_tokens=3, **options)
    other = generators.folder(tmp_path / "dynamic", rope_scaling={"rope_type": "dynamic", "factor": 2.0})
    with pytest.raises(OptionError, match="its context cannot be shifted"):
        pipeline.load(other).generate("the cat", context_shift=4)  # type: ignore[union-attr]


def test_memory_is_said_as_it_is_taken(model: Any) -> None:
    for dtype in ("float32", "bfloat16", "int8"):
        other = model.with_cache(dtype)
        made = memory.estimate(other.decoder.config, cache_dtype=dtype)
        assert made.cache(50) == other.decoder.cache(capacity=50).nbytes == 50 * made.cache_per_token
    c = model.decoder.config
    matrices = sum(np.prod(shape) for shape in c.shapes().values() if len(shape) == 2)
    assert 4 * matrices <= made.weights <= 4.1 * matrices
    assert str(made).startswith(f"weights {made.weights / 1024:.1f} KiB, cache 96 bytes a token")


def test_what_there_is_no_memory_for_is_not_begun(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 20 << 10)
    monkeypatch.setattr(memory, "SMALL", 0)
    with pytest.raises(OptionError, match=r"the weights need .* of memory at float32, but 20.0 KiB are available"):
        pipeline.load(model.folder)
    with pytest.raises(OptionError, match=r"cache of 3 texts of 5\d tokens needs .*, but 20.0 KiB are available"):
        model.generate_all(["the cat"], n=3, max_new_tokens=50)
    assert model.generate("the cat", max_new_tokens=5)
    monkeypatch.setattr(memory, "available", lambda: None)
    assert pipeline.load(model.folder)


def test_available_memory_is_the_least_that_the_system_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info, most, taken = (tmp_path / name for name in ("meminfo", "max", "current"))
    monkeypatch.setattr(memory, "MEMINFO", str(info))
    monkeypatch.setattr(memory, "GROUPS", ((str(most), str(taken)),))
    assert memory.available() is None
    info.write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    assert memory.available() == 5000 << 10
    most.write_text("max\n")
    taken.write_text("1000\n")
    assert memory.available() == 5000 << 10
    most.write_text("4000\n")
    assert memory.available() == 3000
