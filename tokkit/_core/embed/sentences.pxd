# What other modules use of sentences.pyx.
from libc.stdint cimport int64_t, uint32_t
from tokkit._core.train.word_counts cimport tk_word_counts

cdef extern from "embed/sentences.h" nogil:
    ctypedef struct tk_sentences:
        tk_word_counts words
        uint32_t *ids
        int64_t *ends
        size_t n_ids
        size_t n_ends
        int64_t n_all
        int64_t last_end
        size_t max_words

cdef extern from "embed/negatives.h" nogil:
    ctypedef struct tk_negatives:
        const uint32_t *cumulated
        const uint32_t *guide
        int shift


cdef class Sentences:
    cdef tk_sentences state
    cdef bint busy
    cdef int claim(self) except -1


cdef class Negatives:
    cdef const uint32_t[::1] cumulated
    cdef uint32_t[::1] guide
    cdef tk_negatives table
    cdef readonly bint falling  # no word has a greater weight than the one before


cdef int check_sentences(int status) except -1
