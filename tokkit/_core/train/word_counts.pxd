# What other modules use of word_counts.pyx.
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

cdef extern from "train/word_cells.h" nogil:
    ctypedef struct tk_counted_word:
        uint64_t offset
        int64_t count
        uint32_t length
        uint32_t tag
    ctypedef struct tk_word_counts:
        size_t longest
        const char *folder
        uint8_t *bytes
        size_t n_bytes
        tk_counted_word *words
        size_t n_words
        size_t n_slots

cdef extern from "train/word_counts.h" nogil:
    void tk_word_counts_free(tk_word_counts *)


cdef class WordCounts:
    cdef tk_word_counts table
    cdef bint busy, sealed
    cdef bytes folder
    cdef public bint cancelled
    cdef int claim(self) except -1
    cdef int claim_open(self) except -1
    cdef void release(self) noexcept
    cdef void seal(self) noexcept nogil  # no more counting; the words can be read still
    cdef void empty(self) noexcept nogil
