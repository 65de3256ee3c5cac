"""The encoder families with decoder layers: ModernBERT, Nomic BERT, GTE, EuroBERT, embedding decoders.

Each family is data, as in decoder_families.py; `published` are keys of older files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tokkit.errors import FormatError
from tokkit.files.strict_json import brief, typed
from tokkit.nn.config import TransformerConfig
from tokkit.pipeline import decoder_families
from tokkit.pipeline.decoder_families import SIZES, DecoderSpec, Family
from tokkit.pipeline.families import ACTIVATIONS, TABLES, check_layers, count, family_of, number


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredFamily:
    """The names in one family: `layers`, the keys of `published` files, and the `head` for masked tokens.

    `defaults` are values of optional keys. `head_activation` is the key of the head's activation; "" means gelu.
    """

    layers: Family
    head: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    head_activation: str = "hidden_act"
    refused: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


_SIZES = {ours: key for ours, key in SIZES.items() if ours not in ("n_kv_heads", "head_dim")}
_TABLES = {"word": TABLES["embeddings.word"], "type": TABLES["embeddings.type"],
           "embedding_norm": TABLES["embeddings.norm"]}  # fmt: skip


def _layers(of: str, qkv: str, **names: str) -> dict[str, str]:
    """Return the names of a layer's tensors; q, k and v are fused."""
    parts = {f"attention.{part}": f"{qkv}:{part}" for part in "qkv"}
    parts |= {ours.replace("__", "."): name for ours, name in names.items()}
    return {f"layers.{{i}}.{ours}": f"{of}.{{i}}.{name}" for ours, name in parts.items()}


MODERN_BERT = LayeredFamily(
    layers=Family(
        keys=_SIZES, prefixes=("model.", ""), encoder=True, norm="layer", eps=("norm_eps", 1e-5), norm_bias=False,
        first_norm=False, activation=("hidden_activation", "gelu"), windows="typed",
        tensors={"word": "embeddings.tok_embeddings", "embedding_norm": "embeddings.norm", "norm": "final_norm"}
        | _layers("layers", "attn.Wqkv", attention__o="attn.Wo", feed_forward__gate="mlp.Wi:gate",
                  feed_forward__up="mlp.Wi:up", feed_forward__down="mlp.Wo", attention_norm="attn_norm",
                  feed_forward_norm="mlp_norm")),
    head={"dense": "head.dense", "norm": "head.norm", "decoder": "decoder", "bias": "decoder.bias"},
    published={"global_rope_theta": "rope_theta", "local_rope_theta": "rope_local_base_freq"},
    defaults={"rope_theta": 160000.0, "rope_local_base_freq": 10000.0, "local_attention": 128},
    head_activation="classifier_activation",
)  # fmt: skip
NOMIC_BERT = LayeredFamily(
    layers=Family(
        keys=_SIZES, prefixes=("nomic_bert.", "bert.", ""), encoder=True, norm="layer", post_norm=True,
        eps=("layer_norm_eps", 1e-12), types=2,
        tensors=_TABLES | {"embedding_norm": "emb_ln"} | _layers(
            "encoder.layers", "attn.Wqkv", attention__o="attn.out_proj", feed_forward__gate="mlp.fc12",
            feed_forward__up="mlp.fc11", feed_forward__down="mlp.fc2", attention_norm="norm1",
            feed_forward_norm="norm2")),
    head={"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.layer_norm",
          "decoder": "cls.predictions.decoder", "bias": "cls.predictions.bias"},
    published={
        "n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers",
        "n_inner": "intermediate_size", "n_positions": "max_position_embeddings",
        "layer_norm_epsilon": "layer_norm_eps", "rotary_emb_base": "rope_theta",
        "rotary_emb_fraction": "partial_rotary_factor"},
    defaults={"rope_theta": 1000.0},
    refused={"prenorm": (False,), "parallel_block": (False,), "use_rms_norm": (False, None), "causal": (False,),
             "rotary_emb_interleaved": (False,), "rotary_emb_scale_base": (None,),
             "activation_function": ("swiglu", "geglu"), "moe_every_n_layers": (0, None)},
)  # fmt: skip
GTE = LayeredFamily(
    layers=Family(
        keys=_SIZES, prefixes=("new.", "gte.", ""), encoder=True, norm="layer", post_norm=True, up_first=True,
        eps=("layer_norm_eps", 1e-12), activation=("hidden_act", "gelu"), types=1,
        tensors=_TABLES | _layers(
            "encoder.layer", "attention.qkv_proj", attention__o="attention.o_proj",
            feed_forward__gate="mlp.up_gate_proj:gate", feed_forward__up="mlp.up_gate_proj:up",
            feed_forward__down="mlp.down_proj", attention_norm="attn_ln", feed_forward_norm="mlp_ln")),
    head={"dense": "lm_head.dense", "norm": "lm_head.norm", "decoder": "lm_head.decoder",
          "bias": "lm_head.decoder.bias"},
    defaults={"rope_theta": 160000.0}, head_activation="",
    refused={"position_embedding_type": ("rope",), "layer_norm_type": ("layer_norm",), "pack_qkv": (True,),
             "logn_attention_scale": (False,)},
)  # fmt: skip
EUROBERT = LayeredFamily(layers=replace(decoder_families.LLAMA, encoder=True, eps=("rms_norm_eps", 1e-5)))
NEW = replace(GTE, defaults={"rope_theta": 10000.0}, head_activation="hidden_act")
FAMILIES = {"modernbert": MODERN_BERT, "nomic_bert": NOMIC_BERT, "gte": GTE, "new": NEW, "eurobert": EUROBERT}
"""model_type of a config.json → family.

Snowflake's Arctic M Long is of type nomic_bert, the first files of GTE are of type new.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredSpec:
    """One encoder: its layers, tables and names, in the form of a decoder, and its head for masked tokens."""

    decoder: DecoderSpec
    head: Mapping[str, str] = field(default_factory=dict)
    head_activation: str = "gelu"

    @property
    def config(self) -> TransformerConfig:
        """The configuration of its layers."""
        return self.decoder.config.layers

    @property
    def vocab_size(self) -> int:
        """Rows of the table of tokens."""
        return self.decoder.config.vocab_size

    @property
    def types(self) -> int:
        """Rows of the table of token types; 0 if there is none."""
        return self.decoder.config.types

    def name(self, ours: str) -> str:
        """Return the file's name of a tensor, without the optional prefix."""
        return self.decoder.source(ours.removeprefix("embeddings."))[0]

    def head_name(self, ours: str) -> str:
        """Return the file's name of a tensor of the head for masked tokens."""
        stem, _, part = ours.rpartition(".")
        return f"{self.head[stem]}.{part}" if stem else self.head[part]


