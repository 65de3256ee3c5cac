# Declarations for trainers that run in slices.
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t


cdef int check(int status) except -1  # OverflowError or MemoryError for what the core returned


cdef class Training:
    cdef bint busy
    cdef int done
    cdef int claim(self) except -1
    cdef void release(self) noexcept
    # What each trainer says: visit about `budget` occurrences, and set *ended at the end; and its tokens, joined.
    cdef int visit(self, size_t budget, int *ended) noexcept nogil
    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept
