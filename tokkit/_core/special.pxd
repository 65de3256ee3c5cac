# Declarations for other extensions of the core: the special-token trie and its owner.
from libc.stdint cimport uint8_t, uint32_t


cdef extern from "split/special.h" nogil:
    ctypedef struct tk_special:
        size_t longest
    int tk_special_init(tk_special *special)
    void tk_special_free(tk_special *special)
    int tk_special_add(tk_special *special, const uint8_t *bytes, size_t n, uint32_t id)
    int tk_special_find(
        const tk_special *special, const uint8_t *text, size_t n, size_t start_at, size_t *start, size_t *end,
        uint32_t *id
    )


cdef class SpecialMatcher:
    cdef tk_special special
