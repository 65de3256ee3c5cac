# What other modules use of bpe_train.pyx.
from libc.stdint cimport uint64_t, uint8_t
from tokkit._core.split cimport AddedMatcher
from tokkit._core.train.training cimport Training

cdef extern from "train/bpe_train.h" nogil:
    ctypedef struct tk_bpe_trainer:
        pass


cdef class BPETrainer(Training):
    cdef tk_bpe_trainer *trainer
    cdef bytes folder
    cdef AddedMatcher forbidden
    cdef int visit(self, size_t budget, int *ended) noexcept nogil
    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept
