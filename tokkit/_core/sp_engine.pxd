# Declarations for other extensions of the core: the engine of sentencepiece models.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokkit._core.plan cimport TK_OK, TK_TOO_LARGE, TK_BAD_INPUT, Encoder, tk_sp, tk_sp_cache, tk_sp_scratch
from tokkit._core.split_points cimport tk_cut_rule

cdef extern from "sentencepiece/sp_engine.h" nogil:
    int TK_SP_UNIGRAM, TK_SP_BPE, TK_SP_WORD, TK_SP_CHAR
    ctypedef struct tk_sp_source:
        const uint8_t *blob
        const int64_t *offsets
        const float *scores
        const uint8_t *kinds
        const uint8_t *charsmap
        size_t n_ids, n_charsmap
        uint32_t unknown
        int model, byte_fallback, dummy_prefix, remove_extra, escape, suffix
    int tk_sp_build(tk_sp *m, const tk_sp_source *source, const char **reason)
    void tk_sp_free(tk_sp *m)
    void tk_sp_begin(tk_sp_scratch *w, int aligned)
    int tk_sp_encode_aligned(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n)
    int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n)


cdef class SentencePieceEncoder(Encoder):
    cdef tk_sp state
    cdef tk_cut_rule cuts
    cdef object owners
    cdef object spelt_out(self, tk_sp_scratch *w)
