# What other modules use of backward.pyx.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint32_t
from tokkit._core.nn.rows cimport Columns, Rows

cdef int layout(Rows a, ptrdiff_t *row, ptrdiff_t *column, object name) except -1
cdef uint32_t least_of(float p) noexcept nogil
cdef int same_shape(Rows a, Py_ssize_t n, Py_ssize_t m, object name) except -1
cdef int same_length(Columns a, size_t n, object name) except -1
