# Declarations for batches and blocks: where a text may be cut with equal ids.
from libc.stdint cimport uint8_t

from tokkit._core.special cimport tk_special


cdef extern from "split/cut_rule.h" nogil:
    int TK_ATOMS
    ctypedef struct tk_cut_rule:
        uint8_t left[133]
        uint8_t right[133]
    void tk_cut_rule_finish(tk_cut_rule *rule)
    size_t tk_cut_units_by(
        int isa, const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit
    )

cdef extern from "split/split_points.h" nogil:
    ctypedef struct tk_document:
        const void *units
        size_t n
        int width
        const tk_special *special
        const tk_cut_rule *rule
        int beside
    size_t tk_split_point(const tk_document *document, size_t from_, size_t limit)
