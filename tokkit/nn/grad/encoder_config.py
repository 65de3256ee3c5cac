"""`EncoderConfig`: the configuration of an encoder to train, and the shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tokkit.checks import as_int
from tokkit.errors import OptionError
from tokkit.nn.config import Shapes, TransformerConfig
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.grad.attention import AttentionOptions
from tokkit.nn.rope import RopeConfig

TABLES = ("word", "position", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """The configuration of an encoder to train: its layers, and the sizes of its tables.

    `layers` can be those of BERT (post-norm, with biases), or those of a decoder, causal or not: pre-norm, gated, with
    RoPE or T5's relative buckets. Tables: `positions` rows of trained positions, or 0; with `types` 0 there is no table
    of token types. `position_offset` and `padding_idx` are as in `TextEncoder`. If the tables have `embedding_dim`
    columns instead of those of the layers, a matrix projects their sum (ELECTRA-small). `max_tokens` limits the tokens
    of a sequence where no table does. `biases` are the matrices of a layer with a bias, such as "attention.q"; None:
    all or none of them, as `layers.bias` says. The other fields are as in `DecoderConfig`.

    Training supports no experts, ALiBi, caps or parallel parts: they raise OptionError.

    >>> config = EncoderConfig(layers=TransformerConfig(dim=8, n_heads=2), vocab_size=9, positions=5)
    >>> config.shapes()["embeddings.word.weight"], config.max_length
    ((9, 8), 5)
    """

    layers: TransformerConfig
    vocab_size: int
    positions: int = 0
    types: int = 0
    position_offset: int = 0
    padding_idx: int | None = None
    embedding_dim: int | None = None
    max_tokens: int | None = None
    biases: tuple[str, ...] | None = None
    windows: tuple[int | None, ...] | None = None
    local_rope: RopeConfig | None = None
    embedding_norm: bool = True
    embedding_scale: float = 1.0
    qk_norm: bool = False
    part_norms: bool = False
    norm_bias: bool = True
    first_norm: bool = True

    def __post_init__(self) -> None:
        as_int("vocab_size", self.vocab_size, minimum=1)
        as_int("positions", self.positions, minimum=0)
        c = self.layers
        refused = {"cross": c.cross, "alibi": c.alibi, "shared_layers": c.shared_layers}
        _refuse([name for name, there in refused.items() if there])
        if self.positions and self.positions <= self.position_offset:
            raise OptionError(
                f"positions is {self.positions}; it must be above position_offset, {self.position_offset}"
            )
        _ = self.decoder  # raises for settings that do not fit

    @classmethod
    def of_decoder(
        cls, config: DecoderConfig, *, max_tokens: int | None = None, biases: tuple[str, ...] = ()
    ) -> EncoderConfig:
        """Return the configuration to train the layers of a `TextDecoder`; OptionError for what is not supported."""
        refused = {"experts": config.experts is not None, "parallel": config.parallel, "cap": bool(config.cap)}
        _refuse([name for name, there in refused.items() if there])
        same = {field.name: getattr(config, field.name) for field in fields(cls) if hasattr(config, field.name)}
        if config.positions:
            same["positions"] = config.positions + config.position_offset
        return cls(**same, max_tokens=max_tokens, biases=biases)

    @property
    def decoder(self) -> DecoderConfig:
        """The configuration of a `TextDecoder` with the same layers and tables."""
        same = {
            field.name: getattr(self, field.name) for field in fields(DecoderConfig)
            if field.name in self.__dataclass_fields__ and field.name != "positions"
        }  # fmt: skip
        return DecoderConfig(**same, positions=max(self.positions - self.position_offset, 0), head=False)

    @property
    def max_length(self) -> int | None:
        """The maximum number of tokens of a sequence; None if there is no limit."""
        return self.positions - self.position_offset if self.positions else self.max_tokens

    def attention(self, layer: int) -> AttentionOptions:
        """Return the options of the attention of a layer."""
        window = None if self.windows is None else self.windows[layer]
        rope = self.layers.rope if window is None or self.local_rope is None else self.local_rope
        return AttentionOptions(window=window, rope=rope, qk_norm=self.qk_norm)

    def shapes(self) -> Shapes:
        """Return name → shape of all weights of the encoder, without those of a head."""
        made: Shapes = {}
        columns = self.layers.dim if self.embedding_dim is None else self.embedding_dim
        for name, shape in self.decoder.shapes().items():
            stem = name.partition(".")[0]
            if stem in TABLES:
                made[f"embeddings.{name}"] = (shape[0], columns)
            elif stem == "embedding_norm":
                made[name.replace("embedding_norm", "embeddings.norm")] = (columns,)
            else:
                made[name] = shape
                if name.startswith("layers.") and len(shape) == 2 and self._has_bias(name):
                    made[name.removesuffix("weight") + "bias"] = shape[:1]
        if columns != self.layers.dim:
            made |= {
                "embeddings.project.weight": (self.layers.dim, columns), "embeddings.project.bias": (self.layers.dim,)
            }  # fmt: skip
        return made

    def _has_bias(self, name: str) -> bool:
        if self.biases is None:
            return self.layers.bias
        return name.split(".", 2)[2].removesuffix(".weight") in self.biases


def _refuse(found: list[str]) -> None:
    if found:
        raise OptionError(f"the configuration has {', '.join(found)}, which cannot be trained")
