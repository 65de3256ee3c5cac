# Rows of co-occurrence, without the GIL (csrc/embed/cooccurrence.h).

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY

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
