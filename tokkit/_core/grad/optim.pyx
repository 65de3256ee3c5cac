"""What optimizers do to all parameters as one array, without the GIL (csrc/nn/optim.h)."""

from libc.stdint cimport uint16_t
from libc.string cimport memset

from tokkit._core.grad.backward cimport same_length
from tokkit._core.text cimport floats_isa

cdef extern from "nn/optim.h" nogil:
    int TK_ADAMW, TK_SGD, TK_AVERAGE, TK_ROUND, TK_WIDEN
    ctypedef struct tk_optim_work:
        float *p
        const float *g
        float *m
        float *v
        size_t n
        float by
        float lr
        float beta1
        float beta2
        float eps
        float decay
        float step
        float root
        uint16_t *half
    void tk_optim_run(const tk_optim_work *, int what, int isa, int threads)
    int tk_sum_of_squares(const float *, size_t n, double *, int isa, int threads)


def adamw_step(float[::1] p not None, const float[::1] g not None, float[::1] m not None, float[::1] v not None, *,
               double lr, double beta1, double beta2, double eps, double decay, double by, long long number,
               int threads=1, isa=None):
    """Do step `number` (from 1 on) of AdamW with gradients g * by; changes p and the averages m and v in place."""
    cdef tk_optim_work w
    cdef int which = floats_isa(isa)
    memset(&w, 0, sizeof(w))
    w.n = p.shape[0]
    same_length(g, w.n, "g")
    same_length(m, w.n, "m")
    same_length(v, w.n, "v")
    if not w.n:
        return
    w.p, w.g, w.m, w.v = &p[0], &g[0], &m[0], &v[0]
    w.by, w.lr, w.beta1, w.beta2, w.eps, w.decay = by, lr, beta1, beta2, eps, decay
    w.step, w.root = lr / (1 - beta1 ** number), (1 - beta2 ** number) ** 0.5
    with nogil:
        tk_optim_run(&w, TK_ADAMW, which, max(1, threads))


def sgd_step(float[::1] p not None, const float[::1] g not None, float[::1] m=None, *, double lr, double momentum,
             double decay, double by, int threads=1, isa=None):
    """Do a step of SGD with gradients g * by + p * decay; with momentum, m is their running sum, changed in place."""
    cdef tk_optim_work w
    cdef int which = floats_isa(isa)
    memset(&w, 0, sizeof(w))
    w.n = p.shape[0]
    same_length(g, w.n, "g")
    if m is not None:
        same_length(m, w.n, "m")
    if not w.n:
        return
    w.p, w.g, w.by, w.lr, w.beta1, w.decay = &p[0], &g[0], by, lr, momentum, decay
    if m is not None:
        w.m = &m[0]
    with nogil:
        tk_optim_run(&w, TK_SGD, which, max(1, threads))


def average_step(float[::1] average not None, float[::1] p not None, double decay, *, int threads=1, isa=None):
    """Write average * decay + p * (1 - decay) to average."""
    cdef tk_optim_work w
    cdef int which = floats_isa(isa)
    memset(&w, 0, sizeof(w))
    w.n = p.shape[0]
    same_length(average, w.n, "average")
    if not w.n:
        return
    w.p, w.m, w.decay = &p[0], &average[0], decay
    with nogil:
        tk_optim_run(&w, TK_AVERAGE, which, max(1, threads))


def sum_of_squares(const float[::1] g not None, *, int threads=1, isa=None):
    """Return the sum of g², in an order that does not depend on threads; infinite or NaN if a number of g is."""
    cdef double total = 0
    cdef int status = 0, which = floats_isa(isa)
    cdef size_t n = g.shape[0]
    cdef const float *first = &g[0] if n else NULL
    if n:
        with nogil:
            status = tk_sum_of_squares(first, n, &total, which, max(1, threads))
    if status:
        raise MemoryError()
    return total


def round_to_bf16(float[::1] x not None, uint16_t[::1] half not None, *, bint in_place=False, int threads=1, isa=None):
    """Write x as bfloat16 to `half`; with `in_place`, also round x to these numbers."""
    cdef tk_optim_work w
    cdef int which = floats_isa(isa)
    memset(&w, 0, sizeof(w))
    w.n = x.shape[0]
    if half.shape[0] != x.shape[0]:
        raise ValueError(f"half has {half.shape[0]} entries; it must have as many as x, {x.shape[0]}")
    if not w.n:
        return
    w.p, w.half = &x[0], &half[0]
    if in_place:
        w.m = w.p
    with nogil:
        tk_optim_run(&w, TK_ROUND, which, max(1, threads))


def widen_bf16(uint16_t[::1] half not None, float[::1] x not None, *, int threads=1, isa=None):
    """Write the bfloat16 numbers of `half` to x."""
    cdef tk_optim_work w
    cdef int which = floats_isa(isa)
    memset(&w, 0, sizeof(w))
    w.n = x.shape[0]
    same_length(x, half.shape[0], "x")
    if not w.n:
        return
    w.p, w.half = &x[0], &half[0]
    with nogil:
        tk_optim_run(&w, TK_WIDEN, which, max(1, threads))
