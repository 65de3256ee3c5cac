"""Counts the words of shards into files, and merges and prunes such files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tokkit.corpus import count_merge, paths
from tokkit.corpus.count_merge import OfFiles, OfTable, Spills
from tokkit.corpus.counts_file import SUFFIX, CountsReader, Header, Totals
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.corpus.shards import keys, refuse_repeats
from tokkit.corpus.weights import Weight, integers
from tokkit.errors import FormatError, OptionError
from tokkit.escaping import show
from tokkit.files import temporary_files
from tokkit.files.files import put_new, refuse_inputs
from tokkit.threads import thread_count
from tokkit.trainers import mixtures
from tokkit.trainers.count_source import CountFiles, CountsSource, StrPath
from tokkit.trainers.counts import Counter, Progress, Reporter, count_tables, one_table
from tokkit.trainers.models import options_of
from tokkit.trainers.options import integer

MIN_MEMORY = 10**6
"""Minimum of max_memory; blocks that are read and written take as much."""


@dataclass(frozen=True, slots=True)
class CountedShard:
    """A shard and the file of its counts; `counted` is False if the file existed already."""

    shard: str
    path: Path
    words: int
    total: int
    counted: bool


def build_counts(
    shards: StrPath | Sequence[StrPath] | Mapping[str, StrPath | Sequence[StrPath]],
    out: StrPath,
    *,
    model: str = "bbpe",
    unit: Unit | None = None,
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
    max_memory: int | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> list[CountedShard]:
    """Count the words of each shard into a file in the folder `out`; `train` makes the same model from these files.

    Shards are files, folders and globs as in `train`. A file's name contains the shard's name, and a fingerprint of its
    path, size, time and the options. Shards that have a file are skipped, and files of older versions of a shard are
    removed. Files get their names when they are complete, so an interrupted run can simply be repeated. Only those
    `options` of `model` matter that define words (`pattern`, `lowercase`, …); models with the same definition share
    counts. A table that exceeds its share of `max_memory` bytes is sorted and written to a temporary file, and merged
    at the end; the result is the same. `shards` may be a mapping of names of sources, for example languages, to their
    shards; weights refer to these names. Raises OptionError, CorpusError (a shard that cannot be read or is given
    twice), and OSError; the files of finished shards stay.
    """
    training = options_of(model, dict(options))
    counting, counter = training.counting(), training.counter()
    unit = unit or training.unit
    if counting is None or counter is None:
        raise OptionError(
            f"the model {model} must be trained on text, because counts have neither its order nor its bytes"
        )
    if getattr(training, "input_sentence_size", 0):
        raise OptionError("input_sentence_size applies to lines of text; sample them before they are counted")
    if max_memory is not None:
        integer("max_memory", max_memory, minimum=MIN_MEMORY)
    names: dict[str, str] = {}
    if isinstance(shards, Mapping):
        names = {path: name for name, of in mixtures.named_files(shards).items() for path in of}
        given = list(names)
    else:
        given = paths.files_of([shards] if isinstance(shards, (str, os.PathLike)) else shards)
    if "-" in given:
        raise OptionError("standard input cannot be a shard, because it has no fingerprint; give files")
    refuse_repeats(given)
    Corpus(given, unit=unit, field=field, errors=input_errors)  # checks the options
    os.makedirs(out, exist_ok=True)
    made = []
    with Reporter(progress) as report:
        for shard in given:
            how = {"counting": counting, "unit": unit, "field": field, "input_errors": input_errors}
            place, state = keys(shard, how)
            target = os.path.join(os.fspath(out), f"{os.path.basename(shard)}.{place}.{state}{SUFFIX}")
            name = {"source": names[shard]} if shard in names else {}
            header = Header(counting, unit, ({"path": shard, "key": f"{place}.{state}", **name},))
            totals = _complete(target, header)
            if counted := totals is None:
                corpus = Corpus([shard], unit=unit, field=field, errors=input_errors)
                totals = _count(corpus, counter, target, header, thread_count(threads), max_memory, report)
                _remove_older(os.fspath(out), os.path.basename(target), place)
            made.append(CountedShard(shard, Path(target), totals.words, totals.total, counted))
    if (left_out := getattr(training, "left_out", None)) is not None:
        left_out.tell(counting["longest"])
    return made


def merge_counts(
    source: CountsSource,
    out: StrPath,
    *,
    weights: Mapping[str, Weight] | None = None,
    temperature: float | str | Decimal | None = None,
    min_count: int = 1,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> Totals:
    """Write one file with the sums of all counts, without words whose sum is less than `min_count`.

    `source` is as in `CountFiles`, with its errors. The result does not depend on the order of the files. Merging in
    one step or in several gives the same result, as long as nothing is pruned. The header of a file has the `min_count`
    of pruning, and files are only merged if it is equal. With `weights` or `temperature`, sums are weighted by source,
    and `min_count` applies to the weighted sum; then merge all files in one step, because fractions are rounded.
    """
    integer("min_count", min_count, minimum=1)
    files = CountFiles(source, weights=weights, temperature=temperature)
    target = os.path.realpath(out)
    refuse_inputs([target], [file.path for file in files.files])
    if os.path.lexists(target) and not overwrite:
        raise FileExistsError(f"{show(out)} exists")
    weighted = files.file_weights()
    pruned = max(min_count, files.header.min_count)
    header = replace(files.weighted_header(weighted), min_count=pruned)
    n_words = files.totals.words
    workers = thread_count(threads)
    with Reporter(progress) as report, Spills(target, header, workers) as spills:
        report("merge", 0, n_words, always=True)
        runs, factors, divisor = _reduced(files.files, weighted, spills)
        blocks = OfFiles(runs, min_count, factors=factors, divisor=divisor)
        with temporary_files.beside(target) as aside:
            totals = count_merge.write(aside, header, blocks, workers, target)
            (os.replace if overwrite else put_new)(aside, target)
        report("merge", n_words, n_words, always=True)
    return totals


def prune_counts(
    source: StrPath | Sequence[StrPath], out: StrPath, *, min_count: int, overwrite: bool = False
) -> Totals:
    """Write a file of counts without the words that occur less than `min_count` times; see `merge_counts`."""
    return merge_counts(source, out, min_count=min_count, overwrite=overwrite)


def _count(
    corpus: Corpus,
    counter: Counter,
    target: str,
    header: Header,
    threads: int,
    max_memory: int | None,
    report: Reporter,
) -> Totals:
    """Count a corpus into a new file."""
    share = (max_memory or 0) // threads
    with Spills(target, header, threads) as spills, temporary_files.beside(target) as aside:
        tables = count_tables(
            corpus,
            counter,
            threads=threads,
            report=report,
            max_bytes=share,
            spill=spills.add if max_memory is not None else None,
        )
        if not spills.files and (max_memory is None or sum(t.held_bytes for t in tables) <= share or threads == 1):
            totals = count_merge.write(aside, header, OfTable(one_table(tables)), threads, target)
        else:
            while tables:
                spills.add(tables.pop())
            totals = count_merge.write(aside, header, OfFiles(spills.reduced(spills.files)), threads, target)
        os.replace(aside, target)
    return totals


def _reduced(
    files: Sequence[CountsReader], weights: Sequence[Fraction], spills: Spills
) -> tuple[list[CountsReader], list[int], int]:
    """Return the files to merge, their factors, and the divisor; many files with equal weights are merged first."""
    groups: dict[Fraction, list[CountsReader]] = {}
    for file, weight in zip(files, weights, strict=True):
        groups.setdefault(weight, []).append(file)
    few = [(file, weight) for weight, of in groups.items() for file in spills.reduced(of)]
    factors, divisor = integers([weight for _, weight in few])
    return [file for file, _ in few], factors, divisor


def _complete(target: str, header: Header) -> Totals | None:
    """Return the totals of an existing complete file, and update its header; None if there is none."""
    try:
        found = CountsReader(target)
    except (FileNotFoundError, FormatError):
        return None
    if found.header.sources != header.sources:  # the path or the name of the source is spelt differently
        with temporary_files.beside(target) as aside:
            found.copy_with(header, aside)
            os.replace(aside, target)
    return found.totals


def _remove_older(folder: str, name: str, place: str) -> None:
    """Remove the counts of older versions of the shard."""
    for other in os.listdir(folder):
        if other != name and other.endswith(SUFFIX) and other.split(".")[-3:-2] == [place]:
            os.unlink(os.path.join(folder, other))
