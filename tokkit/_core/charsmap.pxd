# Declarations for the components: a charsmap and its owner.
from libc.stdint cimport uint8_t


cdef extern from "text/charsmap.h" nogil:
    ctypedef struct tk_charsmap:
        size_t n_units
        uint8_t plain[128]
    int tk_charsmap_init(tk_charsmap *map, const uint8_t *data, size_t n, const char **reason)
    void tk_charsmap_free(tk_charsmap *map)


cdef class Charsmap:
    cdef tk_charsmap map
    cdef readonly bytes data
