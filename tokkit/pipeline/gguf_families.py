"""The keys of a GGUF file → the `DecoderSpec` that a config.json of the same model would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tokkit.errors import FormatError, TokkitError
from tokkit.files.gguf_file import Value
from tokkit.files.gguf_tensors import BlockTensor
from tokkit.files.safetensors import Tensor
from tokkit.files.strict_json import brief, kind, typed
from tokkit.nn.config import GATES
from tokkit.nn.rope import RopeConfig
from tokkit.pipeline import decoder_families, gguf_experts
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.families import check_layers, count, number

ROPE_FACTORS = "rope_freqs.weight"
"""The tensor of divisors of the frequencies, one for each pair of a head (Llama 3)."""
SHORT_FACTORS, LONG_FACTORS = "rope_factors_short.weight", "rope_factors_long.weight"
"""The same for texts up to the training length, and for longer ones (LongRoPE)."""
TABLES = {"word": "token_embd", "position": "position_embd", "embedding_norm": "token_embd_norm", "norm": "output_norm"}
LAYER = {
    "attention.q": "attn_q", "attention.k": "attn_k", "attention.v": "attn_v", "attention.o": "attn_output",
    "feed_forward.gate": "ffn_gate", "feed_forward.up": "ffn_up", "feed_forward.down": "ffn_down",
    "attention_norm": "attn_norm", "feed_forward_norm": "ffn_norm", "q_norm": "attn_q_norm", "k_norm": "attn_k_norm",
    "attended_norm": "post_attention_norm", "forwarded_norm": "post_ffw_norm",
}  # fmt: skip
"""Our name → the name of a tensor, the same in all architectures."""
JOINED = {part: f"attn_qkv:{part[-1]}" for part in ("attention.q", "attention.k", "attention.v")}
JOINED_GATE = {"feed_forward.gate": "ffn_up:gate", "feed_forward.up": "ffn_up:up"}
"""Names in architectures with fused tensors."""
SIZES = {
    "dim": "embedding_length", "n_heads": "attention.head_count", "n_layers": "block_count",
    "hidden_dim": "feed_forward_length", "n_kv_heads": "attention.head_count_kv", "head_dim": "attention.key_length",
    "max_length": "context_length",
}  # fmt: skip
"""The name of a size in `Family.keys` → the key in the file, without the prefix of the architecture."""
NEEDED = ("dim", "n_heads", "n_layers", "hidden_dim", "max_length")
SCALINGS = {"none": "default", "linear": "linear", "yarn": "yarn", "longrope": "longrope"}
"""rope.scaling.type → rope_type of a config.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The differences between an architecture of GGUF files and the same family of config.json.

    `interleaved`: rows of queries and keys are ordered so that RoPE rotates adjacent pairs. `every`: each `every`-th
    layer has no window. `wide`: in a model with this number of layers scores are scaled by dim / n_heads, not by the
    head size. `local`: the rope base of layers with a window, if it differs. `caps`: the default soft caps of scores
    and of logits; 0 is none. `mixture` is the family of files with experts, `renormalize` whether the weights of the
    chosen experts add up to 1.
    """

    model_type: str
    interleaved: bool = False
    every: int = 0
    wide: int = 0
    local: float = 0.0
    caps: tuple[float, float] | None = None
    mixture: str = ""
    renormalize: bool = True


ARCHITECTURES = {
    "llama": Architecture(model_type="mistral", interleaved=True, mixture="mixtral"),
    "qwen2": Architecture(model_type="qwen2"),
    "qwen3": Architecture(model_type="qwen3"),
    "qwen2moe": Architecture(model_type="qwen2_moe", mixture="qwen2_moe", renormalize=False),
    "qwen3moe": Architecture(model_type="qwen3_moe", mixture="qwen3_moe"),
    "gemma": Architecture(model_type="gemma"),
    "gemma2": Architecture(model_type="gemma2", every=2, wide=46, caps=(50.0, 30.0)),
    "gemma3": Architecture(model_type="gemma3_text", every=6, wide=62, local=10000.0, caps=(0.0, 0.0)),
    "phi3": Architecture(model_type="phi3"),
    "gpt2": Architecture(model_type="gpt2"),
    "gptneox": Architecture(model_type="gpt_neox"),
    "bloom": Architecture(model_type="bloom"),
}
"""general.architecture → its description.

