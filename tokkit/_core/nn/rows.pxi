# Softmax, norms, activations, rotations and look-ups over rows of float32, without the GIL (csrc/nn/rows.h).

from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int64_t
from libc.string cimport memset

cdef extern from "nn/rows.h" nogil:
    int TK_SOFTMAX
    int TK_LOG_SOFTMAX
    int TK_LAYER_NORM
    int TK_RMS_NORM
    int TK_ACTIVATE
    int TK_GATE
    int TK_ROTATE
    int TK_ROTATE_PAIRS
    int TK_GATHER
    ctypedef struct tk_row_steps:
        ptrdiff_t batch
        ptrdiff_t head
        ptrdiff_t row
    ctypedef struct tk_row_work:
        const float *x
        const float *other
        float *y
        float *sum
        size_t n
        size_t m
        ptrdiff_t x_step
        ptrdiff_t other_step
        ptrdiff_t y_step
        ptrdiff_t sum_step
        const float *weight
        const float *bias
        float eps
        int kind
        size_t heads
        size_t rows
        size_t half
        tk_row_steps x_by
        tk_row_steps y_by
        tk_row_steps angles_by
        const float *cosines
        const float *sines
        const int64_t *ids
    void tk_rows_run(const tk_row_work *, int what, int isa, int threads)


cdef int begin(tk_row_work *w, Rows x, float[:, :] y, Py_ssize_t rows) except -1:
    memset(w, 0, sizeof(tk_row_work))
    if x.shape[1] != y.shape[1] or y.shape[0] != rows:
        raise ValueError(f"y has shape {shape_tuple(y.shape, 2)}; it must be {(rows, x.shape[1])}")
    w.n, w.m = rows, y.shape[1]
    if not (w.n and w.m):
        return 0
    w.x, w.x_step = &x[0, 0], step(x, w.m, "x")
    w.y, w.y_step = &y[0, 0], step(y, w.m, "y")
    return 1


cdef const float *columns(Columns c, tk_row_work *w, object name) except? NULL:
    if c is None:
        return NULL
    if <size_t> c.shape[0] != w.m:
        raise ValueError(f"{name} has {c.shape[0]} entries; it must have one for each of {w.m} columns")
    return &c[0]


cdef int same_shape(Rows a, Rows x, object name) except -1:
    if a.shape[0] != x.shape[0] or a.shape[1] != x.shape[1]:
        raise ValueError(
            f"{name} has shape {shape_tuple(a.shape, 2)}; it must have the same as x, {shape_tuple(x.shape, 2)}"
        )
    return 0


cdef int run(tk_row_work *w, int what, int threads, object isa) except -1:
    cdef int chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
    with nogil:
        tk_rows_run(w, what, chosen, max(1, threads))
    return 0


def softmax(Rows x, float[:, :] y, *, bint log=False, int threads=1, isa=None):
    """Write the softmax of each row of x, or its logarithm, to y (n, m), which may be x."""
    cdef tk_row_work w
    if begin(&w, x, y, x.shape[0]):
        run(&w, TK_LOG_SOFTMAX if log else TK_SOFTMAX, threads, isa)


def norm(Rows x, float[:, :] y, Columns weight=None, Columns bias=None, *, float eps=1e-5, bint centred=True,
         Rows residual=None, float[:, :] total=None, int threads=1, isa=None):
    """Write the layer norm (RMS norm where not `centred`) of x + residual to y, and x + residual to `total`."""
    cdef tk_row_work w
    if not begin(&w, x, y, x.shape[0]):
        return
    w.weight, w.bias, w.eps = columns(weight, &w, "weight"), columns(bias, &w, "bias"), eps
    if residual is not None:
        same_shape(residual, x, "residual")
        w.other, w.other_step = &residual[0, 0], step(residual, w.m, "residual")
        if total is not None:
            same_shape(total, x, "total")
            w.sum, w.sum_step = &total[0, 0], step(total, w.m, "total")
    run(&w, TK_LAYER_NORM if centred else TK_RMS_NORM, threads, isa)


def activate(Rows x, float[:, :] y, activation, Columns bias=None, *, int threads=1, isa=None):
    """Write activation(x + bias) to y (n, m), which may be x."""
    cdef tk_row_work w
    if begin(&w, x, y, x.shape[0]):
        w.bias, w.kind = columns(bias, &w, "bias"), ACTIVATIONS.index(activation)
        run(&w, TK_ACTIVATE, threads, isa)


