"""The supported decoder families: config.json → `DecoderSpec`, with the names of all tensors.

Each family is data: the keys of its sizes, the features of its layers, and the names of its tensors. An error for any
other family lists these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tokkit.errors import FormatError, TokkitError
from tokkit.files.strict_json import brief, typed
from tokkit.nn.config import GATES, TransformerConfig
from tokkit.nn.decoder_config import DecoderConfig, ExpertsConfig
from tokkit.pipeline.decoder_ropes import ropes
from tokkit.pipeline.families import ACTIVATIONS, check_layers, count, family_of, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The configuration keys, features and tensor names of one family of decoders.

    `keys` are ours → the configuration's. `tensors` are ours → the file's, {i} the layer, {j} the expert; "name:q" is
    the part q of a fused tensor: rows of one part after those of another, or with `by_heads` interleaved by heads.
    `prefixes` may precede all names. `transposed`: matrices of layers are (inputs, outputs). `norm_offset` is added to
    the weights of norms. `encoder`: attention is not causal, and there is no head; `post_norm`, `norm_bias` and
    `first_norm` are as in the configurations of `tokkit.nn`, and `up_first` means that a fused tensor holds up before
    the gate. `types` is the number of rows of the table of token types, unless the file states it. `windows` names the
    rule of `windows_of` for the layers with a sliding window. `experts` are keys of the sizes of experts, ours → the
    configuration's. `nested` is the key of the text part of a configuration, and `defaults` are values of missing keys.
    `refused` maps keys to the supported values.
    """

    keys: Mapping[str, str]
    tensors: Mapping[str, str]
    prefixes: tuple[str, ...]
    norm: str = "rms"
    post_norm: bool = False
    norm_bias: bool = True
    first_norm: bool = True
    encoder: bool = False
    types: int = 0
    up_first: bool = False
    eps: tuple[str, float] = ("rms_norm_eps", 1e-6)
    activation: tuple[str, str] = ("hidden_act", "silu")
    gated: bool = True
    positions: str = "rope"
    tied: bool = False
    transposed: bool = False
    by_heads: bool = False
    norm_offset: float = 0.0
    scaled_embedding: bool = False
    qk_norm: bool = False
    part_norms: bool = False
    parallel: str | None = None
    rotary_share: float = 1.0
    head: str = "lm_head"
    windows: str = ""
    caps: bool = False
    experts: Mapping[str, str] = field(default_factory=dict)
    nested: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    refused: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


SIZES = {
    "dim": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers",
    "hidden_dim": "intermediate_size", "n_kv_heads": "num_key_value_heads", "head_dim": "head_dim",
    "max_length": "max_position_embeddings",
}  # fmt: skip
_LLAMA_LAYER = {
    "attention.q": "self_attn.q_proj", "attention.k": "self_attn.k_proj", "attention.v": "self_attn.v_proj",
    "attention.o": "self_attn.o_proj", "feed_forward.gate": "mlp.gate_proj", "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj", "attention_norm": "input_layernorm",
    "feed_forward_norm": "post_attention_layernorm", "q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm",
}  # fmt: skip


def _tensors(layer: str, parts: Mapping[str, str], **tables: str) -> dict[str, str]:
    return tables | {f"layers.{{i}}.{ours}": f"{layer}.{{i}}.{name}" for ours, name in parts.items()}