Llama 1 to 3, Mistral and Mixtral are "llama", Pythia "gptneox", Qwen 2.5 "qwen2".
"""


def read(keys: Mapping[str, Value], tensors: Mapping[str, Tensor | BlockTensor], dtype: str = "float32") -> DecoderSpec:
    """Return the specification of the model in a file, with matrices packed as `dtype`; a FormatError names the key."""
    model = _Model(keys, tensors)
    spec = decoder_families.read(model.config(), dtype)
    joined = JOINED if "blk.0.attn_qkv.weight" in tensors else {}
    gate = "ffn_gate_inp" if spec.config.experts else "ffn_gate"
    if spec.config.layers.activation in GATES and f"blk.0.{gate}.weight" not in tensors:
        joined = joined | JOINED_GATE
    names = {f"layers.{{i}}.{ours}": f"blk.{{i}}.{name}"
             for ours, name in (LAYER | gguf_experts.LAYER | joined).items()}  # fmt: skip
    # In GGUF matrices are (outputs, inputs), fused parts are not interleaved, and offsets of norms are already added.
    family = replace(
        spec.family, tensors=TABLES | names, prefixes=("",), head="output", transposed=False, by_heads=False,
        norm_offset=0.0,
    )  # fmt: skip
    layers = spec.config.layers
    if layers.rope is not None:
        try:
            layers = replace(layers, rope=model.rope(layers.rope))
        except TokkitError as error:
            raise FormatError(f"{model.name('rope.dimension_count')}: {error}") from None
    return replace(spec, family=family, config=replace(spec.config, layers=layers))


class _Model:
    """The keys of one model, which have the name of its architecture as prefix."""

    def __init__(self, keys: Mapping[str, Value], tensors: Mapping[str, Tensor | BlockTensor]) -> None:
        self._keys, self._tensors = keys, tensors
        stated = _text(keys, "general.architecture")
        if stated not in ARCHITECTURES:
            raise FormatError(
                f"general.architecture: {brief(stated)} is not supported; it must be one of {', '.join(ARCHITECTURES)}"
            )
        self._prefix, self.of = stated, ARCHITECTURES[stated]
        if count(keys, self.name("expert_count"), 0, minimum=0) > 1:
            if not self.of.mixture:
                raise FormatError(f"{self.name('expert_count')}: mixtures of experts of {stated} are not supported")
            self.of = replace(self.of, model_type=self.of.mixture)
        self._family = decoder_families.FAMILIES[self.of.model_type]

    def name(self, short: str) -> str:
        return f"{self._prefix}.{short}"

    def config(self) -> dict[str, Any]:
        """Return the equivalent config.json."""
        family = self._family
        made: dict[str, Any] = {"model_type": self.of.model_type}
        for ours, theirs in family.keys.items():
            if ours in NEEDED or self.name(SIZES[ours]) in self._keys:
                made[theirs] = count(self._keys, self.name(SIZES[ours]))
        n_layers = made[family.keys["n_layers"]]
        check_layers(n_layers, self.name("block_count"))
        norm = "layer_norm_rms_epsilon" if family.norm == "rms" else "layer_norm_epsilon"
        made[family.eps[0]] = self._number(f"attention.{norm}", family.eps[1])
        made["vocab_size"] = self._rows()
        made["tie_word_embeddings"] = "output.weight" not in self._tensors
        if family.parallel is not None:
            made[family.parallel] = typed(self._get(family.parallel, True), self.name(family.parallel), bool)
        self._refuse()
        if family.positions == "rope":
            made |= self._ropes()
        if family.windows:
            made |= self._windows(n_layers)
        if family.experts:
            made |= self._experts()
        if self.of.caps is not None:
            made |= {f"{part}_logit_softcapping": self._number(f"{part}_logit_softcapping", cap) or None
                     for part, cap in zip(("attn", "final"), self.of.caps, strict=True)}  # fmt: skip
        if self.of.wide:
            size = made.get("head_dim", made["hidden_size"] // made["num_attention_heads"])
            wide = made["num_hidden_layers"] == self.of.wide
            made["query_pre_attn_scalar"] = made["hidden_size"] // made["num_attention_heads"] if wide else size
        return made

    def _experts(self) -> dict[str, Any]:
        """Return the sizes of experts; old files without these keys state the total size of the chosen experts."""
        made: dict[str, Any] = {"norm_topk_prob": self.of.renormalize}
        for ours, theirs in self._family.experts.items():
            made[theirs] = count(self._keys, self.name(gguf_experts.SIZES[ours]), self._of_all(ours))
        return made

    def _of_all(self, size: str) -> int | None:
        if size not in ("hidden_dim", "shared_dim"):
            return None
        whole = count(self._keys, self.name(SIZES["hidden_dim"]))
        if size == "shared_dim" or self.of.model_type == "mixtral":
            return whole
        return whole // count(self._keys, self.name(gguf_experts.SIZES["top"]))

    def _ropes(self) -> dict[str, Any]:
        scaling = _text(self._keys, self.name("rope.scaling.type"), "linear")
        if scaling not in SCALINGS:
            raise FormatError(
                f"{self.name('rope.scaling.type')}: {brief(scaling)} is not supported; it must be one of "
                f"{', '.join(SCALINGS)}"
            )
        factor = self._number("rope.scaling.factor", self._number("rope.scale_linear", 0.0)) or 1.0
        made: dict[str, Any] = {"rope_theta": self._number("rope.freq_base", 10000.0)}
        if factor != 1 and scaling in ("linear", "yarn"):
            made |= {"rope_type": SCALINGS[scaling], "factor": factor}
            length = "rope.scaling.original_context_length"
            made["original_max_position_embeddings"] = count(
                self._keys, self.name(length if self.name(length) in self._keys else "context_length")
            )
            for key, name in (("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow"),
                              ("attention_factor", "yarn_attn_factor")):  # fmt: skip
                if self.name(f"rope.scaling.{name}") in self._keys:
                    made[key] = self._number(f"rope.scaling.{name}")
        if scaling == "longrope" or LONG_FACTORS in self._tensors:
            made |= self._long_rope()
        if not self.of.local:
            return {"rope_parameters": made}
        local = {"rope_theta": self._number("rope.freq_base_swa", self.of.local)}
        return {"rope_parameters": {"full_attention": made, "sliding_attention": local}}

    def _long_rope(self) -> dict[str, Any]:
        """Return LongRoPE's parameters: files of Phi-3 store its factors as tensors."""
        head, turned = self.name("attention.key_length"), self.name("rope.dimension_count")
        size = count(self._keys, head, count(self._keys, self.name(SIZES["dim"])) // self._heads())
        made: dict[str, Any] = {
            "rope_type": "longrope",
            "attention_factor": self._number("rope.scaling.attn_factor", 1.0),
            "original_max_position_embeddings": count(self._keys, self.name("rope.scaling.original_context_length")),
            # Half a column more, so that the product does not round below the integer.
            "partial_rotary_factor": min((count(self._keys, turned, size) + 0.5) / size, 1.0),
        }
        for key, name in (("short_factor", SHORT_FACTORS), ("long_factor", LONG_FACTORS)):
            factors = self._tensors.get(name)
            if factors is None or len(factors.shape) != 1:
                raise FormatError(f"the tensor {name!r} is missing, or has more than one axis")
            made[key] = factors.float32().tolist()
        return made

    def _heads(self) -> int:
        return count(self._keys, self.name(SIZES["n_heads"]))

    def rope(self, of_config: RopeConfig) -> RopeConfig:
        """Return the rope with the values that a config.json does not state."""
        size = self.name("rope.dimension_count")
        made = replace(of_config, interleaved=self.of.interleaved)
        if size in self._keys:
            made = replace(made, rotary_dim=count(self._keys, size))
        factors = self._tensors.get(ROPE_FACTORS)
        if factors is None:
            return made
        pairs = (made.rotary_dim or made.head_dim) // 2
        if factors.shape != (pairs,) or isinstance(factors, BlockTensor):
            raise FormatError(f"the tensor {ROPE_FACTORS!r} has shape {factors.shape}; a head has {pairs} pairs")
        return replace(made, pair_factors=tuple(factors.float32().tolist()))

    def _windows(self, n_layers: int) -> dict[str, Any]:
        key = self.name("attention.sliding_window")
        window = count(self._keys, key, 0, minimum=0)
        if not window:
            return {"sliding_window": None}
        if not self.of.every:
            return {"sliding_window": window}
        name = self.name("attention.sliding_window_pattern")
        pattern = self._keys.get(name, self.of.every)
        if isinstance(pattern, np.ndarray) and pattern.dtype == bool and len(pattern) == n_layers:
            slides = pattern.tolist()
        else:
            every = count({name: pattern}, name)
            slides = [(i + 1) % every != 0 for i in range(n_layers)]
        types = ["sliding_attention" if each else "full_attention" for each in slides]
        return {"sliding_window": window, "layer_types": types}

    def _rows(self) -> int:
        words = self._tensors.get("token_embd.weight")
        if words is None or len(words.shape) != 2:
            raise FormatError("the tensor 'token_embd.weight', the table of tokens, is missing or not a matrix")
        return words.shape[0]

    def _refuse(self) -> None:
        """Raise FormatError for features that are not supported."""
        if self._get("attention.causal", True) is not True:
            raise FormatError(f"{self.name('attention.causal')}: only causal models are supported")
        names = [self.name(f"attention.{part}_length") for part in ("key", "value")]
        sizes = [count(self._keys, name) for name in names if name in self._keys]
        if sizes and sizes[0] != sizes[-1]:
            raise FormatError(f"{names[1]}: {sizes[1]}; it must be equal to attention.key_length, {sizes[0]}")

    def _get(self, short: str, default: Value) -> Value:
        return self._keys.get(self.name(short), default)

    def _number(self, short: str, default: float | None = None) -> float:
        name = self.name(short)
        return number(self._keys.get(name, default), name)


def _text(keys: Mapping[str, Value], name: str, default: str | None = None) -> str | None:
    value = keys.get(name)
    if value is None:
        return default
    if not isinstance(value, bytes):
        raise FormatError(f"{name}: a string is needed, not {kind(value)}")
    return value.decode("utf-8", "replace")
