# What other modules use of align.pyx.
from libc.stdint cimport int64_t, uint32_t, uint8_t

cdef extern from "text/aligned.h" nogil:
    int TK_NO_TOKEN
    ctypedef struct tk_piece:
        size_t start, end
        int64_t id
    ctypedef struct tk_span:
        uint32_t start, end
    ctypedef struct tk_aligned:
        uint8_t *text
        size_t n
        tk_span *spans
        tk_piece *pieces
        size_t n_pieces, capacity, n_original, most
    tk_span tk_aligned_span(const tk_aligned *a, size_t start, size_t end)


cdef class AlignedText:
    cdef tk_aligned state
    cdef readonly bytes original


cdef object check_stage(int status)  # MemoryError or OverflowError for what a stage returned
