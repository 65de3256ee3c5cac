# What other modules use of split.pyx.
from libc.stdint cimport int64_t, uint32_t, uint8_t
from tokkit._core.text cimport tk_dfa, tk_split

cdef extern from "split/added.h" nogil:
    ctypedef struct tk_added:
        size_t n_tokens, longest
    ctypedef struct tk_added_match:
        size_t start, end
        uint32_t number
    int tk_added_find(
        const tk_added *tokens, const uint8_t *text, size_t n, size_t start_at, tk_added_match *match
    )


cdef class SplitPattern:
    cdef tk_dfa dfa
    cdef tuple owners


cdef tk_split split_of(object split) except *


cdef class AddedMatcher:
    cdef tk_added tokens
    cdef int64_t[::1] ids
    cdef const uint8_t *which(self, bytes allowed) except? NULL


cdef int checked_behavior(int behavior) except -1
