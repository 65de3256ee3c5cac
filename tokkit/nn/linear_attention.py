"""Linear attention: weights are products of positive features, and earlier tokens are a state of fixed size."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tokkit._core.nn import linear_attention as kernels
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, check_overlap, current_threads, floats, output
from tokkit.nn.attention import check_heads, padding_of
from tokkit.nn.linear import Linear

PIECE = 1024
"""Number of tokens whose random features are computed at once, so that they stay in the cache."""


class RandomFeatures:
    """Performer's positive random features: their products estimate softmax's weights e^(q·k/√D) without bias.

    φ(x) = e^(W x' - |x'|²/2) / √m with x' = x / D^¼ and m rows of W drawn from a normal distribution; each group of
    D rows is orthogonal, which lowers the variance. The factor 1/√m cancels and is omitted. `n_features` m is D ln D if
    None, at least D; errors fall as 1/√m and rise with |q| |k|. The same seed gives the same W. Immutable.

    Source: Choromanski et al. 2021 (Rethinking Attention with Performers), 2.3 and 2.4.

    >>> RandomFeatures(64, seed=0).matrix.shape
    (267, 64)
    """

    def __init__(self, head_dim: int, n_features: int | None = None, *, seed: int) -> None:
        self.head_dim = d = as_int("head_dim", head_dim, minimum=1)
        wanted = max(d, int(np.ceil(d * np.log(d)))) if n_features is None else n_features
        self.n_features = as_int("n_features", wanted, minimum=1)
        self.seed = as_int("seed", seed, minimum=0)
        rng = np.random.default_rng(self.seed)
        parts = []
        for first in range(0, self.n_features, d):
            turned, upper = np.linalg.qr(rng.standard_normal((d, d)))
            # The signs of R's diagonal make the directions uniform; lengths are those of independent normal vectors.
            turned *= np.where(np.diag(upper) < 0, -1.0, 1.0)
            lengths = np.linalg.norm(rng.standard_normal((d, d)), axis=1)
            parts.append((turned.T * lengths[:, None])[: self.n_features - first])
        self.matrix = np.concatenate(parts).astype(np.float32)
        """W (m, D)."""
        self._linear = Linear(self.matrix * np.float32(d**-0.25))

    @property
    def _drawn(self) -> tuple[int, int, int]:
        return self.head_dim, self.n_features, self.seed

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(RandomFeatures, seed=self.seed), (self.head_dim, self.n_features)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RandomFeatures) and self._drawn == other._drawn

    def __hash__(self) -> int:
        return hash(self._drawn)

    def logits(self, x: Floats, *, keys: bool) -> Floats:
        """Return the exponents of the features, (B, H, T, m) for x (B, H, T, D).

        |x'|²/2 is subtracted only for keys, because it cancels for queries.
        """
        made = self._linear(x)
        if keys:
            made -= np.einsum("...d,...d->...", x, x)[..., None] * np.float32(0.5 * self.head_dim**-0.5)
        return made


Features = Literal["elu", "relu"] | RandomFeatures


class LinearState:
    """The state of linear attention for earlier tokens: S = Σ φ(k) vᵀ (F, E) and z = Σ φ(k) (F) of each key head.

    Its size does not depend on the length, so that decoding takes constant memory and time per token. It is created
    empty, and its shape is set by the first call. It belongs to one sequence or batch, and is used by one thread at a
    time.

    >>> state, token = LinearState(), np.ones((1, 2, 1, 4), np.float32)
    >>> for _ in range(3):
    ...     out = linear_attention(token, token, token, is_causal=True, state=state)
    >>> state.length, state.nbytes
    (3, 168)
    """

    def __init__(self) -> None:
        self.length = 0
        """The number of added keys."""
        self._sums: Floats | None = None
        self._made: tuple[object, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the sums take."""
        return 0 if self._sums is None else self._sums.nbytes

    def copy(self) -> LinearState:
        """Return an independent copy, for several texts with a common prefix."""
        made = LinearState()
        made.length, made._made = self.length, self._made
        made._sums = None if self._sums is None else self._sums.copy()
        return made

    def clear(self) -> None:
        """Drop all tokens, to start another batch."""
        self.length, self._sums, self._made = 0, None, ()

    def _of(self, features: Features, batch: int, heads: int, n_features: int, e: int) -> Floats:
        # Sums of different random features cannot be mixed.
        made = (features, batch, heads, n_features, e)
        if self._sums is None:
            sums = np.zeros((batch, heads, n_features * e + n_features + 1), dtype=np.float32)
            sums[:, :, -1] = -np.inf
            self._sums, self._made = sums, made
        elif made != self._made:
            raise ShapeError(
                f"the keys have (batch, key heads, features, value size) {made[1:]} of {_name(features)}; it must be "
                f"that of the state, {self._made[1:]} of {_name(self._made[0])}"
            )
        return self._sums


