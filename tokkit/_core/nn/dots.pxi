# Products of rows and queries of float32, without the GIL (csrc/nn/dots.h).

from libc.stddef cimport ptrdiff_t, size_t

from tokkit._core.text cimport chosen_isa, isa_number

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
    cdef int chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
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
