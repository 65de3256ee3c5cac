"""The supported families of encoder–decoders: config.json → the specification of both parts.

Each family is data, as in decoder_families.py: the keys of its sizes, its switches, and the names of its tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tokkit.errors import FormatError, TokkitError
from tokkit.files.strict_json import brief, typed
from tokkit.nn.config import TransformerConfig
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.pipeline.decoder_families import DecoderSpec, Family
from tokkit.pipeline.families import ACTIVATIONS, check_layers, count, family_of

UNLIMITED = 1 << 31
"""The maximum length of a model with relative positions only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seq2SeqFamily:
    """The configuration keys and tensor names of one family of encoder–decoders.

    `encoder_keys` and `decoder_keys` are sizes, ours → the configuration's; `encoder` and `decoder` are the names of
    tensors. `eps` is a key with a default, or only a number. `gates` are feed-forwards, the configuration's name →
    ours. `buckets`: relative positions as in T5; else learned positions, after `position_offset` unused rows.
    `scaled_head`: the input of the head is divided by √dim, unless the configuration states otherwise.
    """

    encoder_keys: Mapping[str, str]
    decoder_keys: Mapping[str, str]
    encoder: Family
    decoder: Family
    activation: str
    activations: Mapping[str, str]
    norm: str
    eps: tuple[str, float]
    pre_norm: bool
    buckets: bool = False
    position_offset: int = 0
    scale: float | None = None
    scaled_head: bool = False
    refused: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


def _t5_half(half: str, *parts: tuple[str, str], last: int) -> dict[str, str]:
    made = {"word": "shared", "norm": f"{half}.final_layer_norm",
            "relative": f"{half}.block.0.layer.0.SelfAttention.relative_attention_bias"}  # fmt: skip
    at = f"{half}.block.{{i}}.layer"
    for number, (ours, name) in enumerate(parts):
        made |= {f"layers.{{i}}.{ours}.{part}": f"{at}.{number}.{name}.{part}" for part in "qkvo"}
        made[f"layers.{{i}}.{ours}_norm"] = f"{at}.{number}.layer_norm"
    forward = f"{at}.{last}.DenseReluDense"
    return made | {
        "layers.{i}.feed_forward.gate": f"{forward}.wi_0", "layers.{i}.feed_forward.up": f"{forward}.wi_1",
        "layers.{i}.feed_forward.down": f"{forward}.wo", "layers.{i}.feed_forward_norm": f"{at}.{last}.layer_norm",
    }  # fmt: skip


def _bart_half(half: str, *parts: tuple[str, str, str]) -> dict[str, str]:
    at = f"{half}.layers.{{i}}"
    made = {"word": "shared", "position": f"{half}.embed_positions", "embedding_norm": f"{half}.layernorm_embedding",
            "layers.{i}.feed_forward.up": f"{at}.fc1", "layers.{i}.feed_forward.down": f"{at}.fc2",
            "layers.{i}.feed_forward_norm": f"{at}.final_layer_norm"}  # fmt: skip
    for ours, name, norm in parts:
        made |= {f"layers.{{i}}.{ours}.{part}": f"{at}.{name}.{part}_proj" for part in "qkv"}
        made |= {f"layers.{{i}}.{ours}.o": f"{at}.{name}.out_proj", f"layers.{{i}}.{ours}_norm": f"{at}.{norm}"}
    return made


_T5_SIZES = {"dim": "d_model", "n_heads": "num_heads", "n_layers": "num_layers", "hidden_dim": "d_ff",
             "head_dim": "d_kv"}  # fmt: skip
