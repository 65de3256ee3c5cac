# What other modules use of spans.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef size_t OUTSIDE
cdef size_t to_characters(
    const uint8_t *text, size_t n, const int64_t *spans, int64_t *out, size_t n_spans
) noexcept nogil
cdef int rules_of(tuple trims, int *rules) except -1
cdef bint trim_spans(
    int64_t *spans, const uint32_t *ids, size_t n, const uint8_t *codes, size_t n_codes, const int *rules, int n_rules
) noexcept nogil
