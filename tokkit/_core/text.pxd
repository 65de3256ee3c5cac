# Declarations for other extensions of the core: reading Python text as UTF-8, and the scanners.
from libc.stdint cimport uint8_t, uint16_t, uint32_t


cdef extern from "text/utf8.h" nogil:
    size_t tk_utf8_invalid(const uint8_t *text, size_t n)
    size_t tk_utf8_from_units_by(int isa, const void *units, size_t n, int width, uint8_t *out, int *surrogates)
    size_t tk_utf8_bound(size_t n, int width)

cdef extern from "split/dfa.h" nogil:
    ctypedef struct tk_dfa:
        const uint32_t *next
        const uint8_t *action
        const uint16_t *index
        const uint8_t *blocks
        uint32_t n_classes
        uint32_t start
        uint32_t gap
        uint32_t unsure
        size_t dropped
        uint8_t ascii[128]
    ctypedef struct tk_dfa_memo:
        pass
    int TK_DFA_CODE_BLOCKS
    void tk_dfa_memo_free(tk_dfa_memo *memo)
    size_t tk_dfa_scan(
        const tk_dfa *dfa, tk_dfa_memo *memo, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit
    )

cdef extern from "split/scan.h" nogil:
    int TK_SCAN_FAMILIES
    size_t TK_DROPPED
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
    unsigned tk_category(uint32_t code_point)
    int tk_is_han(uint32_t code_point)

cdef extern from "isa.h" nogil:
    int tk_isa_supported(int isa)
    void tk_isa_use(int isa)

cdef extern from *:
    """
    /* What a str holds, without asking it for UTF-8: that would leave a second copy of the text in it. */
    #define tk_str_is_ascii(s) PyUnicode_IS_ASCII(s)
    #define tk_str_width(s) ((int)PyUnicode_KIND(s))
    #define tk_str_data(s) ((const void *)PyUnicode_DATA(s))
    #define tk_str_length(s) ((size_t)PyUnicode_GET_LENGTH(s))
    """
    bint tk_str_is_ascii(object s)
    int tk_str_width(object s)
    const void *tk_str_data(object s)
    size_t tk_str_length(object s)


# Text as it lies in memory: `width` 0 is UTF-8 already, else code units of that many bytes.
cdef extern from "text/utf8.h" nogil:
    ctypedef struct TextView "tk_text_view":
        const void *data
        size_t length
        int width
    int tk_utf8_of(const TextView *, uint8_t **buffer, size_t *capacity, const uint8_t **p, size_t *n)


cdef object view_text(object text, TextView *view)
cdef int chosen_isa() except -1  # each extension whose C goes by tk_isa passes it to tk_isa_use
cdef int isa_number(object name) except -1
