# Declarations of BERT's encoder and its workers; bert_batch.pyx shares them.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokkit._core.id_blocks cimport BlockPool
from tokkit._core.models cimport PieceEncoder, tk_model, tk_model_worker
from tokkit._core.special cimport SpecialMatcher, tk_special
from tokkit._core.text cimport TextView


cdef extern from "bert.h" nogil:
    int TK_BERT_ODD
    ctypedef struct tk_bert:
        pass
    ctypedef struct tk_bert_cache:
        size_t mask, n
        uint64_t misses
    ctypedef struct tk_bert_worker:
        tk_bert_cache cache
        tk_model_worker model
        uint8_t *utf8
        size_t utf8_capacity
    int tk_bert_build(tk_bert *m, const tk_model *model, int clean, int chinese, int strip, int lower)
    void tk_bert_free(tk_bert *m)
    int tk_bert_worker_init(tk_bert_worker *w, size_t cache_words, size_t cache_long_words)
    void tk_bert_worker_free(tk_bert_worker *w)
    void tk_bert_worker_shrink(tk_bert_worker *w, size_t most)
    void tk_bert_begin(tk_bert_worker *w, int aligned)
    int tk_bert_encode(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop)
    int tk_bert_append(tk_bert_worker *w, uint32_t id, size_t start, size_t end)


cdef class Worker:  # cache and scratch for one thread at a time
    cdef tk_bert_worker state


cdef class BertEncoder:
    cdef tk_bert state
    cdef PieceEncoder model
    cdef list idle
    cdef BlockPool pool
    cdef size_t cache_words, cache_long_words
    cdef Worker take_worker(self)  # without tokens
    cdef object give_back(self, Worker worker)
    cdef bint run(self, Worker worker, text, SpecialMatcher matcher, bint aligned) except -1
    cdef object as_array(self, Worker worker)


cdef int encode_view(
    const tk_bert *m, tk_bert_worker *w, const tk_special *specials, const TextView *view
) noexcept nogil
