# Declarations of split.pyx, and of the C that it calls.
from libc.stdint cimport int64_t, uint32_t, uint8_t
from tokkit._core.align cimport tk_aligned
from tokkit._core.text cimport tk_dfa, tk_split

# ---- pattern

cdef class SplitPattern:
    cdef tk_dfa dfa
    cdef tuple owners

cdef tk_split split_of(object split) except *


# ---- added

cdef extern from "split/added.h" nogil:
    int TK_ADDED_SINGLE_WORD, TK_ADDED_LSTRIP, TK_ADDED_RSTRIP
    ctypedef struct tk_added:
        size_t n_tokens, longest
    ctypedef struct tk_added_cursor:
        size_t from_ "from"
        size_t taken
    ctypedef struct tk_added_match:
        size_t start, end
        uint32_t number
    int tk_added_init(
        tk_added *made, const uint8_t *data, const int64_t *ends, const uint8_t *flags, size_t n_tokens, int isa
    )
    void tk_added_free(tk_added *made)
    void tk_added_start(tk_added_cursor *cursor)
    int tk_added_next(
        const tk_added *tokens, const uint8_t *text, size_t n, const uint8_t *allowed, tk_added_cursor *cursor,
        tk_added_match *match
    )
    int tk_added_find(
        const tk_added *tokens, const uint8_t *text, size_t n, size_t start_at, tk_added_match *match
    )
    int tk_added_cut(const tk_added *tokens, const int64_t *ids, const uint8_t *allowed, tk_aligned *a)


cdef class AddedMatcher:
    cdef tk_added tokens
    cdef int64_t[::1] ids
    cdef const uint8_t *which(self, bytes allowed) except? NULL
