"""The supported encoder families: config.json → `EncoderSpec`, with the names of all tensors.

Each family is data: the keys of its configuration, and the names of `tokkit.nn.TextEncoder`'s tensors in its files.
An error for any other family lists these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tokkit.errors import FormatError, TokkitError
from tokkit.files.strict_json import brief, typed
from tokkit.nn.config import Shapes, TransformerConfig
from tokkit.nn.encoder import embedding_shapes

ACTIVATIONS = {
    "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_accurate": "gelu_tanh", "relu": "relu",
    "silu": "silu", "swish": "silu",
}  # fmt: skip
"""The configuration's name of an activation → ours; the tanh forms differ by less than 1e-7 of the value."""

OTHERS = (
    r"(?:embeddings\.)?position_ids|pooler\.|cls\.|lm_head\.|vocab_|classifier\.|pre_classifier\.|qa_outputs\.|"
    r"generator_|discriminator_"
)
"""Unused tensors that are allowed in a file: buffers, and task heads."""


MAX_NUMBER = 1e12
"""Above all numbers of published models, and small enough for products of a few of them."""
MAX_LAYERS = 1024
"""The maximum number of layers: the names of all tensors are listed before the first is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The names in one family; `keys` are ours → the configuration's, `tensors` ours → the file's, {i} is the layer.

    `offset`: positions begin after the padding id, and padding is not counted. `embedding` is the key of the columns of
    the tables if they may differ from those of the layers. `head`: tensors of the head for masked tokens; its
    activation is that of the encoder unless `head_activation` names one.
    """

    prefix: str
    keys: Mapping[str, str]
    tensors: Mapping[str, str]
    head: Mapping[str, str]
    eps: float = 1e-12
    types: int = 0
    offset: bool = False
    embedding: str = ""
    buckets: int = 0
    head_activation: str | None = None
    refused: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


SIZES = {
    "dim": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers",
    "hidden_dim": "intermediate_size", "activation": "hidden_act",
}  # fmt: skip
TABLES = {
    "embeddings.word": "embeddings.word_embeddings", "embeddings.position": "embeddings.position_embeddings",
    "embeddings.type": "embeddings.token_type_embeddings", "embeddings.norm": "embeddings.LayerNorm",
}  # fmt: skip


def _layer(of: str, **names: str) -> dict[str, str]:
    parts = ("attention.q", "attention.k", "attention.v", "attention.o", "attention_norm",
             "feed_forward.up", "feed_forward.down", "feed_forward_norm")  # fmt: skip
    return {f"layers.{{i}}.{part}": f"{of}.{{i}}.{names[part.replace('.', '_')]}" for part in parts}


