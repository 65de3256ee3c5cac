# A precompiled_charsmap in, `Charsmap` out, which normalizes a text in its pieces; and grapheme clusters, for tests.
from libc.stdint cimport uint8_t

from tokkit._core.aligned cimport AlignedText, check_stage, tk_aligned

cdef extern from "base.h":
    int TK_NO_MEMORY, TK_BAD_INPUT

cdef extern from "graphemes.h" nogil:
    size_t tk_cluster_end(const uint8_t *text, size_t at, size_t end)

cdef extern from "charsmap.h" nogil:
    ctypedef struct tk_charsmap:
        size_t n_units
    int tk_charsmap_init(tk_charsmap *map, const uint8_t *data, size_t n, const char **reason)
    void tk_charsmap_free(tk_charsmap *map)
    int tk_charsmap_normalize(tk_aligned *a, const tk_charsmap *map)


cdef class Charsmap:
    """What a sentencepiece model puts in the place of stretches of text. Immutable; ValueError for what is no map."""

    cdef tk_charsmap map
    cdef readonly bytes data

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
            raise ValueError("its strings are not UTF-8") from None
        self.data = data

    def __dealloc__(self):
        tk_charsmap_free(&self.map)

    def __reduce__(self):
        return Charsmap, (self.data,)

    def normalize(self, AlignedText text not None):
        """Replace, in each piece, what the map has a string for."""
        cdef int status
        with nogil:
            status = tk_charsmap_normalize(&text.state, &self.map)
        check_stage(status)


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
