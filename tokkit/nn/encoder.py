"""`TextEncoder`: BERT and similar models, from token ids of packed sequences to hidden states.

`Encoder` of `tokkit.nn.layers` runs any configuration, layer by layer. This class runs only post-norm encoders, but all
layers in one call of the core, which is faster for short sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import renamed
from tokkit._core.nn import rows as kernels
from tokkit._core.nn.encoder import PackedEncoder
from tokkit._core.nn.linear import PackedLinear
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, Named, current_threads, floats, ids_of, take
from tokkit.nn.attention import attention
from tokkit.nn.config import Shapes, TransformerConfig
from tokkit.nn.embedding import looked_up
from tokkit.nn.linear import Linear
from tokkit.nn.matrices import Matrices
from tokkit.nn.positions import RelativeBias

FUSED = ("relu", "gelu", "gelu_tanh", "silu")
TABLES = (
    "word.weight", "position.weight", "type.weight", "norm.weight", "norm.bias", "project.weight", "project.bias",
)  # fmt: skip
PRODUCTS = {
    "qkv": ("attention.q", "attention.k", "attention.v"), "o": ("attention.o",), "up": ("feed_forward.up",),
    "down": ("feed_forward.down",),
}  # fmt: skip
"""Name of a packed matrix of a layer → the weights stacked in it."""
LAYER = ("attention_norm.weight", "attention_norm.bias", "feed_forward_norm.weight", "feed_forward_norm.bias")


def check_config(config: TransformerConfig) -> None:
    """Raise OptionError unless the configuration is a bidirectional post-norm encoder with layer norms."""
    c = config
    if c.pre_norm or c.causal or c.cross or c.norm != "layer" or c.activation not in FUSED:
        raise OptionError("a packed encoder must be post-norm and bidirectional, with layer norms and no gates")
    if c.kv_heads != c.n_heads or c.head_size * c.n_heads != c.dim or c.window is not None or not c.bias:
        raise OptionError(
            "a packed encoder must have biases, one key head per query head, and heads that fill its width"
        )
    if c.rope is not None or c.alibi or c.scale is not None or c.shared_layers:
        raise OptionError(
            "a packed encoder must have learned or relative positions, and separate weights in each layer"
        )


def embedding_shapes(
    config: TransformerConfig, *, vocab_size: int, positions: int, types: int, embedding_dim: int | None = None
) -> Shapes:
    """Return name → shape of the tables of embeddings, and of the norm of their sum.

    With `types` 0 there is no type table.

    If `embedding_dim` differs from the columns of the layers, a matrix projects the sum to these (ELECTRA-small).

    >>> sorted(embedding_shapes(TransformerConfig(dim=8, n_heads=2), vocab_size=9, positions=5, types=0))
    ['norm.bias', 'norm.weight', 'position.weight', 'word.weight']
    """
    dim = config.dim if embedding_dim is None else embedding_dim
    made: Shapes = {"word.weight": (vocab_size, dim), "position.weight": (positions, dim)}
    if types:
        made["type.weight"] = (types, dim)
    if dim != config.dim:
        made |= {"project.weight": (config.dim, dim), "project.bias": (config.dim,)}
    return made | {"norm.weight": (dim,), "norm.bias": (dim,)}


def checked_packed(
    ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the ids, starts and types of packed sequences as int64; ShapeError if they are inconsistent."""
    flat, where = ids_of(ids), ids_of(starts, "starts")
    if flat.ndim != 1 or where.ndim != 1 or not len(where) or where[0] or where[-1] != len(flat):
        raise ShapeError(
            f"ids have shape {flat.shape}; starts are {where[:5]} …; they must ascend from 0 to the number of ids"
        )
    if (np.diff(where) < 0).any():
        raise ShapeError("starts descend; they must ascend from 0 to the number of ids")
    kinds = None if type_ids is None else ids_of(type_ids, "type_ids")
    if kinds is not None and kinds.shape != flat.shape:
        raise ShapeError(f"ids have shape {flat.shape} and type_ids {kinds.shape}; they must be equal")
    return flat, where, kinds


