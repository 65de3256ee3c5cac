"""Indexes of tokens by their bytes, and tables of their bytes."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memcpy, memset

from tokkit._core.base cimport TK_NO_MEMORY, TK_OK

import numpy as np


cdef class TokenIndex:
    """The numbers of packed tokens by their bytes; of equal tokens, the number of the first. Immutable.

    Token i is `blob[offsets[i]:offsets[i + 1]]`; an empty one does not count. `offsets` is int64, (n + 1,), not
    decreasing, from 0 to len(blob).
    """

    cdef tk_token_index index
    cdef object owners
    cdef readonly Py_ssize_t twice  # the first token with the same bytes as an earlier one, or -1

    def __cinit__(self, bytes blob, const int64_t[::1] offsets):
        cdef tk_own_tokens own
        cdef size_t twice = 0
        cdef int status
        memset(&self.index, 0, sizeof(self.index))
        self.owners = (blob, offsets)
        own.blob = <const uint8_t *> PyBytes_AS_STRING(blob)
        own.offsets = &offsets[0]
        own.n_ids = offsets.shape[0] - 1
        own.excluded = NULL
        with nogil:
            status = tk_token_index_build(&self.index, &own, &twice)
        if status != TK_OK:
            raise MemoryError("not enough memory to index the tokens of this vocabulary")
        self.twice = <Py_ssize_t> twice if twice else -1

    def __dealloc__(self):
        tk_token_index_free(&self.index)

    def find(self, bytes token not None) -> int:
        """Return the number of the token with these bytes, or -1."""
        return <Py_ssize_t> tk_token_index_find(
            &self.index, <const uint8_t *> PyBytes_AS_STRING(token), len(token)
        ) - 1

    def find_merges(self, bytes text not None, uint8_t between, size_t n_prefix, size_t n_merges):
        """Return the numbers of left, right and result of each merge of `text`, uint32 (n_merges, 3).

        `text` has, for each merge, left, `between` and right, with a zero byte between merges. The result is left and
        right without its first `n_prefix` bytes. None if a merge is not two strings, or one of these is not a token.
        """
        cdef uint32_t[:, ::1] out
        cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(text)
        cdef size_t number = 0, n = len(text)
        cdef int status
        merges = np.empty((n_merges, 3), dtype=np.uint32)
        if not n_merges:
            return merges if not n else None
        out = merges
        with nogil:
            status = tk_find_merges(&self.index, p, n, between, n_prefix, &out[0, 0], n_merges, &number)
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory to look merges up")
        return merges if status == TK_OK else None


def gather(bytes blob not None, const int64_t[::1] offsets, const int64_t[::1] numbers):
    """Return tokens by their numbers, (blob, offsets)."""
    cdef Py_ssize_t n = numbers.shape[0], most = offsets.shape[0] - 1, k
    cdef int64_t n_bytes = 0, length
    ends_array = np.zeros(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = ends_array
    for k in range(n):
        if not 0 <= numbers[k] < most:
            raise IndexError(f"numbers[{k}] is {numbers[k]}; it must be from 0 to {most - 1}, a token of the table")
        n_bytes += offsets[numbers[k] + 1] - offsets[numbers[k]]
        ends[k + 1] = n_bytes
    cdef bytes joined = PyBytes_FromStringAndSize(NULL, n_bytes)
    cdef char *out = PyBytes_AS_STRING(joined)
    cdef const char *p = PyBytes_AS_STRING(blob)
    with nogil:
        for k in range(n):
            length = ends[k + 1] - ends[k]
            memcpy(out, p + offsets[numbers[k]], length)
            out += length
    return joined, ends_array


def translate(bytes blob not None, const int64_t[::1] offsets, const uint16_t[::1] byte_of):
    """Return tokens in UTF-8 with one byte for each character, (blob, offsets), or None.

    `byte_of` is indexed by code point, up to U+07FF at most, and is 256 for a character without a byte. None if a
    character has no byte.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, k
    cdef int64_t i, start = 0
    cdef uint32_t c, most = byte_of.shape[0]
    cdef bint fits = True
    ends_array = np.zeros(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = ends_array
    cdef bytes made = PyBytes_FromStringAndSize(NULL, len(blob))
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(made)
    cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(blob)
    with nogil:
        for k in range(n):
            i = offsets[k]
            while i < offsets[k + 1]:
                c = p[i]
                i += 1
                if c >= 0x80:  # the byte after a lead byte exists: at the end of the blob it is the zero byte
                    c = (c & 0x1F) << 6 | (p[i] & 0x3F) if c < 0xE0 else most
                    i += 1
                if c >= most or byte_of[c] > 255:
                    fits = False
                    break
                out[start] = <uint8_t> byte_of[c]
                start += 1
            if not fits:
                break
            ends[k + 1] = start
    return (made[:start], ends_array) if fits else None
