# Means of the rows of a table that bags of ids name, without the GIL (csrc/nn/bags.h).

from libc.stdint cimport uint32_t, uint64_t

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
    cdef int chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
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
