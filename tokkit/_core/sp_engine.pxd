# Declarations for other extensions of the core: the engine of sentencepiece models.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokkit._core.id_blocks cimport BlockPool
from tokkit._core.special cimport SpecialMatcher

cdef extern from "base.h" nogil:
    int TK_OK, TK_NO_MEMORY, TK_BAD_INPUT, TK_TOO_LARGE

cdef extern from "sp_engine.h" nogil:
    ctypedef struct tk_sp_source:
        const uint8_t *blob
        const int64_t *offsets
        const float *scores
        const uint8_t *kinds
        const uint8_t *charsmap
        size_t n_ids, n_charsmap
        uint32_t unknown
        int bpe, byte_fallback, dummy_prefix, remove_extra, escape, suffix
    ctypedef struct tk_sp:
        int escape
        uint64_t steps
    ctypedef struct tk_sp_cache:
        size_t mask, n, n_long
        uint64_t misses
    ctypedef struct tk_sp_scratch:
        tk_sp_cache cache
        uint32_t *ids
        size_t n_ids, ids_capacity, first
        uint32_t *spans
        int aligned
        size_t at, n, unprobed
        uint8_t *text
        uint32_t *from_ "from"
        uint8_t *utf8
        size_t utf8_capacity
        void *nodes
        void *symbols
        void *heap
        uint32_t *parts
    int tk_sp_build(tk_sp *m, const tk_sp_source *source, const char **reason)
    void tk_sp_free(tk_sp *m)
    int tk_sp_scratch_init(tk_sp_scratch *w, size_t cache_units)
    void tk_sp_scratch_free(tk_sp_scratch *w)
    void tk_sp_scratch_shrink(tk_sp_scratch *w, size_t most)
    void tk_sp_begin(tk_sp_scratch *w, int aligned)
    void tk_sp_begin_document(tk_sp_scratch *w)
    int tk_sp_encode(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t stop)
    int tk_sp_encode_aligned(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n)
    int tk_sp_put_id(tk_sp_scratch *w, uint32_t id, size_t start, size_t end)
    int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n)


cdef class Worker:
    cdef tk_sp_scratch state


cdef class SentencePieceEncoder:
    cdef tk_sp state
    cdef list idle
    cdef BlockPool pool
    cdef size_t cache_units
    cdef Worker take_worker(self)
    cdef object give_back(self, Worker worker)
    cdef int run(self, Worker worker, text, SpecialMatcher matcher, bint aligned) except -1
    cdef object as_array(self, Worker worker)
    cdef object as_array_with_spans(self, Worker worker)
    cdef object spelt_out(self, tk_sp_scratch *w)
