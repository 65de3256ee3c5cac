"""`TorchTokens`: batches of ids as an IterableDataset of torch, for loaders with workers and distributed training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tokkit.data.batches import State, TokenBatches
from tokkit.data.tokens import Tokens
from tokkit.errors import OptionError

try:
    from torch.utils.data import IterableDataset  # optional
except ImportError:
    IterableDataset = object


class TorchTokens(IterableDataset):  # type: ignore[misc]  # Any; without torch it is an object
    """The batches of `Tokens.batches` as dicts of int64 tensors, "input_ids" and, with `segments`, "segment_ids".

    Give it to a DataLoader with `batch_size=None`: `DataLoader(TorchTokens(…), batch_size=None, num_workers=4)`. The
    order of batches does not depend on the number of workers: worker w of W returns batches w, w + W, …, and the loader
    takes them in turn. `rank` and `world_size` are those of torch.distributed, if that is initialized, unless given.

    `state_after(n)` is the state after n batches; save it with the weights, and pass it as `resume_state` to continue
    in the middle of an epoch. Raises OptionError if torch is not installed, and as in `TokenBatches`.
    """

    def __init__(
        self,
        tokens: Tokens,
        seq_len: int,
        batch_size: int,
        *,
        seed: int | None = None,
        epoch: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        lookahead: int = 0,
        segments: bool = False,
        resume_state: State | None = None,
    ) -> None:
        if IterableDataset is object:
            raise OptionError("torch is not installed; iterate over Tokens.batches, which are numpy arrays")
        from torch import distributed  # optional

        together = distributed.is_available() and distributed.is_initialized()
        self.batches = TokenBatches(
            tokens,
            seq_len,
            batch_size,
            seed=seed,
            epoch=epoch,
            rank=(distributed.get_rank() if together else 0) if rank is None else rank,
            world_size=(distributed.get_world_size() if together else 1) if world_size is None else world_size,
            lookahead=lookahead,
            segments=segments,
            resume_state=resume_state,
        )

    def __len__(self) -> int:
        """Return the number of batches of this rank."""
        return len(self.batches)

    def state_after(self, n_batches: int) -> dict[str, Any]:
        """Return the state after `n` batches of each rank's loader."""
        return self.batches.state_after(n_batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        import torch  # optional
        from torch.utils.data import get_worker_info

        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number in range(first, len(self.batches), step):
            batch = self.batches[number]
            made = {"input_ids": torch.from_numpy(batch.ids.astype(np.int64))}
            if batch.segments is not None:
                made["segment_ids"] = torch.from_numpy(batch.segments.astype(np.int64))
            yield made
