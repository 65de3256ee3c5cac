# What other modules use of token_tables.pyx.
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

cdef extern from "sentencepiece/sp_normalize.h" nogil:
    ctypedef struct tk_own_tokens:
        const uint8_t *blob
        const int64_t *offsets
        size_t n_ids
        const uint8_t *excluded

cdef extern from "encode/token_index.h" nogil:
    ctypedef struct tk_token_index:
        uint64_t *slots
    int tk_token_index_build(tk_token_index *index, const tk_own_tokens *own, size_t *twice)
    void tk_token_index_free(tk_token_index *index)
    uint32_t tk_token_index_find(const tk_token_index *index, const uint8_t *bytes, size_t n)

cdef extern from "encode/merge_list.h" nogil:
    int tk_find_merges(
        const tk_token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix, uint32_t *merges,
        size_t n_merges, size_t *number
    )
