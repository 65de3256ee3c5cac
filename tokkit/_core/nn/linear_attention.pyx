"""Linear attention and its state (csrc/nn/feature_attention.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t

from tokkit._core.nn.attention cimport Floats, attention_steps, check_padding, fits, tk_steps
from tokkit._core.text cimport floats_isa, shape_tuple

cdef extern from "nn/feature_attention.h" nogil:
    ctypedef struct tk_feature_attention:
        const float *q
        const float *k
        const float *v
        float *out
        float *state
        tk_steps q_by
        tk_steps k_by
        tk_steps v_by
        tk_steps out_by
        const uint8_t *ignored
        ptrdiff_t ignored_by
        size_t batch
        size_t heads
        size_t group
        size_t n_queries
        size_t n_keys
        size_t f
        size_t e
        int feature
        int does
    int TK_FEATURE_ELU, TK_FEATURE_RELU, TK_FEATURE_EXP, TK_ABSORB, TK_ANSWER
    int tk_feature_attention_run(const tk_feature_attention *, int isa, int threads)

FEATURES = {"elu": TK_FEATURE_ELU, "relu": TK_FEATURE_RELU, "exp": TK_FEATURE_EXP}


def attend_features(
    Floats q, Floats k, Floats v, float[:, :, :, :] out, float[:, :, ::1] state, str feature, *,
    const uint8_t[:, :] ignored=None, int threads=1, isa=None,
):
    """Add k (B, G, S, F), v (B, G, S, E) to state (B, G, F E + F + 1); write the result of q (B, H, T, F) to out.

    out is (B, H, T, E). Either pair may be None, and is left out. With both, query i is computed after key i is added.
    """
    cdef tk_feature_attention a
    cdef int status, chosen = floats_isa(isa)
    a.feature, a.does = FEATURES[feature], 0
    a.q, a.k, a.v, a.out, a.ignored = NULL, NULL, NULL, NULL, NULL
    a.n_queries = a.n_keys = 0
    a.batch, a.heads, a.group = state.shape[0], state.shape[1], 1
    if (q is None) != (out is None) or (k is None) != (v is None) or (q is None and k is None):
        raise ValueError("give q together with out, k together with v, and at least one of these pairs")
    a.f = k.shape[3] if k is not None else q.shape[3]
    a.e = v.shape[3] if v is not None else out.shape[3]
    if k is not None:
        if (k.shape[0], k.shape[1]) != (state.shape[0], state.shape[1]) or (
            (v.shape[0], v.shape[1], v.shape[2]) != (k.shape[0], k.shape[1], k.shape[2])
        ):
            raise ValueError(
                f"k has shape {shape_tuple(k.shape, 4)}, v {shape_tuple(v.shape, 4)} and state "
                f"{shape_tuple(state.shape, 3)}; they must be (B, G, S, F), (B, G, S, E) and (B, G, F E + F + 1)"
            )
        fits(k.shape, k.strides, 4, "k")
        fits(v.shape, v.strides, 4, "v")
        a.does |= TK_ABSORB
        a.n_keys, a.k_by, a.v_by = k.shape[2], attention_steps(k.strides, 4), attention_steps(v.strides, 4)
    if q is not None:
        if state.shape[1] == 0 or q.shape[1] % state.shape[1] or q.shape[0] != state.shape[0] or q.shape[3] != a.f or (
            (out.shape[0], out.shape[1], out.shape[2], out.shape[3]) != (q.shape[0], q.shape[1], q.shape[2], a.e)
        ):
            raise ValueError(
                f"q has shape {shape_tuple(q.shape, 4)}, out {shape_tuple(out.shape, 4)} and state "
                f"{shape_tuple(state.shape, 3)}; they must be (B, H, T, F), (B, H, T, E) and (B, G, F E + F + 1), with "
                f"F = {a.f}, E = {a.e} and H a multiple of G"
            )
        if k is not None and q.shape[2] != k.shape[2]:
            raise ValueError(
                f"q has {q.shape[2]} queries and k {k.shape[2]} keys; with both, the numbers must be equal"
            )
        fits(q.shape, q.strides, 4, "q")
        fits(out.shape, out.strides, 4, "out")
        a.does |= TK_ANSWER
        a.heads, a.group = q.shape[1], q.shape[1] // state.shape[1]
        a.n_queries, a.q_by, a.out_by = q.shape[2], attention_steps(q.strides, 4), attention_steps(out.strides, 4)
    if <size_t> state.shape[2] != a.f * a.e + a.f + 1:
        raise ValueError(
            f"state has shape {shape_tuple(state.shape, 3)}; its last axis must have F E + F + 1 = "
            f"{a.f * a.e + a.f + 1} entries"
        )
    if not (a.batch and a.heads and a.f and a.e and (a.n_queries or a.n_keys)):
        return
    a.state = &state[0, 0, 0]
    if a.n_queries:
        a.q, a.out = &q[0, 0, 0, 0], &out[0, 0, 0, 0]
    if a.n_keys:
        a.k, a.v = &k[0, 0, 0, 0], &v[0, 0, 0, 0]
        if ignored is not None:
            check_padding(ignored, a.batch, a.n_keys)
            a.ignored, a.ignored_by = &ignored[0, 0], ignored.strides[0]
    with nogil:
        status = tk_feature_attention_run(&a, chosen, max(1, threads))
    if status:
        raise MemoryError()
