# What other modules use of sp_engine.pyx.
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from tokkit._core.encode.plan cimport Encoder, Worker, tk_cut_rule, tk_sp, tk_sp_scratch
from tokkit._core.text cimport TextView


cdef class SentencePieceEncoder(Encoder):
    cdef tk_sp state
    cdef tk_cut_rule cuts
    cdef object owners
    cdef bint is_plain(self, text, TextView *view) except -1
    cdef Worker run_plain(self, text)
    cdef list names_and_texts(self, bytes text, list names, bint as_bytes)
    cdef object unescaped(self, tk_sp_scratch *w, int64_t *spans, size_t n_spans)
