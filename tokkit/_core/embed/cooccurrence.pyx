"""Counts of neighbours, GloVe's training on them, and products of sparse matrices."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t
from libc.stdlib cimport calloc, free

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY
from tokkit._core.text cimport floats_isa, shape_tuple

cdef extern from "embed/cooccurrence.h" nogil:
    ctypedef struct tk_row_sums:
        size_t n_words
    ctypedef struct tk_occurrences:
        size_t n_words
    ctypedef struct tk_rows_out:
        int32_t *indices
        double *values
        int64_t *lengths
        size_t room
        size_t used
    ctypedef struct tk_window:
        const double *weights
        size_t before
        size_t after
    ctypedef struct tk_run:
        const int64_t *starts
        const int32_t *indices
        const double *values
    int tk_row_sums_open(tk_row_sums *, size_t n_words)
    void tk_row_sums_close(tk_row_sums *)
    int tk_occurrences_open(tk_occurrences *, const uint32_t *ids, size_t n, size_t first, size_t last,
                            const int64_t *ends, size_t n_sentences, size_t n_words)
    void tk_occurrences_close(tk_occurrences *)
    size_t tk_count_rows(const tk_occurrences *, const tk_window *, tk_row_sums *, size_t begin, size_t end,
                         tk_rows_out *)
    size_t tk_merge_rows(const tk_run *, size_t n_runs, tk_row_sums *, size_t begin, size_t end, tk_rows_out *)

cdef extern from "embed/glove.h" nogil:
    ctypedef struct tk_glove_record:
        uint32_t word
        uint32_t context
        float log_count
        float weight
    ctypedef struct tk_glove_work:
        const tk_glove_record *records
        size_t n
        float *words
        float *contexts
        const float *word_rates
        const float *context_rates
        size_t step
    double tk_glove_run(const tk_glove_work *, int isa, int threads)

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


cdef int check_rows(int status) except -1:
    if status == TK_NO_MEMORY:
        raise MemoryError
    if status == TK_BAD_INPUT:
        raise ValueError("ids must be below n_words, and the ends of sentences increase to the number of ids")
    if status:
        raise OverflowError("there are 2**32 ids and sentences, or 2**31 words, or more; give fewer at a time")
    return 0


cdef class SparseRows:
    """Writes rows of a square sparse matrix, from `begin` on, into buffers; subclasses define the matrix."""

    cdef tk_row_sums sums
    cdef readonly Py_ssize_t n_words

    def __cinit__(self, Py_ssize_t n_words, *_):
        check_rows(tk_row_sums_open(&self.sums, n_words))
        self.n_words = n_words

    def __dealloc__(self):
        tk_row_sums_close(&self.sums)

    def fill(self, Py_ssize_t begin, int32_t[::1] indices, double[::1] values, int64_t[::1] lengths):
        """Write rows until one might not fit; return the row after the last, and the number of entries."""
        cdef tk_rows_out out
        cdef size_t row, end = min(self.n_words, begin + lengths.shape[0])
        if not 0 <= begin < self.n_words or not lengths.shape[0]:
            raise ValueError(
                f"begin is {begin} and lengths has {lengths.shape[0]} entries; begin must be from 0 to "
                f"{self.n_words - 1}, and lengths have at least 1"
            )
        if indices.shape[0] != values.shape[0] or indices.shape[0] < self.n_words:
            raise ValueError(
                f"indices has {indices.shape[0]} entries and values {values.shape[0]}; both must have the same number, "
                f"at least {self.n_words}"
            )
        out.indices, out.values, out.lengths = &indices[0], &values[0], &lengths[0]
        out.room, out.used = indices.shape[0], 0
        with nogil:
            row = self.run(begin, end, &out)
        return row, out.used

    cdef size_t run(self, size_t begin, size_t end, tk_rows_out *out) noexcept nogil:
        return begin


cdef class ContextRows(SparseRows):
    """Weights of the words in the windows around each word of a text.

    `ids` are those of sentences that end at `ends`; the words first … last have windows. A context word at distance k
    counts weights[k - 1].
    """

    cdef tk_occurrences occurrences
    cdef tk_window window
    cdef const double[::1] weights

    def __cinit__(
        self,
        Py_ssize_t n_words,
        const uint32_t[::1] ids,
        const int64_t[::1] ends,
        Py_ssize_t first,
        Py_ssize_t last,
        const double[::1] weights,
        Py_ssize_t before,
        Py_ssize_t after,
    ):
        cdef Py_ssize_t n = ids.shape[0], n_sentences = ends.shape[0]
        cdef int status
        if not 0 <= first <= last <= n or not 0 <= before <= weights.shape[0] or not 0 <= after <= weights.shape[0]:
            raise ValueError(
                f"words {first} to {last} of {n} have windows of {before} before and {after} after, with "
                f"{weights.shape[0]} weights; the words must be within the ids, and the windows within the weights"
            )
        if not n or not n_sentences or not weights.shape[0]:
            raise ValueError(
                f"there are {n} ids, {n_sentences} ends of sentences and {weights.shape[0]} weights; there must be at "
                f"least 1 of each"
            )
        self.weights = weights
        self.window.weights, self.window.before, self.window.after = &weights[0], before, after
        with nogil:
            status = tk_occurrences_open(
                &self.occurrences, &ids[0], n, first, last, &ends[0], n_sentences, self.n_words
            )
        check_rows(status)

    def __dealloc__(self):
        tk_occurrences_close(&self.occurrences)

    cdef size_t run(self, size_t begin, size_t end, tk_rows_out *out) noexcept nogil:
        return tk_count_rows(&self.occurrences, &self.window, &self.sums, begin, end, out)


cdef class MergedRows(SparseRows):
    """The sum of sparse matrices, each (starts, indices, values), whose indices are below n_words."""

    cdef tk_run *runs
    cdef size_t n_runs
    cdef list kept

    def __cinit__(self, Py_ssize_t n_words, list runs):
        cdef const int64_t[::1] starts
        cdef const int32_t[::1] indices
        cdef const double[::1] values
        self.runs = <tk_run *>calloc(len(runs) + 1, sizeof(tk_run))
        if not self.runs:
            raise MemoryError
        self.kept = runs
        for starts, indices, values in runs:
            if starts.shape[0] != n_words + 1 or not indices.shape[0] == values.shape[0] == starts[n_words]:
                raise ValueError(
                    f"a matrix has {starts.shape[0]} starts, {indices.shape[0]} indices and {values.shape[0]} values; "
                    f"it must have {n_words + 1} starts, and as many indices and values as the last start says"
                )
            if values.shape[0]:
                self.runs[self.n_runs].starts = &starts[0]
                self.runs[self.n_runs].indices = &indices[0]
                self.runs[self.n_runs].values = &values[0]
                self.n_runs += 1

    def __dealloc__(self):
        free(self.runs)

    cdef size_t run(self, size_t begin, size_t end, tk_rows_out *out) noexcept nogil:
        return tk_merge_rows(self.runs, self.n_runs, &self.sums, begin, end, out)


# Training of GloVe's vectors, without the GIL (csrc/embed/glove.h).


def train_glove(
    const uint8_t[::1] records,
    float[:, :, ::1] words,
    float[:, :, ::1] contexts,
    const float[:, ::1] rates,
    double[::1] tally,
    *,
    int threads=1,
    str isa=None,
):
    """Train on records (16 bytes each), whose ids are below the rows of words and contexts.

    Their number and the sum of their losses are added to tally[0] and tally[1] before a signal handler can raise.
    ValueError if the arrays do not fit.
    """
    cdef tk_glove_work w
    cdef int chosen = floats_isa(isa)
    cdef Py_ssize_t step = rates.shape[1]
    cdef double loss
    if not records.shape[0]:
        return
    if words.shape[1] != 2 or words.shape[2] != step or contexts.shape[1] != 2 or contexts.shape[2] != step:
        raise ValueError(
            f"words has shape {shape_tuple(words.shape, 3)} and contexts {shape_tuple(contexts.shape, 3)}; both must "
            f"be (n, 2, {step}), where rates has {step} columns"
        )
    if rates.shape[0] != 2 or not step or step % 16 or not words.shape[0] or not contexts.shape[0]:
        raise ValueError(
            f"rates has shape {shape_tuple(rates.shape, 2)}; it must be (2, a multiple of 16), and words and contexts "
            f"not be empty"
        )
    if records.shape[0] % sizeof(tk_glove_record):
        raise ValueError(f"records has {records.shape[0]} bytes; it must have a multiple of {sizeof(tk_glove_record)}")
    if tally.shape[0] < 2:
        raise ValueError(f"tally has {tally.shape[0]} entries; it must have at least 2")
    w.records, w.n = <const tk_glove_record *>&records[0], records.shape[0] // sizeof(tk_glove_record)
    w.words, w.contexts = &words[0, 0, 0], &contexts[0, 0, 0]
    w.word_rates, w.context_rates, w.step = &rates[0, 0], &rates[1, 0], step
    with nogil:
        loss = tk_glove_run(&w, chosen, max(1, threads))
    tally[0] += w.n
    tally[1] += loss


# Products of a sparse matrix and a dense one, without the GIL (csrc/embed/sparse.h).


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
    cdef int chosen = floats_isa(isa)
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
