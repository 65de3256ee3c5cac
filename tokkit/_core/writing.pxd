# Bytes that grow at their end, and packed strings: what writers of files share.
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t

cdef extern from "files/json_write.h" nogil:
    ctypedef struct tk_strings:
        const uint8_t *bytes
        const int64_t *offsets

cdef tk_strings strings_of(bytes blob, const int64_t[::1] offsets) except *

cdef class Output:
    cdef PyObject *made
    cdef uint8_t *start
    cdef size_t n, capacity

    cdef uint8_t *reserve(self, size_t n) except NULL
    cdef void upto(self, const uint8_t *end) noexcept
    cdef bytes taken(self)
