"""Texts that are decoded in one batch: they join and leave, with constraints, caches and shared prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.pipeline.generation import Batch, Text
from tokkit.pipeline.generation_options import GenerationOptions

PROMPTS = ["the cat sat on", "naïve 🦜 dog", "東京"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))


def begun(model: Any, prompt: str, **options: Any) -> Text:
    chosen = GenerationOptions.of({"max_new_tokens": 9, **options})
    return model.begin(model.prompt_ids(prompt, chosen), chosen)


def drain(batch: Batch) -> None:
    while len(batch):
        batch.step()


@pytest.mark.parametrize("most_read", [None, 1, 3])
def test_texts_that_join_and_leave_change_nothing_for_the_others(model: Any, most_read: int | None) -> None:
    alone = [model.generate_ids(model.ids(prompt), max_new_tokens=9) for prompt in PROMPTS]
    texts = [begun(model, prompt) for prompt in PROMPTS]
    left = begun(model, "the dog sat far away 🦜", n=2)
    batch = Batch(model.decoder, [texts[0], left], most_read=most_read)
    assert len(batch.step()) == (3 if most_read is None else 0)
    batch.add(texts[1])
    batch.step()
    batch.remove(left)
    batch.add(texts[2])
    drain(batch)
    assert [text.ids for text in texts] == alone
    assert left.reason is None
    assert batch.step() == []


def test_events_hold_all_ids_and_all_the_text(model: Any) -> None:
    text = begun(model, PROMPTS[0], n=2, temperature=1.0, seed=5)
    both = [text, *text.forks]
    batch = Batch(model.decoder, [text])
    ids: dict[int, list[int]] = {0: [], 1: []}
    parts = {0: "", 1: ""}
    while len(batch):
        for event in batch.step():
            ids[both.index(event.text)] += event.ids
            parts[both.index(event.text)] += event.part
    expected = model.generate_all([PROMPTS[0]], n=2, max_new_tokens=9, temperature=1.0, seed=5)[0]
    assert [(ids[i], parts[i]) for i in (0, 1)] == [(made.ids, made.text) for made in expected]


def test_a_text_without_a_token_left_ends_with_an_error_and_others_go_on(model: Any) -> None:
    bad = begun(model, PROMPTS[0], banned=tuple(range(320)))
    good = begun(model, PROMPTS[1])
    batch = Batch(model.decoder, [bad, good])
    event = batch.step()[0]
    assert event.text is bad
    assert isinstance(event.error, OptionError)
    drain(batch)
    assert good.ids == model.generate_ids(model.ids(PROMPTS[1]), max_new_tokens=9)
    with pytest.raises(OptionError, match="no token can be chosen"):
        model.generate(PROMPTS, banned=range(320))


class Counted:
    """Allows 65 + (number of the step) alone, as words of bits or bools; whole after `n` steps."""

    def __init__(self, n: int, packed: bool, step: int = 0, more: bool = False) -> None:
        self.n, self.packed, self.step, self.more = n, packed, step, more

    @property
    def finished(self) -> bool:
        return self.step >= self.n

    def allowed(self) -> np.ndarray:
        mask = np.zeros(320, dtype=np.bool_)
        mask[65 + self.step] = self.more or not self.finished
        return np.packbits(mask, bitorder="little").view(np.uint32) if self.packed else mask[:100]

    def advance(self, id_: int) -> None:
        assert id_ == 65 + self.step
        self.step += 1

    def copy(self) -> Counted:
        return Counted(self.n, self.packed, self.step, self.more)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_a_constraint_decides_what_may_come_and_when_the_text_is_whole(
    model: Any, packed: bool, temperature: float
) -> None:
    constraint = Counted(4, packed)
    options = {"temperature": temperature, "seed": 0, "max_new_tokens": 20}
    made = model.generate_all(PROMPTS, n=2, constraint=constraint, **options)
    assert {(tuple(text.ids), text.reason) for texts in made for text in texts} == {((65, 66, 67, 68), "stop")}
    assert constraint.step == 0
    # What is whole may go on; an id that ends a text may come then, and not before.
    on = Counted(4, packed, more=True)
    ended = model.generate_all(["the"], constraint=on, logit_bias={300: 1000.0}, **options)[0][0]
    assert (ended.ids, ended.reason) == ([65, 66, 67, 68, 300], "eos")


class Held:
    """Gives back one cache, cut to what a new prompt begins with."""

    def __init__(self) -> None:
        self.cache: DecoderCache | None = None
        self.ids: list[int] = []
        self.taken = 0

    def take(self, ids: np.ndarray, capacity: int) -> DecoderCache | None:
        if self.cache is None:
            return None
        same = np.cumprod([a == b for a, b in zip(self.ids, ids.tolist()[:-1], strict=False)])
        self.taken = int(same.sum())
        self.cache.capacity = None
        self.cache.truncate(self.taken)
        made, self.cache = self.cache, None
        return made

    def keep(self, ids: Sequence[int], cache: DecoderCache) -> None:
        assert len(ids) == cache.length
        self.ids, self.cache = list(ids), cache


def test_a_held_cache_begins_a_text_and_comes_back(model: Any) -> None:
    held = Held()
    first = model.generate_all(["the cat sat"], max_new_tokens=6, held_caches=held)[0][0]
    ids = model.ids("the cat sat").tolist()
    assert held.ids == ids + first.ids[:-1]
    again = model.generate_ids([*ids, *first.ids, 5], max_new_tokens=4, held_caches=held)
    assert held.taken == len(ids) + 5
    assert again == model.generate_ids([*ids, *first.ids, 5], max_new_tokens=4)


def test_an_option_that_there_is_not_is_named() -> None:
    with pytest.raises(TypeError, match=r"no option 'top_n'; the options are .*top_k"):
        GenerationOptions.of({"top_n": 1})
