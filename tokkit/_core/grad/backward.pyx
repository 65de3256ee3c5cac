"""Matrix products of any layout, and backward passes of rows and of batch norm (csrc/nn/grad_rows.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from tokkit._core.nn.rows cimport Columns, Rows, step
from tokkit._core.text cimport floats_isa, shape_tuple

from threading import Lock

from tokkit._core.nn.rows import ACTIVATIONS

cdef extern from "nn/matmul.h" nogil:
    ctypedef struct tk_matmul:
        const float *a
        const float *b
        const float *add
        float *c
        ptrdiff_t a_row
        ptrdiff_t a_column
        ptrdiff_t b_row
        ptrdiff_t b_column
        ptrdiff_t add_row
        ptrdiff_t c_row
        size_t m
        size_t n
        size_t k
        float *a_sums
        int bf16
    int TK_MATMUL_BF16, TK_MATMUL_BF16_FMA, TK_MATMUL_BF16_DOTS
    ctypedef struct tk_room:
        float *floats
        size_t capacity
    int tk_matmul_run(const tk_matmul *, tk_room *, int isa, int threads)

cdef extern from "nn/grad_rows.h" nogil:
    int TK_LAYER_NORM_BACK, TK_RMS_NORM_BACK, TK_ACTIVATE_BACK, TK_GATE_BACK, TK_CROSS_ENTROPY, TK_DROPOUT
    int TK_COLUMN_SUMS, TK_SCATTER_ADD, TK_BATCH_NORM, TK_BATCH_NORM_BACK
    ctypedef struct tk_grad_rows_work:
        const float *x
        const float *other
        const float *dy
        float *dx
        float *dother
        float *y
        const float *add
        size_t n
        size_t m
        ptrdiff_t x_step
        ptrdiff_t other_step
        ptrdiff_t dy_step
        ptrdiff_t dx_step
        ptrdiff_t dother_step
        ptrdiff_t y_step
        ptrdiff_t add_step
        const float *weight
        const float *bias
        float *mean
        float *variance
        int of_batch
        float *dweight
        float *dbias
        float eps
        float by
        int kind
        const int64_t *ids
        float *losses
        uint64_t seed
        uint32_t least
    int tk_grad_rows_run(tk_grad_rows_work *, int what, int isa, int threads)

cdef Py_ssize_t SIZE = sizeof(float)


cdef int layout(Rows a, ptrdiff_t *row, ptrdiff_t *column, object name) except -1:
    if a.strides[0] % SIZE or a.strides[1] % SIZE:
        raise ValueError(f"{name} has strides {shape_tuple(a.strides, 2)} in bytes; they must be multiples of {SIZE}")
    row[0], column[0] = a.strides[0] // SIZE, a.strides[1] // SIZE
    if a.shape[1] == 1 and row[0] != 1:
        column[0] = 1
    if a.shape[0] == 1 and column[0] != 1:
        row[0] = 1
    if row[0] != 1 and column[0] != 1:
        raise ValueError(f"{name} has strides {shape_tuple(a.strides, 2)} in bytes; one of them must be {SIZE}")
    return 0


cdef class Room:
    """Scratch memory of products, for one product after another. A second thread waits for it."""

    cdef tk_room room
    cdef object lock

    def __cinit__(self):
        self.room.floats, self.room.capacity = NULL, 0
        self.lock = Lock()

    def __dealloc__(self):
        free(self.room.floats)


def matmul(Rows a not None, Rows b not None, float[:, :] c not None, Rows add=None, *, Columns bias=None,
           float[::1] a_sums=None, bint bf16=False, dots=None, Room room=None, int threads=1, isa=None):
    """Write a b + add, or a b + bias, to c (m, n), for a (m, k) and b (k, n) of any layout; add may be c.

    The sums of the rows of a are added to `a_sums`. With `bf16` the numbers of a and b are rounded to bfloat16; `dots`
    says whether to use the CPU's instruction for pairs of them, if it has one. None chooses the faster way.
    """
    cdef tk_matmul w
    cdef int status, which = floats_isa(isa)
    memset(&w, 0, sizeof(w))
    w.m, w.n, w.k = c.shape[0], c.shape[1], a.shape[1]
    if a.shape[0] != c.shape[0] or b.shape[1] != c.shape[1] or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"a has shape {shape_tuple(a.shape, 2)}, b {shape_tuple(b.shape, 2)} and c {shape_tuple(c.shape, 2)}; they "
            f"must be (m, k), (k, n) and (m, n)"
        )
    if not (w.m and w.n):
        return
    w.c, w.c_row = &c[0, 0], step(c, w.n, "c")
    if w.k:
        w.a, w.b = &a[0, 0], &b[0, 0]
        layout(a, &w.a_row, &w.a_column, "a")
        layout(b, &w.b_row, &w.b_column, "b")
    if add is not None:
        same_shape(add, w.m, w.n, "add")
        w.add, w.add_row = &add[0, 0], step(add, w.n, "add")
    elif bias is not None:
        same_length(bias, w.n, "bias")
        w.add = &bias[0]
    if a_sums is not None:
        same_length(a_sums, w.m, "a_sums")
        w.a_sums = &a_sums[0]
    if bf16:
        w.bf16 = TK_MATMUL_BF16 if dots is None else TK_MATMUL_BF16_DOTS if dots else TK_MATMUL_BF16_FMA
    room = Room() if room is None else room
    with room.lock, nogil:
        status = tk_matmul_run(&w, &room.room, which, max(1, threads))
    if status:
        raise MemoryError()


cdef int same_shape(Rows a, Py_ssize_t n, Py_ssize_t m, object name) except -1:
    if a.shape[0] != n or a.shape[1] != m:
        raise ValueError(f"{name} has shape {shape_tuple(a.shape, 2)}; it must be {(n, m)}")
    return 0


cdef int same_length(Columns a, size_t n, object name) except -1:
    if <size_t> a.shape[0] != n:
        raise ValueError(f"{name} has {a.shape[0]} entries; it must have {n}")
    return 0


cdef uint32_t least_of(float p) noexcept nogil:
    """Return the smallest hash whose number is kept if a share p is dropped."""
    return <uint32_t> min(p * 4294967296.0, 4294967295.0)


cdef int run_back(tk_grad_rows_work *w, int what, int threads, object isa) except -1:
    cdef int status, which = floats_isa(isa)
    with nogil:
        status = tk_grad_rows_run(w, what, which, max(1, threads))
    if status:
        raise MemoryError()
    return 0


cdef int begin_back(tk_grad_rows_work *w, Rows dy, Rows x, float[:, :] dx) except -1:
    """Set what most kernels read and write; 0 where there is nothing to do."""
    memset(w, 0, sizeof(tk_grad_rows_work))
    w.n, w.m = dy.shape[0], dy.shape[1]
    if not (w.n and w.m):
        return 0
    same_shape(x, w.n, w.m, "x")
    same_shape(dx, w.n, w.m, "dx")
    w.dy, w.dy_step = &dy[0, 0], step(dy, w.m, "dy")
    w.x, w.x_step = &x[0, 0], step(x, w.m, "x")
    w.dx, w.dx_step = &dx[0, 0], step(dx, w.m, "dx")
    return 1


def norm_back(Rows dy not None, Rows x not None, Columns weight not None, float[:, :] dx not None,
              float[::1] dweight not None, float[::1] dbias=None, *, Rows add=None, float eps=1e-5, bint centred=True,
              int threads=1, isa=None):
    """Write the gradient of a norm's input, + add, to dx; add the gradients of its weight and bias to their sums."""
    cdef tk_grad_rows_work w
    if not begin_back(&w, dy, x, dx):
        return
    same_length(weight, w.m, "weight")
    same_length(dweight, w.m, "dweight")
    w.weight, w.dweight, w.eps = &weight[0], &dweight[0], eps
    if dbias is not None:
        same_length(dbias, w.m, "dbias")
        w.dbias = &dbias[0]
    if add is not None:
        same_shape(add, w.n, w.m, "add")
        w.add, w.add_step = &add[0, 0], step(add, w.m, "add")
    run_back(&w, TK_LAYER_NORM_BACK if centred else TK_RMS_NORM_BACK, threads, isa)


