# Ranks the pauses of a text, at which it is cut into chunks, and finds the best among them.
from libc.stdint cimport int64_t, uint8_t

cdef extern from "text/pauses.h" nogil:
    int TK_AT_KINDS
    ctypedef struct tk_fence:
        uint8_t character
        size_t length
    void tk_rank_pauses(
        const uint8_t *text, size_t n, const int64_t *spans, size_t n_tokens, int at, tk_fence *fence, int continues,
        uint8_t *ranks
    )
    void tk_trim(const uint8_t *text, size_t *start, size_t *end, int indented)


cdef class Pauses:
    """The places between the n tokens of a text: 0 before the first, n after the last, and a rank for each.

    `spans` are the tokens' bytes (n, 2), int64. `at` and ranks are those of csrc/text/pauses.h. `fence`, (character,
    length), is the code fence of Markdown that the text begins in, and as an attribute the one that it ends in.
    `continues`: the text does not begin with a line.
    """

    cdef readonly bytes utf8
    cdef readonly Py_ssize_t n
    cdef readonly tuple fence
    cdef readonly object ranks
    cdef const int64_t[:, ::1] _spans
    cdef const uint8_t[::1] _ranks

    def __cinit__(self, bytes utf8 not None, spans not None, int at, fence=(0, 0), bint continues=False):
        cdef const uint8_t *text = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8)
        cdef int64_t before = 0
        cdef Py_ssize_t i
        cdef tk_fence open_fence
        cdef uint8_t[::1] out
        cdef const int64_t *first
        self.utf8, self._spans = utf8, spans
        self.n = self._spans.shape[0]
        if not 0 <= at < TK_AT_KINDS or self._spans.shape[1] != 2:
            raise ValueError(f"at is {at}, and the spans have shape ({self.n}, {self._spans.shape[1]})")
        for i in range(self.n):
            if not before <= self._spans[i, 0] <= <int64_t> n:
                raise ValueError(f"token {i} begins at {self._spans[i, 0]}, after {before} in {n} bytes")
            before = self._spans[i, 0]
        open_fence.character, open_fence.length = fence
        self.ranks = np.zeros(max(self.n, 1), dtype=np.uint8)
        out = self.ranks
        first = &self._spans[0, 0] if self.n else NULL
        with nogil:
            tk_rank_pauses(text, n, first, self.n, at, &open_fence, continues, &out[0])
        self._ranks = out
        self.fence = open_fence.character, open_fence.length

    cdef int check(self, Py_ssize_t lower, Py_ssize_t upper) except -1:
        if not 0 <= lower < upper <= self.n:
            raise ValueError(f"{lower} to {upper} is not a range of places between {self.n} tokens")
        return 0

    def rank(self, Py_ssize_t place) -> int:
        """Return the rank of a place before a token."""
        self.check(place, place + 1)
        return self._ranks[place]

    def byte(self, Py_ssize_t place) -> int:
        """Return the byte of a place; what is before the first token, or after the last, belongs to it."""
        if place <= 0:
            return 0
        return self._spans[place, 0] if place < self.n else len(self.utf8)

    def place(self, int64_t byte) -> int:
        """Return the first place that is not before a byte."""
        cdef Py_ssize_t lower = 0, upper = self.n, middle
        while lower < upper:
            middle = (lower + upper) // 2
            if self._spans[middle, 0] < byte:
                lower = middle + 1
            else:
                upper = middle
        return lower

    def last_best(self, Py_ssize_t lower, Py_ssize_t upper) -> int:
        """Return the last place of the greatest rank in a range of places."""
        cdef Py_ssize_t i, best = lower
        self.check(lower, upper)
        for i in range(lower, upper):
            if self._ranks[i] >= self._ranks[best]:
                best = i
        return best

    def first_best(self, Py_ssize_t lower, Py_ssize_t upper) -> int:
        """Return the first place of the greatest rank in a range of places."""
        cdef Py_ssize_t i, best = lower
        self.check(lower, upper)
        for i in range(lower, upper):
            if self._ranks[i] > self._ranks[best]:
                best = i
        return best

    def trim(self, size_t start, size_t end, bint indented=False):
        """Return (start, end) of a part of the text, in bytes, without white space at its ends.

        With `indented`, it has all white space before its first character from the start of the line on.
        """
        if not start <= end <= <size_t> len(self.utf8):
            raise ValueError(f"({start}, {end}) is not a part of {len(self.utf8)} bytes")
        tk_trim(<const uint8_t *> <const char *> self.utf8, &start, &end, indented)
        return start, end
