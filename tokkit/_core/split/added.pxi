# `AddedMatcher` finds added tokens in a text, leftmost and then longest, as tokenizers does.
from libc.stdint cimport int64_t, uint8_t

from tokkit._core.align cimport AlignedText, check_stage
from tokkit._core.text cimport isa_number

import numpy as np

cdef extern from "base.h":
    int TK_TOO_LARGE


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
