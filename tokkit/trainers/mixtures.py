"""Mixtures: sources of a training with weights."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tokkit._core.train.count_runs import SortedWords, count_block
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus import paths
from tokkit.corpus.count_merge import OfFiles, Run
from tokkit.corpus.counts_file import BLOCK_BYTES
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.corpus.shards import key, keys, refuse_repeats
from tokkit.corpus.weights import Weight, by_temperature, integers, temperature_of, weights_of
from tokkit.errors import CorpusError, OptionError
from tokkit.escaping import show
from tokkit.trainers.counts import MAX_TOTAL, Reporter, count_words
from tokkit.trainers.options import Training

StrPath = str | os.PathLike[str]
Paths = StrPath | Sequence[StrPath]


@dataclass(frozen=True, slots=True)
class Part:
    """A source of a mixture: the bytes of all occurrences of its words, and its weight."""

    name: str
    bytes: int
    weight: Fraction


class Mixture:
    """Texts of several sources with weights, as the source of a training: `train(Mixture(…))`.

    `sources` maps names, for example of languages, to a path or a list of paths as in `train`. With `weights`, the
    counts of a source's words are multiplied by its weight: an int, a decimal or a fraction ("1/3"); the default is 1.
    With a `temperature` T of at least 1, weights raise the shares of the sources, in bytes of words, to the power of
    1/T: 1 does not change them, "inf" makes them equal. Then the largest source has the weight 1, and each other one
    (largest / its bytes) ** (1 - 1/T), rounded to thousandths.

    The weighted sum of a word's counts is computed exactly and rounded once, to the nearest integer, halves up; a word
    with 0 is left out. So integer weights are equivalent to repeating the texts, and the result does not depend on the
    order of sources and files. After a training, `parts` has the size and weight of each source.

    >>> import tempfile, tokkit
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "en.txt").write_text("the the the that"), (folder / "de.txt").write_text("die")
    (16, 3)
    >>> mixture = Mixture({"en": folder / "en.txt", "de": folder / "de.txt"}, weights={"de": 5})
    >>> [tokkit.train(mixture, vocab_size=258, threads=1).vocab[id_] for id_ in (256, 257)]
    [b'di', b'die']
    """

    def __init__(
        self,
        sources: Mapping[str, Paths],
        *,
        weights: Mapping[str, Weight] | None = None,
        temperature: float | str | Decimal | None = None,
    ) -> None:
        self.files = named_files(sources)
        self.weights, self.temperature = checked(weights, temperature, self.files)
        self.parts: list[Part] = []

    def identity(self) -> str:
        """Return a value that differs if a file, a name or a weight differs."""
        files = {name: [keys(path, {}) for path in of] for name, of in self.files.items()}
        return key([files, {name: str(weight) for name, weight in self.weights.items()}, str(self.temperature)])

    def table(
        self,
        training: Training,
        *,
        unit: Unit | None = None,
        field: str = "text",
        input_errors: InputErrors = "strict",
        threads: int = 1,
        report: Reporter | None = None,
    ) -> WordCounts:
        """Count the words of each source, and return their weighted sums."""
        counter = training.counter()
        if counter is None or getattr(training, "in_order", False):
            raise OptionError(
                "this model depends on the order of its text, which the word counts of a mixture do not keep"
            )
        if getattr(training, "input_sentence_size", 0):
            raise OptionError("input_sentence_size applies to the lines of one corpus, not to a mixture")
        report = report or Reporter(None)
        runs = {}
        for name, files in self.files.items():
            tables = not getattr(training, "weighted", False)
            corpus = Corpus(files, unit=unit or training.unit, field=field, errors=input_errors, tables=tables)
            try:
                runs[name] = Blocks(count_words(corpus, counter, threads=threads, report=report))
            except OverflowError as error:
                raise CorpusError(f"{show(name)} is too large to train from at once: {error}") from None
        amounts = {name: amount_of([run]) for name, run in runs.items()}
        weights = resolved(self.weights, self.temperature, amounts)
        self.parts = [Part(name, amounts[name], weights[name]) for name in runs]
        return weighted_table([(run, weights[name]) for name, run in runs.items()], training)


class Blocks:
    """The sorted words of a table, in blocks that can be read several times; closes the table."""

    def __init__(self, table: WordCounts) -> None:
        words = SortedWords(table)
        self._blocks: list[bytes] = []
        while (block := words.block(BLOCK_BYTES)) is not None:
            self._blocks.append(block[0])

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks of words."""
        yield from self._blocks

    def out_of_order(self) -> Exception:
        """Return the error for a malformed block."""
        return CorpusError("counts in memory are out of order")


def named_files(sources: Mapping[str, Paths]) -> dict[str, list[str]]:
    """Return the files of each source; errors for no sources, and for a file in two sources."""
    if not isinstance(sources, Mapping) or not sources:
        raise OptionError(
            f"the sources are {sources!r:.80}; they must be a mapping of names to paths, such as {{'de': 'de/'}}"
        )
    found = {
        str(name): paths.files_of([given] if isinstance(given, (str, bytes, os.PathLike)) else given)
        for name, given in sources.items()
    }
    every = [path for files in found.values() for path in files]
    refuse_repeats([path for path in every if path != "-"])
    if "-" in every:
        raise OptionError("standard input cannot be a source of a mixture; give files")
    return found


def checked(
    weights: Mapping[str, Weight] | None, temperature: object, names: Mapping[str, object]
) -> tuple[dict[str, Fraction], Decimal | None]:
    """Return weights and a temperature as exact numbers; OptionError if both are given, or for an unknown source."""
    if weights is not None and temperature is not None:
        raise OptionError("give weights or a temperature, which computes weights, not both")
    found = weights_of(weights or {})
    unknown = [name for name in found if name not in names]
    if unknown:
        there = ", ".join(map(show, names)) or "none"
        raise OptionError(f"{show(unknown[0])} has a weight, but no source has this name; the sources are {there}")
    return found, None if temperature is None else temperature_of(temperature)


def resolved(
    weights: Mapping[str, Fraction], temperature: Decimal | None, amounts: Mapping[str, int]
) -> dict[str, Fraction]:
    """Return the weight of each source of `amounts`, in bytes of its words."""
    if temperature is not None:
        return by_temperature(amounts, temperature)
    return {name: weights.get(name, Fraction(1)) for name in amounts}


def amount_of(runs: Sequence[Run]) -> int:
    """Return the bytes of all occurrences of the words in runs."""
    total = 0
    for run in runs:
        for block in run.blocks():
            try:
                total = count_block(WordCounts(), block, False, total, MAX_TOTAL)
            except ValueError:
                raise run.out_of_order() from None
    return total


def weighted_table(runs: Sequence[tuple[Run, Fraction]], training: Training) -> WordCounts:
    """Return a table of the weighted sums of the counts of runs."""
    factors, divisor = integers([weight for _, weight in runs])
    table, total = WordCounts(), 0
    for block, _ in OfFiles([run for run, _ in runs], factors=factors, divisor=divisor):
        try:
            total = count_block(table, block, training.as_text, total, MAX_TOTAL)
        except ValueError:
            raise CorpusError("the counts have a word that is not UTF-8; this model needs UTF-8") from None
        except OverflowError as error:
            raise CorpusError(f"the counts are too large to train from at once: {error}") from None
    if not len(table):
        raise CorpusError("the counts have no word to train on, or all weighted counts are 0")
    return table
