"""Attention for training, forward and backward, without the GIL (csrc/nn/grad_attend.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from tokkit._core.grad.backward cimport least_of, same_shape
from tokkit._core.nn.rows cimport Rows, step
from tokkit._core.text cimport floats_isa

cdef extern from "nn/grad_attend.h" nogil:
    ctypedef struct tk_grad_attention:
        const float *q
        const float *k
        const float *v
        float *out
        float *lse
        const float *dout
        float *dq
        float *dk
        float *dv
        ptrdiff_t row
        ptrdiff_t out_row
        ptrdiff_t drow
        size_t batch
        size_t heads
        size_t group
        size_t n
        size_t d
        float scale
        size_t before
        size_t after
        const float *by_distance
        float *d_by_distance
        size_t distances
        size_t zero
        uint32_t least
        float left_by
        uint64_t seed
        size_t first_sequence
    int TK_GRAD_BLOCK
    int tk_grad_attention_run(const tk_grad_attention *, int isa, int threads)


cdef int heads_of(tk_grad_attention *w, Rows q, Rows k, Rows v, float[:, :] out, float[:, :, ::1] lse,
                  float scale, bint causal, Py_ssize_t before, Py_ssize_t after, float[:, ::1] by_distance,
                  Py_ssize_t zero, float p, uint64_t seed, size_t first_sequence) except -1:
    cdef Py_ssize_t batch = lse.shape[0], heads = lse.shape[1], n = lse.shape[2], rows = batch * n
    memset(w, 0, sizeof(tk_grad_attention))
    if not (batch and heads and n and q.shape[1]):
        return 0
    if q.shape[0] != rows or k.shape[0] != rows or v.shape[0] != rows or out.shape[0] != rows:
        raise ValueError(
            f"q, k, v and out have {(q.shape[0], k.shape[0], v.shape[0], out.shape[0])} rows; each must have {rows}, "
            f"the product of batch and length of lse"
        )
    w.d = q.shape[1] // heads
    if not w.d or q.shape[1] % heads or out.shape[1] != q.shape[1] or k.shape[1] != v.shape[1] or k.shape[1] % w.d:
        raise ValueError(
            f"q, k, v and out have {(q.shape[1], k.shape[1], v.shape[1], out.shape[1])} columns; with {heads} heads, q "
            f"and out need the same multiple of {heads}, k and v the same multiple of the head size"
        )
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        raise ValueError(f"q has {q.shape[1]} columns; it must have a multiple of those of k, {k.shape[1]}")
    w.q, w.k, w.v, w.out, w.lse = &q[0, 0], &k[0, 0], &v[0, 0], &out[0, 0], &lse[0, 0, 0]
    w.row, w.out_row = step(q, 2, "q"), step(out, 2, "out")
    if step(k, 2, "k") != w.row or step(v, 2, "v") != w.row:
        raise ValueError("the strides between rows of q, k and v differ; they must be equal")
    w.batch, w.heads, w.group, w.n = batch, heads, q.shape[1] // k.shape[1], n
    w.scale = scale
    w.before = n if before < 0 or before > n else before
    w.after = 0 if causal else n if after < 0 or after > n else after
    if by_distance is not None:
        if by_distance.shape[0] != heads or zero < n - 1 or by_distance.shape[1] < zero + n + TK_GRAD_BLOCK - 1:
            raise ValueError(
                f"by_distance has shape {(by_distance.shape[0], by_distance.shape[1])} and zero is {zero}; for {heads} "
                f"heads and texts of {n} tokens, zero must be at least {n - 1}, and the shape ({heads}, zero + "
                f"{n + TK_GRAD_BLOCK - 1} or more)"
            )
        w.by_distance, w.distances, w.zero = &by_distance[0, 0], by_distance.shape[1], zero
    w.least, w.left_by, w.seed, w.first_sequence = least_of(p), 1 / (1 - p), seed, first_sequence
    return 1


def grad_attention(Rows q not None, Rows k not None, Rows v not None, float[:, :] out not None,
                   float[:, :, ::1] lse not None, *, float scale, bint causal=True, Py_ssize_t before=-1,
                   Py_ssize_t after=-1, float[:, ::1] by_distance=None, Py_ssize_t zero=0, float dropout=0,
                   uint64_t seed=0, size_t first_sequence=0, int threads=1, isa=None):
    """Write the attention of q (B T, H D), k and v (B T, K D) to out, and sums for backward to lse (B, H, T).

    q, k, v are columns of arrays with equal distances between rows. A query sees so many keys `before` and `after` its
    own; below 0: all. by_distance (H, n) is added to scores: for a query d tokens after its key, the number at
    [zero + d]; the table goes on for 31 distances after the largest one. Each weight is 0 with probability `dropout`,
    else it is divided by 1 - dropout. The seed and the numbers of the sequence (from `first_sequence` on), head, query
    and key decide which.
    """
    cdef tk_grad_attention w
    cdef int status = 0, which = floats_isa(isa)
    if heads_of(&w, q, k, v, out, lse, scale, causal, before, after, by_distance, zero, dropout, seed, first_sequence):
        with nogil:
            status = tk_grad_attention_run(&w, which, max(1, threads))
    if status:
        raise MemoryError()


def attention_back(Rows q not None, Rows k not None, Rows v not None, float[:, :] out not None,
                   float[:, :, ::1] lse not None, Rows dout not None, float[:, :] dq not None,
                   float[:, :] dk not None, float[:, :] dv not None, *, float scale, bint causal=True,
                   Py_ssize_t before=-1, Py_ssize_t after=-1, float[:, ::1] by_distance=None, Py_ssize_t zero=0,
                   float[:, :, ::1] d_by_distance=None, float dropout=0, uint64_t seed=0, size_t first_sequence=0,
                   int threads=1, isa=None):
    """Write the gradients of the inputs of `grad_attention` to dq, dk and dv, which have the layout of q, k and v.

    Those of by_distance are added to d_by_distance (B, H, n).
    """
    cdef tk_grad_attention w
    cdef int status = 0, which = floats_isa(isa)
    if not heads_of(&w, q, k, v, out, lse, scale, causal, before, after, by_distance, zero, dropout, seed,
                    first_sequence):
        return
    if d_by_distance is not None:
        if (by_distance is None or <size_t> d_by_distance.shape[0] != w.batch
                or <size_t> d_by_distance.shape[1] != w.heads or <size_t> d_by_distance.shape[2] != w.distances):
            raise ValueError(
                f"d_by_distance has shape {(d_by_distance.shape[0], d_by_distance.shape[1], d_by_distance.shape[2])}; "
                f"it must be {(w.batch, w.heads, w.distances)}, that of by_distance for each sequence"
            )
        w.d_by_distance = &d_by_distance[0, 0, 0]
    same_shape(dq, q.shape[0], q.shape[1], "dq")
    same_shape(dk, k.shape[0], k.shape[1], "dk")
    same_shape(dv, v.shape[0], v.shape[1], "dv")
    same_shape(dout, out.shape[0], out.shape[1], "dout")
    w.dout, w.dq, w.dk, w.dv, w.drow = &dout[0, 0], &dq[0, 0], &dk[0, 0], &dv[0, 0], step(dq, 2, "dq")
    if step(dout, 2, "dout") != w.out_row or step(dk, 2, "dk") != w.drow or step(dv, 2, "dv") != w.drow:
        raise ValueError("strides between rows differ; dout must have that of out, and dk and dv that of dq")
    with nogil:
        status = tk_grad_attention_run(&w, which, max(1, threads))
    if status:
        raise MemoryError()
