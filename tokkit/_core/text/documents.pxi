# Documents of a block of text as objects of their own.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memchr

from tokkit._core.base cimport TK_NO_MEMORY, TK_OK, tk_reserve


def documents(bytes data not None, bytes ends=None):
    """Return the documents that end at `ends` (packed int64, rising, the last len(data)); None: lines with their ends.
    """
    cdef const char *p = PyBytes_AS_STRING(data)
    cdef const char *stop = p + len(data)
    cdef const char *end
    cdef const int64_t *given
    cdef size_t i
    cdef int64_t last = 0
    found = []
    if ends is None:
        while p < stop:
            end = <const char *> memchr(p, 10, stop - p)
            end = stop if end is NULL else end + 1
            found.append(PyBytes_FromStringAndSize(p, end - p))
            p = end
        return found
    given = <const int64_t *> PyBytes_AS_STRING(ends)
    if len(ends) == sizeof(int64_t) and given[0] == len(data):
        return [data]
    for i in range(len(ends) // sizeof(int64_t)):
        if not last <= given[i] <= len(data):
            raise ValueError(f"end {i} is {given[i]}; it must be from {last}, the end before it, to {len(data)}")
        found.append(PyBytes_FromStringAndSize(p + last, given[i] - last))
        last = given[i]
    return found


def paragraph_ends(bytes data not None):
    """Return the offsets after each run of blank lines that text follows, as packed int64; CR LF also ends a line.
    """
    cdef const char *p = PyBytes_AS_STRING(data)
    cdef const char *stop = p + len(data)
    cdef int64_t *found = NULL
    cdef size_t n = 0
    cdef int status
    try:
        with nogil:
            status = find_paragraph_ends(p, stop, &found, &n)
        if status != TK_OK:
            raise MemoryError("not enough memory for the ends of paragraphs")
        return PyBytes_FromStringAndSize(<const char *> found, n * sizeof(int64_t))
    finally:
        free(found)


cdef int find_paragraph_ends(const char *p, const char *stop, int64_t **found, size_t *n) noexcept nogil:
    cdef const char *start = p
    cdef const char *line = NULL  # the text after the previous line end
    cdef const char *end
    cdef size_t capacity = 0
    while p < stop:
        end = <const char *> memchr(p, 10, stop - p)
        if end is NULL:
            break
        p = end + 1
        if line is not NULL and p < stop and p[0] != 10 and p[0] != 13:
            if end == line or (end == line + 1 and line[0] == 13):
                if tk_reserve(found, &capacity, n[0] + 1, sizeof(int64_t)) != TK_OK:
                    return TK_NO_MEMORY
                found[0][n[0]] = p - start
                n[0] += 1
        line = p
    return TK_OK
