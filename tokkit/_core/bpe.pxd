# Declarations of byte-level BPE, for what measures its stages.
from tokkit._core.plan cimport Encoder, Worker, tk_bpe, tk_plan, tk_worker
from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef extern from "encode/bpe_model.h" nogil:
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


cdef class BPEEncoder(Encoder):
    cdef tk_bpe model
    cdef object pattern  # owns what the plan's split points to
    cdef object before   # owns the stages that run on a text first, or None
    cdef uint32_t *lengths  # [n_ids] bytes


cdef int encode_stage(
    const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, int stage, size_t *pieces
) noexcept nogil
cdef int use_isa(object name) except -1
