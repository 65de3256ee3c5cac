# What other modules use of staged.pyx.
from libc.stddef cimport size_t
from tokkit._core.encode.models cimport PieceEncoder
from tokkit._core.encode.plan cimport Encoder, tk_cut_rule, tk_stage

cdef class Stages:
    cdef tk_stage *list
    cdef size_t n
    cdef list owners
    cdef object set(self, tk_stage *stage, str kind, first, second, third, fourth)
    cdef object keep_content(self, tk_stage *stage, bytes content)
    cdef object keep_split(self, tk_stage *stage, split)


cdef class StagedEncoder(Encoder):
    cdef tk_cut_rule cuts, word_cuts
    cdef PieceEncoder model
    cdef Stages stages, before
