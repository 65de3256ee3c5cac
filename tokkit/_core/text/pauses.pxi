# Ranks the pauses of a text, and chooses those where chunks begin and end.
from libc.stdint cimport int64_t, uint8_t

cdef extern from "text/pauses.h" nogil:
    int TK_AT_MARKDOWN, TK_AT_KINDS
    int TK_NO_PAUSE, TK_OUTSIDE
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
