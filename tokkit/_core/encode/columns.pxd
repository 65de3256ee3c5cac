# What other modules use of columns.pyx.
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t


cdef class ColumnStyle:
    cdef list names
    cdef object make, codes_of
    cdef bytes mask, codes, before, after
    cdef dict rows
    cdef int rules[4]
    cdef int n_rules


@cython.no_gc  # nothing that one holds leads back to it, and there are thousands
cdef class TextColumns:
    cdef ColumnStyle style
    cdef readonly object text
    cdef bytes read
    cdef int64_t *spans             # one block of memory: spans, ids, words; of a list of words, then the spans in
    cdef uint32_t *ids              # characters, if they are others
    cdef int32_t *words
    cdef int64_t *characters
    cdef Py_ssize_t n, a, b         # all tokens; those before the text and after it
    cdef bint fill_characters(self, int64_t *out) except -1