class Embeddings:
    """The norm of a token's vector, its position's and its type's, for packed ids, one sequence after another.

    Weights: see `embedding_shapes`. The table of words may have any float dtype and is not copied: of a mapped file,
    only the rows that are looked up are read. The position of a token is its number in its sequence plus
    `position_offset`. With `padding_idx`, as in RoBERTa, tokens of that id are not counted and have the position
    `padding_idx`. project.weight (dim, columns of the tables) and project.bias map the result to `dim` columns, if they
    are there.
    """

    @renamed.keywords(first="position_offset", skipped="padding_idx")
    def __init__(
        self,
        weights: Mapping[str, Any],
        *,
        dim: int,
        eps: float,
        position_offset: int = 0,
        padding_idx: int | None = None,
    ) -> None:
        self.words: NDArray[Any] = weights["word.weight"]
        self._positions = np.array(floats(weights["position.weight"], "position.weight"))
        self._types = None
        if "type.weight" in weights:
            self._types = np.array(floats(weights["type.weight"], "type.weight"))
            # The type is nearly always 0: its vector is added here once.
            self._positions += self._types[0]
        self._project = Linear.of(weights, ("project",)) if "project.weight" in weights else None
        if self._project is not None:
            if self._project.shape[0] != dim:
                raise ShapeError(f"project.weight has {self._project.shape[0]} rows; it must have {dim}")
            dim = self._project.shape[1]
        self._norm = np.array(take(weights, "norm.weight", (dim,))), np.array(take(weights, "norm.bias", (dim,)))
        self._eps, self._position_offset, self._padding_idx = eps, position_offset, padding_idx

    most = renamed.attribute("most", "max_length")

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of a sequence."""
        return len(self._positions) - self._position_offset

    def __call__(
        self, ids: NDArray[np.int64], starts: NDArray[np.int64], type_ids: NDArray[np.int64] | None = None
    ) -> Floats:
        """Return (total, dim); an id or type outside its table raises IndexError, too long a sequence ShapeError."""
        lengths = np.diff(starts)
        if lengths.max(initial=0) > self.max_length:
            raise ShapeError(f"a sequence has {lengths.max()} tokens; it must have at most {self.max_length}")
        x = looked_up(self.words, ids)
        places = np.empty_like(x)
        rows = position_ids(ids, starts, position_offset=self._position_offset, padding_idx=self._padding_idx)
        kernels.gather(self._positions, rows, places, threads=current_threads())
        if type_ids is not None:
            if self._types is None:
                raise OptionError("this model has no token types; leave type_ids out")
            if type_ids.size and not 0 <= type_ids.min() <= type_ids.max() < len(self._types):
                raise IndexError(
                    f"token types are {type_ids.min()} to {type_ids.max()}; there are {len(self._types)}, from 0"
                )
            places += (self._types - self._types[0])[type_ids]
        weight, bias = self._norm
        kernels.norm(x, x, weight, bias, eps=self._eps, residual=places, threads=current_threads())
        return x if self._project is None else self._project(x)

    def looked_up(self, ids: NDArray[np.int64]) -> Floats:
        """Return the vectors (n, dim) of ids (n) from the table of words, projected if layers are wider."""
        made = looked_up(self.words, ids)
        return made if self._project is None else self._project(made)


def position_ids(
    ids: NDArray[np.int64], starts: NDArray[np.int64], *, position_offset: int = 0, padding_idx: int | None = None
) -> NDArray[np.int64]:
    """Return the row in the table of positions of each of the packed ids (total): see `Embeddings`.

    >>> position_ids(np.array([7, 7, 7, 7, 7]), np.array([0, 3, 5])).tolist()
    [0, 1, 2, 0, 1]
    """
    lengths = np.diff(starts)
    if padding_idx is None:
        return np.arange(len(ids)) - np.repeat(starts[:-1] - position_offset, lengths)
    counted = ids != padding_idx
    before = np.concatenate([[0], np.cumsum(counted)])
    places: NDArray[np.int64] = before[1:] - np.repeat(before[starts[:-1]] - position_offset + 1, lengths)
    places[~counted] = padding_idx
    return places


class TextEncoder:
    """An encoder from ids to hidden states: `Embeddings` and the layers of a configuration. Immutable.

    Weights: those of `embedding_shapes` with the prefix "embeddings.", and those of `TransformerConfig.shapes`.

    >>> from tokkit.nn import initial
    >>> config = TransformerConfig(dim=8, n_heads=2, n_layers=2)
    >>> tables = embedding_shapes(config, vocab_size=9, positions=5, types=2)
    >>> shapes = {f"embeddings.{name}": shape for name, shape in tables.items()} | config.shapes()
    >>> encoder = TextEncoder(config, initial(shapes, seed=0))
    >>> encoder([1, 4, 2, 1, 2], [0, 3, 5]).shape
    (5, 8)
    """

    @renamed.keywords(first="position_offset", skipped="padding_idx")
    def __init__(
        self,
        config: TransformerConfig,
        weights: Mapping[str, Any],
        *,
        position_offset: int = 0,
        padding_idx: int | None = None,
    ) -> None:
        check_config(config)
        self.config = config
        # Looked up by name: `weights` may convert arrays on access.
        there = {name: weights[f"embeddings.{name}"] for name in TABLES
                 if name == "word.weight" or f"embeddings.{name}" in weights}  # fmt: skip
        tables = Named(there, "embeddings.")
        self.embeddings = Embeddings(
            tables, dim=config.dim, eps=config.eps, position_offset=position_offset, padding_idx=padding_idx
        )
        self._qkv: list[Linear] = []
        self._relative: RelativeBias | None = None
        if config.relative_buckets:
            self._relative = RelativeBias(
                {"weight": np.array(take(weights, "relative.weight", (config.relative_buckets, config.n_heads)))},
                n_heads=config.n_heads, n_buckets=config.relative_buckets, max_distance=config.relative_distance,
            )  # fmt: skip
        matrices = Matrices(weights, config.dtype)
        layers = [self._layer(weights, matrices, i) for i in range(config.n_layers)]
        self._encoder = PackedEncoder(
            layers, heads=config.n_heads, dim=config.dim, activation=config.activation, eps=config.eps
        )
        self.matrices: dict[str, PackedLinear] = matrices.packed
        """Name of a packed matrix → the matrix; "layers.0.qkv" for example."""
        self.sources: dict[str, tuple[str, ...]] = matrices.sources
        """Name of a packed matrix → names of the weights in it."""

    def _layer(self, weights: Mapping[str, Any], matrices: Matrices, i: int) -> list[Any]:
        prefix, shapes, made = f"layers.{i}.", self.config.layer_shapes(), []
        for name, parts in PRODUCTS.items():
            if prefix + name not in getattr(weights, "ready", ()):
                for part in parts:
                    take(weights, f"{prefix}{part}.bias", shapes[f"{part}.bias"])
            of = {prefix + part: shapes[f"{part}.weight"] for part in parts}
            made.append(matrices.pack(prefix + name, of))
        self._qkv.append(Linear.over(made[0]))
        return [*made, *(np.array(take(weights, prefix + name, shapes[name])) for name in LAYER)]

    def __call__(
        self, ids: ArrayLike, starts: ArrayLike, type_ids: ArrayLike | None = None, *, states: Floats | None = None
    ) -> Floats:
        """Return (total, dim), the last layer's output for ids (total): sequence i is starts[i] … starts[i + 1].

        `states` (n_layers, total, dim) receives the output of each layer. `type_ids` (total) are 0 if None.
        """
        flat, where, kinds = checked_packed(ids, starts, type_ids)
        x = self.embeddings(flat, where, kinds)
        self.run(x, where, states=states)
        return x

    def run(self, x: Floats, starts: NDArray[np.int64], *, states: Floats | None = None) -> None:
        """Run all layers on x (total, dim), in place."""
        options: dict[str, Any] = {}
        if self._relative is not None:
            longest = int(np.diff(starts).max(initial=0))
            bias = self._relative(longest, longest)
            options = {"by_distance": bias.table, "zero": bias.zero}
        self._encoder.run(x, starts, states=states, threads=current_threads(), **options)

    def attention_weights(self, layer: int, x: Floats) -> Floats:
        """Return the attention weights (n_heads, T, T) of a layer for its input x (T, dim), one sequence."""
        c = self.config
        rows = self._qkv[layer](x).reshape(len(x), 3, c.n_heads, c.head_size).transpose(1, 2, 0, 3)
        bias = None if self._relative is None else self._relative(len(x), len(x))
        weights: Floats = attention(*(part[None] for part in rows), bias=bias, return_weights=True)[1]
        alone: Floats = weights[0]
        return alone