_BEHIND = {
    "feed_forward_up": "intermediate.dense", "feed_forward_down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}  # fmt: skip
_BERT_LAYERS = _layer(
    "encoder.layer", attention_q="attention.self.query", attention_k="attention.self.key",
    attention_v="attention.self.value", attention_o="attention.output.dense",
    attention_norm="attention.output.LayerNorm", **_BEHIND,
)  # fmt: skip
_ROBERTA_HEAD = {
    "dense": "lm_head.dense", "norm": "lm_head.layer_norm", "decoder": "lm_head.decoder", "bias": "lm_head.bias",
}  # fmt: skip
_PLAIN = {"position_embedding_type": ("absolute", None), "is_decoder": (False,), "add_cross_attention": (False,)}

BERT = Family(
    prefix="bert.", keys=SIZES, tensors=TABLES | _BERT_LAYERS, types=2, refused=_PLAIN,
    head={"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm",
          "decoder": "cls.predictions.decoder", "bias": "cls.predictions.bias"},
)  # fmt: skip
ROBERTA = Family(
    prefix="roberta.", keys=SIZES, tensors=TABLES | _BERT_LAYERS, types=2, offset=True, head=_ROBERTA_HEAD,
    head_activation="gelu", refused=_PLAIN,
)  # fmt: skip
DISTILBERT = Family(
    prefix="distilbert.",
    keys={"dim": "dim", "n_heads": "n_heads", "n_layers": "n_layers", "hidden_dim": "hidden_dim",
          "activation": "activation"},
    tensors=TABLES | _layer(
        "transformer.layer", attention_q="attention.q_lin", attention_k="attention.k_lin",
        attention_v="attention.v_lin", attention_o="attention.out_lin", attention_norm="sa_layer_norm",
        feed_forward_up="ffn.lin1", feed_forward_down="ffn.lin2", feed_forward_norm="output_layer_norm"),
    head={"dense": "vocab_transform", "norm": "vocab_layer_norm", "decoder": "vocab_projector",
          "bias": "vocab_projector.bias"},
)  # fmt: skip
MPNET = Family(
    prefix="mpnet.", keys=SIZES, offset=True, buckets=32,
    tensors=TABLES | {"relative": "encoder.relative_attention_bias"} | _layer(
        "encoder.layer", attention_q="attention.attn.q", attention_k="attention.attn.k",
        attention_v="attention.attn.v", attention_o="attention.attn.o", attention_norm="attention.LayerNorm",
        **_BEHIND),
    head=_ROBERTA_HEAD, head_activation="gelu",
)  # fmt: skip
ELECTRA = Family(
    prefix="electra.", keys=SIZES, types=2, refused=_PLAIN, head_activation="gelu", embedding="embedding_size",
    tensors=TABLES | _BERT_LAYERS | {"embeddings.project": "embeddings_project"},
    head={"dense": "generator_predictions.dense", "norm": "generator_predictions.LayerNorm",
          "decoder": "generator_lm_head", "bias": "generator_lm_head.bias"},
)  # fmt: skip
FAMILIES = {
    "bert": BERT, "roberta": ROBERTA, "xlm-roberta": ROBERTA, "camembert": ROBERTA, "distilbert": DISTILBERT,
    "mpnet": MPNET, "electra": ELECTRA,
}  # fmt: skip
"""model_type of a config.json → family. MiniLM's encoders are of type bert or, multilingual, xlm-roberta."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSpec:
    """One model: its layers, the sizes of its tables, the names of its tensors, and the allowed unused tensors."""

    family: Family
    config: TransformerConfig
    vocab_size: int
    positions: int
    types: int
    pad: int
    embedding_dim: int

    @property
    def position_offset(self) -> int:
        """The position of a sequence's first token."""
        return self.pad + 1 if self.family.offset else 0

    @property
    def padding_idx(self) -> int | None:
        """The id of the padding token, which positions do not count; None if there is none."""
        return self.pad if self.family.offset else None

    @property
    def head_activation(self) -> str:
        """The activation in the head for masked tokens."""
        return self.family.head_activation or self.config.activation

    def shapes(self) -> Shapes:
        """Return our name → shape of all tensors of the encoder."""
        sizes = {"vocab_size": self.vocab_size, "positions": self.positions, "types": self.types}
        tables = embedding_shapes(self.config, embedding_dim=self.embedding_dim, **sizes)
        return {f"embeddings.{name}": shape for name, shape in tables.items()} | self.config.shapes()

    def head_shapes(self) -> Shapes:
        """Return our name → shape of the head for masked tokens, without its matrix, usually the table of words."""
        dim = self.embedding_dim
        norm = {"norm.weight": (dim,), "norm.bias": (dim,)}
        return {"dense.weight": (dim, self.config.dim), "dense.bias": (dim,), "bias": (self.vocab_size,)} | norm

    def name(self, ours: str) -> str:
        """Return the file's name of a tensor, without the optional prefix.

        >>> read({"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1,
        ...       "intermediate_size": 16, "vocab_size": 9}).name("layers.0.attention.q.weight")
        'encoder.layer.0.attention.self.query.weight'
        """
        stem, _, part = ours.rpartition(".")
        layer = re.match(r"layers\.(\d+)\.", stem)
        if layer:
            generic = stem.replace(layer[0], "layers.{i}.", 1)
            return f"{self.family.tensors[generic].replace('{i}', layer[1])}.{part}"
        return f"{self.family.tensors[stem]}.{part}"

    def head_name(self, ours: str) -> str:
        """Return the file's name of a tensor of the head."""
        stem, _, part = ours.rpartition(".")
        return f"{self.family.head[stem]}.{part}" if stem else self.family.head[part]

    def known(self, name: str) -> bool:
        """Return whether an unused tensor is allowed in the file of the encoder."""
        return re.match(OTHERS, name.removeprefix(self.family.prefix)) is not None


def read(config: Mapping[str, Any], dtype: str = "float32", *, known: Sequence[str] = ()) -> EncoderSpec:
    """Return the specification in a config.json, with matrices packed as `dtype`; a FormatError names the key.

    `known` are the types to list in an error about the type; by default those of this file.
    """
    family = family_of(config, FAMILIES, "models" if known else "encoders", known)
    sizes: dict[str, Any] = {ours: count(config, key) for ours, key in family.keys.items() if ours != "activation"}
    check_layers(sizes["n_layers"], family.keys["n_layers"])
    key = family.keys["activation"]
    activation = typed(config.get(key, "gelu"), key, str)
    if activation not in ACTIVATIONS:
        raise FormatError(f"{key}: {brief(activation)} is not supported; it must be one of {', '.join(ACTIVATIONS)}")
    eps = typed(config.get("layer_norm_eps", family.eps), "layer_norm_eps", int, float)
    if not 0 <= eps < 1:
        raise FormatError(f"layer_norm_eps is {eps}; it must be at least 0 and below 1")
    buckets = count(config, "relative_attention_num_buckets", family.buckets) if family.buckets else 0
    try:
        made = TransformerConfig(
            **sizes, activation=ACTIVATIONS[activation], eps=float(eps), relative_buckets=buckets, dtype=dtype
        )
    except TokkitError as error:
        raise FormatError(f"the sizes are inconsistent: {error}") from None
    spec = EncoderSpec(
        family=family, config=made, vocab_size=count(config, "vocab_size"),
        positions=count(config, "max_position_embeddings", 512),
        types=count(config, "type_vocab_size", family.types, minimum=0) if family.types else 0,
        pad=count(config, "pad_token_id", 1, minimum=0) if family.offset else 0,
        embedding_dim=count(config, family.embedding, made.dim) if family.embedding else made.dim,
    )  # fmt: skip
    if spec.positions <= spec.position_offset:
        raise FormatError(
            f"max_position_embeddings: {spec.positions} leaves no position after pad_token_id, which is {spec.pad}"
        )
    return spec


class Refusing(Protocol):
    """A family of encoders or decoders: `refused` maps keys to the supported values."""

    @property
    def refused(self) -> Mapping[str, tuple[Any, ...]]:
        """Return the keys of config.json whose values are checked → the supported values."""
        ...


Named = TypeVar("Named", bound=Refusing)


def family_of(config: Mapping[str, Any], families: Mapping[str, Named], kind: str, known: Sequence[str] = ()) -> Named:
    """Return the family that a config.json names; FormatError for unsupported families and settings.

    The error lists the types in `known`, or those of `families`.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in families:
        listed = ", ".join(known or families)
        raise FormatError(
            f"model_type: {brief(model_type)} is not supported; it must be one of these types of {kind}: {listed}"
        )
    family = families[model_type]
    for key, allowed in family.refused.items():
        if config.get(key, allowed[0]) not in allowed:
            raise FormatError(f"{key}: {brief(config[key])} is not supported; it must be {brief(allowed[0])}")
    return family


def count(config: Mapping[str, Any], key: str, default: int | None = None, *, minimum: int = 1) -> int:
    """Return the integer of a key; FormatError if it is missing without a default, or out of range."""
    if key not in config and default is None:
        raise FormatError(f"{key}: missing")
    value = typed(config.get(key, default), key, int)
    if not minimum <= value <= 1 << 31:
        raise FormatError(f"{key} is {value}; it must be a whole number of at least {minimum}")
    return int(value)


def number(value: object, path: str) -> float:
    """Return a number of a file; FormatError for another type, NaN, or a number that no model has."""
    made = typed(value, path, int, float)
    if not abs(made) <= MAX_NUMBER:
        raise FormatError(f"{path} is {brief(value)}; it must be a number of at most {MAX_NUMBER:g}")
    return float(made)


def check_layers(n: int, key: str) -> None:
    """Raise FormatError for more layers than any model has, before anything is made for each."""
    if n > MAX_LAYERS:
        raise FormatError(f"{key}: {n} is too large; the maximum is {MAX_LAYERS}")


def names(spec: EncoderSpec) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield (our name, the file's name, shape) of all tensors of the encoder."""
    for ours, shape in spec.shapes().items():
        yield ours, spec.name(ours), shape
