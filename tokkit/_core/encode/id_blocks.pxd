# What other modules use of id_blocks.pyx.
from libc.stdint cimport uint32_t

cdef struct Block:
    uint32_t *ids
    size_t capacity


cdef class BlockPool:
    cdef Block *kept
    cdef size_t n_kept, kept_ids
    cdef Block take(self, size_t n) except *
    cdef void give(self, Block block) noexcept

    # A buffer of ids is its memory and its capacity. Make it one for n_units of text, whose ids are `density` times as
    # many; and an array of its n ids, which may take the memory away.
    cdef int fit(self, uint32_t **ids, size_t *capacity, size_t n_units, double density) except -1
    cdef object array(self, uint32_t **ids, size_t *capacity, size_t n)


cdef object framed(
    array, size_t width, const char *before, size_t a, const void *items, size_t n, const char *after, size_t b,
    int fill
)
