# Products of a sparse matrix and a dense one, without the GIL (csrc/embed/sparse.h).

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t

from tokkit._core.nn cimport tk_isa_of_floats
from tokkit._core.text cimport chosen_isa, isa_number, shape_tuple

cdef extern from "embed/sparse.h" nogil:
    ctypedef struct tk_sparse_work:
        const int64_t *starts
        const int32_t *indices
        const float *values
        size_t rows
        size_t k
        const float *x
        float *y
        int transposed
    void tk_sparse_run(const tk_sparse_work *, int isa)


def sparse_product(
    const int64_t[::1] starts,
    const int32_t[::1] indices,
    const float[::1] values,
    const float[:, ::1] x,
    float[:, ::1] y,
    *,
    bint transposed=False,
    str isa=None,
):
    """Add the product of rows of a sparse matrix and x to y; if `transposed`, the rows are columns of the matrix.

    `indices` and `values` begin with those of starts[0]. ValueError if the arrays do not fit.
    """
    cdef tk_sparse_work w
    cdef int chosen = tk_isa_of_floats(chosen_isa() if isa is None else isa_number(isa))
    cdef Py_ssize_t i, rows = starts.shape[0] - 1, n = indices.shape[0]
    cdef Py_ssize_t others = y.shape[0] if transposed else x.shape[0]
    if x.shape[1] != y.shape[1] or (x.shape[0] if transposed else y.shape[0]) != rows:
        raise ValueError(
            f"x has shape {shape_tuple(x.shape, 2)} and y {shape_tuple(y.shape, 2)} for {rows} rows of the sparse "
            f"matrix; they must have the same number of columns, and {'x' if transposed else 'y'} {rows} rows"
        )
    if rows < 0 or values.shape[0] != n or starts[rows] - starts[0] != n:
        raise ValueError(
            f"there are {starts.shape[0]} starts, {n} indices and {values.shape[0]} values; there must be at least 1 "
            f"start, and as many indices as values and as the starts span"
        )
    for i in range(rows):
        if starts[i] > starts[i + 1]:
            raise ValueError(f"starts fall from {starts[i]} to {starts[i + 1]}; they must not decrease")
    for i in range(n):
        if not 0 <= indices[i] < others:
            raise ValueError(f"indices[{i}] is {indices[i]}; it must be from 0 to {others - 1}")
    if not n or not x.shape[1]:
        return
    w.starts, w.indices, w.values, w.rows, w.k = &starts[0], &indices[0], &values[0], rows, x.shape[1]
    w.x, w.y, w.transposed = &x[0, 0], &y[0, 0], transposed
    with nogil:
        tk_sparse_run(&w, chosen)
