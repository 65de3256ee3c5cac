"""Arrays that own the memory of ids, and a pool of the memory of freed arrays.

A program that encodes many texts creates and frees many arrays. If the buffer is just large enough, the ids of a
long text are not copied; and pages in the pool are not requested from the system again (bench_encode, warm).
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "large_memory.h" nogil:
    uint32_t *tk_ids_alloc(size_t count)

cdef enum:
    MAX_BLOCKS = 256
    MAX_KEPT_IDS = 4 << 20  # 16 MiB
    BLOCK_IDS = 1 << 12     # smaller arrays are copied: that costs less than a block of their own

KEPT_BYTES = 4 * MAX_KEPT_IDS
new_array, view_array, ID_TYPE = np.empty, np.frombuffer, np.dtype(np.uint32)


@cython.final
cdef class BlockPool:
    """Blocks of memory that one encoder's arrays used, for its next arrays."""

    def __cinit__(self):
        self.kept = <Block *> calloc(MAX_BLOCKS, sizeof(Block))
        if self.kept is NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_kept):
            free(self.kept[i].ids)
        free(self.kept)

    cdef Block take(self, size_t n) except *:
        # Returns room for n ids, and at most a quarter more.
        cdef size_t i
        cdef Block found
        with cython.critical_section(self):
            i = self.n_kept
            while i > 0:
                i -= 1
                found = self.kept[i]
                if n <= found.capacity <= n + n // 4:
                    self.n_kept -= 1
                    self.kept[i] = self.kept[self.n_kept]
                    self.kept_ids -= found.capacity
                    return found
        found.capacity = n
        found.ids = tk_ids_alloc(n)
        if found.ids is NULL:
            raise MemoryError("not enough memory for the ids of a text")
        return found

    cdef void give(self, Block block) noexcept:
        with cython.critical_section(self):
            if self.n_kept < MAX_BLOCKS and block.capacity <= MAX_KEPT_IDS - self.kept_ids:
                self.kept[self.n_kept] = block
                self.n_kept += 1
                self.kept_ids += block.capacity
                return
        free(block.ids)

    cdef int fit(self, uint32_t **ids, size_t *capacity, size_t n_units, double density) except -1:
        cdef size_t wanted = <size_t> (n_units * density) + n_units // 64 + BLOCK_IDS // 4
        cdef Block block
        if not wanted <= capacity[0] <= wanted + wanted // 4:
            block = self.take(wanted)
            free(ids[0])
            ids[0] = block.ids
            capacity[0] = block.capacity
        return 0

    cdef object array(self, uint32_t **ids, size_t *capacity, size_t n):
        cdef ArrayMemory memory
        if n < BLOCK_IDS:
            return copied(ids[0], n)
        memory = ArrayMemory.__new__(ArrayMemory)
        if capacity[0] <= n + n // 4:
            memory.block.ids = ids[0]
            memory.block.capacity = capacity[0]
            ids[0] = NULL
            capacity[0] = 0
        else:
            memory.block = self.take(n)
            memcpy(memory.block.ids, ids[0], n * sizeof(uint32_t))
        memory.pool = self
        memory.n = n
        return view_array(memory, ID_TYPE)

    @property
    def kept_bytes(self) -> int:
        """How many bytes the pool holds for the next arrays."""
        return self.kept_ids * sizeof(uint32_t)


cdef object copied(const uint32_t *ids, size_t n):
    # Uses the buffer protocol directly: to make a typed memoryview takes as long as to process a short text.
    cdef Py_buffer out
    result = new_array(n, ID_TYPE)
    if n:
        PyObject_GetBuffer(result, &out, PyBUF_SIMPLE | PyBUF_WRITABLE)
        memcpy(out.buf, ids, n * sizeof(uint32_t))
        PyBuffer_Release(&out)
    return result


@cython.final
@cython.no_gc  # it refers only to its pool, which refers to nothing
cdef class ArrayMemory:
    # The memory that holds an array's ids.
    cdef BlockPool pool
    cdef Block block
    cdef size_t n

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.block.ids, self.n * sizeof(uint32_t), 0, flags)

    def __dealloc__(self):
        if self.pool is not None:
            self.pool.give(self.block)


cdef object framed(
    array, size_t width, const char *before, size_t a, const void *items, size_t n, const char *after, size_t b,
    int fill
):
    # Fills an array with a, n and b items of `width` bytes; without a source the bytes are `fill`. Uses the buffer
    # protocol directly: to make a typed memoryview takes as long as to process a short text.
    cdef Py_buffer view
    cdef char *out
    if a + n + b == 0:
        return array
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    out = <char *> view.buf
    if before is NULL:
        memset(out, fill, a * width)
        memset(out + (a + n) * width, fill, b * width)
    else:
        memcpy(out, before, a * width)
        memcpy(out + (a + n) * width, after, b * width)
    memcpy(out + a * width, items, n * width)
    PyBuffer_Release(&view)
    return array
