# What other modules use of plan.pyx, and the C of plans.
from cpython.object cimport PyObject
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from tokkit._core.align cimport tk_aligned
from tokkit._core.charsmap cimport tk_charsmap
from tokkit._core.encode.id_blocks cimport BlockPool
from tokkit._core.encode.models cimport tk_model
from tokkit._core.split cimport AddedMatcher, tk_added
from tokkit._core.text cimport TextView, tk_cuts, tk_dfa_memo, tk_split

# ---- split_points

cdef extern from "split/cut_rule.h" nogil:
    int TK_ATOMS
    ctypedef struct tk_cut_rule:
        uint8_t left[133]
        uint8_t right[133]
        const uint8_t *neighbors
        uint8_t kept[133]
    void tk_cut_rule_finish(tk_cut_rule *rule)
    size_t tk_cut_units_by(
        int isa, const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit
    )

cdef extern from "split/split_points.h" nogil:
    ctypedef struct tk_document:
        const void *units
        size_t n
        int width
        const tk_added *special
        const tk_cut_rule *rule
        int beside
    size_t tk_split_point(const tk_document *document, size_t from_, size_t limit)


# ---- plan

cdef extern from "encode/bpe_model.h" nogil:
    ctypedef struct tk_bpe:
        uint32_t n
        uint32_t unreachable
        uint32_t *id
        uint32_t *left
        uint32_t *right
        tk_cuts cuts

cdef extern from "encode/word_cache.h" nogil:
    ctypedef struct tk_cache:
        size_t n_words
        size_t n_long
        size_t n_preloaded
        uint64_t misses
    size_t tk_cache_memory(const tk_cache *cache)

cdef extern from "encode/stages.h" nogil:
    ctypedef struct tk_stage:
        int kind
        int numbers[4]
        size_t count
        int skips_inside
        const uint8_t *pattern
        const uint8_t *content
        size_t n_pattern, n_content
        const tk_charsmap *map
        tk_split split
    int tk_stages_run(const tk_stage *stages, size_t n, tk_aligned *a)

cdef extern from "sentencepiece/sp_engine.h" nogil:
    ctypedef struct tk_sp:
        int model, escape
        uint64_t steps
    ctypedef struct tk_sp_scratch:
        size_t max, n, uncached
        int aligned
        uint8_t *text
        uint32_t *from_ "from"

cdef extern from "encode/plan.h" nogil:
    ctypedef struct tk_worker:
        tk_cache cache
        uint32_t *ids
        size_t n_ids
        size_t ids_capacity
        tk_dfa_memo memo
        int is_continuation
        int has_next
        uint8_t *text
        size_t text_capacity
        tk_sp_scratch *sp
    ctypedef struct tk_front:
        unsigned edges
        tk_split split
        const tk_cut_rule *rule
    ctypedef struct tk_unit_model:
        const tk_sp *sp
    ctypedef struct tk_emission:
        int one_word
    ctypedef struct tk_plan:
        tk_front front
        const tk_stage *before
        size_t n_before
        size_t grown
        size_t cache_lines, offset_lines
        tk_unit_model model
        tk_emission emission
        const tk_cut_rule *part_rule
    void tk_plan_bytes(tk_plan *plan, tk_bpe *bpe, tk_split split, const uint32_t *lengths, size_t max_words)
    void tk_plan_staged(
        tk_plan *plan, const tk_model *tokens, const tk_stage *stages, size_t n_stages, size_t max_words
    )
    void tk_plan_cut(tk_plan *plan, const tk_cut_rule *rule, const tk_cut_rule *word_rule, unsigned edges)
    void tk_plan_sp(tk_plan *plan, const tk_sp *sp, const uint8_t *word_marks, size_t max_words)
    ctypedef struct tk_finder:
        const tk_added *given
        const tk_added *normalized
        const int64_t *given_ids
        const int64_t *normalized_ids
        const uint8_t *given_allowed
        const uint8_t *normalized_allowed
    int tk_worker_init(tk_worker *worker, const tk_plan *plan, size_t max_words)
    int tk_worker_copy(tk_worker *worker, const tk_plan *plan, const tk_worker *other)
    void tk_worker_free(tk_worker *worker)
    void tk_worker_shrink(tk_worker *worker, size_t max)
    int tk_reserve_ids(tk_worker *w, size_t n)
    int tk_encode(
        const tk_plan *plan, tk_worker *worker, const tk_finder *finder, const uint8_t *text, size_t n, size_t *at,
        size_t stop
    )
    int tk_encode_pieces(
        const tk_plan *plan, tk_worker *worker, const uint8_t *text, const int64_t *ends, size_t count
    )
    int tk_merge_pieces(
        const tk_plan *plan, tk_worker *worker, const uint8_t *text, const int64_t *ends, size_t count
    )
    int tk_encode_offsets(
        const tk_plan *plan, tk_worker *worker, const tk_finder *finder, const uint8_t *text, size_t n
    )
    const int64_t *tk_offsets_spans(const tk_worker *worker)
    const int32_t *tk_offsets_words(const tk_worker *worker)
    int tk_encode_normalized_sp(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n)
    size_t tk_max_grown(const tk_plan *plan, size_t n)
    int TK_STAGE_SCAN
    int tk_encode_stage(
        const tk_plan *plan, tk_worker *worker, const uint8_t *text, size_t n, int stage, size_t *pieces
    )


# Limits of the work of one call, in bytes.
cdef enum:
    GIL_FREE_BYTES = 2048          # shorter texts cost less than to release the GIL and take it again
    SLICE_BYTES = 1 << 24          # how much is encoded between two checks for signals (under 0.2 s)
    BATCH_SLICE_BYTES = 1 << 22    # the same for each thread of a batch


cdef class Finder:
    cdef tk_finder finder
    cdef readonly AddedMatcher guard
    cdef readonly bint splittable
    cdef object owners


cdef class Worker:
    # Cache and scratch for one thread at a time.
    cdef tk_worker state
    cdef double density  # ids for each unit of text, lately
    cdef void shrink(self) noexcept


cdef class Encoder:
    cdef tk_plan plan
    cdef readonly size_t n_ids
    cdef readonly bint splittable  # texts may be cut into parts: by the rule, or at split points of the pattern
    cdef size_t max_words
    cdef readonly BlockPool pool
    cdef object owner
    cdef PyObject *ready  # the worker that was used last, NULL while it is in use
    cdef list idle        # the others
    cdef PyObject **ints  # [n_ids] the int objects that lists have been given so far
    cdef int share_ints(self) except -1
    cdef Worker take_worker(self)
    cdef object give_back(self, Worker worker)
    cdef object copy_caches(self, size_t n)
    cdef list idle_workers(self)
    cdef int run_short(self, Worker worker, const TextView *view, Finder finder) noexcept
    cdef int run_offsets(self, Worker worker, const TextView *view, Finder finder) noexcept
    cdef object run(self, Worker worker, text, Finder finder)
    cdef list as_list(self, const uint32_t *ids, size_t n)
    cdef object as_array(self, Worker worker)
    cdef bint describe(self, tk_document *document, Finder finder) noexcept


cdef object check(int status)
cdef tk_cut_rule *rule_of(tk_cut_rule *out, tables) except? NULL
cdef tk_finder *finder_of(Finder finder) noexcept
