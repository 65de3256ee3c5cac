"""Kernels of rows of floats: softmax, norms, activations, rotations, means of bags, products with queries."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from tokkit._core.text cimport floats_isa, shape_tuple

cdef extern from "nn/rows.h" nogil:
    int TK_SOFTMAX, TK_LOG_SOFTMAX, TK_LAYER_NORM, TK_RMS_NORM, TK_ACTIVATE, TK_GATE, TK_ROTATE, TK_ROTATE_PAIRS
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

cdef extern from "nn/bags.h" nogil:
    ctypedef struct tk_bag_work:
        const float *table
        ptrdiff_t row_step
        size_t m
        const uint32_t *ids
        const int64_t *starts
        size_t n
        size_t max_ids
        const uint32_t *row_of
        const float *weights
        uint64_t ignored
        int normalize
        float *out
    void tk_bags_run(const tk_bag_work *, int isa, int threads)

cdef extern from "nn/dots.h" nogil:
    ctypedef struct tk_dot_work:
        const float *x
        ptrdiff_t x_step
        const float *queries
        float *scores
        size_t n
        size_t m
        size_t n_queries
    void tk_dots_run(const tk_dot_work *, int isa, int threads)

cdef Py_ssize_t SIZE = sizeof(float)

ACTIVATIONS = ("identity", "relu", "gelu", "gelu_tanh", "silu", "exp", "sigmoid", "tanh")  # of csrc/nn/lanes_math.h


cdef Py_ssize_t step(Rows a, size_t columns, object name) except? -1:
    if (columns > 1 and a.strides[1] != SIZE) or a.strides[0] % SIZE:
        raise ValueError(
            f"{name} has strides {shape_tuple(a.strides, 2)} in bytes; the items of a row must be contiguous, and the "
            f"rows a multiple of {SIZE} bytes apart"
        )
    return a.strides[0] // SIZE


# Softmax, norms, activations, rotations and look-ups over rows of float32, without the GIL (csrc/nn/rows.h).


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
    cdef int chosen = floats_isa(isa)
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


# Means of the rows of a table that bags of ids name, without the GIL (csrc/nn/bags.h).


cdef Py_ssize_t highest(const uint32_t[::1] ids) noexcept nogil:
    cdef uint32_t found = 0
    cdef Py_ssize_t i
    for i in range(ids.shape[0]):
        found = max(found, ids[i])
    return found if ids.shape[0] else -1


def bags(
    const float[:, :] table,
    const uint32_t[::1] ids,
    const int64_t[::1] starts,
    float[:, ::1] out,
    *,
    const uint32_t[::1] row_of=None,
    const float[::1] weights=None,
    object ignored=None,
    object max_ids=None,
    bint normalize=False,
    int threads=1,
    str isa=None,
):
    """Write the mean of the rows of ids[starts[i]:starts[i + 1]] to out (n, m); ValueError if the arrays do not fit.

    `row_of`: the row of each id; with None it is the id. `weights`: the factor of each id's row. The id `ignored` does
    not count; only the first `max_ids` of a bag are read. `normalize`: rows of length 1. An empty bag gives zeros.
    """
    cdef tk_bag_work w
    cdef int chosen = floats_isa(isa)
    cdef Py_ssize_t n = out.shape[0], m = table.shape[1], n_ids = table.shape[0], i
    cdef bint ordered = True
    if starts.shape[0] != n + 1 or out.shape[1] != m:
        raise ValueError(
            f"out has shape {shape_tuple(out.shape, 2)} for {starts.shape[0]} starts and {m} columns of table; it must "
            f"be (number of starts - 1, columns of table)"
        )
    step(table, m, "table")
    if row_of is not None:
        if highest(row_of) >= n_ids:
            raise ValueError(f"row_of has row {highest(row_of)}; it must be below the {n_ids} rows of table")
        n_ids = row_of.shape[0]
    if weights is not None and weights.shape[0] < n_ids:
        raise ValueError(f"weights has {weights.shape[0]} entries; it must have one for each of {n_ids} ids")
    with nogil:
        for i in range(n):
            ordered &= starts[i] <= starts[i + 1]
    if not ordered or starts[0] < 0 or starts[n] > ids.shape[0]:
        raise ValueError(f"starts must not decrease, and lie between 0 and the number of ids, {ids.shape[0]}")
    if highest(ids) >= n_ids:
        raise ValueError(
            f"an id is {highest(ids)}; it must be below {n_ids}, the length of "
            f"{'table' if row_of is None else 'row_of'}"
        )
    if not n or not m:
        return
    w.table, w.row_step, w.m, w.n = &table[0, 0] if table.shape[0] else NULL, table.strides[0] // SIZE, m, n
    w.ids, w.starts, w.out = &ids[0] if ids.shape[0] else NULL, &starts[0], &out[0, 0]
    w.max_ids = <size_t>-1 if max_ids is None else max_ids
    w.row_of = NULL if row_of is None or not row_of.shape[0] else &row_of[0]
    w.weights = NULL if weights is None or not weights.shape[0] else &weights[0]
    w.ignored = <uint64_t>-1 if ignored is None else ignored
    w.normalize = normalize
    with nogil:
        tk_bags_run(&w, chosen, max(1, threads))


# Products of rows and queries of float32, without the GIL (csrc/nn/dots.h).


def dots(
    const float[:, :] rows,
    const float[:, ::1] queries,
    float[:, ::1] scores,
    *,
    int threads=1,
    str isa=None,
):
    """Write queries (q, m) times rows (n, m) to scores (q, n); ValueError if the arrays do not fit."""
    cdef tk_dot_work w
    cdef int chosen = floats_isa(isa)
    cdef Py_ssize_t n = rows.shape[0], m = rows.shape[1], q = queries.shape[0]
    if queries.shape[1] != m or scores.shape[0] != q or scores.shape[1] != n:
        raise ValueError(
            f"rows has shape {(n, m)}, queries {shape_tuple(queries.shape, 2)} and scores "
            f"{shape_tuple(scores.shape, 2)}; they must be (n, m), (q, m) and (q, n)"
        )
    if not n or not q:
        return
    if not m:
        scores[:, :] = 0
        return
    w.x, w.x_step, w.queries, w.scores = &rows[0, 0], step(rows, m, "rows"), &queries[0, 0], &scores[0, 0]
    w.n, w.m, w.n_queries = n, m, q
    with nogil:
        tk_dots_run(&w, chosen, max(1, threads))
