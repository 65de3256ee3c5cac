# What other modules use of labelled.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t
from tokkit._core.train.word_counts cimport tk_word_counts

cdef extern from "embed/ngrams.h" nogil:
    ctypedef struct tk_row_list:
        uint32_t *rows
        size_t n
        size_t capacity
    ctypedef struct tk_ngram_rows:
        uint32_t min_n
        uint32_t max_n
        uint32_t bucket
        uint32_t first
        const int32_t *left

cdef extern from "embed/labelled.h" nogil:
    ctypedef struct tk_line_rows:
        uint32_t n_words
        uint32_t n_labels
        const int64_t *ends
        const uint32_t *rows
        const uint32_t *hashes
        size_t longest
        tk_ngram_rows ngrams


cdef class LabelledWords:
    cdef tk_word_counts table
    cdef tk_row_list ids
    cdef bint busy


cdef class NgramRows:
    cdef tk_ngram_rows state
    cdef const int32_t[::1] left


cdef class LineRows:
    cdef tk_line_rows state
    cdef LabelledWords words
    cdef NgramRows ngrams
    cdef bytes prefix
    cdef const int64_t[::1] ends
    cdef const uint32_t[::1] rows, hashes
