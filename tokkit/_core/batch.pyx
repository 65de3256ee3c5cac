# Many texts in, one array of ids out: a batch that several threads work off together.
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t

from tokkit._core.bpe cimport BPEEncoder, TK_OK, Worker, as_array, check, convert, encode_some, tk_bpe, tk_worker
from tokkit._core.special cimport SpecialMatcher, tk_special
from tokkit._core.text cimport TextView, tk_split, view_text

import threading

import numpy as np

cdef enum:
    CLAIM_BYTES = 1 << 20  # about how much text a thread takes at a time
    SLICE_BYTES = 1 << 24  # how much of one text is encoded between two looks at signals


cdef class Batch:
    """Many texts to one array of ids: threads call `run` until all is claimed, then one calls `result`.

    The texts are claimed in runs of about a megabyte; each claim keeps its ids, joined in order at the end.
    """

    cdef BPEEncoder encoder
    cdef SpecialMatcher matcher
    cdef list owners
    cdef object lock
    cdef object parts       # claim number → (ids, sizes)
    cdef size_t next_text
    cdef size_t next_claim
    cdef bint stopped

    def __cinit__(self, BPEEncoder encoder, texts, SpecialMatcher matcher):
        self.encoder = encoder
        self.matcher = matcher
        self.owners = list(texts)
        self.lock = threading.Lock()
        self.parts = {}
        for i, text in enumerate(self.owners):
            if not isinstance(text, (str, bytes)):
                if not isinstance(text, (bytearray, memoryview)):
                    raise TypeError(f"text {i} of the batch is {type(text).__name__}, not str or bytes")
                self.owners[i] = bytes(text)

    cdef tuple claim(self):
        cdef size_t first, bytes_ = 0
        with self.lock:
            if self.stopped or self.next_text >= len(self.owners):
                return None
            first = self.next_text
            while self.next_text < len(self.owners) and bytes_ < CLAIM_BYTES:
                bytes_ += len(self.owners[self.next_text])
                self.next_text += 1
            self.next_claim += 1
            return self.next_claim - 1, first, self.next_text

    def run(self):
        """Encode claims until none is left. Safe to call from several threads."""
        cdef Worker worker = self.encoder.take_worker()
        try:
            while (claimed := self.claim()) is not None:
                number, first, last = claimed
                self.parts[number] = self.encode_claim(worker, first, last)
                PyErr_CheckSignals()
        except BaseException:
            self.stopped = True
            raise
        finally:
            self.encoder.give_back(worker)

    cdef tuple encode_claim(self, Worker worker, size_t first, size_t last):
        cdef size_t count = last - first, k, at, n = 0
        cdef tk_worker *w = &worker.state
        cdef tk_bpe *model = &self.encoder.model
        cdef tk_special *specials = &self.matcher.special if self.matcher is not None else NULL
        cdef const uint8_t *p = NULL
        cdef tk_split *split = &self.encoder.split
        cdef int status = TK_OK
        views_buffer = bytearray(count * sizeof(TextView))
        cdef uint8_t[::1] raw = views_buffer
        cdef TextView *views = <TextView *> &raw[0]
        ends_array = np.empty(count, dtype=np.int64)
        cdef int64_t[::1] ends = ends_array
        for k in range(count):
            view_text(self.owners[first + k], views + k)
        w.n_ids = 0
        with nogil:
            for k in range(count):
                status = convert(views + k, w, &p, &n)
                at = 0
                while status == TK_OK and at < n:
                    status = encode_some(model, w, split, specials, p, n, &at, at + SLICE_BYTES)
                    if n > SLICE_BYTES:
                        with gil:
                            PyErr_CheckSignals()
                if status != TK_OK:
                    break
                ends[k] = <int64_t> w.n_ids
        check(status)
        return as_array(w.ids, w.n_ids), ends_array

    def stop(self):
        """Claim nothing more; `result` is an error then."""
        self.stopped = True

    def result(self):
        """Return (ids, offsets): uint32 ids of all texts, int64 offsets of shape (texts + 1,)."""
        if self.stopped:
            raise RuntimeError("the batch was stopped by an error in another thread")
        offsets = np.zeros(len(self.owners) + 1, dtype=np.int64)
        ids, done, total = [], 0, 0
        for number in range(len(self.parts)):
            part, ends = self.parts[number]
            offsets[done + 1 : done + 1 + len(ends)] = ends + total
            ids.append(part)
            done += len(ends)
            total += len(part)
        return np.concatenate(ids) if ids else np.empty(0, dtype=np.uint32), offsets
