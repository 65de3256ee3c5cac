# What other modules use of training.pyx.
from libc.stdint cimport uint32_t, uint64_t, uint8_t

cdef extern from "train/word_cells.h" nogil:
    int TK_CODE_POINTS
    ctypedef uint32_t tk_token
    ctypedef struct tk_spelling:
        const tk_token *bytes
        const tk_token *first
        const tk_token *rest
    ctypedef struct tk_state_array:
        void *data
        size_t n


cdef int check(int status) except -1  # OverflowError or MemoryError for what the core returned


cdef class Training:
    cdef bint busy
    cdef int done
    cdef int claim(self) except -1
    cdef void release(self) noexcept
    # What each trainer says: visit about `budget` occurrences, and set *ended at the end; and its tokens, joined.
    cdef int visit(self, size_t budget, int *ended) noexcept nogil
    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept


cdef class Spelling:
    cdef tk_spelling table
    cdef tk_token *ids
    cdef readonly bytes prefix
    cdef readonly size_t n_ids  # ids are below


cdef int write_arrays(object file, const tk_state_array *arrays, size_t n) except -1
cdef int read_arrays(object read, const tk_state_array *arrays, size_t n, size_t *total, size_t size) except -1
cdef bytearray read_sizes(object read, size_t n, size_t size)
cdef int checked(int status) except -1