_LLAMA_TABLES = {"word": "embed_tokens", "norm": "norm"}
_LLAMA_TENSORS = _tensors("layers", _LLAMA_LAYER, **_LLAMA_TABLES)
LLAMA = Family(keys=SIZES, tensors=_LLAMA_TENSORS, prefixes=("model.", ""))
MISTRAL = Family(keys=SIZES, tensors=_LLAMA_TENSORS, prefixes=("model.", ""), windows="all")
QWEN2 = Family(keys=SIZES, tensors=_LLAMA_TENSORS, prefixes=("model.", ""), windows="switched")
QWEN3 = Family(keys=SIZES, tensors=_LLAMA_TENSORS, prefixes=("model.", ""), windows="switched", qk_norm=True)
MIXTRAL = Family(
    keys=SIZES, prefixes=("model.", ""), windows="all", eps=("rms_norm_eps", 1e-5),
    tensors=_LLAMA_TENSORS | _tensors("layers", {
        "router": "block_sparse_moe.gate", "experts.{j}.gate": "block_sparse_moe.experts.{j}.w1",
        "experts.{j}.up": "block_sparse_moe.experts.{j}.w3", "experts.{j}.down": "block_sparse_moe.experts.{j}.w2"}),
    experts={"n": "num_local_experts", "top": "num_experts_per_tok", "hidden_dim": "intermediate_size"},
)  # fmt: skip
_QWEN_EXPERTS = {"n": "num_experts", "top": "num_experts_per_tok", "hidden_dim": "moe_intermediate_size"}
_QWEN_EXPERT_TENSORS = _tensors("layers", {
    "router": "mlp.gate", "shared_gate": "mlp.shared_expert_gate",
    **{f"experts.{{j}}.{part}": f"mlp.experts.{{j}}.{part}_proj" for part in ("gate", "up", "down")},
    **{f"shared.{part}": f"mlp.shared_expert.{part}_proj" for part in ("gate", "up", "down")},
})  # fmt: skip
QWEN2_MOE = Family(
    keys=SIZES, tensors=_LLAMA_TENSORS | _QWEN_EXPERT_TENSORS, prefixes=("model.", ""),
    experts={**_QWEN_EXPERTS, "shared_dim": "shared_expert_intermediate_size"}, windows="typed",
)  # fmt: skip
QWEN3_MOE = Family(
    keys=SIZES, tensors=_LLAMA_TENSORS | _QWEN_EXPERT_TENSORS, prefixes=("model.", ""), experts=_QWEN_EXPERTS,
    qk_norm=True, windows="switched for all",
)  # fmt: skip
GEMMA = Family(
    keys=SIZES, tensors=_LLAMA_TENSORS, prefixes=("model.", ""), activation=("hidden_activation", "gelu_pytorch_tanh"),
    tied=True, norm_offset=1.0, scaled_embedding=True,
)  # fmt: skip
GEMMA2 = Family(
    keys=SIZES, prefixes=("model.", ""), windows="alternating", tied=True, norm_offset=1.0, caps=True,
    activation=("hidden_activation", "gelu_pytorch_tanh"), scaled_embedding=True, part_norms=True,
    tensors=_tensors("layers", _LLAMA_LAYER | {
        "attended_norm": "post_attention_layernorm", "feed_forward_norm": "pre_feedforward_layernorm",
        "forwarded_norm": "post_feedforward_layernorm"}, **_LLAMA_TABLES),
    refused={"use_bidirectional_attention": (False, None)},
)  # fmt: skip
GEMMA3 = replace(
    GEMMA2, prefixes=("model.", "language_model.model.", ""), windows="five of six", qk_norm=True,
    refused={"attn_logit_softcapping": (None,)},
)  # fmt: skip
GEMMA3_WITH_PICTURES = replace(
    GEMMA3, nested="text_config", prefixes=("model.language_model.", "language_model.model."),
    defaults={"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
              "max_position_embeddings": 131072, "query_pre_attn_scalar": 256, "sliding_window": 4096,
              "rope_theta": 1e6, "rope_local_base_freq": 1e4},
)  # fmt: skip
PHI3 = Family(
    keys=SIZES, prefixes=("model.", ""), windows="all", eps=("rms_norm_eps", 1e-5),
    tensors=_tensors("layers", _LLAMA_LAYER | {
        "attention.q": "self_attn.qkv_proj:q", "attention.k": "self_attn.qkv_proj:k",
        "attention.v": "self_attn.qkv_proj:v", "feed_forward.gate": "mlp.gate_up_proj:gate",
        "feed_forward.up": "mlp.gate_up_proj:up"}, **_LLAMA_TABLES),
)  # fmt: skip
GPT2 = Family(
    keys={"dim": "n_embd", "n_heads": "n_head", "n_layers": "n_layer", "hidden_dim": "n_inner",
          "max_length": "n_positions"},
    prefixes=("transformer.", ""), norm="layer", eps=("layer_norm_epsilon", 1e-5), gated=False, tied=True,
    activation=("activation_function", "gelu_new"), positions="learned", transposed=True,
    tensors=_tensors("h", {
        "attention.q": "attn.c_attn:q", "attention.k": "attn.c_attn:k", "attention.v": "attn.c_attn:v",
        "attention.o": "attn.c_proj", "feed_forward.up": "mlp.c_fc", "feed_forward.down": "mlp.c_proj",
        "attention_norm": "ln_1", "feed_forward_norm": "ln_2"}, word="wte", position="wpe", norm="ln_f"),
    refused={"scale_attn_weights": (True,), "scale_attn_by_inverse_layer_idx": (False,),
             "add_cross_attention": (False,)},
)  # fmt: skip
_NEOX_LAYER = {
    "attention.q": "attention.query_key_value:q", "attention.k": "attention.query_key_value:k",
    "attention.v": "attention.query_key_value:v", "attention.o": "attention.dense",
    "feed_forward.up": "mlp.dense_h_to_4h", "feed_forward.down": "mlp.dense_4h_to_h",
    "attention_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm",
}  # fmt: skip
GPT_NEOX = Family(
    keys={ours: key for ours, key in SIZES.items() if ours not in ("n_kv_heads", "head_dim")},
    prefixes=("gpt_neox.", ""), norm="layer", eps=("layer_norm_eps", 1e-5), activation=("hidden_act", "gelu"),
    gated=False, by_heads=True, parallel="use_parallel_residual", rotary_share=0.25, head="embed_out",
    tensors=_tensors("layers", _NEOX_LAYER, word="embed_in", norm="final_layer_norm"),
)  # fmt: skip
BLOOM = Family(
    keys={"dim": "hidden_size", "n_heads": "n_head", "n_layers": "n_layer"}, prefixes=("transformer.", ""),
    norm="layer", eps=("layer_norm_epsilon", 1e-5), activation=("hidden_act", "gelu_tanh"), gated=False, by_heads=True,
    positions="alibi", tied=True,
    tensors=_tensors(
        "h", {ours: name.replace("attention.", "self_attention.", 1) if name.startswith("attention.") else name
              for ours, name in _NEOX_LAYER.items()},
        word="word_embeddings", embedding_norm="word_embeddings_layernorm", norm="ln_f"),
    refused={"apply_residual_connection_post_layernorm": (False,)},
)  # fmt: skip
CAPS = ("attn_logit_softcapping", "final_logit_softcapping")
PATTERNS = {"alternating": 2, "five of six": 6}
"""A rule of windows → N, where every N-th layer has full attention."""
FAMILIES = {
    "gpt2": GPT2, "llama": LLAMA, "mistral": MISTRAL, "mixtral": MIXTRAL, "qwen2": QWEN2, "qwen3": QWEN3,
    "qwen2_moe": QWEN2_MOE, "qwen3_moe": QWEN3_MOE, "gemma": GEMMA, "gemma2": GEMMA2, "gemma3_text": GEMMA3,
    "gemma3": GEMMA3_WITH_PICTURES,
    "phi3": PHI3, "gpt_neox": GPT_NEOX, "bloom": BLOOM,
}  # fmt: skip
"""model_type of a config.json → family. Pythia is of type gpt_neox; Qwen 2.5 of type qwen2; Llama 2 and 3 of llama."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderSpec:
    """One model: its configuration, its maximum length in tokens, and the names of its tensors in the file."""

    family: Family
    config: DecoderConfig
    max_length: int

    def source(self, ours: str) -> tuple[str, str]:
        """Return the file's name of one of our weights, without a prefix, and the part of that tensor ("" for all).

        >>> read({"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1, "vocab_size": 9,
        ...       "n_positions": 16}).source("layers.0.attention.k.weight")
        ('h.0.attn.c_attn.weight', 'k')
        """
        stem, _, kind = ours.rpartition(".")
        if stem == "head":
            return f"{self.family.head}.{kind}", ""
        found = re.fullmatch(r"layers\.(\d+)\.(?:experts\.(\d+)\.)?(.+)", stem)
        if found is None:
            return f"{self.family.tensors[stem]}.{kind}", ""
        layer, expert, rest = found.groups()
        generic = f"layers.{{i}}.{'' if expert is None else 'experts.{j}.'}{rest}"
        name, _, part = self.family.tensors[generic].partition(":")
        return f"{name.replace('{i}', layer).replace('{j}', expert or '')}.{kind}", part


def read(config: Mapping[str, Any], dtype: str = "float32") -> DecoderSpec:
    """Return the specification in a config.json, with matrices packed as `dtype`; a FormatError names the key."""
    family = family_of(config, FAMILIES, "decoders")
    if family.nested:
        stated = typed(config.get(family.nested), family.nested, dict)
        config = {**family.defaults, **stated, "model_type": config["model_type"]}
        family_of(config, FAMILIES, "decoders")  # raises for unsupported settings
    return read_as(family, config, dtype)


def read_as(family: Family, config: Mapping[str, Any], dtype: str = "float32") -> DecoderSpec:
    """Return the specification of a model of a family; FormatError names a key that does not fit."""
    keys, causal = family.keys, _is_causal(family, config)
    sizes: dict[str, Any] = {ours: count(config, keys[ours]) for ours in ("dim", "n_heads", "n_layers")}
    sizes |= {ours: count(config, keys[ours]) for ours in ("n_kv_heads", "head_dim", "hidden_dim")
              if ours in keys and config.get(keys[ours]) is not None}  # fmt: skip
    check_layers(sizes["n_layers"], keys["n_layers"])
    eps = typed(config.get(*family.eps), family.eps[0], int, float)
    if not 0 <= eps < 1:
        raise FormatError(f"{family.eps[0]} is {eps}; it must be at least 0 and below 1")
    max_length = count(config, keys["max_length"]) if "max_length" in keys else 1 << 31
    try:
        head_dim = sizes.get("head_dim", sizes["dim"] // sizes["n_heads"])
        rope, local = (
            ropes(config, head_dim, family.rotary_share, max_length) if family.positions == "rope" else (None, None)
        )
        layers = TransformerConfig(
            **sizes, activation=_activation(config, family), norm=family.norm, eps=float(eps),
            pre_norm=not family.post_norm, causal=causal, rope=rope, alibi=family.positions == "alibi", dtype=dtype,
            bias=False, scale=_scale(config),
        )  # fmt: skip
        windows = windows_of(config, family.windows, sizes["n_layers"]) if family.windows else None
        if windows is not None and not causal:
            windows = tuple(None if width is None else _one_side(config, width) for width in windows)
        cap, logit_cap = (_cap(config, key) if family.caps else 0.0 for key in CAPS)
        made = DecoderConfig(
            layers=layers, vocab_size=count(config, "vocab_size"), windows=windows, local_rope=local,
            positions=max_length if family.positions == "learned" else 0,
            types=count(config, "type_vocab_size", family.types, minimum=0) if "type" in family.tensors else 0,
            norm_bias=family.norm_bias, first_norm=family.first_norm, head=not family.encoder,
            embedding_norm="embedding_norm" in family.tensors, qk_norm=family.qk_norm, part_norms=family.part_norms,
            embedding_scale=float(sizes["dim"]) ** 0.5 if family.scaled_embedding else 1.0,
            parallel=family.parallel is not None and bool(config.get(family.parallel, True)),
            tied=bool(typed(config.get("tie_word_embeddings", family.tied), "tie_word_embeddings", bool)),
            experts=_experts(config, family, sizes["n_layers"]) if family.experts else None, cap=cap,
            logit_cap=logit_cap,
        )  # fmt: skip
    except FormatError:
        raise
    except TokkitError as error:
        raise FormatError(f"the sizes are inconsistent: {error}") from None
    if rope is not None and rope.scaling == "dynamic":  # the base is scaled for this number of positions
        max_length = int(max_length * rope.factor)
    return DecoderSpec(family=family, config=made, max_length=max_length)


def _is_causal(family: Family, config: Mapping[str, Any]) -> bool:
    """Return whether attention is causal; in embedding models it may not be."""
    sees_all = typed(config.get("use_bidirectional_attention") or False, "use_bidirectional_attention", bool)
    earlier = typed(config.get("is_causal", True), "is_causal", bool)
    return bool(earlier and not (family.encoder or sees_all))


def _one_side(config: Mapping[str, Any], width: int) -> int:
    """Return the window on each side of a token, itself included, in a layer whose attention is not causal.

    Gemma's sliding_window counts both sides together; that of layers with is_causal false counts one side.
    """
    return (width // 2 if config.get("use_bidirectional_attention") else width) + 1


def _activation(config: Mapping[str, Any], family: Family) -> str:
    key, default = family.activation
    stated: str = typed(config.get(key) or config.get("hidden_act") or default, key, str)
    name = ACTIVATIONS.get(stated, stated)
    made = name if not family.gated else {inner: gate for gate, inner in GATES.items()}.get(name, name)
    if (family.gated and made not in GATES) or name not in ACTIVATIONS.values():
        raise FormatError(f"{key}: {brief(stated)} is not supported; it must be one of {', '.join(ACTIVATIONS)}")
    return made


def _scale(config: Mapping[str, Any]) -> float | None:
    scalar = number(config.get("query_pre_attn_scalar", 1), "query_pre_attn_scalar")
    if not scalar > 0:
        raise FormatError(f"query_pre_attn_scalar is {scalar:g}; it must be above 0")
    return scalar**-0.5 if "query_pre_attn_scalar" in config else None


def _cap(config: Mapping[str, Any], key: str) -> float:
    cap = number(config.get(key) or 0, key)
    if cap < 0:
        raise FormatError(f"{key} is {cap:g}; it must be above 0, or null")
    return cap


def _experts(config: Mapping[str, Any], family: Family, n_layers: int) -> ExpertsConfig:
    # transformers writes the number of Qwen's experts under the key of Mixtral.
    known = {**config, "num_experts": config.get("num_experts", config.get("num_local_experts"))}
    sizes = {ours: count(known, key) for ours, key in family.experts.items()}
    dense = typed(config.get("mlp_only_layers") or [], "mlp_only_layers", list)
    step = count(config, "decoder_sparse_step", 1)
    return ExpertsConfig(
        **sizes, dense=tuple(i for i in range(n_layers) if i in dense or (i + 1) % step),
        renormalize=family is MIXTRAL or bool(typed(config.get("norm_topk_prob", False), "norm_topk_prob", bool)),
    )  # fmt: skip


def windows_of(config: Mapping[str, Any], rule: str, n_layers: int) -> tuple[int | None, ...] | None:
    """Return the window of each layer: sliding_window for the layers that layer_types calls sliding.

    Without layer_types the rule of the family decides: "all" layers; every other layer from the first on
    ("alternating"); "five of six", or as sliding_window_pattern states; only with use_sliding_window, the layers from
    max_window_layers on ("switched") or all ("switched for all"); "typed" requires layer_types.
    """
    window = config.get("sliding_window")
    if window is None or (("switched" in rule or rule == "typed") and not config.get("use_sliding_window", False)):
        return None
    width = count(config, "sliding_window")
    types = config.get("layer_types")
    if types is None:
        if rule == "typed":
            raise FormatError("layer_types: missing; with use_sliding_window it must state which layers have a window")
        first = count(config, "max_window_layers", 28, minimum=0) if rule == "switched" else 0
        stated = config.get("sliding_window_pattern", config.get("_sliding_window_pattern", PATTERNS.get(rule, 0)))
        every = typed(stated, "sliding_window_pattern", int)
        return tuple(width if i >= first and not (every and (i + 1) % every == 0) else None for i in range(n_layers))
    named = typed(types, "layer_types", list)
    if len(named) != n_layers or any(name not in ("sliding_attention", "full_attention") for name in named):
        raise FormatError(
            f"layer_types: {brief(named)}; it must list {n_layers} values, 'sliding_attention' or 'full_attention'"
        )
    return tuple(width if name == "sliding_attention" else None for name in named)
