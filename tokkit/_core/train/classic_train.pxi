# Classic BPE: merges the most frequent pair of symbols, again and again; ties by first occurrence in the text.
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint32_t

from tokkit._core.base cimport TK_BAD_INPUT, TK_TOO_LARGE

cdef extern from "train/classic_train.h" nogil:
    ctypedef struct tk_classic_trainer:
        pass
    ctypedef struct tk_classic_words:
        const int32_t *symbols
        const int64_t *ends
        const int64_t *counts
        size_t n, n_words, n_symbols
    ctypedef struct tk_classic_pair:
        tk_token left, right
        int64_t count
    tk_classic_trainer *tk_classic_trainer_new()
    void tk_classic_trainer_free(tk_classic_trainer *)
    int tk_classic_trainer_words(tk_classic_trainer *, tk_classic_words, size_t *bad)
    int tk_classic_trainer_best(tk_classic_trainer *, tk_classic_pair *, int *found)
    int tk_classic_trainer_forbid(tk_classic_trainer *, tk_token, tk_token)
    int tk_classic_trainer_merge(tk_classic_trainer *, tk_token, tk_token, tk_token, size_t *)
    size_t tk_classic_trainer_n_symbols(const tk_classic_trainer *)
    size_t tk_classic_trainer_size(const tk_classic_trainer *)
    void tk_classic_trainer_cut(const tk_classic_trainer *, int32_t *, int64_t *, int64_t *)

cdef enum:
    VISITS_A_SLICE = 1 << 22  # positions visited between two checks for Ctrl-C: some 50 ms


cdef class ClassicTrainer:
    """Training merge by merge: `best()` says which pair comes next, `merge(…)` makes it one symbol everywhere.

    Word i is `symbols[ends[i - 1]:ends[i]]` (int32), occurs `counts[i]` times (int64); words are in order of first
    occurrence. Symbols are below `n_symbols`. MemoryError; OverflowError for 2^32 words or symbols.
    """

    cdef tk_classic_trainer *trainer
    cdef size_t n_words
    cdef size_t visited

    def __cinit__(
        self, const int32_t[::1] symbols, const int64_t[::1] ends, const int64_t[::1] counts, size_t n_symbols
    ):
        cdef tk_classic_words words
        cdef size_t bad = 0
        cdef int status
        words.n, words.n_words, words.n_symbols = symbols.shape[0], ends.shape[0], n_symbols
        if counts.shape[0] != ends.shape[0]:
            raise ValueError(f"there are {counts.shape[0]} counts and {ends.shape[0]} ends; the numbers must be equal")
        words.symbols = &symbols[0] if words.n else NULL
        words.ends, words.counts = &ends[0] if words.n_words else NULL, &counts[0] if words.n_words else NULL
        self.n_words = words.n_words
        self.trainer = tk_classic_trainer_new()
        if self.trainer is NULL:
            raise MemoryError()
        with nogil:
            status = tk_classic_trainer_words(self.trainer, words, &bad)
        if status == TK_BAD_INPUT and bad < words.n:
            raise ValueError(f"symbol {bad} is {symbols[bad]}; it must be from 0 to {<int64_t> n_symbols - 1}")
        if status == TK_BAD_INPUT:
            raise ValueError(f"the ends of the words must not decrease, and the last must be {words.n}")
        if status == TK_TOO_LARGE:
            raise OverflowError(f"there are {words.n_words} words of {words.n} symbols; both must be below 2**32 - 2")
        check(status)

    def __dealloc__(self):
        tk_classic_trainer_free(self.trainer)

    def words(self):
        """Return the current symbols of all words, the end of each word in them, and counts, in the order of the input.

        A training that continues from these has the same results.
        """
        cdef size_t n = tk_classic_trainer_size(self.trainer)
        symbols = np.empty(n + 1, np.int32)  # a view needs an item
        ends, counts = np.empty(self.n_words + 1, np.int64), np.empty(self.n_words + 1, np.int64)
        cdef int32_t[::1] to_symbols = symbols
        cdef int64_t[::1] to_ends = ends, to_counts = counts
        tk_classic_trainer_cut(self.trainer, &to_symbols[0], &to_ends[0], &to_counts[0])
        return symbols[:n], ends[: self.n_words], counts[: self.n_words]

    def best(self):
        """Return (left, right, count) of the pair that occurs most, the first in the text of equals; None for none."""
        cdef tk_classic_pair pair
        cdef int found = 0
        cdef int status
        with nogil:
            status = tk_classic_trainer_best(self.trainer, &pair, &found)
        check(status)
        return (pair.left, pair.right, pair.count) if found else None

    def forbid(self, uint32_t left, uint32_t right):
        """Leave a pair out from now on: it is never the best."""
        self.check_symbols(tk_classic_trainer_forbid(self.trainer, left, right))

    def merge(self, uint32_t left, uint32_t right, uint32_t result):
        """Make the pair one symbol wherever it occurs, from the left; `result` is the next number or a known one."""
        cdef int status
        with nogil:
            status = tk_classic_trainer_merge(self.trainer, left, right, result, &self.visited)
        self.check_symbols(status)
        if self.visited > VISITS_A_SLICE:
            self.visited = 0
            PyErr_CheckSignals()

    cdef int check_symbols(self, int status) except -1:
        if status == TK_BAD_INPUT:
            n = tk_classic_trainer_n_symbols(self.trainer)
            raise ValueError(f"left, right or result is out of range; there are {n} symbols")
        return check(status)
