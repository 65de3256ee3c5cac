# What other modules use of bpe.pyx.
from libc.stdint cimport uint32_t
from tokkit._core.encode.plan cimport Encoder, tk_bpe


cdef class BPEEncoder(Encoder):
    cdef tk_bpe model
    cdef object pattern  # owns what the plan's split points to
    cdef object before   # owns the stages that run on a text first, or None
    cdef uint32_t *lengths  # [n_ids] bytes
