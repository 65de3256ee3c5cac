# Declarations of text.pyx, and of the C that it calls.
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t

# ---- text

cdef extern from "text/utf8.h" nogil:
    size_t tk_utf8_invalid(const uint8_t *text, size_t n)
    size_t tk_utf8_invalid_by(int isa, const uint8_t *text, size_t n)
    size_t tk_utf8_from_units_by(int isa, const void *units, size_t n, int width, uint8_t *out, int *surrogates)
    size_t tk_utf8_bound(size_t n, int width)

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
    int TK_DFA_CODE_BLOCKS
    int TK_DFA_MOST_CONTEXTS
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

cdef extern from "byte_kernels.h" nogil:
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
cdef tuple shape_tuple(const Py_ssize_t *shape, int n)  # for messages
cdef int chosen_isa() except -1  # each extension that calls byte kernels passes it to tk_isa_use
cdef int isa_number(object name) except -1


# ---- charsmap

cdef extern from "text/charsmap.h" nogil:
    ctypedef struct tk_charsmap:
        size_t n_units
        uint8_t plain[128]
    int tk_charsmap_init(tk_charsmap *map, const uint8_t *data, size_t n, const char **reason)
    void tk_charsmap_free(tk_charsmap *map)


cdef class Charsmap:
    cdef tk_charsmap map
    cdef readonly bytes data


# ---- sp_normalize

cdef extern from "sentencepiece/sp_normalize.h" nogil:
    ctypedef struct tk_own_tokens:
        const uint8_t *blob
        const int64_t *offsets
        size_t n_ids
        const uint8_t *excluded
    ctypedef struct tk_sp_options:
        int add_prefix, remove_extra, escape, suffix, one_byte_space
    ctypedef struct tk_charsmap:
        size_t n_units
    ctypedef struct tk_sp_normalizer:
        tk_sp_options options
        tk_charsmap map
    int tk_sp_normalizer_init(
        tk_sp_normalizer *z, const uint8_t *charsmap, size_t n, tk_sp_options options, const tk_own_tokens *symbols,
        const char **reason
    )
    void tk_sp_normalizer_free(tk_sp_normalizer *z)
    ctypedef struct tk_sp_text:
        size_t most
        uint8_t *text
        size_t n, text_capacity
        uint32_t *origin
        size_t origin_capacity
        int aligns
    void tk_sp_text_free(tk_sp_text *out)
    int tk_sp_normalize(const tk_sp_normalizer *z, const uint8_t *text, size_t n, tk_sp_text *out)


cdef class Normalizer:
    cdef tk_sp_normalizer state
    cdef tuple arguments
    cdef public size_t most
    cdef tuple run(self, bytes utf8, bint aligns)


cdef object check_normalized(int status)  # MemoryError or OverflowError for what tk_sp_normalize returned


# ---- token_tables

cdef extern from "encode/token_index.h" nogil:
    ctypedef struct tk_own_tokens:
        const uint8_t *blob
        const int64_t *offsets
        size_t n_ids
        const uint8_t *excluded
    ctypedef struct tk_token_index:
        uint64_t *slots
    int tk_token_index_build(tk_token_index *index, const tk_own_tokens *own, size_t *twice)
    void tk_token_index_free(tk_token_index *index)
    uint32_t tk_token_index_find(const tk_token_index *index, const uint8_t *bytes, size_t n)

cdef extern from "encode/merge_list.h" nogil:
    int tk_find_merges(
        const tk_token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix, uint32_t *merges,
        size_t n_merges, size_t *number
    )
