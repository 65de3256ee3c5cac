"""Batches contain each row once an epoch, for any ranks, workers and restarts; also as a torch data set."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from extras import extra
from tokkit.data import Tokens, encode_shards
from tokkit.data.batches import _Order
from tokkit.errors import OptionError


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    folder = tmp_path_factory.mktemp("shards")
    tok = tokkit.train({"low": 1}, vocab_size=256)
    for n, size in enumerate((1000, 37, 640)):
        text = "".join(chr(32 + (n + k) % 90) * (k % 13 + 1) + "\n" for k in range(size // 8))
        (folder / f"{n}.txt").write_text(text)
    encode_shards(tok, folder / "*.txt", folder / "ids")
    return Tokens(folder / "ids")


def rows_of(batches: Any) -> list[tuple[int, ...]]:
    return [tuple(row) for batch in batches for row in batch.ids.tolist()]


def whole_rows(tokens: Tokens, seq_len: int, lookahead: int = 0) -> list[tuple[int, ...]]:
    made = []
    for shard in tokens.shards:
        for k in range((len(shard) - lookahead) // seq_len):
            made.append(tuple(shard[k * seq_len : (k + 1) * seq_len + lookahead].tolist()))
    return made


@pytest.mark.parametrize("lookahead", [0, 1])
def test_rows_come_as_they_are_and_never_cross_shards(lookahead: int, tokens: Tokens) -> None:
    wanted = whole_rows(tokens, 16, lookahead)
    batches = tokens.batches(16, 3, lookahead=lookahead)
    assert rows_of(batches) == wanted[: len(wanted) // 3 * 3]
    assert len(batches) == len(wanted) // 3


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 1000, 4097])
def test_a_drawn_order_has_each_number_once(n: int) -> None:
    order = _Order(n, 5, 0)(np.arange(n))
    assert sorted(order.tolist()) == list(range(n))
    if n > 100:
        assert order.tolist() != list(range(n))
        assert (np.diff(order) == 1).mean() < 0.05
        assert order.tolist() != _Order(n, 5, 1)(np.arange(n)).tolist()


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_all_ranks_share_the_rows_and_have_equally_many_batches(world_size: int, tokens: Tokens) -> None:
    ranks = [tokens.batches(16, 2, seed=1, rank=rank, world_size=world_size) for rank in range(world_size)]
    assert len({len(rank) for rank in ranks}) == 1
    found = [row for batches in zip(*ranks, strict=True) for batch in batches for row in map(tuple, batch.ids.tolist())]
    alone = rows_of(tokens.batches(16, 2, seed=1))
    assert found == alone[: len(found)], "together they read what one would"
    assert len(found) > len(alone) - 2 * world_size
    assert found != whole_rows(tokens, 16)[: len(found)]


def test_an_epoch_goes_on_after_a_restart_with_other_ranks_and_batch_sizes(tokens: Tokens) -> None:
    whole = rows_of(tokens.batches(16, 2, seed=3))
    first = tokens.batches(16, 2, seed=3)
    taken = iter(first)
    head = [tuple(row) for _ in range(5) for row in next(taken).ids.tolist()]
    state = json.loads(json.dumps(first.state))
    assert state == first.state_after(5)
    assert head + rows_of(tokens.batches(16, 2, seed=3, resume_state=state)) == whole
    ranks = [tokens.batches(16, 1, seed=3, rank=r, world_size=4, resume_state=state) for r in range(4)]
    rest = [row for batches in zip(*ranks, strict=True) for batch in batches for row in map(tuple, batch.ids.tolist())]
    assert head + rest == whole[: 10 + len(rest)]
    for wrong in ({"seed": 4}, {"epoch": 1}):
        with pytest.raises(OptionError, match=f"the state was saved with {next(iter(wrong))}"):
            tokens.batches(16, 2, **{"seed": 3, **wrong}, resume_state=state)
    with pytest.raises(OptionError, match="rows_done -1"):
        tokens.batches(16, 2, seed=3, resume_state={**state, "rows_done": -1})


def test_segments_number_the_documents_of_a_row(tokens: Tokens) -> None:
    for batch in tokens.batches(16, 1, segments=True):
        ids, numbers = batch.ids[0], batch.segments[0]
        wanted, number = [], 1
        for id_ in ids.tolist():
            wanted.append(number)
            number += id_ == tokens[int(tokens.ends(0)[0]) - 1]  # a line ends
        assert numbers.tolist() == wanted


def test_tokens_are_pickled_as_their_folder(tokens: Tokens) -> None:
    again = pickle.loads(pickle.dumps(tokens))
    assert (again[:] == tokens[:]).all()


@pytest.mark.parametrize("options", [{"seq_len": 0}, {"batch_size": True}, {"rank": 2, "world_size": 2}, {"seed": -1}])
def test_wrong_options_of_batches_are_refused(options: dict[str, Any], tokens: Tokens) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        tokens.batches(**{"seq_len": 8, "batch_size": 1, **options})


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_of_torch_gives_the_batches_in_order_with_any_number_of_workers(workers: int, tokens: Tokens) -> None:
    extra("torch")
    from torch.utils.data import DataLoader

    from tokkit.data import TorchTokens

    wanted = rows_of(tokens.batches(16, 2, seed=1, rank=1, world_size=2))
    data = TorchTokens(tokens, 16, 2, seed=1, rank=1, world_size=2, segments=True)
    loader = DataLoader(data, batch_size=None, num_workers=workers)
    found = [tuple(row) for batch in loader for row in batch["input_ids"].tolist()]
    assert found == wanted
    assert len(data) == len(wanted) // 2
    state = data.state_after(3)
    rest = TorchTokens(tokens, 16, 2, seed=1, rank=1, world_size=2, resume_state=state)
    loader = DataLoader(rest, batch_size=None, num_workers=workers)
    assert [tuple(row) for batch in loader for row in batch["input_ids"].tolist()] == wanted[6:]


def test_without_torch_its_face_says_what_to_do(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokkit.data import torch_dataset

    monkeypatch.setattr(torch_dataset, "IterableDataset", object)
    with pytest.raises(OptionError, match="torch is not installed"):
        torch_dataset.TorchTokens(tokens, 8, 1)


def test_a_folder_of_no_ids_has_no_batches(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    encode_shards(tokkit.train({"low": 1}, vocab_size=256), tmp_path / "empty.txt", tmp_path / "ids", shuffle=1)
    tokens = Tokens(tmp_path / "ids")
    assert (len(tokens), len(tokens.batches(8, 1, seed=1)), tokens[:].tolist()) == (0, 0, [])


def test_batches_that_were_taken_are_pickled_without_their_rows(tokens: Tokens) -> None:
    batches = tokens.batches(16, 3, seed=1)
    first = next(iter(batches))
    packed = pickle.dumps(batches)
    assert len(packed) < 20_000
    again = pickle.loads(packed)
    assert again.state == batches.state
    assert (again[0].ids == first.ids).all()