def gate(Rows x, Rows other, float[:, :] y, activation, *, int threads=1, isa=None):
    """Write activation(x) * other to y (n, m), which may be either: with "silu", the middle of SwiGLU."""
    cdef tk_row_work w
    if begin(&w, x, y, x.shape[0]):
        same_shape(other, x, "other")
        w.other, w.other_step, w.kind = &other[0, 0], step(other, w.m, "other"), ACTIVATIONS.index(activation)
        run(&w, TK_GATE, threads, isa)


def gather(Rows table, const int64_t[::1] ids, float[:, :] y, Columns bias=None, *, int threads=1, isa=None):
    """Write table[ids] + bias to y (n, m)."""
    cdef tk_row_work w
    cdef Py_ssize_t i
    for i in range(ids.shape[0]):
        if ids[i] < 0 or ids[i] >= table.shape[0]:
            raise IndexError(f"ids[{i}] is {ids[i]}; it must be from 0 to {table.shape[0] - 1}, a row of the table")
    if begin(&w, table, y, ids.shape[0]):
        w.bias, w.ids = columns(bias, &w, "bias"), &ids[0]
        run(&w, TK_GATHER, threads, isa)


cdef tk_row_steps steps(const float[:, :, :, :] a, object name) except *:
    cdef tk_row_steps by
    if (a.shape[3] > 1 and a.strides[3] != SIZE) or a.strides[0] % SIZE or a.strides[1] % SIZE or a.strides[2] % SIZE:
        raise ValueError(
            f"{name} has strides {shape_tuple(a.strides, 4)} in bytes; the last axis must be contiguous, and all must "
            f"be multiples of {SIZE}"
        )
    by.batch, by.head, by.row = a.strides[0] // SIZE, a.strides[1] // SIZE, a.strides[2] // SIZE
    return by


def rotate(const float[:, :, :, :] x, float[:, :, :, :] y, const float[:, :, :, :] cosines,
           const float[:, :, :, :] sines, *, bint pairs=False, int threads=1, isa=None):
    """Rotate the first 2 * half columns of x (B, H, T, D) by angles (B, H, T, half); write to y, which may be x.

    Column i is paired with column half + i or, with `pairs`, column 2i with 2i + 1.
    """
    cdef tk_row_work w
    cdef Py_ssize_t i
    memset(&w, 0, sizeof(tk_row_work))
    for i in range(4):
        if x.shape[i] != y.shape[i] or cosines.shape[i] != sines.shape[i] or (i < 3 and cosines.shape[i] != x.shape[i]):
            raise ValueError(
                f"x has shape {shape_tuple(x.shape, 4)}, y {shape_tuple(y.shape, 4)}, cosines "
                f"{shape_tuple(cosines.shape, 4)} and sines {shape_tuple(sines.shape, 4)}; they must be (B, H, T, D) "
                f"for x and y, and (B, H, T, half) for both others"
            )
        if cosines.strides[i] != sines.strides[i]:
            raise ValueError(
                f"cosines has strides {shape_tuple(cosines.strides, 4)} and sines {shape_tuple(sines.strides, 4)}; "
                f"they must be the same"
            )
    if 2 * cosines.shape[3] > x.shape[3]:
        raise ValueError(f"there are {cosines.shape[3]} angles for {x.shape[3]} columns; each needs two columns")
    w.heads, w.rows, w.half = x.shape[1], x.shape[2], cosines.shape[3]
    w.n, w.m = x.shape[0] * x.shape[1] * x.shape[2], x.shape[3]
    if not (w.n and w.m):
        return
    w.x_by, w.y_by = steps(x, "x"), steps(y, "y")
    w.x, w.y = &x[0, 0, 0, 0], &y[0, 0, 0, 0]
    if w.half:
        w.angles_by = steps(cosines, "the angles")
        w.cosines, w.sines = &cosines[0, 0, 0, 0], &sines[0, 0, 0, 0]
    else:
        w.cosines = w.sines = w.x  # never read
    run(&w, TK_ROTATE_PAIRS if pairs else TK_ROTATE, threads, isa)
