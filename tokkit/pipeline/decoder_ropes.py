"""The rotary positions (RoPE) in a decoder's config.json, in the forms of published files and of transformers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tokkit.errors import FormatError
from tokkit.files.strict_json import brief, typed
from tokkit.nn.rope import RopeConfig
from tokkit.pipeline.families import number

KINDS = {
    "default": "none", "linear": "linear", "dynamic": "dynamic", "yarn": "yarn", "llama3": "llama3",
    "longrope": "none", "su": "none",
}  # fmt: skip
"""rope_type → scaling of `RopeConfig`."""


def ropes(
    config: Mapping[str, Any], head_dim: int, share: float, max_length: int
) -> tuple[RopeConfig, RopeConfig | None]:
    """Return the rope of layers with full attention, and that of layers with a window if it differs.

    Files have rope_parameters, once or for each type of layer, or in their older form rope_theta, rope_scaling and
    rope_local_base_freq; `share` is the part of a head's columns that is rotated, unless the file states it.
    """
    stated = config.get("rope_parameters")
    if stated is None:
        old = dict(typed(config.get("rope_scaling") or {}, "rope_scaling", dict))
        old.setdefault("rope_theta", config.get("rope_theta", config.get("rotary_emb_base", 10000.0)))
        full = _rope(old, "rope_scaling", config, head_dim, share, max_length)
        local = config.get("rope_local_base_freq")
        if local is None:
            return full, None
        return full, _rope({"rope_theta": local}, "rope_local_base_freq", config, head_dim, share, max_length)
    parts = typed(stated, "rope_parameters", dict)
    if "full_attention" not in parts:
        return _rope(parts, "rope_parameters", config, head_dim, share, max_length), None
    made = [
        _rope(
            typed(parts.get(name), f"rope_parameters.{name}", dict), f"rope_parameters.{name}", config, head_dim, share,
            max_length,
        )
        for name in ("full_attention", "sliding_attention")
    ]  # fmt: skip
    return made[0], made[1]


def _rope(
    stated: Mapping[str, Any], path: str, config: Mapping[str, Any], head_dim: int, share: float, max_length: int
) -> RopeConfig:
    kind = stated.get("rope_type", stated.get("type", "default"))
    if not isinstance(kind, str) or kind not in KINDS:
        raise FormatError(f"{path}.rope_type: {brief(kind)} is not supported; it must be one of {', '.join(KINDS)}")
    part = stated.get("partial_rotary_factor", config.get("partial_rotary_factor", config.get("rotary_pct", share)))
    rotary = int(head_dim * number(part, f"{path}.partial_rotary_factor"))
    original = stated.get("original_max_position_embeddings", config.get("original_max_position_embeddings"))
    if kind == "dynamic":  # transformers scales it by the number of positions of the model, and ignores other keys
        original = max_length
    options: dict[str, Any] = {}
    if "long_factor" in stated:  # older files of Phi-3 call it yarn
        return RopeConfig(head_dim=head_dim, base=_base(stated, path, config), rotary_dim=rotary,
                          **_long(stated, path, config, original or max_length, max_length))  # fmt: skip
    if kind in ("longrope", "su"):
        raise FormatError(f"{path}.long_factor: missing")
    if kind != "default":
        options["factor"] = number(stated.get("factor"), f"{path}.factor")
        options["original_length"] = int(number(original or max_length, f"{path}.original_max_position_embeddings"))
    if kind == "yarn":
        options |= {name: number(stated[name], f"{path}.{name}") for name in ("beta_fast", "beta_slow")
                    if stated.get(name) is not None}  # fmt: skip
        options["attention_factor"] = _attention_factor(stated, path, options["factor"])
    if kind == "llama3":
        options |= {
            name: number(stated.get(name), f"{path}.{name}") for name in ("low_freq_factor", "high_freq_factor")
        }
    base = _base(stated, path, config)
    return RopeConfig(head_dim=head_dim, base=base, rotary_dim=rotary, scaling=KINDS[kind], **options)


def _base(stated: Mapping[str, Any], path: str, config: Mapping[str, Any]) -> float:
    return number(stated.get("rope_theta", config.get("rope_theta", 10000.0)), f"{path}.rope_theta")


def _long(
    stated: Mapping[str, Any], path: str, config: Mapping[str, Any], original: object, max_length: int
) -> dict[str, Any]:
    """Return LongRoPE's options: factors of the angles for texts up to the training length, and for longer texts."""
    trained = int(number(original, f"{path}.original_max_position_embeddings"))
    factor = number(stated.get("factor") or max_length / max(trained, 1), f"{path}.factor")
    grown = math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 and trained > 1 else 1.0
    made: dict[str, Any] = {"original_length": trained, "attention_factor": grown}
    if stated.get("attention_factor") is not None:
        made["attention_factor"] = number(stated["attention_factor"], f"{path}.attention_factor")
    for ours, key in (("pair_factors", "short_factor"), ("long_factors", "long_factor")):
        factors = typed(stated.get(key), f"{path}.{key}", list)
        made[ours] = tuple(number(each, f"{path}.{key}") for each in factors)
    return made


def _attention_factor(stated: Mapping[str, Any], path: str, factor: float) -> float:
    if stated.get("attention_factor") is not None:
        return number(stated["attention_factor"], f"{path}.attention_factor")

    def grown(by: float) -> float:
        return 0.1 * by * math.log(factor) + 1 if factor > 1 else 1.0

    # In DeepSeek's form there is one factor for queries and one for all dimensions.
    one, other = stated.get("mscale"), stated.get("mscale_all_dim")
    if one and other:
        return grown(number(one, f"{path}.mscale")) / grown(number(other, f"{path}.mscale_all_dim"))
    return grown(1)
