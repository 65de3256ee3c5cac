# What other modules use of attention.pyx.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t

cdef extern from "nn/attend.h" nogil:
    ctypedef struct tk_steps:
        ptrdiff_t batch
        ptrdiff_t head
        ptrdiff_t row
    ptrdiff_t TK_FAR
    int TK_KV_FLOAT32, TK_KV_BFLOAT16, TK_KV_INT8


ctypedef const float[:, :, :, :] Floats
cdef int check_distances(
    const float[:, ::1] table, Py_ssize_t zero, size_t heads, Py_ssize_t queries, Py_ssize_t min_zero
) except -1
cdef int check_starts(const int64_t[::1] starts, Py_ssize_t rows, Py_ssize_t *longest) except -1
cdef int check_padding(const uint8_t[:, :] ignored, size_t batch, size_t n_keys) except -1
cdef tk_steps attention_steps(const Py_ssize_t *strides, Py_ssize_t size) noexcept
cdef int fits(const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t size, object name) except -1
