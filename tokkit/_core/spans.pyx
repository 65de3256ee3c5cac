# Where tokens begin and end in, the same in characters, trimmed, or as a list of tuples out.
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint32_t

import numpy as np


def of_lengths(const uint32_t[::1] ids, const int64_t[::1] lengths):
    """Return where tokens begin and end that follow one another, int64 (n, 2); `lengths` go by id."""
    cdef size_t i, n = ids.shape[0]
    cdef int64_t at = 0
    spans = np.empty((n, 2), dtype=np.int64)
    cdef int64_t[:, ::1] out = spans
    for i in range(n):
        out[i, 0] = at
        at += lengths[ids[i]]
        out[i, 1] = at
    return spans


def of_characters(bytes utf8, const int64_t[:, ::1] spans):
    """Return spans of bytes as spans of characters, int64 (n, 2): all that each touches; and how many there are.

    An empty span between two characters stays empty, before the second. Spans lie within the text.
    """
    cdef const uint8_t *text = <const uint8_t *> <const char *> utf8
    cdef size_t i, n = len(utf8), count = 0
    cdef uint32_t *before
    characters = np.empty((spans.shape[0], 2), dtype=np.int64)
    cdef int64_t[:, ::1] out = characters
    if n > 0xFFFFFFF0:
        raise OverflowError("offsets in characters are for texts of less than 4 GiB")
    before = <uint32_t *> PyMem_Malloc((n + 2) * sizeof(uint32_t))  # characters that begin before a byte
    if before is NULL:
        raise MemoryError
    for i in range(n):
        before[i] = count
        count += (text[i] & 0xC0) != 0x80
    before[n] = count
    before[n + 1] = count + 1
    for i in range(<size_t> spans.shape[0]):
        out[i, 0] = <int64_t> before[spans[i, 0] + 1] - 1
        out[i, 1] = before[spans[i, 1]]
    PyMem_Free(before)
    return characters, count


def trim(int64_t[:, ::1] spans, const int64_t[::1] leading, const int64_t[::1] trailing, bint spares, bint at_start):
    """Take so many units off both ends of spans, in place; `spares` leaves a single one that begins the text.

    That is where a span begins at 0 or, with `at_start`, is the first.
    """
    cdef size_t i
    cdef int64_t off
    for i in range(<size_t> spans.shape[0]):
        off = leading[i]
        if spares and off == 1 and (spans[i, 0] == 0 or (at_start and i == 0)):
            off = 0
        spans[i, 0] = min(spans[i, 0] + off, spans[i, 1])
        if spans[i, 1] >= trailing[i]:
            spans[i, 1] = max(spans[i, 1] - trailing[i], spans[i, 0])


def pairs(const int64_t[:, ::1] spans) -> list:
    """Return spans as a list of tuples."""
    cdef list made = []
    cdef object start, end = 0
    cdef int64_t last = 0
    cdef size_t i
    for i in range(<size_t> spans.shape[0]):
        start = end if spans[i, 0] == last else spans[i, 0]  # most begin where the one before ends
        last = spans[i, 1]
        end = last
        made.append((start, end))
    return made
