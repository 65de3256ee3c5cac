"""Multi-head latent attention (MLA): keys and values of all heads come from one small vector per token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats, take_all
from tokkit.nn.attention import attention
from tokkit.nn.config import Shapes
from tokkit.nn.kv_cache import KVCache, Use
from tokkit.nn.linear import Linear, buffer, check_dtype
from tokkit.nn.norms import RMSNorm
from tokkit.nn.rope import Rope, RopeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentConfig:
    """The sizes of a latent attention, with the names in transformers in brackets.

    `dim` columns per token (hidden_size), `n_heads`; heads of `nope_dim` columns without positions (qk_nope_head_dim)
    and of rope's `head_dim` with them (qk_rope_head_dim), values of `v_dim` (v_head_dim). `kv_rank` is the size of the
    latent vector for keys and values (kv_lora_rank), `q_rank` that for queries, None if they are projected from x
    (q_lora_rank). `scale` is 1/√(nope_dim + rope's) if None; `bias`: whether q_a, kv_a and o have one (attention_bias);
    `dtype` as in `Linear`. DeepSeek-V2 has an interleaved rope, V3 if its rope_interleave is true.

    Inconsistent sizes raise ShapeError, other invalid settings OptionError.
    """

    dim: int
    n_heads: int
    nope_dim: int
    v_dim: int
    kv_rank: int
    rope: RopeConfig
    q_rank: int | None = None
    scale: float | None = None
    eps: float = 1e-6
    bias: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for name in ("dim", "n_heads", "nope_dim", "v_dim", "kv_rank"):
            object.__setattr__(self, name, as_int(name, getattr(self, name), minimum=1))
        if self.q_rank is not None:
            object.__setattr__(self, "q_rank", as_int("q_rank", self.q_rank, minimum=1))
        if self.rope.head_factors is not None:
            raise OptionError(
                "rope.head_factors is given; it must be None, because all query heads share one rotated key"
            )
        as_float("eps", self.eps, minimum=0)
        check_dtype(self.dtype)

    @property
    def head_dim(self) -> int:
        """Columns of a query or key: those without positions, then those with positions."""
        return self.nope_dim + self.rope.head_dim

    @property
    def latent_dim(self) -> int:
        """Columns of a token in the cache: the latent vector, then the rotated key of all heads."""
        return self.kv_rank + self.rope.head_dim

    def shapes(self) -> Shapes:
        """Return name → shape of the weights.

        >>> rope = RopeConfig(head_dim=4, interleaved=True)
        >>> LatentConfig(dim=32, n_heads=2, nope_dim=8, v_dim=6, kv_rank=12, rope=rope).shapes()["kv_b.weight"]
        (28, 12)
        """
        heads, rows = self.n_heads, self.n_heads * self.head_dim
        shapes: Shapes = {"q.weight": (rows, self.dim)}
        if self.q_rank is not None:
            shapes = {
                "q_a.weight": (self.q_rank, self.dim), "q_norm.weight": (self.q_rank,),
                "q_b.weight": (rows, self.q_rank),
            }  # fmt: skip
        shapes |= {
            "kv_a.weight": (self.latent_dim, self.dim), "kv_norm.weight": (self.kv_rank,),
            "kv_b.weight": (heads * (self.nope_dim + self.v_dim), self.kv_rank),
            "o.weight": (self.dim, heads * self.v_dim),
        }  # fmt: skip
        if self.bias:
            for name in ("q_a", "kv_a", "o"):
                if f"{name}.weight" in shapes:
                    shapes[f"{name}.bias"] = shapes[f"{name}.weight"][:1]
        return shapes


class MultiHeadLatentAttention:
    """Causal attention that caches one latent vector c and one rotated key r per token, for all heads together.

    c_t = norm(W_kva x_t), r_t = rope(W_kr x_t); head h has keys [W_uk,h c_t; r_t], values W_uv,h c_t and queries
    [q_nope,h; rope(q_rope,h)], and scores q·k · scale (kv_b holds W_uk and W_uv of each head, kv_a W_kva and W_kr).
    Expanded form: keys and values of all heads are computed first: T·S·H·(nope + rope + v) products after
    S·rank·H·(nope + v), for prefill. Absorbed form: W_uk is applied to the query, q_nopeᵀ W_uk c = (W_ukᵀ q_nope)ᵀ c,
    and W_uv after the sum: all heads read the cache as one key head, T·S·H·(2 rank + rope) products without expanding
    it, for decoding. Both give equal results up to rounding. A cached token takes rank + rope floats (DeepSeek-V2-Lite:
    576 instead of 5,120 for keys and values of its 16 heads).

    Weights: see `LatentConfig.shapes`; names are transformers' q_proj, q_a_proj, q_a_layernorm, q_b_proj,
    kv_a_proj_with_mqa, kv_a_layernorm, kv_b_proj and o_proj. kv_b is stored twice, in the layouts of both forms.
    Source: DeepSeek-AI 2024 (DeepSeek-V2), 2.1 and appendix C.

    >>> config = LatentConfig(dim=32, n_heads=2, nope_dim=8, v_dim=6, kv_rank=12, rope=RopeConfig(head_dim=4))
    >>> from tokkit.nn.arrays import initial
    >>> MultiHeadLatentAttention(config, initial(config.shapes(), seed=0))(np.ones((1, 3, 32))).shape
    (1, 3, 32)
    """

    def __init__(self, config: LatentConfig, weights: Mapping[str, Any]) -> None:
        self.config = c = config
        taken = take_all(weights, c.shapes())
        first = ("q_a", "kv_a") if c.q_rank is not None else ("q", "kv_a")
        self._joined = Linear.of(taken, first, dtype=c.dtype)
        self._q_b = Linear(taken["q_b.weight"], dtype=c.dtype) if c.q_rank is not None else None
        self._q_norm = taken["q_norm.weight"] if c.q_rank is not None else None
        self._kv_norm = RMSNorm({"weight": taken["kv_norm.weight"]}, dim=c.kv_rank, eps=c.eps)
        self._kv_b, self._o = (Linear.of(taken, (name,), dtype=c.dtype) for name in ("kv_b", "o"))
        each = taken["kv_b.weight"].reshape(c.n_heads, c.nope_dim + c.v_dim, c.kv_rank)
        self._absorb = [Linear(head[: c.nope_dim].T, dtype=c.dtype) for head in each]
        self._values = [Linear(head[c.nope_dim :], dtype=c.dtype) for head in each]
        self._rope = Rope(c.rope)

    def __call__(
        self,
        x: ArrayLike,
        *,
        key_padding_mask: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        cache: KVCache | None = None,
        absorbed: bool | None = None,
    ) -> Floats:
        """Return (B, T, dim) for x (B, T, dim).

        `positions` (T) or (B, T): if None, the next T positions after those of the cache. `key_padding_mask` (B, S):
        True = ignore; S includes the tokens of the cache. `cache` holds earlier tokens, latent_dim floats each; it must
        not have a window. `absorbed`: whether to use the absorbed form; if None, the form with fewer products.

        Raises ShapeError for arrays that do not fit, OptionError for a cache with a window. The cache is then
        unchanged.
        """
        made, c = floats(x, "x"), self.config
        if made.ndim != 3 or made.shape[2] != c.dim:
            raise ShapeError(f"x has shape {made.shape}; it must be (B, T, {c.dim})")
        if cache is not None and cache.window is not None:
            raise OptionError(
                f"the cache keeps only {cache.window} tokens; give a cache without window, because latent attention "
                "sees all tokens"
            )
        batch, length = made.shape[:2]
        with Use() if cache is None else Use(cache):
            start = 0 if cache is None else cache.length
            where = np.arange(start, start + length) if positions is None else positions
            queries, latent = self._projected(made.reshape(batch * length, c.dim), batch, length, where)
            if cache is not None:
                latent, _ = cache.append(latent, latent[..., :0])
            if absorbed is None:
                absorbed = self._fewer_absorbed(length, latent.shape[2])
            attend = self._absorbed if absorbed else self._expanded
            mixed = attend(queries, latent, batch, key_padding_mask, start)
            out = np.empty((batch * length, c.dim), dtype=np.float32)
            return self._o.rows(mixed, out).reshape(batch, length, c.dim)

    def _projected(self, rows: Floats, batch: int, length: int, where: ArrayLike) -> tuple[Floats, Floats]:
        # Queries (B T, H head_dim) and latents (B, 1, T, latent_dim), rotated.
        c = self.config
        joined = self._joined.rows(rows, buffer(len(rows), self._joined.shape[0]))
        queries, found = joined[:, : -c.latent_dim], joined[:, -c.latent_dim :]
        if self._q_b is not None and self._q_norm is not None:
            normed = RMSNorm({"weight": self._q_norm}, dim=len(self._q_norm), eps=c.eps)(queries)
            queries = self._q_b.rows(normed, buffer(len(rows), self._q_b.shape[0]))
        turned = _heads(queries, batch, length, c.n_heads)[..., c.nope_dim :]
        self._rope(turned, where, out=turned)
        latent = np.empty((batch, 1, length, c.latent_dim), dtype=np.float32)
        flat = latent.reshape(batch * length, c.latent_dim)
        flat[:, : c.kv_rank] = self._kv_norm(found[:, : c.kv_rank])
        flat[:, c.kv_rank :] = found[:, c.kv_rank :]
        self._rope(latent[..., c.kv_rank :], where, out=latent[..., c.kv_rank :])
        return queries, latent

    def _expanded(self, queries: Floats, latent: Floats, batch: int, ignored: ArrayLike | None, offset: int) -> Floats:
        c, n_keys = self.config, latent.shape[2]
        rows = latent[..., : c.kv_rank].reshape(batch * n_keys, c.kv_rank)
        made = self._kv_b.rows(rows, buffer(len(rows), self._kv_b.shape[0]))
        both = _heads(made, batch, n_keys, c.n_heads)
        keys = np.empty((batch, c.n_heads, n_keys, c.head_dim), dtype=np.float32)
        keys[..., : c.nope_dim] = both[..., : c.nope_dim]
        keys[..., c.nope_dim :] = latent[..., c.kv_rank :]
        return self._mix(queries, keys, both[..., c.nope_dim :], batch, ignored, offset)

    def _absorbed(self, queries: Floats, latent: Floats, batch: int, ignored: ArrayLike | None, offset: int) -> Floats:
        c, rank = self.config, self.config.kv_rank
        wide = buffer(len(queries), c.n_heads * c.latent_dim)
        for head, layer in enumerate(self._absorb):
            at, to = head * c.head_dim, head * c.latent_dim
            layer.rows(queries[:, at : at + c.nope_dim], wide[:, to : to + rank])
            wide[:, to + rank : to + c.latent_dim] = queries[:, at + c.nope_dim : at + c.head_dim]
        found = self._mix(wide, latent, latent[..., :rank], batch, ignored, offset)
        mixed = buffer(len(queries), c.n_heads * c.v_dim)
        for head, layer in enumerate(self._values):
            layer.rows(found[:, head * rank : (head + 1) * rank], mixed[:, head * c.v_dim : (head + 1) * c.v_dim])
        return mixed

    def _mix(
        self, queries: Floats, keys: Floats, values: Floats, batch: int, ignored: ArrayLike | None, offset: int
    ) -> Floats:
        # Return the attention (B T, H E) of queries (B T, H D).
        c, length = self.config, len(queries) // max(batch, 1)
        scale = c.head_dim**-0.5 if c.scale is None else c.scale
        mixed = buffer(len(queries), c.n_heads * values.shape[3])
        q, out = _heads(queries, batch, length, c.n_heads), _heads(mixed, batch, length, c.n_heads)
        one_token = length == 1 and keys.shape[1] == 1
        if one_token:
            # Heads that share a key head are passed as queries of one head, which fills the kernel's lanes.
            q, out = q.swapaxes(1, 2), out.swapaxes(1, 2)
        attention(
            q, keys, values, key_padding_mask=ignored, is_causal=not one_token, causal_offset=offset, scale=scale,
            out=out,
        )  # fmt: skip
        return mixed

    def _fewer_absorbed(self, n_queries: int, n_keys: int) -> bool:
        c = self.config
        both, rope = c.nope_dim + c.v_dim, c.rope.head_dim
        expanded = n_keys * c.kv_rank * both + n_queries * n_keys * (both + rope)
        return n_queries * n_keys * (2 * c.kv_rank + rope) + n_queries * c.kv_rank * both < expanded


def _heads(rows: Floats, batch: int, length: int, n: int) -> Floats:
    # (B T, n D), whose rows may be padded, as (B, n, T, D) without a copy.
    d, step = rows.shape[1] // n, rows.strides[0]
    shape, strides = (batch, n, length, d), (length * step, d * 4, step, 4)
    return np.lib.stride_tricks.as_strided(rows, shape, strides)
