"""Evaluates vectors on files of analogies and of word pairs with similarity judgements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.corpus.utf8 import without_mark
from tokkit.embeddings.correlation import Correlation, pearson, spearman
from tokkit.embeddings.formats.detection import Path, opened
from tokkit.embeddings.neighbours import Neighbours
from tokkit.errors import FormatError
from tokkit.files import files

TOP = 5
"""Number of neighbours searched for the first one that is not a word of the question, as in gensim."""
TOGETHER = 256
"""Number of questions searched at once."""
Four = tuple[str, str, str, str]


@dataclass
class Section:
    """The analogies of a section of a file, a is to b as c is to d: answered correctly or not."""

    section: str
    correct: list[Four] = field(default_factory=list)
    incorrect: list[Four] = field(default_factory=list)

    @property
    def score(self) -> float:
        """The share of correct answers; 0 without any analogies."""
        n = len(self.correct) + len(self.incorrect)
        return len(self.correct) / n if n else 0.0


@dataclass
class Analogies:
    """The result of a file of analogies: its sections, and the skipped lines."""

    sections: list[Section]
    n_unknown: int = 0
    n_invalid: int = 0

    @property
    def total(self) -> Section:
        """All sections joined into one."""
        correct = [four for section in self.sections for four in section.correct]
        return Section("Total accuracy", correct, [four for section in self.sections for four in section.incorrect])


@dataclass
class Pairs:
    """The result of a file of word pairs: correlations, the share of unknown pairs, and the skipped lines."""

    pearson: Correlation
    spearman: Correlation
    oov_ratio: float
    n: int
    n_unknown: int
    n_invalid: int


def _lines(path: Path, encoding: str) -> Iterator[str]:
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield (line if number > 1 else without_mark(line, files.show(path))).decode(encoding)
            except UnicodeDecodeError:
                raise FormatError(f"line {number} is not {encoding}") from None


def _rows(words: Neighbours, restrict_vocab: int | None, case_insensitive: bool) -> dict[str, int]:
    """Return key → row of the searched keys; of keys that differ only in case, the first row."""
    keys = [str(key) for key in words.index_to_key[:restrict_vocab]]
    found: dict[str, int] = {}
    for i, key in enumerate(keys):
        found.setdefault(key.upper() if case_insensitive else key, i)
    return found


def analogies(
    words: Neighbours,
    path: Path,
    *,
    restrict_vocab: int | None = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> Analogies:
    """Answer the analogies of a file: see `KeyedVectors.evaluate_word_analogies`."""
    rows = _rows(words, restrict_vocab, case_insensitive)
    result = Analogies([])
    asked: list[tuple[Section, Four]] = []
    for number, line in enumerate(_lines(path, "utf8"), 1):
        if line.startswith(": "):
            result.sections.append(Section(line.lstrip(": ").strip()))
            continue
        if not result.sections:
            raise FormatError(f'{files.show(path)}: line {number}: a section must come first, a line ": NAME"')
        given = line.upper().split() if case_insensitive else line.split()
        if len(given) != 4:
            result.n_invalid += 1
            continue
        four = (given[0], given[1], given[2], given[3])
        is_known = all(word in rows for word in four)
        result.n_unknown += not is_known
        if is_known or dummy4unknown:
            asked.append((result.sections[-1], four))
    if not asked and not result.n_unknown:
        raise FormatError(f"{files.show(path)}: there are no analogies, lines of four words")
    end = min(restrict_vocab or len(words), len(words))
    known = [[rows[word] for word in four[:3]] for _, four in asked if all(word in rows for word in four)]
    found = _nearest(words, known, end)
    fold = str.upper if case_insensitive else str
    for section, four in asked:
        right = False
        if all(word in rows for word in four):
            keys = (fold(str(words.index_to_key[row])) for row in next(found))
            # A word of the question in another case is the same word.
            right = next((key for key in keys if key not in four[:3]), None) == four[3]
        (section.correct if right else section.incorrect).append(four)
    return result


def _nearest(words: Neighbours, asked: list[list[int]], end: int) -> Iterator[list[int]]:
    """Yield the rows nearest to b − a + c of each three rows a, b, c, without these."""
    for first in range(0, len(asked), TOGETHER):
        some = asked[first : first + TOGETHER]
        unit = _unit(words.vectors[np.array(some)].astype(np.float64))
        queries = _unit(unit[:, 1] + unit[:, 2] - unit[:, 0])
        found, _ = words._nearest(queries.astype(np.float32), 0, end, TOP + 3)
        for own, near in zip(some, found, strict=True):
            yield [int(row) for row in near if row not in own][:TOP]


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))


def pairs(
    words: Neighbours,
    path: Path,
    *,
    delimiter: str = "\t",
    encoding: str = "utf8",
    restrict_vocab: int | None = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> Pairs:
    """Correlate cosines with the judgements in a file: see `KeyedVectors.evaluate_word_pairs`."""
    rows = _rows(words, restrict_vocab, case_insensitive)
    judged: list[float] = []
    cosines: list[float] = []
    unknown = invalid = 0
    for line in _lines(path, encoding):
        if line.startswith("#"):
            continue
        fields = line.strip("\r\n").split(delimiter)
        if len(fields) != 3 or (value := _number(fields[2])) is None:
            invalid += 1
            continue
        a, b = (rows.get(word.upper() if case_insensitive else word) for word in fields[:2])
        if a is None or b is None:
            unknown += 1
            if dummy4unknown:
                judged.append(value)
                cosines.append(0.0)
            continue
        judged.append(value)
        cosines.append(float(words.similarity(words.index_to_key[a], words.index_to_key[b])))
    if not judged:
        raise FormatError(
            f"{files.show(path)}: no pair of known words; a line must be two words and a number, separated by "
            f"{delimiter!r}"
        )
    n = len(judged) if dummy4unknown else len(judged) + unknown
    return Pairs(pearson(judged, cosines), spearman(judged, cosines), unknown / n * 100, len(judged), unknown, invalid)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def shape(result: Analogies) -> tuple[float, list[dict[str, Any]]]:
    """Return gensim's result: the total score, and each section as a dict, with the total as the last one."""
    total = result.total
    return total.score, [vars(section) for section in (*result.sections, total)]
