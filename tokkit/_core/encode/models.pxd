# What other modules use of models.pyx.
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

cdef extern from "encode/model.h" nogil:
    ctypedef struct tk_model_worker:
        uint32_t *ids
        int64_t *spans
        int32_t *words
        size_t n, ids_capacity, failed
        bint drops
        uint64_t random
    ctypedef struct tk_token_trie:
        pass
    ctypedef struct tk_model:
        tk_token_trie trie
        uint32_t unknown
        bint cuts_at_blanks, falls_back, by_bytes
        const uint8_t *neighbors
    void tk_model_worker_shrink(tk_model_worker *w, size_t most)


cdef class PieceEncoder:
    cdef tk_model model
    cdef object owners, idle
    cdef bint drops


cdef object filled(array, const void *source, size_t n_bytes)