def read(config: Mapping[str, Any], dtype: str = "float32") -> LayeredSpec:
    """Return the specification in a config.json, with matrices packed as `dtype`; a FormatError names the key.

    >>> spec = read({"model_type": "nomic_bert", "n_embd": 8, "n_head": 2, "n_layer": 1, "n_inner": 16, "vocab_size": 9,
    ...              "n_positions": 5})
    >>> spec.config.rope.base, spec.name("layers.0.attention.k.weight")
    (1000.0, 'encoder.layers.0.attn.Wqkv.weight')
    """
    if str(config.get("model_type")) in decoder_families.FAMILIES:  # family_of refuses what is not text
        made = decoder_families.read(config, dtype)
        return LayeredSpec(decoder=replace(made, config=replace(made.config, head=False)))
    family = family_of(config, FAMILIES, "encoders")
    known = {**family.defaults, **{family.published.get(key, key): value for key, value in config.items()}}
    for change in (_gated, _windowed, _scaled):
        known |= change(known)
    activation = typed(known.get(family.head_activation, "gelu"), family.head_activation, str)
    if activation not in ACTIVATIONS:
        raise FormatError(
            f"{family.head_activation}: {brief(activation)} is not supported; it must be one of "
            f"{', '.join(ACTIVATIONS)}"
        )
    layers = family.layers
    if known.get("norm_bias"):
        layers = replace(layers, norm_bias=True)
    return LayeredSpec(
        decoder=decoder_families.read_as(layers, known, dtype), head=family.head,
        head_activation=ACTIVATIONS[activation],
    )  # fmt: skip


def _gated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Nomic's files name the gate and its activation in one value."""
    gates = {"swiglu": "silu", "geglu": "gelu"}
    stated = config.get("activation_function")
    return {"hidden_act": gates[stated]} if isinstance(stated, str) and stated in gates else {}


def _windowed(config: Mapping[str, Any]) -> dict[str, Any]:
    """ModernBERT states the window of both sides together, and every how many layers attention is full."""
    if "local_attention" not in config:
        return {}
    made: dict[str, Any] = {"sliding_window": max(count(config, "local_attention") // 2, 1), "use_sliding_window": True}
    if config.get("layer_types") is None:
        every = count(config, "global_attn_every_n_layers", 3)
        n = count(config, "num_hidden_layers")
        check_layers(n, "num_hidden_layers")
        made["layer_types"] = ["sliding_attention" if i % every else "full_attention" for i in range(n)]
    return made


def _scaled(config: Mapping[str, Any]) -> dict[str, Any]:
    """Scalings of ropes with other names, or another meaning, in these files."""
    factor = config.get("rotary_scaling_factor")
    if factor:  # Nomic's
        trained = count(config, "max_trained_positions", 2048)
        return {"rope_scaling": {"rope_type": "dynamic", "factor": factor, "original_max_position_embeddings": trained}}
    stated = config.get("rope_scaling")
    if not isinstance(stated, Mapping) or stated.get("type", stated.get("rope_type")) != "ntk":
        return {}
    # GTE's NTK scaling: the base times the factor, and all frequencies divided by the same number (Su 2023).
    if stated.get("mixed_b") is not None:
        raise FormatError("rope_scaling.mixed_b is not supported; leave it out")
    by = number(stated.get("factor"), "rope_scaling.factor")
    if not by > 0:
        raise FormatError(f"rope_scaling.factor is {by}; it must be above 0")
    size = max(count(config, "hidden_size") // count(config, "num_attention_heads"), 1)
    base = number(config.get("rope_theta"), "rope_theta") * by
    return {"rope_scaling": {"rope_type": "linear", "factor": by ** (2 / size)}, "rope_theta": base}
