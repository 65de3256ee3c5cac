"""Counts the words of shards into files, merges and prunes these, and lets models be trained on them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokkit._core.train import WordCounts, count_block
from tokkit.corpus import count_merge, paths
from tokkit.corpus.count_merge import OfFiles, OfTable, Spills
from tokkit.corpus.counts_file import SUFFIX, CountsReader, Header, Totals
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.corpus.shards import keys, refuse_repeats
from tokkit.errors import CorpusError, FormatError, OptionError
from tokkit.escaping import show
from tokkit.formats import temporary_files
from tokkit.formats.files import put_new, refuse_inputs
from tokkit.pretokenizers import patterns
from tokkit.threads import thread_count
from tokkit.trainers.counts import MAX_TOTAL, Counter, Progress, Reporter, count_tables, one_table
from tokkit.trainers.models import options_of
from tokkit.trainers.options import Training, integer

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]

MIN_MEMORY = 10**6
"""Minimum of max_memory: the blocks that are read and written take more than less would save."""


@dataclass(frozen=True, slots=True)
class CountedShard:
    """A shard and the file of its counts; `counted` is False if that was there already."""

    shard: str
    path: Path
    words: int
    total: int
    counted: bool


class CountFiles:
    """Files of counts, the source of a training: `train(CountFiles("counts/"), model=…)`.

    `source` is a file, a folder (its files that end in .counts), a glob, or a list of these. FormatError for a file
    that is corrupt or of another format, CorpusError if counts were made with different options, which cannot be
    added, or one shard is counted in two of them.
    """

    def __init__(self, source: StrPath | Sequence[StrPath]) -> None:
        given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
        self.files = [CountsReader(path) for path in _expand(given)]
        self.header = _common(self.files)

    @property
    def counting(self) -> Mapping[str, Any]:
        """What the words are: options that a training must share."""
        return self.header.counting

    @property
    def totals(self) -> Totals:
        """The sums of the files' totals; a word of several files is as many words here."""
        found = [file.totals for file in self.files]
        return Totals(sum(t.words for t in found), sum(t.total for t in found), sum(t.blocks for t in found))

    def table(self, training: Training) -> WordCounts:
        """Return all words and their counts; OptionError if the training would count other words."""
        wanted = training.counting()
        if wanted is None:
            raise OptionError("this model is trained on text: counts have neither its order nor its bytes")
        if wanted != self.counting:
            raise OptionError(
                f"{show(self.files[0].path)} has counts of {shown(self.counting)}, but the training needs those of "
                f"{shown(wanted)}: give the options that they were counted with"
            )
        table, total = WordCounts(), 0
        for file in self.files:
            for block in file.blocks():
                try:
                    total = count_block(table, block, training.as_text, total, MAX_TOTAL)
                except ValueError:
                    raise file.out_of_order() from None
                except OverflowError as error:
                    raise CorpusError(f"the counts are too large to train from at once: {error}") from None
        if not len(table):
            raise CorpusError("the counts have no word to train on")
        return table


