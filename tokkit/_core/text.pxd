# What other modules use of text.pyx.
from libc.stdint cimport uint16_t, uint32_t, uint8_t

cdef extern from "text/utf8.h" nogil:
    size_t tk_utf8_invalid(const uint8_t *text, size_t n)
    ctypedef struct TextView "tk_text_view":
        const void *data
        size_t length
        int width
    int tk_utf8_of(const TextView *, uint8_t **buffer, size_t *capacity, const uint8_t **p, size_t *n)

cdef extern from "split/dfa.h" nogil:
    ctypedef struct tk_dfa:
        const uint32_t *next
        const uint8_t *action
        const uint16_t *index
        const uint8_t *blocks
        const uint8_t *contexts
        uint32_t n_classes
        uint32_t n_contexts
        uint32_t unsure
        size_t dropped
        uint8_t ascii[128]
    ctypedef struct tk_dfa_memo:
        pass
    void tk_dfa_memo_free(tk_dfa_memo *memo)

cdef extern from "split/scan.h" nogil:
    size_t TK_DROPPED
    int TK_SCAN_FAMILIES
    ctypedef struct tk_cuts:
        int unconditional
    ctypedef struct tk_split:
        int family
        const tk_cuts *cuts
        const tk_dfa *dfa
        tk_dfa_memo *memo
    size_t tk_scan_by(
        int isa, const tk_split *split, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit
    )


cdef object view_text(object text, TextView *view)
cdef tuple shape_tuple(const Py_ssize_t *shape, int n)  # for messages
cdef int isa_number(object name) except -1
cdef int floats_isa(object name) except -1