def activate_back(Rows dy not None, Rows x not None, float[:, :] dx not None, activation, float[:, :] y=None, *,
                  int threads=1, isa=None):
    """Write the gradient of an activation's input x to dx, and activation(x) to y, if given; dx may be x or dy."""
    cdef tk_grad_rows_work w
    if not begin_back(&w, dy, x, dx):
        return
    w.kind = ACTIVATIONS.index(activation)
    if y is not None:
        same_shape(y, w.n, w.m, "y")
        w.y, w.y_step = &y[0, 0], step(y, w.m, "y")
    run_back(&w, TK_ACTIVATE_BACK, threads, isa)


def gate_back(Rows dy not None, Rows x not None, Rows other not None, float[:, :] dx not None,
              float[:, :] dother not None, activation, float[:, :] y=None, *, int threads=1, isa=None):
    """Write the gradients of activation(x) * other to dx and dother, and the product to y, if given.

    dx may be x, and dother may be other.
    """
    cdef tk_grad_rows_work w
    if not begin_back(&w, dy, x, dx):
        return
    same_shape(other, w.n, w.m, "other")
    same_shape(dother, w.n, w.m, "dother")
    w.other, w.other_step = &other[0, 0], step(other, w.m, "other")
    w.dother, w.dother_step = &dother[0, 0], step(dother, w.m, "dother")
    w.kind = ACTIVATIONS.index(activation)
    if y is not None:
        same_shape(y, w.n, w.m, "y")
        w.y, w.y_step = &y[0, 0], step(y, w.m, "y")
    run_back(&w, TK_GATE_BACK, threads, isa)


