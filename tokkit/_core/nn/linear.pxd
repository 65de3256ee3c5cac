# What other modules use of linear.pyx.
from libc.stdint cimport uint8_t

cdef extern from "nn/linear.h" nogil:
    ctypedef struct tk_linear:
        size_t n
        size_t k
        size_t panels
        int kind
        int minima
        void *weights
        float *bias

cdef extern from "nn/experts.h" nogil:
    ctypedef struct tk_expert:
        const tk_linear *up
        const tk_linear *down
    ctypedef struct tk_experts:
        const tk_linear *router
        const tk_expert *experts
        size_t n
        size_t top
        size_t hidden
        int renormalize
        tk_expert shared
        const tk_linear *shared_gate
        size_t shared_hidden


cdef class LargeMemory:
    cdef list blocks  # (address, bytes)
    cdef size_t chunk, left
    cdef uint8_t *next
    cdef void *take(self, size_t n_bytes) except NULL


cdef class PackedLinear:  # immutable, so that threads can share it
    cdef tk_linear linear
    cdef const tk_linear *packed
    cdef object owner  # of the memory that the weights are in
    cdef int begin(self, size_t n, size_t k, int kind, bint minima, LargeMemory memory) except -1
    cdef int put_bias(self, const float[::1] bias) except -1


cdef class PackedExperts:
    cdef tk_experts experts
    cdef tk_expert *pairs
    cdef list kept  # keeps alive what the pairs point to
    cdef tk_expert pair(self, both, size_t dim, size_t hidden, bint gated) except *


cdef int fused(object activation) except -1
