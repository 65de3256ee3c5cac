# Declarations for the trainers: counted words, and how they are spelt.
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "word_cells.h" nogil:
    int TK_OK, TK_TOO_LARGE, TK_CODE_POINTS
    ctypedef uint32_t tk_token
    ctypedef struct tk_counted_word:
        uint64_t offset
        int64_t count
        uint32_t length
        uint32_t tag
    ctypedef struct tk_word_counts:
        uint8_t *bytes
        tk_counted_word *words
        size_t n_words
    ctypedef struct tk_spelling:
        const tk_token *bytes
        const tk_token *first
        const tk_token *rest


cdef int check(int status) except -1  # OverflowError or MemoryError for what the core returned


cdef class WordCounts:
    cdef tk_word_counts table
    cdef bint busy, sealed
    cdef public bint cancelled
    cdef int claim(self) except -1
    cdef int claim_open(self) except -1
    cdef void release(self) noexcept
    cdef void seal(self) noexcept nogil  # no more counting; the words can be read still
    cdef void empty(self) noexcept nogil


cdef class Spelling:
    cdef tk_spelling table
    cdef tk_token *ids
    cdef readonly bytes prefix
    cdef readonly size_t n_ids  # ids are below
