# Declarations of compiled split patterns, for the extensions that cut text by them.
from tokkit._core.text cimport tk_dfa, tk_split


cdef class SplitPattern:
    cdef tk_dfa dfa
    cdef tuple owners

cdef tk_split split_of(object split) except *