T5 = Seq2SeqFamily(
    encoder_keys=_T5_SIZES, decoder_keys={**_T5_SIZES, "n_layers": "num_decoder_layers"}, norm="rms", pre_norm=True,
    eps=("layer_norm_epsilon", 1e-6), buckets=True, scale=1.0, scaled_head=True, activation="feed_forward_proj",
    activations={"relu": "relu", "gelu": "gelu", "silu": "silu", "gated-gelu": "geglu_tanh", "gated-silu": "swiglu"},
    encoder=Family(keys={}, prefixes=("",), tensors=_t5_half("encoder", ("attention", "SelfAttention"), last=1)),
    decoder=Family(keys={}, prefixes=("",), tensors=_t5_half(
        "decoder", ("attention", "SelfAttention"), ("cross", "EncDecAttention"), last=2)),
)  # fmt: skip
MT5 = replace(T5, scaled_head=False)
BART = Seq2SeqFamily(
    encoder_keys={"dim": "d_model", "n_heads": "encoder_attention_heads", "n_layers": "encoder_layers",
                  "hidden_dim": "encoder_ffn_dim", "max_length": "max_position_embeddings"},
    decoder_keys={"dim": "d_model", "n_heads": "decoder_attention_heads", "n_layers": "decoder_layers",
                  "hidden_dim": "decoder_ffn_dim", "max_length": "max_position_embeddings"},
    norm="layer", pre_norm=False, eps=("layer_norm_eps", 1e-5), position_offset=2, activation="activation_function",
    activations=ACTIVATIONS,
    encoder=Family(keys={}, prefixes=("model.", ""), tensors=_bart_half(
        "encoder", ("attention", "self_attn", "self_attn_layer_norm"))),
    decoder=Family(keys={}, prefixes=("model.", ""), tensors=_bart_half(
        "decoder", ("attention", "self_attn", "self_attn_layer_norm"),
        ("cross", "encoder_attn", "encoder_attn_layer_norm"))),
    refused={"normalize_before": (False,), "add_final_layer_norm": (False,), "normalize_embedding": (True,)},
)  # fmt: skip
FAMILIES = {"t5": T5, "mt5": MT5, "bart": BART}
"""model_type of a config.json → family. FLAN-T5 is of type t5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seq2SeqSpec:
    """One model: both parts, the id that begins a target, and the ids that are forced at its ends."""

    encoder: DecoderSpec
    decoder: DecoderSpec


def read(config: Mapping[str, Any], dtype: str = "float32", *, tied: bool = True) -> Seq2SeqSpec:
    """Return the specification in a config.json, with matrices packed as `dtype`; a FormatError names the key.

    `tied`: the head is the table of tokens. T5's configurations do not state this reliably.
    """
    family = family_of(config, FAMILIES, "encoder–decoders")
    stated = typed(config.get(family.activation, next(iter(family.activations))), family.activation, str)
    if stated not in family.activations:
        known = ", ".join(family.activations)
        raise FormatError(f"{family.activation}: {brief(stated)} is not supported; it must be one of {known}")
    activation = family.activations[stated]
    eps = typed(config.get(*family.eps), family.eps[0], int, float)
    if not 0 <= eps < 1:
        raise FormatError(f"{family.eps[0]} is {eps}; it must be at least 0 and below 1")
    scaled_words = bool(typed(config.get("scale_embedding", False), "scale_embedding", bool))
    halves: list[DecoderSpec] = []
    for half, keys in ((family.encoder, family.encoder_keys), (family.decoder, family.decoder_keys)):
        is_decoder = half is family.decoder
        sizes: dict[str, Any] = {ours: count(config, key) for ours, key in keys.items()
                                 if config.get(key) is not None or ours != "n_layers" or not is_decoder}  # fmt: skip
        sizes.setdefault("n_layers", halves[0].config.layers.n_layers if halves else 0)
        check_layers(sizes["n_layers"], keys["n_layers"])
        max_length = sizes.pop("max_length", UNLIMITED)
        if family.buckets:
            sizes["relative_buckets"] = count(config, "relative_attention_num_buckets", 32)
            sizes["relative_distance"] = count(config, "relative_attention_max_distance", 128)
        try:
            layers = TransformerConfig(
                **sizes, activation=activation, norm=family.norm, eps=float(eps), pre_norm=family.pre_norm,
                causal=is_decoder, cross=is_decoder, dtype=dtype, bias=False, scale=family.scale,
            )  # fmt: skip
            made = DecoderConfig(
                layers=layers, vocab_size=count(config, "vocab_size"), positions=0 if family.buckets else max_length,
                position_offset=family.position_offset, embedding_norm="embedding_norm" in half.tensors,
                embedding_scale=float(layers.dim) ** 0.5 if scaled_words else 1.0, tied=tied or not is_decoder,
                head=is_decoder, head_scale=_head_scale(config, family, layers.dim) if is_decoder else 1.0,
            )  # fmt: skip
        except FormatError:
            raise
        except TokkitError as error:
            raise FormatError(f"the sizes are inconsistent: {error}") from None
        halves.append(DecoderSpec(family=_named(half, activation), config=made, max_length=max_length))
    return Seq2SeqSpec(encoder=halves[0], decoder=halves[1])


def _named(half: Family, activation: str) -> Family:
    """Return the tensor names of a part; without a gate, T5 calls the only matrix wi."""
    names = dict(half.tensors)
    up = names["layers.{i}.feed_forward.up"]
    if up.endswith(".wi_1") and activation in ("relu", "gelu", "silu"):
        names["layers.{i}.feed_forward.up"] = up.removesuffix("_1")
    return replace(half, tensors=names)


def _head_scale(config: Mapping[str, Any], family: Seq2SeqFamily, dim: int) -> float:
    # Files of T5 1.1 and FLAN state it in tie_word_embeddings.
    key = "scale_decoder_outputs" if "scale_decoder_outputs" in config else "tie_word_embeddings"
    scaled = family.scaled_head and typed(config.get(key, True), key, bool)
    return float(dim) ** -0.5 if scaled else 1.0
