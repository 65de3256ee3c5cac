# Declarations for sp_whole.pyx: models of SentencePiece over whole texts.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from tokkit._core.sp_normalize cimport (
    tk_own_tokens, tk_sp_normalizer, tk_sp_options, tk_sp_text,
)


cdef extern from "sp_whole.h" nogil:
    int TK_SP_UNIGRAM, TK_SP_BPE, TK_SP_WORD, TK_SP_CHAR
    int TK_SP_NORMAL, TK_SP_USER_DEFINED, TK_SP_UNUSED, TK_SP_BYTE
    ctypedef struct tk_sp_whole:
        int kind, byte_fallback
        tk_sp_normalizer normalizer
        const float *scores
        const uint8_t *types
        size_t n_pieces
        uint32_t bytes[256]
    int tk_sp_whole_init(
        tk_sp_whole *m, const tk_own_tokens *own, const uint8_t *charsmap, size_t n, tk_sp_options options,
        const tk_own_tokens *symbols, const char **reason
    )
    void tk_sp_whole_free(tk_sp_whole *m)
    ctypedef struct tk_sp_worker:
        tk_sp_text text
        uint32_t *ids
        int64_t *spans
        size_t n, ids_capacity, first
    void tk_sp_worker_free(tk_sp_worker *w)
    int tk_sp_whole_encode(const tk_sp_whole *m, tk_sp_worker *w, const uint8_t *text, size_t n)
    int tk_sp_append(tk_sp_worker *w, uint32_t id, size_t start, size_t end)
