# What other modules use of word2vec.pyx.
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from tokkit._core.embed.sentences cimport tk_negatives

cdef extern from "embed/word2vec.h" nogil:
    ctypedef struct tk_word2vec:
        const uint32_t *ids
        const int64_t *ends
        float *in_ "in"
        float *out
        float *nodes
        size_t n
        size_t d
        int copies
        int parts
        const uint32_t *keep
        tk_negatives negatives
        size_t negative
        const int64_t *path_ends
        const uint32_t *path_nodes
        const uint8_t *path_turns
        uint32_t window
        int shrink
        int skip_gram
        int mean
        int batched
        int losses
        uint64_t seed


cdef class Word2VecTraining:
    cdef tk_word2vec w
    cdef Py_ssize_t n_sentences
    cdef int isa
    cdef object kept  # what the pointers point to