def cross_entropy_back(Rows x not None, const int64_t[::1] targets not None, float[:, :] dx not None,
                       float[::1] losses not None, float by, *, int threads=1, isa=None):
    """Write the loss of each row of logits x (n, V) to losses (n), and `by` times its gradient to dx, which may be x.

    Rows whose target is below 0 have loss 0 and gradient 0.
    """
    cdef tk_grad_rows_work w
    cdef Py_ssize_t i
    if not begin_back(&w, x, x, dx):
        return
    if <size_t> targets.shape[0] != w.n:
        raise ValueError(f"targets has {targets.shape[0]} entries; it must have one for each of {w.n} rows of x")
    same_length(losses, w.n, "losses")
    for i in range(targets.shape[0]):
        if targets[i] >= x.shape[1]:
            raise IndexError(f"targets[{i}] is {targets[i]}; it must be below the vocabulary size, {x.shape[1]}")
    w.ids, w.losses, w.by = &targets[0], &losses[0], by
    run_back(&w, TK_CROSS_ENTROPY, threads, isa)


def drop_out(Rows x not None, float[:, :] y not None, float p, uint64_t seed, *, int threads=1, isa=None):
    """Write x / (1 - p) to y, or 0 with probability p; seed and position decide which. y may be x."""
    cdef tk_grad_rows_work w
    if begin_back(&w, x, x, y):
        w.y, w.y_step, w.by, w.seed = w.dx, w.dx_step, 1 / (1 - p), seed
        w.least = least_of(p)
        run_back(&w, TK_DROPOUT, threads, isa)


