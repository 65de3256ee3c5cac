"""Sizes and choices of a transformer in, one immutable description out; and the names and shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.errors import OptionError, ShapeError
from tokkit.nn.linear import check_kind
from tokkit.nn.rope import RopeConfig

Shapes = dict[str, tuple[int, ...]]
FEED_FORWARDS = ("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu")
NORMS = ("layer", "rms")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """What a stack of layers is; weights are a mapping beside it, and caches are state beside both.

    `dim` columns a token; `n_heads` query heads of `head_dim` (dim / n_heads where None), `n_kv_heads` key and value
    heads (n_heads where None; 1 is multi-query attention); a feed-forward of `hidden_dim` (4 dim where None) with an
    `activation` of relu, gelu, gelu_tanh, silu, swiglu or geglu (the last two with a gate). `norm` is "layer" or
    "rms"; `pre_norm` puts it before each part, with one more at the end, instead of behind each sum. `causal` lets a
    token see itself and earlier ones, `window` as in `scaled_dot_product_attention`; `cross` adds attention to a
    memory of `memory_dim` columns. Positions within attention: `rope`, or `alibi`, or a T5 bias of `relative_buckets`.
    `shared_layers`: one layer's weights serve all `n_layers`. `kind`: how matrices are stored, as in `Linear`.
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
    kind: str = "float32"

    def __post_init__(self) -> None:
        for name in ("dim", "n_heads", "n_layers"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is at least 1, not {getattr(self, name)}")
        if self.head_dim is None and self.dim % self.n_heads:
            raise ShapeError(f"dim {self.dim} is no multiple of {self.n_heads} heads; give head_dim, or change one")
        if self.n_kv_heads is not None and (self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads):
            raise ShapeError(f"{self.n_heads} query heads are no multiple of {self.n_kv_heads} key heads")
        if self.activation not in FEED_FORWARDS:
            raise OptionError(f"activation is one of {', '.join(FEED_FORWARDS)}, not {self.activation!r}")
        if self.norm not in NORMS:
            raise OptionError(f"norm is 'layer' or 'rms', not {self.norm!r}")
        if (self.rope is not None) + self.alibi + bool(self.relative_buckets) > 1:
            raise OptionError("rope, alibi and relative_buckets are three ways to tell positions; choose one")
        if self.rope is not None and self.rope.head_dim != self.head_size:
            raise ShapeError(f"rope is for heads of {self.rope.head_dim}; these have {self.head_size}")
        check_kind(self.kind)

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
        """Columns of the feed-forward's middle."""
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
        """Return name → shape of up, down, and gate where the activation has one."""
        names = ("gate", "up") if self.activation in ("swiglu", "geglu") else ("up",)
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
        """Return name → shape of the whole stack: layers.0.… and so on, norm. with pre_norm, relative. with buckets."""
        made: Shapes = {}
        for i in range(1 if self.shared_layers else self.n_layers):
            made |= {f"layers.{i}.{name}": shape for name, shape in self.layer_shapes().items()}
        if self.pre_norm:
            made |= {f"norm.{name}": shape for name, shape in self.norm_shapes().items()}
        if self.relative_buckets:
            made["relative.weight"] = (self.relative_buckets, self.n_heads)
        return made
