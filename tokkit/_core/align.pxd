# Declarations of align.pyx, and of the C that it calls.
from libc.stdint cimport int64_t, uint32_t, uint8_t

# ---- aligned

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
    int tk_aligned_init(tk_aligned *a, const uint8_t *text, size_t n)
    void tk_aligned_free(tk_aligned *a)
    int tk_aligned_spell_out(tk_aligned *a)
    tk_span tk_aligned_span(const tk_aligned *a, size_t start, size_t end)

    ctypedef struct tk_rewrite:
        const tk_aligned *src "from"
        size_t at, end
        int status
    int tk_rewrite_begin(tk_rewrite *w, const tk_aligned *a)
    int tk_rewrite_end(tk_rewrite *w, tk_aligned *a)
    size_t tk_rewrite_next(tk_rewrite *w, size_t number)
    void tk_rewrite_bytes(tk_rewrite *w, const uint8_t *bytes, size_t n, tk_span span)
    void tk_rewrite_keep(tk_rewrite *w, size_t n)
    void tk_rewrite_drop(tk_rewrite *w, size_t n)
    void tk_rewrite_put(tk_rewrite *w, uint32_t c, int change)
    uint32_t tk_rewrite_peek(const tk_rewrite *w, unsigned *length)

    ctypedef struct tk_cut:
        size_t n
        int status
    void tk_cut_begin(tk_cut *cut, const tk_aligned *a)
    int tk_cut_end(tk_cut *cut, tk_aligned *a)
    size_t tk_cut_next(tk_cut *cut, size_t number)
    void tk_cut_add(tk_cut *cut, size_t start, size_t end, int64_t id)


cdef class AlignedText:
    cdef tk_aligned state
    cdef readonly bytes original


cdef object check_stage(int status)  # MemoryError or OverflowError for what a stage returned
