# `Training` runs a trainer slice by slice; all trainers that merge pairs share it.

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport ENOSPC
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t

from tokkit._core.base cimport TK_NO_DISK, TK_OK, TK_TOO_LARGE


cdef int check(int status) except -1:
    if status == TK_OK:
        return 0
    if status == TK_TOO_LARGE:
        raise OverflowError("the distinct words are more than 2**32, or have more than 2**32 bytes, the maximum")
    if status == TK_NO_DISK:
        raise OSError(ENOSPC, "the folder for temporary files has too little space for the words and positions")
    raise MemoryError()


cdef class Training:
    """Training in slices, so that the caller can report progress and be interrupted between them.

    Only one thread at a time may use it: a call while another runs raises RuntimeError.
    """

    cdef int claim(self) except -1:
        with cython.critical_section(self):
            if self.busy:
                raise RuntimeError("this training is in use by another thread; use it in one thread at a time")
            self.busy = True
        return 0

    cdef void release(self) noexcept:
        with cython.critical_section(self):
            self.busy = False

    cdef int visit(self, size_t budget, int *ended) noexcept nogil:
        ended[0] = True
        return TK_OK

    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept:
        ends[0] = NULL
        n[0] = 0
        return NULL

    def run(self, size_t budget):
        """Visit about `budget` occurrences of pairs; return True once training has ended."""
        cdef int status = TK_OK, done
        self.claim()
        if not self.done:
            with nogil:
                status = self.visit(budget, &self.done)
            if status != TK_OK:
                self.done = True
        done = self.done
        self.release()
        check(status)
        return bool(done)

    @property
    def n_ids(self):
        """The number of tokens so far, including special tokens."""
        cdef const uint64_t *ends
        cdef size_t n
        self.claim()
        self.packed(&ends, &n)
        self.release()
        return n

    def tokens(self):
        """Return the bytes of all tokens joined, and the end of each as packed uint64."""
        cdef const uint64_t *ends
        cdef const uint8_t *joined
        cdef size_t n
        self.claim()
        try:
            joined = self.packed(&ends, &n)
            return (
                PyBytes_FromStringAndSize(<const char *> joined, ends[n - 1]) if n else b"",
                PyBytes_FromStringAndSize(<const char *> ends, n * sizeof(uint64_t)) if n else b"",
            )
        finally:
            self.release()
