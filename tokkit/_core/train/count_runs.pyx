"""Runs of counted words: a table as sorted blocks, blocks into a table, and the merge of several runs."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from tokkit._core.base cimport TK_BAD_INPUT, TK_MERGE_WANTS, TK_OK
from tokkit._core.train.training cimport check
from tokkit._core.train.word_counts cimport WordCounts, tk_counted_word, tk_word_counts

cdef extern from "train/count_runs.h" nogil:
    ctypedef struct tk_count_block:
        uint8_t *bytes
        size_t n
        size_t n_words
        uint64_t total
    ctypedef struct tk_count_cursor:
        int64_t factor
    ctypedef struct tk_count_merge:
        tk_count_cursor *cursors
        size_t n
        int64_t divisor
        uint64_t n_dropped
        uint64_t dropped
    void tk_count_block_free(tk_count_block *)
    void tk_count_block_clear(tk_count_block *)
    int tk_count_block_put(tk_count_block *, const uint8_t *word, size_t n, int64_t count)
    int tk_count_order(const tk_word_counts *, uint32_t **order)
    void tk_count_cursor_free(tk_count_cursor *)
    void tk_count_cursor_feed(tk_count_cursor *, const uint8_t *block, size_t n)
    int tk_count_cursor_count(tk_count_cursor *, tk_word_counts *, int text, uint64_t *total, uint64_t most)
    int tk_count_merge_begin(tk_count_merge *, size_t n, int64_t minimum)
    void tk_count_merge_free(tk_count_merge *)
    int tk_count_merge_run(tk_count_merge *, tk_count_block *out, size_t size, size_t *which, int ended)


cdef class SortedWords:
    """Returns the words of a table as the blocks of a run, in the order of their bytes. This closes the table."""

    cdef WordCounts counts
    cdef uint32_t *order
    cdef size_t next
    cdef tk_count_block out

    def __cinit__(self, WordCounts counts not None):
        cdef int status
        memset(&self.out, 0, sizeof(self.out))
        counts.claim_open()
        with nogil:
            counts.seal()
            status = tk_count_order(&counts.table, &self.order)
        counts.release()
        check(status)
        self.counts = counts

    def __dealloc__(self):
        free(self.order)
        tk_count_block_free(&self.out)

    def block(self, size_t size):
        """Return the next block, of `size` bytes or up to a word more, and its number of words; None after the last."""
        cdef tk_word_counts *table = &self.counts.table
        cdef tk_counted_word *word
        cdef int status = TK_OK
        self.counts.claim()
        with nogil:
            tk_count_block_clear(&self.out)
            while self.next < table.n_words and self.out.n < size and status == TK_OK:
                word = &table.words[self.order[self.next]]
                status = tk_count_block_put(&self.out, table.bytes + word.offset, word.length, word.count)
                self.next += 1
        self.counts.release()
        check(status)
        PyErr_CheckSignals()
        return packed_block(&self.out)

    @property
    def total(self):
        """The sum of the counts of the blocks so far."""
        return self.out.total


cdef packed_block(const tk_count_block *b):
    return (PyBytes_FromStringAndSize(<const char *> b.bytes, b.n), b.n_words) if b.n else None


cdef class CountMerge:
    """The merge of `n` runs: words with less than `minimum` occurrences in total are left out.

    `factors` multiply the counts of each run; `divisor` divides the sums, rounded to the nearest, halves up.
    """

    cdef tk_count_merge merge
    cdef tk_count_block out
    cdef list blocks
    cdef size_t which
    cdef bint ended

    def __cinit__(self, size_t n, int64_t minimum=1, factors=None, int64_t divisor=1):
        memset(&self.out, 0, sizeof(self.out))
        self.blocks = [None] * n
        check(tk_count_merge_begin(&self.merge, n, minimum))
        if divisor < 1:
            raise ValueError(f"divisor is {divisor}; it must be at least 1")
        self.merge.divisor = divisor
        for number, factor in enumerate(factors or ()):
            if number >= n or factor < 1:
                raise ValueError(f"factor {number} is {factor}; there must be one for each of {n} runs, at least 1")
            self.merge.cursors[number].factor = factor
        self.which = n

    def __dealloc__(self):
        tk_count_merge_free(&self.merge)
        tk_count_block_free(&self.out)

    def run(self, size_t size):
        """Continue; return the number of the run that needs its next block (`feed`), or -1 if a `block` is ready.

        ValueError with the number of the run whose block is malformed or not in order.
        """
        cdef int status
        with nogil:
            status = tk_count_merge_run(&self.merge, &self.out, size, &self.which, self.ended)
        self.ended = False
        if status == TK_BAD_INPUT:
            raise ValueError(self.which)
        if status < 0:
            check(status)
        PyErr_CheckSignals()
        return <Py_ssize_t> self.which if status == TK_MERGE_WANTS else -1

    def feed(self, bytes block):
        """Give the next block to the run that needs it; None if the run has ended."""
        self.blocks[self.which] = block
        self.ended = block is None
        if block is not None:
            tk_count_cursor_feed(
                &self.merge.cursors[self.which], <const uint8_t *> <const char *> block, len(block)
            )

    def block(self):
        """Take the ready block, with its number of words; None if all is merged."""
        made = packed_block(&self.out)
        tk_count_block_clear(&self.out)
        return made

    @property
    def total(self):
        """The sum of the counts of the blocks so far."""
        return self.out.total

    @property
    def dropped(self):
        """The words that were left out, and the sum of their counts."""
        return self.merge.n_dropped, self.merge.dropped


def count_block(WordCounts counts not None, bytes block not None, bint text, uint64_t total, uint64_t most):
    """Add the words of a block to a table, and return `total` plus the sum of their counts times lengths.

    ValueError for a malformed block, or, with `text`, a word that is not UTF-8; OverflowError for a sum above `most`.
    """
    cdef tk_count_cursor cursor
    cdef size_t n = len(block)
    cdef const uint8_t *p = <const uint8_t *> <const char *> block
    cdef int status
    memset(&cursor, 0, sizeof(cursor))
    counts.claim_open()
    with nogil:
        tk_count_cursor_feed(&cursor, p, n)
        status = tk_count_cursor_count(&cursor, &counts.table, text, &total, most)
        tk_count_cursor_free(&cursor)
    counts.release()
    if status == TK_BAD_INPUT:
        raise ValueError("the block is malformed: cut short, a number out of range, or a word of invalid UTF-8")
    check(status)
    return total
