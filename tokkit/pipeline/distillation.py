"""`distill`: an encoder → static vectors of its tokens; the vector of a sentence is their mean (Model2Vec)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit import nn
from tokkit.conversion import add_tokens
from tokkit.definition import AddedToken
from tokkit.errors import OptionError
from tokkit.pipeline.packing import Packed, Packer
from tokkit.pipeline.pooling import POOLINGS, pool
from tokkit.pipeline.sentences import BATCH_TOKENS, SentenceEncoder
from tokkit.pipeline.static import StaticEncoder, unknown_id
from tokkit.pipeline.static_folders import DEFAULT_MAX_LENGTH, options_of
from tokkit.threads import thread_count
from tokkit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Floats = NDArray[np.float32]
UNUSED = re.compile(rb"\[unused\d+\]|<\|?unused_?\d+\|?>")
"""Placeholder tokens in vocabularies, which no text contains."""


class _Vocabulary(NamedTuple):
    """The tokenizer of the static model, the packed tokens for the encoder, and the id of each."""

    tokenizer: Tokenizer
    packed: Packed
    ids: NDArray[np.int64]


def distill(
    encoder: SentenceEncoder,
    *,
    vocabulary: Sequence[str] | None = None,
    pca_dims: int | None = 256,
    sif_coefficient: float | None = 1e-4,
    pooling: str = "mean",
    max_length: int | None = DEFAULT_MAX_LENGTH,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> StaticEncoder:
    """Return a static model distilled from an encoder: a few hundred times as fast, at a lower quality.

    The encoder reads each token of its tokenizer alone, between special tokens; `pooling` ("mean", "cls", "max",
    "lasttoken" …) turns its states into one vector. PCA reduces the vectors to `pca_dims` columns (None: no PCA). Each
    row is then multiplied by a / (a + p), where a is the `sif_coefficient` (None: no weights) and p the probability of
    the token by Zipf's law, with the order of the ids as rank: frequent tokens carry little information (Arora, Liang,
    Ma: A simple but tough-to-beat baseline for sentence embeddings, 2017; the whole method: Model2Vec, Tulkens and van
    Dongen, 2024). Special and unused tokens have zeros.

    `vocabulary` is a list of words, the most frequent first, which are added as tokens after those of the tokenizer,
    with the vector of the whole word. The model reads the first `max_length` tokens of a text (None: all). `progress`
    is called with (tokens done, total).

    Raises OptionError for invalid options and for states that are not finite, TypeError if `encoder` is not a
    `SentenceEncoder`.

    >>> from tokkit import pipeline
    >>> encoder = pipeline.load("all-MiniLM-L6-v2/")  # doctest: +SKIP
    >>> static = distill(encoder)  # doctest: +SKIP
    >>> static.encode(["A cat naps.", "The kitten sleeps."]).shape  # doctest: +SKIP
    (2, 256)
    """
    if not isinstance(encoder, SentenceEncoder):
        raise TypeError(f"encoder is {type(encoder).__name__}; it must be a SentenceEncoder of tokkit.pipeline.load")
    _check(encoder, pca_dims, sif_coefficient, pooling)
    known = _vocabulary(encoder, vocabulary, thread_count(threads))
    with nn.threads(nn.current_threads() if threads is None else threads):
        made = _forward(encoder, known.packed, pooling, progress)
    bad = np.flatnonzero(~np.isfinite(made).all(axis=1))
    if len(bad):
        token = known.tokenizer.vocab[int(known.ids[bad[0]])].decode("utf-8", "replace")
        raise OptionError(f"the encoder's state of the token {token!r} is not finite; a weight of the model is not")
    made = principal_components(made, pca_dims)
    if sif_coefficient is not None:
        made *= zipf_weights(len(made), sif_coefficient)[:, None].astype(np.float32)
    vectors = np.zeros((known.tokenizer.n_ids, made.shape[1]), dtype=np.float32)
    vectors[known.ids] = made
    about = {
        "tokenizer_name": encoder.folder.name, "apply_pca": pca_dims, "sif_coefficient": sif_coefficient,
        "seq_length": 1_000_000, "pooling": pooling,
    }  # fmt: skip
    return StaticEncoder(known.tokenizer, vectors, options=options_of(known.tokenizer, max_length, about=about))


def _check(encoder: SentenceEncoder, pca_dims: int | None, sif_coefficient: float | None, pooling: str) -> None:
    whole = isinstance(pca_dims, int) and not isinstance(pca_dims, bool)
    if pca_dims is not None and not (whole and pca_dims >= 1):
        raise OptionError(f"pca_dims is {pca_dims!r}; it must be a number of columns, at least 1, or None for all")
    if sif_coefficient is not None and not (isinstance(sif_coefficient, float) and 0 < sif_coefficient < 1):
        raise OptionError(f"sif_coefficient is {sif_coefficient!r}; it must be between 0 and 1, or None")
    if pooling not in POOLINGS:
        raise OptionError(f"pooling is {pooling!r}; it must be one of {', '.join(POOLINGS)}")


def _vocabulary(encoder: SentenceEncoder, words: Sequence[str] | None, threads: int) -> _Vocabulary:
    definition = encoder.tokenizer.definition
    special = set(definition.special_tokens.values())
    tokens = [id_ for token, id_ in definition.vocab.items() if id_ not in special and not UNUSED.fullmatch(token)]
    ids = np.sort(np.array(tokens, dtype=np.int64))
    plain = Tokenizer(replace(definition, postprocessor=None, truncation=None, padding=None))
    packer = Packer(encoder.tokenizer, encoder.max_length)
    parts = [packer.pack(ids, np.arange(len(ids) + 1))]
    if words is not None:
        plain, new = _with_words(plain, words)
        ids = np.append(ids, np.array(list(new.values()), dtype=np.int64))
        parts.append(packer(list(new), special="text", threads=threads))
    return _Vocabulary(plain, _joined(parts), ids)


def _with_words(tokenizer: Tokenizer, words: Sequence[str]) -> tuple[Tokenizer, dict[str, int]]:
    """Return the tokenizer with words added as tokens, and the ids of the words that were not a single token before."""
    if isinstance(words, str):
        raise TypeError(f"vocabulary is the str {words!r}; it must be a list of words")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise OptionError(f"the vocabulary contains {word!r}; a word must be a str that is not blank")
    distinct = list(dict.fromkeys(word.strip() for word in words))
    ids, offsets = tokenizer.encode_batch(distinct, special="text")
    unknown = unknown_id(tokenizer)
    single = [b - a == 1 and ids[a] != unknown for a, b in itertools.pairwise(offsets.tolist())]
    new = [word for word, one in zip(distinct, single, strict=True) if not one and word not in tokenizer.vocab]
    added = [AddedToken(word, 0, single_word=True, normalized=True) for word in new]
    made = add_tokens(tokenizer, added).tokenizer
    return made, {word: made.vocab[word] for word in new}


def _joined(parts: Sequence[Packed]) -> Packed:
    starts = [parts[0].starts]
    for part in parts[1:]:
        starts.append(part.starts[1:] + starts[-1][-1])
    types = None
    if any(part.type_ids is not None for part in parts):
        types = np.concatenate([np.zeros_like(p.ids) if p.type_ids is None else p.type_ids for p in parts])
    join = np.concatenate
    return Packed(join([p.ids for p in parts]), join(starts), types, join([p.lengths for p in parts]))


def _forward(
    encoder: SentenceEncoder, packed: Packed, pooling: str, progress: Callable[[int, int], object] | None
) -> Floats:
    """Return the pooled states (n, dim) of packed tokens, each read alone."""
    n, inner = len(packed.lengths), encoder.encoder
    made, first = [], 0
    while first < n:
        end = int(np.searchsorted(packed.starts, packed.starts[first] + BATCH_TOKENS, side="right")) - 1
        end = min(max(end, first + 1), n)
        a, b = packed.starts[first], packed.starts[end]
        starts = packed.starts[first : end + 1] - a
        x = inner.embeddings(packed.ids[a:b], starts, None if packed.type_ids is None else packed.type_ids[a:b])
        inner.run(x, starts)
        made.append(pool(x, starts, [pooling]))
        first = end
        if progress is not None:
            progress(end, n)
    return np.concatenate(made)


def principal_components(x: ArrayLike, n_components: int | None) -> Floats:
    """Return the principal components of x (n, d): (n, n_components), float32, centred.

    None, or fewer rows than components, returns x unchanged; at most d components are kept. The sign of each column is
    chosen so that its largest value is positive.

    >>> principal_components([[0.0, 1.0], [0.0, 3.0], [0.0, 8.0]], 1).round(3).tolist()
    [[-3.0], [-1.0], [4.0]]
    """
    rows = np.asarray(x, dtype=np.float64)
    if n_components is None or len(rows) <= min(n_components, rows.shape[1]):
        return rows.astype(np.float32)
    rows = rows - rows.mean(0)
    # The covariance matrix is small, and has the same singular vectors as the rows.
    _, _, directions = np.linalg.svd(rows.T @ rows)
    made = rows @ directions[:n_components].T
    signs = np.sign(made[np.abs(made).argmax(0), np.arange(made.shape[1])])
    return np.asarray(made * np.where(signs == 0, 1, signs), dtype=np.float32)


def zipf_weights(n: int, sif_coefficient: float) -> NDArray[np.float64]:
    """Return the weights (n) of tokens in the order of their ranks: a / (a + p), with p by Zipf's law.

    >>> zipf_weights(3, 0.5).round(3).tolist()
    [0.52, 0.619, 0.684]
    """
    # Ranks from 2, as model2vec counts them.
    shares = 1 / np.arange(2, n + 2)
    return np.asarray(sif_coefficient / (sif_coefficient + shares / shares.sum()))
