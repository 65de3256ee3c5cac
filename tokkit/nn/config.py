"""`TransformerConfig`: the sizes and options of a transformer, and the names and shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit import renamed
from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.linear import check_dtype
from tokkit.nn.rope import RopeConfig

Shapes = dict[str, tuple[int, ...]]
GATES = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh"}
"""Activations of feed-forwards with a gate → the activation of the gate."""
FEED_FORWARDS = ("relu", "gelu", "gelu_tanh", "silu", *GATES)
NORMS = ("layer", "rms")


@renamed.keywords(kind="dtype")
@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The configuration of a stack of layers; weights are a separate mapping, and caches are separate state.

    `dim` columns per token; `n_heads` query heads of `head_dim` (dim / n_heads if None), `n_kv_heads` key and value
    heads (n_heads if None; 1 is multi-query attention); a feed-forward of `hidden_dim` (4 dim if None) with an
    `activation` of relu, gelu, gelu_tanh, silu, or with a gate swiglu, geglu, geglu_tanh. `norm` is "layer" or "rms";
    `pre_norm` puts it before each part, with one more at the end, instead of after each sum. `causal` and `window` are
    as in `scaled_dot_product_attention`; `cross` adds attention to a memory of `memory_dim` columns. Positions within
    attention: `rope`, or `alibi`, or a T5 bias of `relative_buckets`. `shared_layers`: one layer's weights serve all
    `n_layers`. `dtype`: the format of matrices, as in `Linear`.

    Invalid numbers raise OptionError, inconsistent sizes ShapeError.
    """

    dim: int
    n_heads: int
    n_layers: int = 1
    n_kv_heads: int | None = None
    head_dim: int | None = None
    hidden_dim: int | None = None
    activation: str = "gelu"
    norm: str = "layer"
    eps: float = 1e-5
    pre_norm: bool = False
    bias: bool = True
    causal: bool = False
    window: int | tuple[int | None, int | None] | None = None
    cross: bool = False
    memory_dim: int | None = None
    rope: RopeConfig | None = None
    alibi: bool = False
    relative_buckets: int = 0
    relative_distance: int = 128
    scale: float | None = None
    shared_layers: bool = False
    dtype: str = "float32"

    kind = renamed.attribute("kind", "dtype")

    def __post_init__(self) -> None:
        self._check_numbers()
        if self.head_dim is None and self.dim % self.n_heads:
            raise ShapeError(
                f"dim is {self.dim}; it must be a multiple of n_heads, {self.n_heads}, unless head_dim is given"
            )
        if self.n_kv_heads is not None and self.n_heads % self.n_kv_heads:
            raise ShapeError(f"{self.n_heads} query heads are not a multiple of {self.n_kv_heads} key heads")
        if self.activation not in FEED_FORWARDS:
            raise OptionError(f"activation is {self.activation!r}; it must be one of {', '.join(FEED_FORWARDS)}")
        if self.norm not in NORMS:
            raise OptionError(f"norm is {self.norm!r}; it must be 'layer' or 'rms'")
        if (self.rope is not None) + self.alibi + bool(self.relative_buckets) > 1:
            raise OptionError("rope, alibi and relative_buckets cannot be combined; give one of them")
        if self.rope is not None and self.rope.head_dim != self.head_size:
            raise ShapeError(f"rope.head_dim is {self.rope.head_dim}; it must be the head size, {self.head_size}")
        if self.rope is not None and self.rope.head_factors is not None:
            factors = len(self.rope.head_factors)
            if factors != self.n_heads:
                raise ShapeError(f"rope has {factors} head_factors; {self.n_heads} query heads need as many")
        check_dtype(self.dtype)

    def _check_numbers(self) -> None:
        # Stored as Python ints, because numpy's narrow types would overflow in products.
        made: dict[str, object] = {"eps": as_float("eps", self.eps, minimum=0), "window": _window(self.window)}
        for name in ("dim", "n_heads", "n_layers", "relative_distance"):
            made[name] = as_int(name, getattr(self, name), minimum=1)
        made["relative_buckets"] = as_int("relative_buckets", self.relative_buckets, minimum=0)
        for name in ("n_kv_heads", "head_dim", "hidden_dim", "memory_dim"):
            if getattr(self, name) is not None:
                made[name] = as_int(name, getattr(self, name), minimum=1)
        if self.scale is not None:
            made["scale"] = as_float("scale", self.scale)
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def head_size(self) -> int:
        """Columns of a head."""
        return self.dim // self.n_heads if self.head_dim is None else self.head_dim

    @property
    def kv_heads(self) -> int:
        """Key and value heads."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def hidden(self) -> int:
        """Hidden columns of the feed-forward."""
        return 4 * self.dim if self.hidden_dim is None else self.hidden_dim

    def attention_shapes(self, memory_dim: int | None = None) -> Shapes:
        """Return name → shape of the weights of one attention: q, k, v, o, each with .weight and .bias.

        >>> TransformerConfig(dim=8, n_heads=2, n_kv_heads=1, bias=False).attention_shapes()
        {'q.weight': (8, 8), 'k.weight': (4, 8), 'v.weight': (4, 8), 'o.weight': (8, 8)}
        """
        q, kv, source = self.n_heads * self.head_size, self.kv_heads * self.head_size, memory_dim or self.dim
        shapes: Shapes = {}
        for name, rows, columns in (("q", q, self.dim), ("k", kv, source), ("v", kv, source), ("o", self.dim, q)):
            shapes[f"{name}.weight"] = (rows, columns)
            if self.bias:
                shapes[f"{name}.bias"] = (rows,)
        return shapes

    def feed_forward_shapes(self) -> Shapes:
        """Return name → shape of up, down, and the gate if there is one."""
        names = ("gate", "up") if self.activation in GATES else ("up",)
        shapes: Shapes = {}
        for name in names:
            shapes[f"{name}.weight"] = (self.hidden, self.dim)
            if self.bias:
                shapes[f"{name}.bias"] = (self.hidden,)
        shapes["down.weight"] = (self.dim, self.hidden)
        if self.bias:
            shapes["down.bias"] = (self.dim,)
        return shapes

    def norm_shapes(self) -> Shapes:
        """Return name → shape of a norm: weight, and bias for layer norm."""
        return {"weight": (self.dim,), "bias": (self.dim,)} if self.norm == "layer" else {"weight": (self.dim,)}

    def layer_shapes(self) -> Shapes:
        """Return name → shape of one layer: attention., cross., feed_forward., a norm of each (cross_norm.)."""
        parts = {"attention": self.attention_shapes(), "attention_norm": self.norm_shapes()}
        if self.cross:
            parts |= {"cross": self.attention_shapes(self.memory_dim), "cross_norm": self.norm_shapes()}
        parts |= {"feed_forward": self.feed_forward_shapes(), "feed_forward_norm": self.norm_shapes()}
        return {f"{part}.{name}": shape for part, shapes in parts.items() for name, shape in shapes.items()}

    def shapes(self) -> Shapes:
        """Return name → shape of the whole stack: layers.0.…, norm. with pre_norm, relative. with buckets."""
        made: Shapes = {}
        for i in range(1 if self.shared_layers else self.n_layers):
            made |= {f"layers.{i}.{name}": shape for name, shape in self.layer_shapes().items()}
        if self.pre_norm:
            made |= {f"norm.{name}": shape for name, shape in self.norm_shapes().items()}
        if self.relative_buckets:
            made["relative.weight"] = (self.relative_buckets, self.n_heads)
        return made


def _window(window: object) -> object:
    # A number includes the token itself and is at least 1; the sides of a pair do not, and may be 0.
    if window is None:
        return None
    if isinstance(window, (tuple, list)):
        if len(window) != 2:
            raise OptionError(f"window is {window!r}; a pair must have two sides, left and right")
        return tuple(None if side is None else as_int("each side of window", side, minimum=0) for side in window)
    return as_int("window", window, minimum=1)
