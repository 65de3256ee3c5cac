# What other modules use of blocks.pyx.
from libc.stdint cimport uint8_t

cdef int check_block(const uint8_t[::1] text, size_t n) except -1
