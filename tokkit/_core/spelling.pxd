# Declarations for the trainers: how words are spelt.
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t


cdef extern from "train/word_cells.h" nogil:
    int TK_CODE_POINTS
    ctypedef uint32_t tk_token
    ctypedef struct tk_spelling:
        const tk_token *bytes
        const tk_token *first
        const tk_token *rest


cdef class Spelling:
    cdef tk_spelling table
    cdef tk_token *ids
    cdef readonly bytes prefix
    cdef readonly size_t n_ids  # ids are below
