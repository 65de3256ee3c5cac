# What other modules use of lists.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

cdef list pairs_of(const int64_t *spans, Py_ssize_t n)
cdef list numbers_of(const int32_t *column, Py_ssize_t n)
cdef list ints_of(const uint32_t *wide, const uint8_t *narrow, Py_ssize_t n)
cdef list named_of(const uint32_t *ids, Py_ssize_t n, list names, object make, const uint8_t *varies, list places)
cdef const uint8_t *mask_of(bytes mask, list names) except? NULL
