"""Reads files of counts as the source of a training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tokkit._core.train.count_runs import count_block
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus import paths
from tokkit.corpus.counts_file import SUFFIX, CountsReader, Header, Totals
from tokkit.corpus.shards import key, refuse_repeats
from tokkit.corpus.weights import Weight, text_of
from tokkit.errors import CorpusError, OptionError
from tokkit.escaping import show
from tokkit.pretokenizers import patterns
from tokkit.trainers import mixtures
from tokkit.trainers.counts import MAX_TOTAL, WORD_MEMORY
from tokkit.trainers.mixtures import Part
from tokkit.trainers.options import Training

StrPath = str | os.PathLike[str]
CountsSource = StrPath | Sequence[StrPath] | Mapping[str, StrPath | Sequence[StrPath]]


class CountFiles:
    """Files of counts as the source of a training: `train(CountFiles("counts/"), model=…)`.

    `source` is a file, a folder (its files that end in .counts), a glob, or a list of these. FormatError for a file
    that is corrupt or in another format, CorpusError if counts were made with different options, or a shard is counted
    in two of them.

    `weights` and `temperature` refer to names of sources, as in `Mixture`. Shards get names when they are counted
    (`build_counts`); if `source` is a mapping of names to files and folders, these names are used. CorpusError if
    weighted counts would be weighted again, or if counts with a fractional weight, which are rounded, would be added to
    others.
    """

    def __init__(
        self,
        source: CountsSource,
        *,
        weights: Mapping[str, Weight] | None = None,
        temperature: float | str | Decimal | None = None,
    ) -> None:
        if isinstance(source, Mapping):
            named = [(name, path) for name, of in source.items() for path in _expand(_listed(of))]
            refuse_repeats([path for _, path in named])
            self.files = [CountsReader(path) for _, path in named]
            for (name, _), file in zip(named, self.files, strict=True):
                renamed = tuple({**shard, "source": str(name)} for shard in file.header.sources)
                file.header = replace(file.header, sources=renamed)
        else:
            self.files = [CountsReader(path) for path in _expand(_listed(source))]
        self.header = _common(self.files)
        names = dict.fromkeys(shard["source"] for shard in self.header.sources if "source" in shard)
        self._weights, self._temperature = mixtures.checked(weights, temperature, names)
        self.is_weighted = weights is not None or temperature is not None
        if self.is_weighted:
            _refuse_weighted(self.files)
        self.parts: list[Part] = []

    def file_weights(self) -> list[Fraction]:
        """Return the weight of each file, and set `parts`; if any has a weight, all files are read."""
        if not self.is_weighted:
            return [Fraction(1)] * len(self.files)
        of_source: dict[str | None, list[CountsReader]] = {}
        for file in self.files:
            of_source.setdefault(_source_of(file, self._temperature is not None, self._weights), []).append(file)
        amounts = {str(name): mixtures.amount_of(files) for name, files in of_source.items() if name is not None}
        found = mixtures.resolved(self._weights, self._temperature, amounts)
        self.parts = [Part(name, amounts[name], found[name]) for name in amounts]
        weights = {file.path: found.get(str(name), Fraction(1)) for name, of in of_source.items() for file in of}
        return [weights[file.path] for file in self.files]

    def weighted_header(self, weights: Sequence[Fraction]) -> Header:
        """Return the header of the weighted sum: each shard has its weight."""
        if not self.is_weighted:
            return self.header
        of_shard = {
            shard["key"]: text_of(weight)
            for file, weight in zip(self.files, weights, strict=True)
            for shard in file.header.sources
        }
        sources = tuple({**shard, "weight": of_shard[shard["key"]]} for shard in self.header.sources)
        return replace(self.header, sources=sources)

    @property
    def counting(self) -> Mapping[str, Any]:
        """The definition of words: options that a training must share."""
        return self.header.counting

    def identity(self) -> str:
        """Return a value that differs if a shard or a weight differs."""
        shards = [[shard["path"], shard["key"]] for shard in self.header.sources]
        if not self.is_weighted:
            return key(shards)
        names = [shard.get("source") for shard in self.header.sources]
        weights = {name: str(weight) for name, weight in self._weights.items()}
        return key([shards, names, weights, str(self._temperature)])

    @property
    def totals(self) -> Totals:
        """The sums of the files' totals; a word in several files counts several times."""
        found = [file.totals for file in self.files]
        return Totals(sum(t.words for t in found), sum(t.total for t in found), sum(t.blocks for t in found))

    def table(self, training: Training) -> WordCounts:
        """Return all words and their counts; OptionError if the training defines words differently."""
        wanted = training.counting()
        if wanted is None:
            raise OptionError("this model must be trained on text, because counts have neither its order nor its bytes")
        if wanted != self.counting:
            as_text = {name: of for name, of in wanted.items() if name != "special_tokens"} == dict(self.counting)
            raise OptionError(
                f"{show(self.files[0].path)} has counts of {shown(self.counting)}, but the training needs those of "
                f"{shown(wanted)}: give the options that they were counted with"
                + (', or special="text" to train on counts that were made without special tokens' if as_text else "")
            )
        if not self.is_weighted:
            return self._sum(self.files, training)
        groups: dict[Fraction, list[CountsReader]] = {}
        for file, weight in zip(self.files, self.file_weights(), strict=True):
            groups.setdefault(weight, []).append(file)
        runs = [(mixtures.Blocks(self._sum(files, training)), weight) for weight, files in groups.items()]
        return mixtures.weighted_table(runs, training)

    def _sum(self, files: Sequence[CountsReader], training: Training) -> WordCounts:
        folder_for = getattr(training, "folder", None)
        folder = folder_for(WORD_MEMORY * sum(f.totals.words for f in files)) if folder_for is not None else None
        table, total = WordCounts(0, folder), 0
        for file in files:
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


