# Declarations of nn.pyx, and of the C that it calls.
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int32_t, uint8_t

# ---- linear

cdef extern from "isa.h" nogil:
    int TK_ISA_AVX512
    int tk_isa_of_floats(int isa)

cdef extern from "nn/linear.h" nogil:
    ctypedef struct tk_linear:
        size_t n
        size_t k
        size_t panels
        int kind
    ctypedef struct tk_product:
        const tk_linear *l
        const float *x
        const float *residual
        float *y
        size_t m
        ptrdiff_t x_step
        ptrdiff_t y_step
        ptrdiff_t residual_step
        int activation
        int wide
        const uint8_t *x8
        size_t x8_step
        const float *x_scale
        const int32_t *x_zero
    int tk_has_bf16()
    size_t TK_INT8_MOST_K
    tk_linear *tk_linear_new(const float *w, size_t step, size_t n, size_t k, const float *bias, int kind)
    void tk_linear_free(tk_linear *)
    int tk_linear_run(tk_product *, int isa, int threads)


cdef class PackedLinear:  # immutable, so that threads can share it
    cdef tk_linear *packed
