"""Cached prompts are not computed again: in memory, from files and in conversations; and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import Tensors, read_safetensors, write_safetensors
from tokkit.nn.decoder_cache import DTYPES
from tokkit.pipeline.prompt_cache import PromptCache

SYSTEM, MORE = "the cat sat on the mat; the dog", " sat on the log far away"
SLIDING = {"model_type": "mistral", "sliding_window": 6, "max_position_embeddings": 700}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("models") / "small"))


class Counted:
    """Counts the tokens that a decoder reads."""

    def __init__(self, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tokens, self._inner = 0, model.decoder._decoder
        monkeypatch.setattr(model.decoder, "_decoder", self)

    def run(self, x: Any, rows: Any, *arrays: Any, **options: Any) -> None:
        self.tokens += int(rows.sum())
        self._inner.run(x, rows, *arrays, **options)


def ids_of(model: Any, *texts: str) -> list[int]:
    return [id_ for text in texts for id_ in model.ids(text).tolist()]


def test_only_what_is_new_is_read(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = PromptCache(model)
    system, more = ids_of(model, SYSTEM), ids_of(model, MORE)
    expected = model.generate_all([[*system, *more]], max_new_tokens=6)[0][0]
    cache.read(SYSTEM)
    counted = Counted(model, monkeypatch)
    made = model.generate_all([[*system, *more]], max_new_tokens=6, held_caches=cache)[0][0]
    assert made.ids == expected.ids
    assert counted.tokens == len(more) + 5
    counted.tokens = 0
    again = model.generate_ids([*system, *more, *made.ids, 5], max_new_tokens=2, held_caches=cache)
    assert counted.tokens == 2 + 1
    monkeypatch.undo()
    assert again == model.generate_ids([*system, *more, *made.ids, 5], max_new_tokens=2)
    # The longer text has the shorter ones.
    assert len(cache) == 1
    assert model.generate_ids(system, max_new_tokens=3, held_caches=cache) == model.generate_ids(
        system, max_new_tokens=3
    )


def test_samples_streams_and_beams_begin_with_it_too(model: Any) -> None:
    cache = PromptCache(model)
    cache.read(SYSTEM)
    options: dict[str, Any] = {"max_new_tokens": 5, "temperature": 1.0, "seed": 3}
    for prompts in ([SYSTEM], [SYSTEM + MORE, SYSTEM, "the log"]):
        expected = model.generate_all(prompts, n=2, **options)
        assert model.generate_all(prompts, n=2, held_caches=cache, **options) == expected
        assert "".join(model.stream(prompts[0], held_caches=cache, **options)) == expected[0][0].text
    beams = {"num_beams": 3, "max_new_tokens": 5}
    assert model.generate(SYSTEM, held_caches=cache, **beams) == model.generate(SYSTEM, **beams)


def test_texts_used_longest_ago_are_forgotten(model: Any) -> None:
    texts = [f"{word} sat" for word in ("cat", "dog", "log", "mat")]
    cache = PromptCache(model)
    cache.read(texts[0])
    each = cache.nbytes
    cache = PromptCache(model, max_bytes=3 * each + each // 2)
    for text in texts[:3]:
        cache.read(text)
    assert cache.take(model.ids(texts[0] + " on"), 20) is not None
    cache.read(texts[3])
    assert len(cache) == 3
    assert [cache.take(model.ids(text + " on"), 20) is not None for text in texts] == [True, False, True, True]
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)
    with pytest.raises(OptionError, match="max_bytes is -1"):
        PromptCache(model, max_bytes=-1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_file_gives_what_was_kept(model: Any, tmp_path: Path, dtype: str) -> None:
    model = model.with_cache(dtype)
    cache, path = PromptCache(model), tmp_path / "kept.safetensors"
    cache.read(SYSTEM)
    cache.read("the log")
    cache.save(path)
    loaded = PromptCache.load(path, model)
    assert (len(loaded), loaded.nbytes) == (2, cache.nbytes)
    ids = np.array(ids_of(model, SYSTEM, MORE))
    one, other = cache.take(ids, 40), loaded.take(ids, 40)
    assert one is not None
    assert other is not None
    for layer in range(2):
        np.testing.assert_array_equal(one.keys(layer), other.keys(layer))
        np.testing.assert_array_equal(one.values(layer), other.values(layer))
    assert model.generate(SYSTEM + MORE, max_new_tokens=5, held_caches=loaded) == model.generate(
        SYSTEM + MORE, max_new_tokens=5, held_caches=cache
    )
    loaded.save(path)  # over the file that it is mapped from
    assert len(PromptCache.load(path, model)) == 2


def test_layers_with_windows_are_kept_as_far_as_they_go(tmp_path: Path) -> None:
    model: Any = pipeline.load(generators.folder(tmp_path / "sliding", **SLIDING))
    cache = PromptCache(model)
    ids = np.random.default_rng(0).integers(0, 300, 600)
    cache.read(ids)
    path = tmp_path / "kept.safetensors"
    cache.save(path)
    for held in (cache, PromptCache.load(path, model)):
        assert held.take(ids[:300], 700) is None  # the windows have left it
        expected = model.generate_ids([*ids, 7], max_new_tokens=3)
        assert model.generate_ids([*ids, 7], max_new_tokens=3, held_caches=held) == expected
    cache.read(ids[:100])
    assert len(cache) == 2
    got = cache.take(ids[:300], 700)
    assert got is not None
    assert got.length == 100


def test_files_of_other_models_are_refused_by_name(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "kept.safetensors"
    cache = PromptCache(model)
    cache.read(SYSTEM)
    cache.save(path)
    for other, message in (
        (generators.folder(tmp_path / "deeper", num_hidden_layers=3), "of the model 'small', not of 'deeper'"),
        (generators.folder(tmp_path / "trained", seed=1), "of the model 'small', not of 'trained'"),
    ):
        with pytest.raises(FormatError, match=f"kept.safetensors: the keys are {message}"):
            PromptCache.load(path, pipeline.load(other))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="precision or weights differ"):
        PromptCache.load(path, pipeline.load(model.folder, precision="int8"))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="have dtype 'float32'; the model was loaded with cache='int8'"):
        PromptCache.load(path, model.with_cache("int8"))
    # A model that differs where no fingerprint looks: one matrix of a layer.
    folder = generators.folder(tmp_path / "tuned")
    tensors = {name: np.array(tensor.data) for name, tensor in read_safetensors(folder / "model.safetensors").items()}
    tensors["model.layers.0.self_attn.k_proj.weight"] *= 1.2
    write_safetensors(folder / "model.safetensors", tensors, overwrite=True)
    with pytest.raises(FormatError, match="the keys of layer 0 do not match the model 'tuned'"):
        PromptCache.load(path, pipeline.load(folder))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.metadata.update(format="other"), "is not a prompt cache"),
        (lambda t: t.metadata.update(version="9"), "is '9'; this tokkit reads '1'"),
        (lambda t: t.metadata.update(texts="many"), "'many' texts; it must be a number"),
        (lambda t: t.metadata.update(texts="2"), r"the tensor '1\.ids' is missing"),
        (lambda t: t.pop("0.1.keys"), r"the tensor '0\.1\.keys' is missing"),
        (lambda t: t.update({"0.ids": t["0.ids"]._replace(data=t["0.ids"].data + 500)}), "outside the table of 320"),
        (lambda t: t.update({"0.first": t["0.first"]._replace(data=np.array([1, 0]))}), "layer 0 begins at 1"),
        (lambda t: t.update({"0.1.keys": t["0.0.keys"]}), "the keys of layer 1 do not match"),
        (
            lambda t: t.update({"0.1.values": t["0.ids"]}),
            r"'0\.1\.values' has type I64 and shape .*; its shape must be \(2, ",
        ),
    ],
)
def test_damaged_files_are_refused(model: Any, tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "kept.safetensors"
    cache = PromptCache(model)
    cache.read(SYSTEM)
    cache.save(path)
    tensors: Tensors = read_safetensors(path)
    change(tensors)
    write_safetensors(path, tensors, tensors.metadata)
    with pytest.raises(FormatError, match=message):
        PromptCache.load(path, model)


def test_a_cache_must_have_read_its_ids(model: Any) -> None:
    cache = PromptCache(model)
    with pytest.raises(OptionError, match="the cache has 0 tokens, not the 3 that were given"):
        cache.keep([1, 2, 3], model.decoder.cache())
    with pytest.raises(OptionError, match="one row of 1 to 64 ids"):
        cache.read(np.zeros(65, np.int64))
    cache.keep([], model.decoder.cache())
    assert len(cache) == 0
