# What other modules use of kv.pyx.
from libc.stddef cimport ptrdiff_t

cdef extern from "nn/kv.h" nogil:
    ctypedef struct tk_kv_layer:
        void *k
        void *v
        float *k_scales
        float *v_scales
        size_t room
        size_t first
    ctypedef struct tk_kv:
        tk_kv_layer *layers
        int type
        size_t heads
        size_t head_dim
        size_t length
    size_t tk_kv_rows(size_t length, ptrdiff_t window)


cdef class KeyValues:
    cdef tk_kv kv
    cdef size_t n_layers
    cdef list kept  # keeps alive what the layers point to
    cdef void *items(self, array) except NULL
    cdef int check(self, const Py_ssize_t *shape) except -1
