"""`DecoderConfig`: the configuration of a language model, and the shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.config import GATES, Shapes, TransformerConfig
from tokkit.nn.positions import relative_buckets
from tokkit.nn.rope import RopeConfig

MOST_EXPERTS = 4096
"""In one layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsConfig:
    """A feed-forward of `n` experts of `hidden_dim` columns: a router chooses `top` of them for each token.

    Their weights are the softmax over all experts; with `renormalize` the weights of the chosen experts are scaled to
    sum 1. A shared expert of `shared_dim` columns, unless that is 0, is applied to all tokens, times the sigmoid of a
    gate. The layers in `dense` have the usual feed-forward.
    """

    n: int
    top: int
    hidden_dim: int
    renormalize: bool = True
    shared_dim: int = 0
    dense: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("n", "top", "hidden_dim"):
            object.__setattr__(self, name, as_int(name, getattr(self, name), minimum=1))
        object.__setattr__(self, "shared_dim", as_int("shared_dim", self.shared_dim, minimum=0))
        if self.n > MOST_EXPERTS:  # before anything is made for each
            raise OptionError(f"n is {self.n}; a layer may have at most {MOST_EXPERTS} experts")
        if self.top > self.n:
            raise OptionError(f"top is {self.top}; there are {self.n} experts to choose from")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """The configuration of a language model: layers, a table of tokens and a head over it.

    `layers` is the configuration of all layers, with rope, ALiBi, relative buckets or neither, and with `cross` for the
    decoder of an encoder. Without `causal` they are those of an encoder: whole texts, no caches. Biases are used if the
    weights have them, whatever its `bias` is. Further fields:

    - `windows`: the window of each layer in tokens, the token itself included, or None for full attention (alternating
    in Gemma);
    - `local_rope`: the rope of layers with a window, if it differs (Gemma 3);
    - `positions`: rows of the learned position table (GPT-2), after `position_offset` unused rows (BART);
    - `types`: rows of the table of token types (models like BERT);
    - `embedding_norm`: a norm of the embeddings (BLOOM);
    - `embedding_scale`: the factor of embeddings (Gemma: √dim);
    - `qk_norm`: a norm of each head's queries and keys, RMS (Qwen 3, Gemma 3);
    - `part_norms`: a norm of the output of a part, before the residual addition (Gemma 3);
    - `norm_bias`: whether layer norms have biases, and `first_norm`: whether the first layer's attention has a norm
      before it (ModernBERT has neither);
    - `parallel`: attention and feed-forward read the same x (GPT-NeoX);
    - `tied`: the head is the table of tokens; `head`: whether there is one at all;
    - `cap`, `logit_cap`: scores of attention, and logits, are cap · tanh(score / cap), unless it is 0 (Gemma 2);
    - `head_scale`: the factor of hidden states before the head (T5: 1 / √dim);
    - `experts`: the mixture of experts in feed-forwards (Mixtral).

    Inconsistent sizes raise ShapeError, other invalid settings OptionError.
    """

    layers: TransformerConfig
    vocab_size: int
    windows: tuple[int | None, ...] | None = None
    local_rope: RopeConfig | None = None
    positions: int = 0
    position_offset: int = 0
    types: int = 0
    embedding_norm: bool = False
    embedding_scale: float = 1.0
    qk_norm: bool = False
    part_norms: bool = False
    norm_bias: bool = True
    first_norm: bool = True
    parallel: bool = False
    tied: bool = False
    head: bool = True
    cap: float = 0.0
    logit_cap: float = 0.0
    head_scale: float = 1.0
    experts: ExpertsConfig | None = None

    def __post_init__(self) -> None:
        made: dict[str, object] = {
            "vocab_size": as_int("vocab_size", self.vocab_size, minimum=1),
            "positions": as_int("positions", self.positions, minimum=0),
            "position_offset": as_int("position_offset", self.position_offset, minimum=0),
            "types": as_int("types", self.types, minimum=0),
            "embedding_scale": as_float("embedding_scale", self.embedding_scale),
            "head_scale": as_float("head_scale", self.head_scale),
            "cap": as_float("cap", self.cap, minimum=0),
            "logit_cap": as_float("logit_cap", self.logit_cap, minimum=0),
        }
        c = self.layers
        if c.shared_layers:
            raise OptionError("the layers have weights of their own: shared_layers is False")
        if not c.pre_norm and (self.parallel or self.part_norms or self.experts is not None):
            raise OptionError("parallel, part_norms and experts are for layers with pre_norm=True")
        if not c.pre_norm and not self.first_norm:
            raise OptionError("first_norm is False, which is for layers with pre_norm=True")
        if self.part_norms and self.experts is not None:
            raise OptionError("part_norms are for feed-forwards without experts")
        if c.window is not None:
            raise OptionError(f"window is {c.window!r} in the layers; give windows, one for each layer")
        if self.windows is not None:
            if len(self.windows) != c.n_layers:
                raise ShapeError(f"windows has {len(self.windows)} entries for {c.n_layers} layers")
            made["windows"] = tuple(None if w is None else as_int("a window", w, minimum=1) for w in self.windows)
        if self.local_rope is not None and (c.rope is None or self.local_rope.head_dim != c.head_size):
            raise ShapeError(f"local_rope needs a rope, and heads of {c.head_size} columns")
        if c.relative_buckets:  # must be enough for their distance
            relative_buckets(
                0, n_buckets=c.relative_buckets, max_distance=c.relative_distance, bidirectional=not c.causal
            )
        for rope in (c.rope, self.local_rope):
            if rope is not None and rope.head_factors is not None:
                raise OptionError("a decoder's rope has no head_factors")
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def gated(self) -> bool:
        """Whether the feed-forward has a gate."""
        return self.layers.activation in GATES

    def window(self, layer: int) -> int | None:
        """Return the window of a layer in tokens, the token itself included; None for all earlier tokens."""
        return None if self.windows is None else self.windows[layer]

    def has_experts(self, layer: int) -> bool:
        """Return whether the feed-forward of a layer is made of experts."""
        return self.experts is not None and layer not in self.experts.dense

    def norm_names(self, layer: int) -> dict[str, int]:
        """Return the norms of a layer and their numbers of columns."""
        c = self.layers
        made = {"attention_norm": c.dim} if layer or self.first_norm else {}
        made |= {"feed_forward_norm": c.dim} | ({"cross_norm": c.dim} if c.cross else {})
        if self.qk_norm:
            made |= {"q_norm": c.head_size, "k_norm": c.head_size}
        if self.part_norms:
            made |= {"attended_norm": c.dim, "forwarded_norm": c.dim}
        return made

    def shapes(self) -> Shapes:
        """Return name → shape of all weights that a model must have; biases of matrices are optional.

        >>> layers = TransformerConfig(dim=8, n_heads=2, norm="rms", pre_norm=True, causal=True)
        >>> [name for name in DecoderConfig(layers=layers, vocab_size=9, tied=True).shapes() if "norm" in name]
        ['layers.0.attention_norm.weight', 'layers.0.feed_forward_norm.weight', 'norm.weight']
        """
        c = self.layers
        made: Shapes = {"word.weight": (self.vocab_size, c.dim)}
        if self.positions:
            made["position.weight"] = (self.position_offset + self.positions, c.dim)
        if self.types:
            made["type.weight"] = (self.types, c.dim)
        if self.embedding_norm:
            made |= self._norm("embedding_norm", c.dim)
        for i in range(c.n_layers):
            made |= {f"layers.{i}.{name}": shape for name, shape in self.matrices(i).items()}
            for norm, columns in self.norm_names(i).items():
                made |= self._norm(f"layers.{i}.{norm}", columns)
        if c.relative_buckets:
            made["relative.weight"] = (c.relative_buckets, c.n_heads)
        if c.pre_norm:
            made |= self._norm("norm", c.dim)
        if self.head and not self.tied:
            made["head.weight"] = (self.vocab_size, c.dim)
        return made

    def matrices(self, layer: int) -> Shapes:
        """Return name → shape of the matrices of a layer; those of attention to an encoder's output are `cross`."""
        c, experts = self.layers, self.experts
        made = {f"attention.{name}": shape for name, shape in c.attention_shapes().items()}
        if c.cross:
            made |= {f"cross.{name}": shape for name, shape in c.attention_shapes(c.memory_dim).items()}
        if experts is None or layer in experts.dense:
            made |= {f"feed_forward.{name}": shape for name, shape in c.feed_forward_shapes().items()}
        else:
            made["router.weight"] = (experts.n, c.dim)
            each = replace(c, hidden_dim=experts.hidden_dim).feed_forward_shapes()
            made |= {f"experts.{i}.{name}": shape for i in range(experts.n) for name, shape in each.items()}
            if experts.shared_dim:
                shared = replace(c, hidden_dim=experts.shared_dim).feed_forward_shapes()
                made |= {f"shared.{name}": shape for name, shape in shared.items()}
                made["shared_gate.weight"] = (1, c.dim)
        return {name: shape for name, shape in made.items() if name.endswith("weight")}

    def _norm(self, name: str, columns: int) -> Shapes:
        made: Shapes = {f"{name}.weight": (columns,)}
        return made | {f"{name}.bias": (columns,)} if self.layers.norm == "layer" and self.norm_bias else made
