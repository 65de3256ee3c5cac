# Declarations for batches and blocks: where a text may be cut with equal ids.
from tokkit._core.special cimport tk_special


cdef extern from "split_points.h" nogil:
    ctypedef struct tk_document:
        const void *units
        size_t n
        int width
        const tk_special *special
    size_t tk_split_point(const tk_document *document, size_t from_, size_t limit)
