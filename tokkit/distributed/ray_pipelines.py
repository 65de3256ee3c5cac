"""Runs the jobs of shards as pipelines of Ray Data, on one machine or on a cluster."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokkit.corpus import paths
from tokkit.corpus.counts_file import SUFFIX, CountsReader
from tokkit.corpus.shards import key, refuse_repeats
from tokkit.corpus.weights import Weight
from tokkit.data.encoding import EncodedShard
from tokkit.distributed.shard_jobs import CountShard, EncodeShard, MergeCounts, Row, raise_failed
from tokkit.errors import OptionError, WorkerError
from tokkit.trainers import CountedShard, CountFiles, merge_counts, options_of
from tokkit.trainers import train as train_here
from tokkit.trainers.mixtures import named_files
from tokkit.trainers.options import integer

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

StrPath = str | os.PathLike[str]
Shards = StrPath | Sequence[StrPath] | Mapping[str, StrPath | Sequence[StrPath]]
Progress = Callable[[str, int, int], object]
FAN_IN = 16
"""Number of count files that a node of the tree merges: a tree of 10,000 shards has four levels."""
TREE = "merged"
"""The folder for the tree's nodes, in the folder of counts."""
NOT_COUNTING = ("explain", "state", "state_every", "resume", "max_memory")
"""Options of a training that do not affect the counted words, and are not sent to the workers."""


