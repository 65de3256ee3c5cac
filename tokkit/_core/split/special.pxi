# `SpecialMatcher` finds special tokens in a text, leftmost and then longest.
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy, memset

cdef extern from "base.h" nogil:
    int tk_reserve(void *block, size_t *capacity, size_t need, size_t size)

# Spans of a text, and where the document that each belongs to ends once they are joined.
cdef struct Cut:
    uint8_t *text
    size_t n, capacity
    int64_t *ends
    size_t n_ends, ends_capacity


cdef class SpecialMatcher:
    """A set of special tokens (bytes → id) to find in text. Immutable."""

    def __cinit__(self, tokens):
        if tk_special_init(&self.special) != 0:
            raise MemoryError
        cdef bytes token
        for token, id_ in tokens.items():
            if not token:
                raise ValueError(f"the special token of id {id_} is empty; it must have at least 1 byte")
            if tk_special_add(&self.special, <const uint8_t *> <const char *> token, len(token), id_) != 0:
                raise MemoryError

    def __dealloc__(self):
        tk_special_free(&self.special)

    def find(self, bytes text, size_t start_at=0):
        """Return (start, end, id) of the first special token at or after a byte offset, or None."""
        cdef size_t start = 0, end = 0
        cdef uint32_t id_ = 0
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        if tk_special_find(&self.special, p, len(text), start_at, &start, &end, &id_):
            return start, end, id_
        return None

    def cut(self, bytes text not None, bytes ends=None):
        """Return the text without the special tokens, and the ends of its documents as packed int64; None for no token.

        Documents end at the tokens, and at `ends` (packed int64, rising, the last the length of the text), by default
        after each "\\n". A token that crosses the end of a document is none.
        """
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef const int64_t *given = NULL
        cdef size_t n = len(text), n_given = 0, i, start = 0, end = 0
        cdef uint32_t id_ = 0
        cdef int64_t last = 0
        cdef Cut cut
        cdef bint found = False
        cdef int status = 0
        if ends is not None:
            given, n_given = <const int64_t *> <const char *> ends, len(ends) // sizeof(int64_t)
            for i in range(n_given):
                if given[i] < last:
                    raise ValueError(f"end {i} is {given[i]}; it must be at least the end before it, {last}")
                last = given[i]
            if <size_t> last != n:
                raise ValueError(f"the last end is {last}; it must be the length of the text, {n}")
        memset(&cut, 0, sizeof(cut))
        try:
            with nogil:
                if tk_special_find(&self.special, p, n, 0, &start, &end, &id_):
                    status = cut_documents(&self.special, p, n, given, &cut, &found)
            if status != 0:
                raise MemoryError
            if not found:
                return None
            return (
                PyBytes_FromStringAndSize(<char *> cut.text, cut.n) if cut.n else b"",
                PyBytes_FromStringAndSize(<char *> cut.ends, cut.n_ends * sizeof(int64_t)) if cut.n_ends else b"",
            )
        finally:
            free(cut.text)
            free(cut.ends)


cdef inline int add_span(Cut *cut, const uint8_t *text, size_t n) noexcept nogil:
    # One more document, unless it is empty.
    if n == 0:
        return 0
    if tk_reserve(&cut.text, &cut.capacity, cut.n + n, 1) != 0:
        return 1
    if tk_reserve(&cut.ends, &cut.ends_capacity, cut.n_ends + 1, sizeof(int64_t)) != 0:
        return 1
    memcpy(cut.text + cut.n, text, n)
    cut.n += n
    cut.ends[cut.n_ends] = <int64_t> cut.n
    cut.n_ends += 1
    return 0


cdef int cut_documents(
    const tk_special *special, const uint8_t *text, size_t n, const int64_t *ends, Cut *cut, bint *found
) noexcept nogil:
    cdef size_t at = 0, end, start = 0, stop = 0, number = 0
    cdef uint32_t id_ = 0
    cdef const uint8_t *line
    while at < n:
        if ends != NULL:
            end = <size_t> ends[number]
            number += 1
        else:
            line = <const uint8_t *> memchr(text + at, c"\n", n - at)
            end = n if line == NULL else <size_t> (line - text) + 1
        while at < end and tk_special_find(special, text, end, at, &start, &stop, &id_):
            found[0] = True
            if add_span(cut, text + at, start - at) != 0:
                return 1
            at = stop
        if add_span(cut, text + at, end - at) != 0:
            return 1
        at = end
    return 0
