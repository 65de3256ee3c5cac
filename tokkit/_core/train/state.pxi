# Writes and reads the arrays of a training's state, in the order and the types of this machine.

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t

from tokkit._core.base cimport TK_BAD_INPUT

cdef extern from "train/word_cells.h" nogil:
    ctypedef struct tk_state_array:
        void *data
        size_t n


cdef int write_arrays(object file, const tk_state_array *arrays, size_t n) except -1:
    cdef size_t i
    for i in range(n):
        if arrays[i].n:
            file.write(memoryview(<uint8_t[:arrays[i].n]> <uint8_t *> arrays[i].data))
    return 0


cdef int read_arrays(object read, const tk_state_array *arrays, size_t n, size_t *total, size_t size) except -1:
    # `total` is what was read so far of a file of `size` bytes.
    cdef size_t i
    for i in range(n):
        total[0] += arrays[i].n
        if total[0] > size:
            raise ValueError(f"its arrays have {total[0]} bytes or more, and the file {size}")
        if arrays[i].n:
            read(memoryview(<uint8_t[:arrays[i].n]> <uint8_t *> arrays[i].data))
    return 0


cdef bytearray read_sizes(object read, size_t n, size_t size):
    # Numbers of items, each of which takes at least a byte.
    cdef size_t i
    sizes = bytearray(n * sizeof(uint64_t))
    read(sizes)
    for i in range(n):
        if (<uint64_t *> <char *> sizes)[i] > size:
            raise ValueError(
                f"array {i} has {(<uint64_t *> <char *> sizes)[i]} items, more than the {size} bytes of it"
            )
    return sizes


cdef int checked(int status) except -1:
    if status == TK_BAD_INPUT:
        raise ValueError("its arrays have inconsistent sizes, or numbers out of range")
    return check(status)
