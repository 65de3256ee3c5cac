# Declarations of the BPE model, its workers, and the encoder that owns both; batch.pyx shares them.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokkit._core.id_blocks cimport BlockPool
from tokkit._core.special cimport tk_special
from tokkit._core.text cimport TextView, tk_cuts, tk_dfa_memo, tk_split


cdef extern from "bpe_model.h" nogil:
    ctypedef struct tk_bpe:
        uint32_t n
        uint32_t unreachable
        uint32_t *id
        uint32_t *left
        uint32_t *right
        tk_cuts cuts
    ctypedef struct tk_vocabulary:
        const uint8_t *blob
        const int64_t *offsets
        size_t n_ids
        const uint8_t *special
        const uint32_t *merges
        size_t n_merges
        int whole_piece
        int drops_unknown
    int tk_bpe_build(tk_bpe *model, const tk_vocabulary *vocabulary, size_t *culprit)
    void tk_bpe_free(tk_bpe *model)

cdef extern from "word_cache.h" nogil:
    ctypedef struct tk_cache:
        size_t n_words
        size_t n_long
        size_t n_seeds
        uint64_t misses
    size_t tk_cache_memory(const tk_cache *cache)

cdef extern from "bpe_encode.h" nogil:
    ctypedef struct tk_worker:
        tk_cache cache
        uint32_t *ids
        size_t n_ids
        size_t ids_capacity
        tk_dfa_memo memo
        uint8_t *text
        size_t text_capacity
    int tk_worker_init(tk_worker *worker, const tk_bpe *model, size_t max_words)
    void tk_worker_free(tk_worker *worker)
    int tk_encode(
        tk_bpe *model, tk_worker *worker, const tk_split *split, const uint8_t *text, size_t n, size_t *at, size_t stop
    )
    int tk_encode_pieces(
        tk_bpe *model, tk_worker *worker, const uint8_t *text, const int64_t *ends, size_t count
    )
    int tk_merge_pieces(
        tk_bpe *model, tk_worker *worker, const uint8_t *bytes, const int64_t *ends, size_t count
    )
    int TK_STAGE_SCAN
    int tk_encode_stage(
        tk_bpe *model, tk_worker *worker, const tk_split *split, const uint8_t *text, size_t n, int stage,
        size_t *pieces
    )
    int tk_append_id(tk_worker *worker, uint32_t id)

cdef extern from "base.h" nogil:
    int TK_OK
    int TK_NO_MEMORY
    int TK_BAD_INPUT
    int TK_TOO_LARGE
    int tk_reserve(void *block, size_t *capacity, size_t need, size_t size)


cdef class Worker:
    # Cache and scratch for one thread at a time.
    cdef tk_worker state
    cdef double density  # ids for each unit of text, lately
    cdef void shrink(self) noexcept


cdef class BPEEncoder:
    cdef tk_bpe model
    cdef tk_split split
    cdef object pattern  # owns what `split` points to
    cdef readonly size_t n_ids
    cdef size_t max_words
    cdef readonly BlockPool pool
    cdef object owner
    cdef list idle
    cdef PyObject **ints  # [n_ids] the int objects that lists have been given so far
    cdef Worker take_worker(self)
    cdef object give_back(self, Worker worker)
    cdef object run(self, Worker worker, text, matcher)
    cdef list as_list(self, const uint32_t *ids, size_t n)
    cdef object as_array(self, Worker worker)


cdef object check(int status)
cdef int encode_some(
    tk_bpe *model, tk_worker *w, const tk_split *split, const tk_special *specials, const uint8_t *p, size_t n,
    size_t *at, size_t stop
) noexcept nogil
cdef int encode_stage(
    tk_bpe *model, tk_worker *w, const tk_split *split, const uint8_t *p, size_t n, int stage, size_t *pieces
) noexcept nogil
cdef int use_isa(object name) except -1
