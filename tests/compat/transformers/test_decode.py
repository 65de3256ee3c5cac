"""Decoding by tokenizers of transformers and of tokkit's drop-in: equal texts for ids in every kind of sequence."""

from __future__ import annotations

import array
from collections import UserDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformers_folders
from both_transformers import Both, Load, all_same, loader
from extras import extra

transformers = extra("transformers", minversion="5.24")
torch = extra("torch")

LABELS = np.array([5, 6, -100, 8])
SPACED = "hello , world ! do n't"
IDS: list[Callable[[], Any]] = [
    lambda: [id_ for id_ in LABELS if id_ != -100],
    lambda: range(5, 8),
    lambda: (5, 6),
    lambda: 5,
    lambda: True,
    lambda: np.int64(5),
    lambda: np.array(5),
    lambda: np.array([5, 6]),
    lambda: np.array([], dtype=np.int64),
    lambda: np.zeros((0, 4), dtype=np.int64),
    lambda: torch.tensor(5),
    lambda: torch.tensor([5, 6]),
    lambda: torch.tensor([[5, 6], [7, 8]]),
    lambda: [torch.tensor(5), torch.tensor(6)],
    lambda: [torch.tensor([5]), torch.tensor([6, 7])],
    lambda: [np.array([5, 6]), np.array([7])],
    lambda: [[5], np.array([7])],
    lambda: [[5], range(5, 7)],
    lambda: [[np.int64(5)], [np.int64(7)]],
    lambda: ((5,), (6,)),
    lambda: [[], [6]],
    lambda: [[]],
    list,
    lambda: [[5], 6],
    lambda: [5, [6]],
    lambda: [[[5]]],
    lambda: deque([5, 6]),
    lambda: array.array("i", [5, 6]),
    lambda: {"input_ids": [5, 6]},
    lambda: {"input_ids": torch.tensor([5, 6])},
    lambda: UserDict(input_ids=[5]),
    lambda: {5, 6},
    lambda: "5",
    lambda: ["5"],
    lambda: 5.0,
    lambda: [5.0],
    lambda: None,
    lambda: [None],
    lambda: [-1],
    lambda: [1 << 33],
    lambda: [5, 999_999],
]


@pytest.fixture(scope="module")
def load(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(shared, tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="module", params=list(transformers_folders.CONFIGS))
def each(request: pytest.FixtureRequest, load: Load) -> Both:
    return load(request.param)


def test_ids_of_every_kind_are_decoded(each: Both) -> None:
    all_same(each, [lambda t, made=made: t.decode(made()) for made in IDS])
    all_same(each, [lambda t, made=made: t.decode(made(), skip_special_tokens=True) for made in IDS])


def test_batches_of_every_kind_are_decoded(each: Both) -> None:
    # A batch that is a dictionary is refused by transformers.
    batches = [made for made in IDS if not isinstance(made(), (dict, UserDict))]
    all_same(each, [lambda t, made=made: t.batch_decode(made()) for made in batches])


def test_ids_of_every_kind_are_converted_to_tokens(each: Both) -> None:
    calls = [made for made in IDS if not isinstance(made(), (dict, UserDict, set))]
    all_same(each, [lambda t, made=made: t.convert_ids_to_tokens(made()) for made in calls])
    all_same(each, [lambda t: t.convert_tokens_to_ids([3]), lambda t: t.convert_tokens_to_ids(np.array(["a", "b"]))])


def test_the_result_of_a_call_is_decoded(each: Both) -> None:
    all_same(each, [lambda t: t.decode(t("hello world")), lambda t: t.batch_decode(t(["hello", "a b"])["input_ids"])])


def decoded_with_clean_up(tok: Any, **settings: bool) -> list[str]:
    for name, value in settings.items():
        setattr(tok, name, value)
    ids = tok(SPACED)["input_ids"]
    return [tok.decode(ids), tok.decode(ids, clean_up_tokenization_spaces=True), *tok.batch_decode([ids], True, True)]


@pytest.mark.parametrize("name", transformers_folders.CONFIGS)
@pytest.mark.parametrize("forced", [False, True])
def test_clean_up_is_ignored_for_bpe_unless_it_is_forced(load: Load, name: str, forced: bool) -> None:
    key = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
    both = load(name)
    all_same(both, [decoded_with_clean_up, lambda t: decoded_with_clean_up(t, **{key: forced})])
    all_same(both, [lambda t: decoded_with_clean_up(t, clean_up_tokenization_spaces=True)])
    all_same(load(name, **{key: forced}), [decoded_with_clean_up, lambda t: getattr(t, key)])
