"""`DecoderConfig`: what a decoder-only language model has besides its layers, and the shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.errors import OptionError, ShapeError
from tokkit.nn.checks import as_float, as_int
from tokkit.nn.config import GATES, Shapes, TransformerConfig
from tokkit.nn.rope import RopeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """The configuration of a causal language model: pre-norm layers, a table of tokens and a head over it.

    `layers` is the configuration of all layers: `pre_norm` and `causal`, with rope, ALiBi or neither. Weights may have
    biases or not, whatever its `bias` says. Besides:

    - `windows`: for each layer how many tokens one sees, itself included, or None for all (Gemma's alternate);
    - `local_rope`: the rope of layers that have a window, where it is another one (Gemma 3);
    - `positions`: rows of a learned table that is added (GPT-2); `embedding_norm`: a norm of the embeddings (BLOOM);
    - `embedding_scale`: what embeddings are multiplied by (Gemma: √dim);
    - `qk_norm`: a norm of each head's queries and keys, RMS (Qwen 3, Gemma 3);
    - `part_norms`: a norm of what a part gives, before it is added (Gemma 3);
    - `parallel`: attention and feed-forward read the same x (GPT-NeoX);
    - `tied`: the head is the table of tokens.

    Sizes that do not fit each other raise ShapeError, other settings that cannot work OptionError.
    """

    layers: TransformerConfig
    vocab_size: int
    windows: tuple[int | None, ...] | None = None
    local_rope: RopeConfig | None = None
    positions: int = 0
    embedding_norm: bool = False
    embedding_scale: float = 1.0
    qk_norm: bool = False
    part_norms: bool = False
    parallel: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        made: dict[str, object] = {
            "vocab_size": as_int("vocab_size", self.vocab_size, minimum=1),
            "positions": as_int("positions", self.positions, minimum=0),
            "embedding_scale": as_float("embedding_scale", self.embedding_scale),
        }
        c = self.layers
        if not (c.pre_norm and c.causal) or c.cross or c.shared_layers or c.relative_buckets:
            raise OptionError("a decoder's layers have pre_norm=True and causal=True, and weights of their own")
        if c.window is not None:
            raise OptionError(f"window is {c.window!r} in the layers; give windows, one for each layer")
        if self.windows is not None:
            if len(self.windows) != c.n_layers:
                raise ShapeError(f"windows has {len(self.windows)} entries for {c.n_layers} layers")
            made["windows"] = tuple(None if w is None else as_int("a window", w, minimum=1) for w in self.windows)
        if self.local_rope is not None and (c.rope is None or self.local_rope.head_dim != c.head_size):
            raise ShapeError(f"local_rope is beside a rope, for heads of {c.head_size} columns as that one")
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
        """Return how many tokens one sees in a layer, itself included; None for all earlier ones."""
        return None if self.windows is None else self.windows[layer]

    def norm_names(self) -> dict[str, int]:
        """Return the norms of one layer and how many columns each has."""
        c = self.layers
        made = {"attention_norm": c.dim, "feed_forward_norm": c.dim}
        if self.qk_norm:
            made |= {"q_norm": c.head_size, "k_norm": c.head_size}
        if self.part_norms:
            made |= {"attended_norm": c.dim, "forwarded_norm": c.dim}
        return made

    def shapes(self) -> Shapes:
        """Return name → shape of all weights that a model must have; biases of matrices may be there besides.

        >>> layers = TransformerConfig(dim=8, n_heads=2, norm="rms", pre_norm=True, causal=True)
        >>> [name for name in DecoderConfig(layers=layers, vocab_size=9, tied=True).shapes() if "norm" in name]
        ['layers.0.attention_norm.weight', 'layers.0.feed_forward_norm.weight', 'norm.weight']
        """
        c = self.layers
        made: Shapes = {"word.weight": (self.vocab_size, c.dim)}
        if self.positions:
            made["position.weight"] = (self.positions, c.dim)
        if self.embedding_norm:
            made |= self._norm("embedding_norm", c.dim)
        for i in range(c.n_layers):
            matrices = {f"attention.{name}": shape for name, shape in c.attention_shapes().items()}
            matrices |= {f"feed_forward.{name}": shape for name, shape in c.feed_forward_shapes().items()}
            made |= {f"layers.{i}.{name}": shape for name, shape in matrices.items() if name.endswith("weight")}
            for norm, columns in self.norm_names().items():
                made |= self._norm(f"layers.{i}.{norm}", columns)
        made |= self._norm("norm", c.dim)
        if not self.tied:
            made["head.weight"] = (self.vocab_size, c.dim)
        return made

    def _norm(self, name: str, columns: int) -> Shapes:
        made: Shapes = {f"{name}.weight": (columns,)}
        return made | {f"{name}.bias": (columns,)} if self.layers.norm == "layer" else made