def count(
    shards: Shards,
    out: StrPath,
    *,
    merged: StrPath | None = None,
    weights: Mapping[str, Weight] | None = None,
    temperature: float | str | Decimal | None = None,
    min_count: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[CountedShard]:
    """Count the words of each shard into a file in the folder `out`, with Ray workers.

    Shards and `options` are those of `build_counts`, and the files have the same names and bytes. With `merged` they
    are merged into this file by a tree of merges; `weights`, `temperature` and `min_count` are those of `merge_counts`.
    All workers must see shards and folders under the same names: on a shared file system, or as URLs of shards.

    `workers` is the number of actors, by default one per CPU of the Ray cluster. A worker that dies is restarted with
    its shard. Errors of shards are raised at the end, after all other shards are done: CorpusError, with the names of
    the shards; WorkerError if workers cannot continue. A repeated call processes only unfinished shards.
    """
    if merged is None and (weights is not None or temperature is not None or min_count != 1):
        raise OptionError("weights, temperature and min_count apply to merged counts; give merged, a file")
    rows = _rows(shards)
    job = CountShard(out, **options)
    options_of(options.get("model", "bbpe"), _of_model(options))  # raises for invalid options
    os.makedirs(out, exist_ok=True)
    done = {row["shard"]: row for row in _run(job, rows, "count", workers, progress)}
    ordered = [done[row["shard"]] for row in rows]
    raise_failed(ordered, len(rows))
    if merged is not None:
        how: dict[str, Any] = {"weights": weights, "temperature": temperature, "min_count": min_count}
        with _tree([row["path"] for row in ordered], out) as files:
            merge_counts(files, merged, overwrite=True, **how)
    return [CountedShard(r["shard"], Path(r["path"]), r["words"], r["total"], r["counted"]) for r in ordered]


def train(
    shards: Shards,
    counts: StrPath,
    *,
    weights: Mapping[str, Weight] | None = None,
    temperature: float | str | Decimal | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    unit: Any = None,
    field: str = "text",
    input_errors: Any = "strict",
    **options: Any,
) -> Any:
    """Train a tokenizer on shards that workers count into the folder `counts`; the training runs in this process.

    `options` are those of `tokkit.train`, and the tokenizer is the same, byte for byte; `weights` and `temperature` are
    those of `Mixture`, for shards with named sources. Errors are those of `count` and of `tokkit.train`.
    """
    of_words = {k: v for k, v in options.items() if k not in (*NOT_COUNTING, "vocab_size", "threads")}
    how = {"unit": unit, "field": field, "input_errors": input_errors}
    made = count(shards, counts, workers=workers, progress=progress, **how, **of_words)
    with _tree([str(shard.path) for shard in made], counts) as files:
        source = CountFiles(files, weights=weights, temperature=temperature)
        return train_here(source, progress=progress, **options)


def encode(
    tokenizer: Tokenizer | StrPath,
    shards: StrPath | Sequence[StrPath],
    out: StrPath,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[EncodedShard]:
    """Encode the documents of each shard into files in the folder `out`, with Ray workers.

    Shards and `options` are those of `encode_shards`, and the files and the manifest have the same names and bytes.
    Workers and errors are as in `count`; the manifest is written when all shards are done.
    """
    rows = _rows(shards)
    job = EncodeShard(tokenizer, out, **options)
    job.loaded()
    os.makedirs(out, exist_ok=True)
    done = {row["shard"]: row for row in _run(job, rows, "encode", workers, progress)}
    ordered = [done[row["shard"]] for row in rows]
    raise_failed(ordered, len(rows))
    job.finish([row["shard"] for row in rows])
    return [
        EncodedShard(r["shard"], tuple(map(Path, r["files"])), r["tokens"], r["documents"], r["encoded"])
        for r in ordered
    ]


def _rows(shards: Shards) -> list[Row]:
    """Return a row for each shard; raises for standard input and for a shard that is given twice."""
    if isinstance(shards, Mapping):
        return [{"shard": path, "source": name} for name, of in named_files(shards).items() for path in of]
    given = paths.files_of([shards] if isinstance(shards, (str, os.PathLike)) else shards)
    if "-" in given:
        raise OptionError("shards must be files, because workers cannot read standard input")
    refuse_repeats(given)
    return [{"shard": path} for path in given]


def _of_model(options: Mapping[str, Any]) -> dict[str, Any]:
    general = ("model", "unit", "field", "input_errors", "threads", "max_memory")
    return {name: value for name, value in options.items() if name not in general}


class _Worker:
    """An actor with its job; it runs in the folder of the driver, so that relative paths work."""

    def __init__(self, job: Callable[[Row], Row], folder: str) -> None:
        os.chdir(folder)
        self.job = job

    def __call__(self, batch: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        # Rows are JSON in ASCII, because Arrow cannot store names that are not UTF-8.
        return {"row": [json.dumps(self.job(json.loads(str(row)))) for row in batch["row"]]}


def _run(
    job: Callable[[Row], Row], rows: Sequence[Row], stage: str, workers: int | None, progress: Progress | None
) -> Iterator[Row]:
    """Yield the result of the job for each row, in the order of completion."""
    ray = _ray()
    if workers is None:
        workers = int(ray.cluster_resources().get("CPU", 1))
    n_workers = min(integer("workers", workers, minimum=1), len(rows))
    items = [{"row": json.dumps(row)} for row in rows]
    # One block per shard: the unit of work of a worker, repeated if the worker dies.
    done = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        _Worker,
        fn_constructor_args=(job, os.getcwd()),
        batch_size=1,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=n_workers),
    )
    with _named_errors(ray):
        for number, row in enumerate(done.iter_rows(), 1):
            if progress is not None:
                progress(stage, number, len(rows))
            yield json.loads(row["row"])


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise OptionError("tokkit.distributed needs Ray: pip install 'pytokkit[ray]'") from None
    if not ray.is_initialized():
        ray.init()
    return ray


@contextlib.contextmanager
def _named_errors(ray: Any) -> Iterator[None]:
    try:
        yield
    except ray.exceptions.RayError as error:
        said = str(error).strip().rsplit("\n", 1)[-1]
        raise WorkerError(f"workers cannot continue: {said}; finished shards are kept; run it again") from error


def _merge_node(row: Row, folder: str) -> Row:
    """Merge files of counts in a Ray task."""
    os.chdir(folder)
    return MergeCounts()(row)


@contextlib.contextmanager
def _tree(files: Sequence[str], out: StrPath) -> Iterator[list[str]]:
    """Merge files of counts with workers until few are left, in groups of one source; yield the remaining files.

    The nodes of the tree are removed at the end of the block; after an error they are kept for the next run.
    """
    by_source: dict[str, list[str]] = {}
    for file in sorted(files):
        source = CountsReader(file).header.sources[0].get("source", "")
        by_source.setdefault(source, []).append(file)
    folder = os.path.join(os.fspath(out), TREE)
    while sum(map(len, by_source.values())) > max(FAN_IN, len(by_source)):
        rows, left = [], {}
        for source, of in by_source.items():
            groups = [of[start : start + FAN_IN] for start in range(0, len(of), FAN_IN)]
            left[source] = [group[0] if len(group) == 1 else _node(folder, group) for group in groups]
            rows += [{"files": g, "path": p} for g, p in zip(groups, left[source], strict=True) if len(g) > 1]
        os.makedirs(folder, exist_ok=True)
        ray = _ray()
        # Plain tasks, because starting a pool of actors takes longer than most merges.
        merge = ray.remote(_merge_node).options(num_cpus=1, max_retries=-1)
        with _named_errors(ray):
            raise_failed(ray.get([merge.remote(row, os.getcwd()) for row in rows]), len(rows))
        by_source = left
    yield [file for of in by_source.values() for file in of]
    shutil.rmtree(folder, ignore_errors=True)


def _node(folder: str, group: Sequence[str]) -> str:
    """Return the name of a merged file, which depends on its shards and the options of counting."""
    return os.path.join(folder, key([os.path.basename(file) for file in group]) + SUFFIX)
