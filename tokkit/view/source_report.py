"""Measures how a tokenizer treats the sources of a corpus, for example languages."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tokkit.corpus import paths
from tokkit.corpus.readers import InputErrors
from tokkit.corpus.text_counts import TextCounts, count_file
from tokkit.errors import CorpusError, OptionError, SpecialTokenError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

StrPath = str | os.PathLike[str]
Per = Literal["character", "byte", "word", "text"]
PERS = ("character", "byte", "word", "text")
ALPHA = 2.5
"""The order of the Rényi entropy that correlated best with translation quality in Zouhar et al. 2023."""
_BYTE = re.compile(rb"<0x[0-9A-F]{2}>")


@dataclass(frozen=True, slots=True)
class SourceMeasures:
    """The measures of a tokenizer on one source, or on all of them.

    `fertility` is tokens per word (separated by white space, so it means little for scripts without spaces). `parity`
    is tokens per unit of text (`per`) relative to the reference source: 2 is twice as many. `renyi` is the Rényi
    efficiency of the tokens' frequencies, 1 if all are used equally often. `unused_rate` is the share of the
    vocabulary, without special and other added tokens, that does not occur; `byte_rate` is the share of tokens in the
    text that are not whole characters: bytes of byte-level vocabularies, and byte pieces of SentencePiece.
    `unknown_rate` is the share of unknown tokens. A rate is None if its divisor is 0.
    """

    source: str
    bytes: int
    characters: int
    words: int
    tokens: int
    fertility: float | None
    bytes_per_token: float | None
    parity: float | None
    renyi: float | None
    unused: int
    unused_rate: float | None
    byte_rate: float | None
    unknown_rate: float | None


def source_report(
    tok: Tokenizer,
    sources: Mapping[str, StrPath | Sequence[StrPath]],
    *,
    per: Per = "character",
    reference: str | None = None,
    special: Special = "text",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
) -> list[SourceMeasures]:
    """Return the measures of each source, and last those of all sources together; each file, or record, is one text.

    `sources` are names with paths as in `train`. Parity is relative to `reference`, by default the first source.
    `per="text"` is for sources that are translations of each other (Petrov et al. 2023): the ratio of their tokens.
    Others are compared per character, byte or word, which is only approximate: a Chinese character carries more
    information than an English one. Rényi efficiency (Zouhar et al. 2023) is H(2.5) / log(vocabulary size), without
    added tokens. Raises OptionError, and CorpusError for a source that cannot be read or has no text.

    >>> import tempfile, tokkit
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "en.txt").write_text("low low"), (folder / "el.txt").write_text("ένα δύο", encoding="utf-8")
    (7, 7)
    >>> tok = tokkit.train({"low": 5, " low": 5}, vocab_size=259)
    >>> rows = source_report(tok, {"en": folder / "en.txt", "el": folder / "el.txt"})
    >>> [(row.source, row.tokens, row.fertility, row.parity) for row in rows[:2]]
    [('en', 2, 1.0, 1.0), ('el', 13, 6.5, 6.5)]
    """
    if per not in PERS:
        raise OptionError(f"per is {per!r}; it must be one of {', '.join(PERS)}")
    if not isinstance(sources, Mapping) or not sources:
        raise OptionError(
            f"sources is {sources!r:.80}; it must be a mapping of names to paths, such as {{'de': 'de.txt'}}"
        )
    name = next(iter(sources)) if reference is None else reference
    if name not in sources:
        raise OptionError(f"reference is {name!r}; it must be one of the sources, {', '.join(map(show, sources))}")
    vocabulary = _Vocabulary(tok)
    reading: dict[str, Any] = {"field": field, "input_errors": input_errors, "threads": threads}
    counted = {source: _counted(tok, source, given, special, **reading) for source, given in sources.items()}
    base = _per_unit(counted[name], per)
    rows = [vocabulary.measured(source, counts, _per_unit(counts, per), base) for source, counts in counted.items()]
    every = sum(counted.values(), TextCounts(tok.n_ids))
    return [*rows, vocabulary.measured("all sources", every, None, base)]


def _counted(
    tok: Tokenizer, source: str, given: StrPath | Sequence[StrPath], special: Special, **reading: Any
) -> TextCounts:
    """Return the counts of the files of a source."""
    listed = [given] if isinstance(given, (str, os.PathLike)) else given
    made = TextCounts(tok.n_ids)
    for path in paths.files_of(listed):
        try:
            made += count_file(tok, path, special=special, tables=True, **reading)
        except SpecialTokenError as error:
            raise SpecialTokenError(f"{show(source)}: {error}") from None
    if not made.bytes:
        raise CorpusError(f"{show(source)} has no text to measure")
    return made


def _per_unit(counts: TextCounts, per: Per) -> float | None:
    """Return the tokens per unit of text."""
    divisor = {"character": counts.characters, "byte": counts.bytes, "word": counts.words, "text": 1}[per]
    return counts.tokens / divisor if divisor else None


class _Vocabulary:
    """The ids of the model, of bytes, and of the unknown token."""

    def __init__(self, tok: Tokenizer) -> None:
        model = tok.definition.model
        added = {token.id for token in tok.definition.added_tokens}
        falls_back = bool(getattr(model, "byte_fallback", False))
        self.own = np.zeros(tok.n_ids, dtype=bool)
        self.part_ids = np.zeros(tok.n_ids, dtype=bool)
        for token, id_ in tok.vocab.items():
            self.own[id_] = id_ not in added
            self.part_ids[id_] = _is_part(token) or (falls_back and _BYTE.fullmatch(token) is not None)
        unknown = getattr(model, "unk_token", None)
        self.unknown = getattr(model, "unk_id", None) if unknown is None else tok.vocab.get(unknown)

    def measured(self, source: str, counts: TextCounts, rate: float | None, base: float | None) -> SourceMeasures:
        """Return the measures computed from the counts."""
        used = counts.used
        tokens, n_own = counts.tokens, int(self.own.sum())
        unused = int((self.own & (used == 0)).sum())
        return SourceMeasures(
            source=source,
            bytes=counts.bytes,
            characters=counts.characters,
            words=counts.words,
            tokens=tokens,
            fertility=_ratio(tokens, counts.words),
            bytes_per_token=_ratio(counts.bytes, tokens),
            parity=None if rate is None or not base else round(rate / base, 4),
            renyi=renyi_efficiency(used[self.own]),
            unused=unused,
            unused_rate=_ratio(unused, n_own),
            byte_rate=_ratio(int(used[self.part_ids].sum()), tokens),
            unknown_rate=None if self.unknown is None else _ratio(int(used[self.unknown]), tokens),
        )


def renyi_efficiency(used: NDArray[np.int64], alpha: float = ALPHA) -> float | None:
    """Return the Rényi entropy of counts divided by that of equal counts; None if there are no counts.

    >>> renyi_efficiency(np.array([3, 3, 3, 3])), renyi_efficiency(np.array([9, 0]))
    (1.0, 0.0)
    """
    total = int(used.sum())
    if total == 0 or len(used) < 2:
        return None
    power = math.fsum(((used[used > 0] / total) ** alpha).tolist())
    return round(math.log(power) / (1 - alpha) / math.log(len(used)), 4) + 0.0


def _is_part(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return True
    return False


def _ratio(n: int, of: int) -> float | None:
    return round(n / of, 4) if of else None
