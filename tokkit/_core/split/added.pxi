# `AddedMatcher` finds added tokens in a text, leftmost and then longest, as tokenizers does.
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy, memset

from tokkit._core.align cimport AlignedText, check_stage
from tokkit._core.base cimport TK_TOO_LARGE, tk_reserve
from tokkit._core.text cimport isa_number

import numpy as np

# Spans of a text, and where the document that each belongs to ends once they are joined.
cdef struct Cut:
    uint8_t *text
    size_t n, capacity
    int64_t *ends
    size_t n_ends, ends_capacity


cdef class AddedMatcher:
    """Added tokens to find in text, each (content as bytes, id, single_word, lstrip, rstrip). Immutable.

    `isa` names the instruction set that filters text, one of `tokkit._core.text.isas()`; None is the one in use.
    """

    def __cinit__(self, tokens, isa=None):
        tokens = list(tokens)
        cdef bytes contents = b"".join([token[0] for token in tokens])
        # One more element, so that there is an address even without tokens.
        cdef int64_t[::1] ends = np.cumsum([len(token[0]) for token in tokens] + [0], dtype=np.int64)
        cdef uint8_t[::1] flags = np.array(
            [
                single * TK_ADDED_SINGLE_WORD | left * TK_ADDED_LSTRIP | right * TK_ADDED_RSTRIP
                for _, _, single, left, right in tokens
            ]
            + [0],
            dtype=np.uint8,
        )
        cdef const uint8_t *data = <const uint8_t *> <const char *> contents
        cdef size_t n = len(tokens)
        cdef int status, by = isa_number(isa)
        self.ids = np.array([token[1] for token in tokens] + [0], dtype=np.int64)
        with nogil:
            status = tk_added_init(&self.tokens, data, &ends[0], &flags[0], n, by)
        if status == TK_TOO_LARGE:
            raise OverflowError("the added tokens have 256 MiB of text or more in total; they must have less")
        if status != 0:
            raise MemoryError("not enough memory for the added tokens")

    def __dealloc__(self):
        tk_added_free(&self.tokens)

    @staticmethod
    def plain(tokens):
        """Return a matcher of tokens without options, bytes → id; ValueError for an empty one."""
        for token, id_ in tokens.items():
            if not token:
                raise ValueError(f"the special token of id {id_} is empty; it must have at least 1 byte")
        return AddedMatcher([(token, id_, False, False, False) for token, id_ in tokens.items()])

    def __len__(self):
        return self.tokens.n_tokens

    cdef const uint8_t *which(self, bytes allowed) except? NULL:
        if allowed is None:
            return NULL
        if len(allowed) != <Py_ssize_t> self.tokens.n_tokens:
            raise ValueError(
                f"allowed has {len(allowed)} bytes; it must have one for each of {self.tokens.n_tokens} added tokens"
            )
        return <const uint8_t *> <const char *> allowed

    def cut(self, AlignedText text not None, bytes allowed=None):
        """Make each token inside the pretokens of a text a pretoken of its own.

        `allowed` has a byte for each token, 0 if it remains text; None allows all.
        """
        cdef const uint8_t *which = self.which(allowed)
        cdef int status
        with nogil:
            status = tk_added_cut(&self.tokens, &self.ids[0], which, &text.state)
        check_stage(status)

    def find(self, bytes utf8, bytes allowed=None):
        """Return (start, end, number of the token) of all tokens in a text of valid UTF-8."""
        cdef const uint8_t *which = self.which(allowed)
        cdef const uint8_t *text = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8)
        cdef tk_added_cursor cursor
        cdef tk_added_match match
        cdef bint more
        found = []
        tk_added_start(&cursor)
        while True:
            with nogil:
                more = tk_added_next(&self.tokens, text, n, which, &cursor, &match)
            if not more:
                return found
            found.append((match.start, match.end, match.number))

    def first(self, bytes text not None, size_t start_at=0):
        """Return (start, end, id) of the first token at or after a byte offset, or None."""
        cdef tk_added_match match
        if tk_added_find(&self.tokens, <const uint8_t *> <const char *> text, len(text), start_at, &match):
            return match.start, match.end, self.ids[match.number]
        return None

    def cut_out(self, bytes text not None, bytes ends=None):
        """Return the text without the special tokens, and the ends of its documents as packed int64; None for no token.

        Documents end at the tokens, and at `ends` (packed int64, rising, the last the length of the text), by default
        after each "\\n". A token that crosses the end of a document is none.
        """
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef const int64_t *given = NULL
        cdef size_t n = len(text), n_given = 0, i
        cdef tk_added_match match
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
                if tk_added_find(&self.tokens, p, n, 0, &match):
                    status = cut_documents(&self.tokens, p, n, given, &cut, &found)
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
    const tk_added *tokens, const uint8_t *text, size_t n, const int64_t *ends, Cut *cut, bint *found
) noexcept nogil:
    cdef size_t at = 0, end, number = 0
    cdef tk_added_cursor cursor
    cdef tk_added_match match
    cdef const uint8_t *line
    while at < n:
        if ends != NULL:
            end = <size_t> ends[number]
            number += 1
        else:
            line = <const uint8_t *> memchr(text + at, c"\n", n - at)
            end = n if line == NULL else <size_t> (line - text) + 1
        tk_added_start(&cursor)
        cursor.from_ = cursor.taken = at
        while tk_added_next(tokens, text, end, NULL, &cursor, &match):
            found[0] = True
            if add_span(cut, text + at, match.start - at) != 0:
                return 1
            at = match.end
        if add_span(cut, text + at, end - at) != 0:
            return 1
        at = end
    return 0
