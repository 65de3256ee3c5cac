# Declarations of nn.pyx, and of the C that it calls.
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int32_t, uint8_t, uint16_t

# ---- linear

cdef extern from "isa.h" nogil:
    int TK_ISA_AVX512
    int tk_isa_of_floats(int isa)

cdef extern from "thread_team.h" nogil:
    ctypedef void tk_team_runner(void (*run)(void *job, int worker) noexcept, void *job, int threads) noexcept
    tk_team_runner *tk_team_own()
    void tk_team_use(tk_team_runner *)

cdef tk_team_runner *team() noexcept  # for other modules


cdef extern from "nn/linear.h" nogil:
    ctypedef struct tk_linear:
        size_t n
        size_t k
        size_t panels
        int kind
        int minima
        void *weights
        float *bias
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
    int tk_fast_bf16()
    size_t TK_INT8_MOST_K
    int TK_INT4
    int TK_INT8
    int TK_INT8_GROUPS
    ctypedef struct tk_blocks:
        const uint8_t *q
        const uint8_t *scales
        const uint8_t *minima
        ptrdiff_t q_column
        ptrdiff_t q_group
        ptrdiff_t scale_column
        ptrdiff_t scale_group
        ptrdiff_t minimum_column
        ptrdiff_t minimum_group
    size_t tk_linear_bytes(size_t n, size_t k, int kind, int minima)
    void tk_linear_over(tk_linear *, void *image, size_t n, size_t k, int kind, int minima)
    void tk_linear_pack(tk_linear *, const float *w, size_t step, const float *bias)
    int tk_linear_put_blocks(tk_linear *, const tk_blocks *, size_t first, size_t columns)
    void tk_linear_read_column(const tk_linear *, size_t c, float *out)
    size_t tk_groups(size_t k)
    int tk_linear_run(tk_product *, int isa, int threads)


cdef extern from "large_memory.h" nogil:
    void *tk_table_alloc(size_t bytes)
    void tk_table_free(void *table, size_t bytes)


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
