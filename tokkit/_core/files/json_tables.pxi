# Finds the large tables of a tokenizer.json, the vocabulary and the merges, and packs them.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY, TK_OK

import numpy as np

cdef extern from "text/utf8.h" nogil:
    size_t tk_utf8_invalid(const uint8_t *text, size_t n)

cdef extern from "files/json_tables.h" nogil:
    int TK_NO_TABLE, TK_IDS, TK_SCORES, TK_SPACED, TK_PAIRS
    ctypedef struct tk_json_table:
        int kind
        size_t start, end, n
        uint8_t *bytes
        size_t n_bytes
        int64_t *ends
        uint32_t *ids
        double *scores
    ctypedef struct tk_json_tables:
        tk_json_table vocab
        tk_json_table merges
    int tk_json_tables_read(tk_json_tables *found, const uint8_t *text, size_t n)
    void tk_json_tables_free(tk_json_tables *found)


def find_tables(bytes data not None):
    """Return (vocab, merges) of the model in a tokenizer.json, packed; None where anything in them is unusual.

    `vocab` is (start, end, blob, offsets, ids or None, scores or None): bytes of the file, and tokens in the order of
    the file, with int64 ids or float64 scores. `merges` is (start, end, text, between, number of them), as
    TokenIndex.find_merges takes them. Either is None if the file has none. Only these tables are checked, and that no
    id occurs twice; the rest of the file need not be JSON.
    """
    cdef tk_json_tables found
    cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef size_t n = len(data)
    cdef int status
    try:
        with nogil:
            status = tk_json_tables_read(&found, p, n)
            if status == TK_OK and not (is_utf_8(&found.vocab) and is_utf_8(&found.merges)):
                status = TK_BAD_INPUT
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory for the tables of this file")
        return (vocab_of(&found.vocab), merges_of(&found.merges)) if status == TK_OK else None
    finally:
        tk_json_tables_free(&found)


cdef bint is_utf_8(const tk_json_table *t) noexcept nogil:
    return tk_utf8_invalid(t.bytes, t.n_bytes) == t.n_bytes


cdef object vocab_of(tk_json_table *t):
    if t.kind == TK_NO_TABLE:
        return None
    offsets = np.zeros(t.n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = offsets
    cdef double[::1] copied
    cdef size_t k
    ids = scores = None
    if t.n:
        memcpy(&ends[1], t.ends, t.n * sizeof(int64_t))
    if t.kind == TK_IDS:
        ids = np.empty(t.n, dtype=np.int64)
        ends = ids
        for k in range(t.n):
            ends[k] = t.ids[k]
    else:
        scores = np.empty(t.n, dtype=np.float64)
        copied = scores
        for k in range(t.n):
            copied[k] = t.scores[k]
    return t.start, t.end, PyBytes_FromStringAndSize(<char *> t.bytes, t.n_bytes), offsets, ids, scores


cdef object merges_of(tk_json_table *t):
    if t.kind == TK_NO_TABLE:
        return None
    between = 0 if t.kind == TK_PAIRS else ord(" ")
    return t.start, t.end, PyBytes_FromStringAndSize(<char *> t.bytes, t.n_bytes), between, t.n
