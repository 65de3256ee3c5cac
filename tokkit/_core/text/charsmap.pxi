# `Charsmap` normalizes a text by a precompiled_charsmap; and grapheme clusters, for tests.
from libc.stdint cimport uint8_t

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY


cdef extern from "text/graphemes.h" nogil:
    size_t tk_cluster_end(const uint8_t *text, size_t at, size_t end)

cdef class Charsmap:
    """The replacements of a sentencepiece model for spans of text. Immutable; ValueError for an invalid map."""

    def __cinit__(self, bytes data not None):
        cdef const char *reason = NULL
        cdef int status = tk_charsmap_init(&self.map, <const uint8_t *> <const char *> data, len(data), &reason)
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory for the charsmap")
        if status == TK_BAD_INPUT:
            raise ValueError((<bytes> reason).decode())
        try:
            data[4 + 4 * self.map.n_units:].decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError("its strings are not valid UTF-8") from None
        self.data = data

    def __dealloc__(self):
        tk_charsmap_free(&self.map)

    def keeps(self, str character not None) -> bool:
        """Return whether an ASCII character alone remains unchanged."""
        return self.map.plain[ord(character) & 127] != 0

    def __reduce__(self):
        return Charsmap, (self.data,)


def clusters(str text not None) -> list:
    """Return the extended grapheme clusters of a text without surrogates."""
    cdef bytes utf8 = text.encode("utf-8")
    cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
    cdef size_t at = 0, end, n = len(utf8)
    found = []
    while at < n:
        end = tk_cluster_end(p, at, n)
        found.append(utf8[at:end].decode("utf-8"))
        at = end
    return found
