# `SpecialMatcher` finds special tokens in a text, leftmost and then longest.
from libc.stdint cimport uint8_t, uint32_t


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