def build_counts(
    shards: StrPath | Sequence[StrPath],
    out: StrPath,
    *,
    model: str = "bbpe",
    unit: Unit = "line",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
    max_memory: int | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> list[CountedShard]:
    """Count the words of each shard into a file in the folder `out`, from which `train` makes the same model.

    Shards are files, folders and globs as in `train`. A file's name has the shard's own, and a fingerprint of its path,
    size, time and the options; a shard whose file is there is skipped, and the file of what it was before is removed.
    Files get their names when they are complete, so a run that was stopped is simply run again. Of the `options` of
    `model` those matter that say what a word is (`pattern`, `lowercase`, …); models that count alike share counts. The
    counts of a table that takes more than its share of `max_memory` bytes are sorted and written beside, and merged at
    the end; the result is the same. Raises OptionError, CorpusError (a shard that cannot be read or is given twice),
    and OSError; the files of finished shards stay.
    """
    training = options_of(model, dict(options))
    counting, counter = training.counting(), training.counter()
    if counting is None or counter is None:
        raise OptionError(f"the model {model} is trained on text: counts have neither its order nor its bytes")
    if getattr(training, "input_sentence_size", 0):
        raise OptionError("input_sentence_size applies to lines of text; sample them before they are counted")
    if max_memory is not None:
        integer("max_memory", max_memory, minimum=MIN_MEMORY)
    given = paths.files_of([shards] if isinstance(shards, (str, os.PathLike)) else shards)
    if "-" in given:
        raise OptionError("standard input has no fingerprint; counts are made of files")
    refuse_repeats(given)
    Corpus(given, unit=unit, field=field, errors=input_errors)  # which checks the options
    os.makedirs(out, exist_ok=True)
    made = []
    with Reporter(progress) as report:
        for shard in given:
            how = {"counting": counting, "unit": unit, "field": field, "input_errors": input_errors}
            place, key = keys(shard, how)
            target = os.path.join(os.fspath(out), f"{os.path.basename(shard)}.{place}.{key}{SUFFIX}")
            totals = _complete(target)
            if counted := totals is None:
                header = Header(counting, unit, ({"path": shard, "key": f"{place}.{key}"},))
                corpus = Corpus([shard], unit=unit, field=field, errors=input_errors)
                totals = _count(corpus, counter, target, header, thread_count(threads), max_memory, report)
                _remove_older(os.fspath(out), os.path.basename(target), place)
            made.append(CountedShard(shard, Path(target), totals.words, totals.total, counted))
    if (left_out := getattr(training, "left_out", None)) is not None:
        left_out.tell(counting["longest"])
    return made


def merge_counts(
    source: StrPath | Sequence[StrPath],
    out: StrPath,
    *,
    min_count: int = 1,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> Totals:
    """Write one file with the sums of all counts, without the words whose sum is less than `min_count`.

    `source` is as in `CountFiles`, with its errors. The result does not depend on the order of the files, and merging
    is the same in one step as in several, as long as nothing is pruned: what is left out of a part is missing in the
    whole. A file says in its header by which `min_count` it was pruned, and is merged only with those pruned alike.
    """
    integer("min_count", min_count, minimum=1)
    files = CountFiles(source)
    target = os.path.realpath(out)
    refuse_inputs([target], [file.path for file in files.files])
    if os.path.lexists(target) and not overwrite:
        raise FileExistsError(f"{show(out)} exists")
    header = replace(files.header, min_count=max(min_count, files.header.min_count))
    n_words = files.totals.words
    workers = thread_count(threads)
    with Reporter(progress) as report, Spills(target, header, workers) as spills:
        report("merge", 0, n_words, always=True)
        blocks = OfFiles(spills.reduced(files.files), min_count)
        with temporary_files.beside(target) as aside:
            totals = count_merge.write(aside, header, blocks, workers)
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
            totals = count_merge.write(aside, header, OfTable(one_table(tables)), threads)
        else:
            while tables:
                spills.add(tables.pop())
            totals = count_merge.write(aside, header, OfFiles(spills.reduced(spills.files)), threads)
        os.replace(aside, target)
    return totals


def _expand(given: Iterable[StrPath]) -> list[str]:
    found: list[str] = []
    for path in given:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith(SUFFIX))
            if not names:
                raise CorpusError(f"{show(path)} has no files that end in {SUFFIX}, which tokkit counts build makes")
            found += [os.path.join(os.fspath(path), name) for name in names]
        else:
            found += paths.expand([path])
    if not found:
        raise CorpusError("no file of counts was given")
    refuse_repeats(found)
    return found


def _common(files: Sequence[CountsReader]) -> Header:
    """Return the header of the sum; CorpusError for files that cannot be added."""
    first, seen = files[0], dict[str, str]()
    for file in files:
        for name in ("counting", "unit", "min_count"):
            one, other = getattr(first.header, name), getattr(file.header, name)
            if one != other:
                what = "counts of" if name == "counting" else name.replace("_", "-")
                raise CorpusError(
                    f"{show(first.path)} has {what} {shown(one)}, and {show(file.path)} has {what} {shown(other)}: "
                    "counts made with different options cannot be added"
                )
        for source in file.header.sources:
            if source["key"] in seen:
                raise CorpusError(
                    f"{show(seen[source['key']])} and {show(file.path)} both have the counts of {source['path']!r}, "
                    "which would be counted twice"
                )
            seen[source["key"]] = file.path
    sources = sorted((source for file in files for source in file.header.sources), key=lambda s: (s["path"], s["key"]))
    return replace(first.header, sources=tuple(sources))


def shown(value: object) -> str:
    """Return what counts are of, as messages have it: published patterns by their names."""
    if not isinstance(value, Mapping):
        return repr(value)
    names = {pattern: name for name, pattern in reversed(patterns.NAMES.items())}
    return ", ".join(f"{name} {names.get(of, of)!r}" for name, of in value.items())


def _complete(target: str) -> Totals | None:
    """Return the totals of a file that is there and complete."""
    try:
        return CountsReader(target).totals
    except (FileNotFoundError, FormatError):
        return None


def _remove_older(folder: str, name: str, place: str) -> None:
    """Remove the counts of what the shard was before it changed."""
    for other in os.listdir(folder):
        if other != name and other.endswith(SUFFIX) and other.split(".")[-3:-2] == [place]:
            os.unlink(os.path.join(folder, other))