def linear_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    features: Features = "elu",
    is_causal: bool = False,
    key_padding_mask: ArrayLike | None = None,
    state: LinearState | None = None,
    out: Floats | None = None,
) -> Floats:
    """Return linear attention: out_i = Σ_j φ(q_i)·φ(k_j) v_j / Σ_j φ(q_i)·φ(k_j).

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E), G a divisor of H → (B, H, T, E). `features`: "elu" is
    φ(x) = elu(x) + 1 (Katharopoulos et al. 2020, 3.2.1), "relu" max(0, x); neither scales q·k; or `RandomFeatures`,
    which estimate softmax attention. Sums run over all keys, or with `is_causal` (T = S) over j <= i, in chunks with a
    running state. `key_padding_mask` (B, S): True = ignore. `state` contains the keys of earlier calls: causal queries
    see these too, so that calls with parts of a text give the same result as one call (up to rounding); without
    `is_causal` these keys are added to it first. A query whose weights sum to less than 1e-38 gives zeros. `out` may be
    `query`, as in `attention`.

    Time T·F·(E + D) instead of T·S·(E + D) with F features (D, or those of `RandomFeatures`); memory F·E per head
    besides the arrays, for any length. Weights cannot be as peaked as those of softmax: selecting exactly one of n keys
    needs about n features.

    Raises ShapeError and OptionError for inconsistent arguments, TypeError for arrays of other types. Source:
    Katharopoulos et al. 2020 (Transformers are RNNs), 3.2 to 3.4; Choromanski et al. 2021 (Performers).

    >>> q = np.eye(2, dtype=np.float32)[None, None]
    >>> linear_attention(q, q, q, is_causal=True).round(4)[0, 0]
    array([[1.    , 0.    ],
           [0.4444, 0.5556]], dtype=float32)
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D)"
        )
    check_heads(q, k, v)
    if is_causal and q.shape[2] != k.shape[2]:
        raise ShapeError(
            f"query has shape {q.shape} and key {k.shape}; causal linear attention needs one query per key"
        )
    ignored = None if key_padding_mask is None else padding_of(key_padding_mask, (k.shape[0], k.shape[2]))
    if isinstance(features, RandomFeatures):
        n_features, kind = features.n_features, "exp"
        if features.head_dim != q.shape[3]:
            raise ShapeError(
                f"query has shape {q.shape}; its head size must be that of the features, {features.head_dim}"
            )
    elif features in ("elu", "relu"):
        n_features, kind = q.shape[3], features
    else:
        raise OptionError(f"features is {features!r}; it must be 'elu', 'relu' or RandomFeatures")
    result = output(out, (*q.shape[:3], v.shape[3]))
    if out is not None:
        check_overlap(result, in_place={"query": q}, apart={"key": k, "value": v, "key_padding_mask": ignored})
    state = LinearState() if state is None else state
    sums = state._of(features, k.shape[0], k.shape[1], n_features, v.shape[3])
    for asked, taken in ((True, True),) if is_causal else ((False, True), (True, False)):
        length = k.shape[2] if taken else q.shape[2]
        step = PIECE if isinstance(features, RandomFeatures) else max(length, 1)
        for first in range(0, length, step):
            part = slice(first, first + step)
            kernels.attend_features(
                _logits(features, q[:, :, part], False) if asked else None,
                _logits(features, k[:, :, part], True) if taken else None,
                v[:, :, part] if taken else None, result[:, :, part] if asked else None, sums, kind,
                ignored=None if ignored is None or not taken else ignored[:, part], threads=current_threads(),
            )  # fmt: skip
    if not result.shape[3] or not n_features:
        result[...] = 0
    state.length += k.shape[2]
    return result


def _logits(features: Features, x: Floats, keys: bool) -> Floats:
    return features.logits(x, keys=keys) if isinstance(features, RandomFeatures) else x


def _name(features: object) -> str:
    return repr(features) if isinstance(features, str) else "random features"