def add_column_sums(Rows dy not None, float[::1] sums not None, *, int threads=1, isa=None):
    """Add the sum of the rows of dy (n, m), in their order, to sums (m)."""
    cdef tk_grad_rows_work w
    memset(&w, 0, sizeof(w))
    same_length(sums, dy.shape[1], "sums")
    if dy.shape[0] and dy.shape[1]:
        w.n, w.m, w.dy, w.dbias = dy.shape[0], dy.shape[1], &dy[0, 0], &sums[0]
        w.dy_step = step(dy, w.m, "dy")
        run_back(&w, TK_COLUMN_SUMS, threads, isa)


def scatter_add(Rows dy not None, const int64_t[::1] ids not None, float[:, :] table not None, *, int threads=1,
                isa=None):
    """Add each row of dy (n, m) to the row of the table that its id names, in their order."""
    cdef tk_grad_rows_work w
    cdef Py_ssize_t i
    memset(&w, 0, sizeof(w))
    if dy.shape[1] != table.shape[1] or dy.shape[0] != ids.shape[0]:
        raise ValueError(
            f"dy has shape {shape_tuple(dy.shape, 2)} for {ids.shape[0]} ids and {table.shape[1]} columns of table; it "
            f"must be {(ids.shape[0], table.shape[1])}"
        )
    for i in range(ids.shape[0]):
        if ids[i] < 0 or ids[i] >= table.shape[0]:
            raise IndexError(f"ids[{i}] is {ids[i]}; it must be from 0 to {table.shape[0] - 1}, a row of the table")
    if dy.shape[0] and dy.shape[1]:
        w.n, w.m, w.dy, w.dx, w.ids = dy.shape[0], dy.shape[1], &dy[0, 0], &table[0, 0], &ids[0]
        w.dy_step, w.dx_step = step(dy, w.m, "dy"), step(table, w.m, "the table")
        run_back(&w, TK_SCATTER_ADD, threads, isa)


# Batch norm of rows, forward and backward, without the GIL (csrc/nn/grad_rows.h).


def batch_norm(Rows x not None, const float[::1] weight not None, const float[::1] bias not None,
               float[::1] mean not None, float[::1] variance not None, float[:, :] y not None, *, float eps=1e-5,
               bint of_batch=True, int threads=1, isa=None):
    """Write (x - mean) / sqrt(variance + eps) weight + bias of columns of x (n, m) to y, which may be x.

    With `of_batch` the mean and the variance (m), divided by n, are computed first; else they are read.
    """
    cdef tk_grad_rows_work w
    if not begin_back(&w, x, x, y):
        return
    same_length(weight, w.m, "weight")
    same_length(bias, w.m, "bias")
    same_length(mean, w.m, "mean")
    same_length(variance, w.m, "variance")
    w.y, w.y_step, w.eps, w.of_batch = w.dx, w.dx_step, eps, of_batch
    w.weight, w.bias, w.mean, w.variance = &weight[0], &bias[0], &mean[0], &variance[0]
    run_back(&w, TK_BATCH_NORM, threads, isa)


def batch_norm_back(Rows dy not None, Rows x not None, const float[::1] weight not None, float[::1] mean not None,
                    float[::1] variance not None, float[:, :] dx not None, float[::1] dweight not None,
                    float[::1] dbias not None, *, float eps=1e-5, bint of_batch=True, int threads=1, isa=None):
    """Write the gradient of what `batch_norm` read to dx, which may be dy; add those of weight and bias to theirs."""
    cdef tk_grad_rows_work w
    if not begin_back(&w, dy, x, dx):
        return
    same_length(weight, w.m, "weight")
    same_length(mean, w.m, "mean")
    same_length(variance, w.m, "variance")
    same_length(dweight, w.m, "dweight")
    same_length(dbias, w.m, "dbias")
    w.weight, w.mean, w.variance, w.eps, w.of_batch = &weight[0], &mean[0], &variance[0], eps, of_batch
    w.dweight, w.dbias = &dweight[0], &dbias[0]
    run_back(&w, TK_BATCH_NORM_BACK, threads, isa)
