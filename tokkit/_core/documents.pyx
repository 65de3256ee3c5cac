"""Where documents, paragraphs, texts of JSON lines and pauses are in a text."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, _PyBytes_Resize
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memchr, memset

from tokkit._core.base cimport TK_NO_MEMORY, TK_OK, tk_reserve
from tokkit._core.text cimport isa_number, tk_utf8_invalid

import numpy as np

cdef extern from *:
    """
    #define tk_new_bytes(n) PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n))
    """
    PyObject *tk_new_bytes(size_t n) except NULL

cdef extern from "byte_kernels.h" nogil:
    ctypedef struct tk_byte_kernels:
        pass
    const tk_byte_kernels *tk_byte_kernels_of(int isa)

cdef extern from "files/json_lines.h" nogil:
    int TK_JSON_SPARE
    ctypedef struct tk_json_texts:
        const tk_byte_kernels *by
        const uint8_t *field
        size_t n_field
        uint8_t *texts
        size_t n_texts_bytes
        int64_t *ends
        size_t n_texts
        size_t n_lines
    int tk_json_texts_read(tk_json_texts *t, const uint8_t *data, size_t n, size_t *at)

cdef extern from "text/pauses.h" nogil:
    int TK_AT_MARKDOWN, TK_AT_KINDS, TK_NO_PAUSE, TK_OUTSIDE
    ctypedef struct tk_fence:
        uint8_t character
        size_t length
    void tk_rank_pauses(
        const uint8_t *text, size_t n, const int64_t *spans, size_t n_tokens, int at, tk_fence *fence, int continues,
        uint8_t *ranks
    )
    void tk_trim(const uint8_t *text, size_t *start, size_t *end, int indented)


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


# The texts of JSON lines, unescaped one after another, without a Python object for any.


def json_texts(bytes data not None, size_t at, bytes field not None, isa=None, *, bytes head=b"", stop=None):
    """Return (texts, ends, at, lines): the strings that JSON lines from byte `at` on have in a field.

    `texts` is valid UTF-8; each text ends at one of `ends` (packed int64). `at` is the end of the data, or the line
    that Python's json must read: it is malformed, has no such text, or is unusual. `lines` is how many were read.
    `head` is a line before them; if json must read it, no line is read. The data ends at `stop`, after a line break.
    """
    cdef tk_json_texts t
    cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *q = <const uint8_t *> PyBytes_AS_STRING(head)
    cdef size_t n = len(data) if stop is None else stop, m = len(head), head_at = 0
    cdef PyObject *made = NULL  # its memory is not written before it is shortened to the size of the texts
    cdef int status = TK_OK
    if not at <= n <= <size_t> len(data) or (stop is not None and n and p[n - 1] != 10):
        raise ValueError(
            f"at is {at} and stop {stop}; at must not be after stop, and stop be None or right after a line break in "
            f"the {len(data)} bytes of data"
        )
    memset(&t, 0, sizeof(t))
    t.by = tk_byte_kernels_of(isa_number(isa))
    t.field, t.n_field = <const uint8_t *> PyBytes_AS_STRING(field), len(field)
    try:
        made = tk_new_bytes(m + n - at + TK_JSON_SPARE)
        t.texts = <uint8_t *> PyBytes_AS_STRING(<object> made)
        with nogil:
            if m:
                status = tk_json_texts_read(&t, q, m, &head_at)
            if status == TK_OK and head_at == m:
                status = tk_json_texts_read(&t, p, n, &at)
        if status != TK_OK:
            raise MemoryError("not enough memory for the texts of JSON lines")
        _PyBytes_Resize(&made, t.n_texts_bytes)
        ends = PyBytes_FromStringAndSize(<const char *> t.ends, t.n_texts * sizeof(int64_t))
        return <object> made, ends, at, t.n_lines
    finally:
        Py_XDECREF(made)
        free(t.ends)


# Ranks the pauses of a text, and chooses those where chunks begin and end.


cdef class Pauses:
    """The places between the n tokens of a text: 0 before the first, n after the last, and a rank for each.

    `spans` are the tokens' bytes (n, 2), int64. `at` and ranks are those of csrc/text/pauses.h. `fence`, (character,
    length), is the code fence of Markdown that the text begins in, and as an attribute the one that it ends in.
    `continues`: the text does not begin with a line.
    """

    cdef readonly bytes utf8
    cdef readonly Py_ssize_t n
    cdef readonly tuple fence
    cdef int at
    cdef const int64_t[:, ::1] spans
    cdef const uint8_t[::1] ranks

    def __cinit__(self, bytes utf8 not None, spans not None, int at, fence=(0, 0), bint continues=False):
        cdef const uint8_t *text = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8)
        cdef int64_t before = 0
        cdef Py_ssize_t i
        cdef tk_fence open_fence
        cdef uint8_t[::1] ranks
        cdef const int64_t *first
        self.utf8, self.spans, self.at = utf8, spans, at
        self.n = self.spans.shape[0]
        if not 0 <= at < TK_AT_KINDS or self.spans.shape[1] != 2:
            raise ValueError(
                f"at is {at} and spans has shape ({self.n}, {self.spans.shape[1]}); at must be from 0 to "
                f"{TK_AT_KINDS - 1}, and spans (n, 2)"
            )
        if tk_utf8_invalid(text, n) != n:
            raise ValueError(f"utf8 is not valid UTF-8 at offset {tk_utf8_invalid(text, n)}")
        for i in range(self.n):
            if not before <= self.spans[i, 0] <= <int64_t> n:
                raise ValueError(
                    f"token {i} begins at {self.spans[i, 0]}; it must be from {before}, the start before it, to {n}"
                )
            before = self.spans[i, 0]
        open_fence.character, open_fence.length = fence
        ranks = np.zeros(self.n + 1, dtype=np.uint8)
        first = &self.spans[0, 0] if self.n else NULL
        with nogil:
            tk_rank_pauses(text, n, first, self.n, at, &open_fence, continues, &ranks[0])
        self.ranks = ranks
        self.fence = open_fence.character, open_fence.length

    def byte(self, Py_ssize_t place) -> int:
        """Return the byte offset of a place; text before the first or after the last token belongs to that token."""
        if place <= 0:
            return 0
        return self.spans[place, 0] if place < self.n else len(self.utf8)

    def chunk(self, Py_ssize_t first, Py_ssize_t room, Py_ssize_t searched, bint indented):
        """Return (start, end, cut) of the chunk of at most `room` tokens from token `first` on: byte offsets, a place.

        It ends before the token `cut`: the last of the greatest pauses among the last `searched` places.
        """
        cdef Py_ssize_t upper, cut, earlier
        if not 0 <= first < self.n or room < 1:
            raise ValueError(
                f"first is {first} and room {room}; first must be from 0 to {self.n - 1}, and room at least 1"
            )
        cut = upper = min(first + room, self.n)
        if upper < self.n:
            cut = self.best(max(first + 1, upper - searched), upper)
            if self.at == TK_AT_MARKDOWN and self.ranks[cut] < TK_OUTSIDE:  # in a code fence: is there room before it?
                earlier = self.best(first + 1, upper)
                cut = earlier if self.ranks[earlier] >= TK_OUTSIDE else cut
            if self.ranks[cut] == TK_NO_PAUSE:  # all the places searched are inside a character
                cut = upper
                while cut > first and self.ranks[cut] == TK_NO_PAUSE:
                    cut -= 1
                cut = cut if cut > first else upper
                while cut < self.n and self.ranks[cut] == TK_NO_PAUSE:
                    cut += 1
        start, end = self.trim(self.byte(first), self.byte(cut), indented)
        return start, end, cut

    cdef Py_ssize_t best(self, Py_ssize_t lower, Py_ssize_t upper) noexcept:
        # Returns the last of the greatest pauses from `lower` to `upper`.
        cdef Py_ssize_t i, found = lower
        for i in range(lower, upper + 1):
            if self.ranks[i] >= self.ranks[found]:
                found = i
        return found

    def again(self, size_t start, Py_ssize_t cut, Py_ssize_t overlap) -> int:
        """Return the first of the greatest pauses in the last tokens of the chunk from byte `start` to place `cut`.

        `cut` itself, if there is none after the chunk's first character.
        """
        cdef Py_ssize_t i, found = cut
        cdef uint8_t greatest = TK_NO_PAUSE + 1
        cdef int64_t content, last
        content, last = self.trim(start, self.byte(cut))
        for i in range(cut - 1, max(cut - overlap, 1) - 1, -1):
            # The repeated text must be more than white space.
            if content < self.spans[i, 0] < last and self.ranks[i] >= greatest:
                found, greatest = i, self.ranks[i]
        return found

    def count(self, int64_t start, int64_t end) -> int:
        """Return how many tokens a span of the text has; -1 unless tokens begin at both bytes."""
        cdef Py_ssize_t first = self.search(start), last = self.search(end)
        if last < self.n and self.spans[first, 0] == start and self.spans[last, 0] == end:
            return last - first
        return -1

    cdef Py_ssize_t search(self, int64_t byte) noexcept:
        # Returns the first place that is not before a byte.
        cdef Py_ssize_t lower = 0, upper = self.n, middle
        while lower < upper:
            middle = (lower + upper) // 2
            if self.spans[middle, 0] < byte:
                lower = middle + 1
            else:
                upper = middle
        return lower

    def trim(self, size_t start, size_t end, bint indented=False):
        """Return (start, end) of a span of the text, in bytes, without white space at its ends.

        With `indented`, it has all white space before its first character from the start of the line on.
        """
        if not start <= end <= <size_t> len(self.utf8):
            raise ValueError(f"the span is ({start}, {end}); it must be within 0 and {len(self.utf8)}")
        tk_trim(<const uint8_t *> <const char *> self.utf8, &start, &end, indented)
        return start, end