def _listed(given: StrPath | Sequence[StrPath]) -> list[StrPath]:
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _source_of(file: CountsReader, all_named: bool, weights: Mapping[str, Fraction]) -> str | None:
    """Return the source of all shards of a file; CorpusError if weights need it and it is missing or not unique."""
    names = dict.fromkeys(shard.get("source") for shard in file.header.sources)
    if all_named and None in names:
        raise CorpusError(
            f"{show(file.path)} has counts of a source without a name, which a temperature needs: write NAME=COUNTS, "
            "or NAME=SHARD when counting"
        )
    if len(names) > 1 and (all_named or len({weights.get(str(name), Fraction(1)) for name in names}) > 1):
        these = " and ".join(show(name or "a source without a name") for name in list(names)[:2])
        raise CorpusError(f"{show(file.path)} has added counts of {these}, which cannot be weighted separately")
    return next(iter(names), None)


def _refuse_weighted(files: Sequence[CountsReader]) -> None:
    for file in files:
        for shard in file.header.sources:
            if "weight" in shard:
                raise CorpusError(
                    f"{show(file.path)} has counts that were already weighted, those of {shard['path']!r} by "
                    f"{shard['weight']}; weight the files from which it was merged"
                )


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
            if len(files) > 1 and not source.get("weight", "1").isdigit():
                raise CorpusError(
                    f"{show(file.path)} has counts that were rounded, those of {source['path']!r} weighted by "
                    f"{source['weight']}: merge all files in one step, with the weights"
                )
            if source["key"] in seen:
                raise CorpusError(
                    f"{show(seen[source['key']])} and {show(file.path)} both have the counts of {source['path']!r}, "
                    "which would be counted twice"
                )
            seen[source["key"]] = file.path
    sources = sorted((source for file in files for source in file.header.sources), key=lambda s: (s["path"], s["key"]))
    return replace(first.header, sources=tuple(sources))


def shown(value: object) -> str:
    """Return the definition of words for messages, with the names of published patterns."""
    if not isinstance(value, Mapping):
        return repr(value)
    names = {pattern: name for name, pattern in reversed(patterns.NAMES.items())}
    return ", ".join(f"{name} {names.get(of, of) if isinstance(of, str) else of!r}" for name, of in value.items())
