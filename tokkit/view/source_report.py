"""Measures how a tokenizer treats the sources of a corpus, for example languages."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tokkit.corpus.readers import Corpus, InputErrors
from tokkit.errors import CorpusError, OptionError, SpecialTokenError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.engines.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

StrPath = str | os.PathLike[str]
Per = Literal["character", "byte", "word", "text"]
PERS = ("character", "byte", "word", "text")
ALPHA = 2.5
"""The order of the Rényi entropy that correlated best with translation quality in Zouhar et al. 2023."""
_BYTE = re.compile(rb"<0x[0-9A-F]{2}>")
CHUNK_BYTES = 4 << 20
"""Bytes of text that are encoded at a time."""


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
    """Return the measures of each source, and last those of all sources together.

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
    counted = []
    for source, paths in sources.items():
        listed = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        corpus = Corpus(listed, field=field, errors=input_errors)
        counted.append(_Counts.of(tok, source, corpus, special=special, threads=threads))
    base = next(counts for counts in counted if counts.source == name).rate(per)
    rows = [vocabulary.measured(counts, counts.rate(per), base) for counts in counted]
    return [*rows, vocabulary.measured(_Counts.sum(counted), None, base)]


@dataclass
class _Counts:
    """The counts of a source; `used` has the number of occurrences of each id."""

    source: str
    used: NDArray[np.int64]
    n_bytes: int = 0
    characters: int = 0
    words: int = 0

    @classmethod
    def of(cls, tok: Tokenizer, source: str, corpus: Corpus, *, special: Special, threads: int | None) -> _Counts:
        made = cls(source, np.zeros(tok.n_ids, dtype=np.int64))
        texts: list[bytes] = []
        size = 0
        for block in corpus:
            block = block.validated(corpus.errors)
            texts += block.texts()
            size += len(block.data)
            if size >= CHUNK_BYTES:
                made._add(tok, texts, special, threads)
                texts, size = [], 0
        made._add(tok, texts, special, threads)
        if not made.n_bytes:
            raise CorpusError(f"{show(source)} has no text to measure")
        return made

    def _add(self, tok: Tokenizer, texts: list[bytes], special: Special, threads: int | None) -> None:
        try:
            ids, _ = tok.encode_batch(texts, special=special, threads=threads)
        except SpecialTokenError as error:
            raise SpecialTokenError(f"{show(self.source)}: {error}") from None
        self.used += np.bincount(ids, minlength=len(self.used))
        for text in texts:
            decoded = text.decode()
            self.n_bytes += len(text)
            self.characters += len(decoded)
            self.words += len(decoded.split())

    @classmethod
    def sum(cls, counted: Sequence[_Counts]) -> _Counts:
        """Return the counts of all sources together."""
        used = np.sum([counts.used for counts in counted], axis=0)
        rest = (sum(getattr(c, name) for c in counted) for name in ("n_bytes", "characters", "words"))
        return cls("all sources", used, *rest)

    def rate(self, per: Per) -> float | None:
        """Return the tokens per unit of text."""
        divisor = {"character": self.characters, "byte": self.n_bytes, "word": self.words, "text": 1}[per]
        return int(self.used.sum()) / divisor if divisor else None


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

    def measured(self, counts: _Counts, rate: float | None, base: float | None) -> SourceMeasures:
        """Return the measures computed from the counts."""
        used = counts.used
        tokens, n_own = int(used.sum()), int(self.own.sum())
        unused = int((self.own & (used == 0)).sum())
        return SourceMeasures(
            source=counts.source,
            bytes=counts.n_bytes,
            characters=counts.characters,
            words=counts.words,
            tokens=tokens,
            fertility=_ratio(tokens, counts.words),
            bytes_per_token=_ratio(counts.n_bytes, tokens),
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
