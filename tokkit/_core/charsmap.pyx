"""Charsmaps, and the normalizer of SentencePiece models, which has one."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.string cimport memcpy, memset

from tokkit._core.base cimport TK_BAD_INPUT, TK_GROWN, TK_NO_MEMORY, TK_TOO_LARGE
from tokkit._core.token_tables cimport tk_own_tokens

import numpy as np

from tokkit._core.text import Grown, to_utf8

cdef extern from "text/charsmap.h" nogil:
    int tk_charsmap_init(tk_charsmap *map, const uint8_t *data, size_t n, const char **reason)
    void tk_charsmap_free(tk_charsmap *map)

cdef extern from "sentencepiece/sp_normalize.h" nogil:
    int tk_sp_normalizer_init(
        tk_sp_normalizer *z, const uint8_t *charsmap, size_t n, tk_sp_options options, const tk_own_tokens *symbols,
        const char **reason
    )
    void tk_sp_normalizer_free(tk_sp_normalizer *z)

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


# `Normalizer` applies the rules of a SentencePiece model, and aligns the result with the original text.

cdef enum:
    GROWN_BYTES = 1 << 26  # the same limit as in tokkit.limits


cdef object check_normalized(int status):
    if status == TK_NO_MEMORY:
        raise MemoryError("not enough memory to normalize")
    if status == TK_TOO_LARGE:
        raise OverflowError("the text has 4 GiB or more; to be aligned with its normalized text it must have less")
    if status == TK_GROWN:
        raise Grown("the normalizer makes the text too large, over 32 times its size")
    return None


cdef class Normalizer:
    """Changes texts by the rules of a SentencePiece model. Immutable; ValueError for an invalid charsmap.

    `symbols` are the user-defined pieces, which stay unchanged. With `one_byte_space` spaces are escaped as b" ".
    Raises Grown if the result has more than `most` bytes, and more than 32 times the bytes of the text.

    >>> Normalizer(b"", add_prefix=True, remove_extra=True, escape=True).normalize("  Hello  world ").decode()
    '▁Hello▁world'
    """

    def __cinit__(
        self, bytes charsmap not None, list symbols=None, *, bint add_prefix, bint remove_extra, bint escape,
        bint suffix=False, bint one_byte_space=False
    ):
        cdef tk_sp_options options
        cdef tk_own_tokens own
        cdef const char *reason = NULL
        cdef list tokens = symbols or []
        if one_byte_space and not escape:
            raise ValueError("one_byte_space is True and escape False; one_byte_space needs escape")
        options.add_prefix, options.remove_extra, options.escape = add_prefix, remove_extra, escape
        options.suffix, options.one_byte_space = suffix, one_byte_space
        self.most = GROWN_BYTES
        cdef bytes blob = b"".join(tokens)
        cdef int64_t[::1] ends = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
        cdef uint8_t[::1] excluded = np.zeros(len(tokens) + 1, dtype=np.uint8)
        own.blob = <const uint8_t *> <const char *> blob
        own.offsets, own.excluded, own.n_ids = &ends[0], &excluded[0], len(tokens)
        self.arguments = charsmap, tokens, add_prefix, remove_extra, escape, suffix, one_byte_space
        cdef const uint8_t *p = <const uint8_t *> <const char *> charsmap
        cdef size_t n = len(charsmap)
        cdef int status = tk_sp_normalizer_init(&self.state, p, n, options, &own, &reason)
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory for the rules")
        if status == TK_BAD_INPUT:
            raise ValueError((<bytes> reason).decode())
        if n:
            check_strings(charsmap[4 + 4 * self.state.map.n_units:])

    def __dealloc__(self):
        tk_sp_normalizer_free(&self.state)

    def __reduce__(self):
        return rebuilt, self.arguments

    def normalize(self, text) -> bytes:
        """Return the UTF-8 of a text as the model sees it."""
        return self.run(to_utf8(text), False)[0]

    def normalize_aligned(self, text):
        """Return (UTF-8, origins): where each byte comes from, in bytes of the text's UTF-8, and where it ends."""
        return self.run(to_utf8(text), True)

    cdef tuple run(self, bytes utf8, bint aligns):
        cdef tk_sp_text out
        cdef Py_buffer view
        cdef int status
        cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8)
        memset(&out, 0, sizeof(out))
        out.aligns, out.most = aligns, self.most
        try:
            with nogil:
                status = tk_sp_normalize(&self.state, p, n, &out)
            check_normalized(status)
            origin = None
            if aligns:
                origin = np.empty(out.n + 1, dtype=np.uint32)
                PyObject_GetBuffer(origin, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
                memcpy(view.buf, out.origin, (out.n + 1) * sizeof(uint32_t))
                PyBuffer_Release(&view)
            return (<const char *> out.text)[:out.n], origin
        finally:
            tk_sp_text_free(&out)


def rebuilt(charsmap, symbols, add_prefix, remove_extra, escape, suffix, one_byte_space):
    """Return the normalizer from its pickled state."""
    return Normalizer(
        charsmap, symbols, add_prefix=add_prefix, remove_extra=remove_extra, escape=escape, suffix=suffix,
        one_byte_space=one_byte_space,
    )


cdef object check_strings(bytes strings):
    try:
        strings.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("its strings are not valid UTF-8") from None
