# What other modules use of charsmap.pyx.
from libc.stdint cimport uint32_t, uint8_t

cdef extern from "text/charsmap.h" nogil:
    ctypedef struct tk_charsmap:
        size_t n_units
        uint8_t plain[128]

cdef extern from "sentencepiece/sp_normalize.h" nogil:
    ctypedef struct tk_sp_options:
        int add_prefix, remove_extra, escape, suffix, one_byte_space
    ctypedef struct tk_sp_normalizer:
        tk_sp_options options
        tk_charsmap map
    ctypedef struct tk_sp_text:
        size_t most
        uint8_t *text
        size_t n, text_capacity
        uint32_t *origin
        size_t origin_capacity
        int aligns
    void tk_sp_text_free(tk_sp_text *out)
    int tk_sp_normalize(const tk_sp_normalizer *z, const uint8_t *text, size_t n, tk_sp_text *out)


cdef class Charsmap:
    cdef tk_charsmap map
    cdef readonly bytes data


cdef class Normalizer:
    cdef tk_sp_normalizer state
    cdef tuple arguments
    cdef public size_t most
    cdef tuple run(self, bytes utf8, bint aligns)


cdef object check_normalized(int status)  # MemoryError or OverflowError for what tk_sp_normalize returned
