# Many texts in, one array of BERT's ids out: a batch that several threads work off together.
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from tokkit._core.bert cimport BertEncoder, TK_BERT_ODD, Worker, encode_view, tk_bert_worker
from tokkit._core.special cimport SpecialMatcher, tk_special
from tokkit._core.text cimport TextView, view_text

import threading

import numpy as np

cdef extern from "base.h" nogil:
    int TK_OK
    int tk_reserve(void *block, size_t *capacity, size_t need, size_t size)

cdef extern from "parts.h" nogil:
    int TK_FINISH, TK_LEAVE
    ctypedef struct tk_part:
        size_t first, end, start, worker
    ctypedef struct tk_parts:
        tk_part *list
        size_t n
    int tk_parts_add(tk_parts *parts, size_t first)
    size_t tk_parts_claim(tk_parts *parts)
    void tk_parts_end(tk_parts *parts, int why)
    bint tk_parts_dropped(tk_parts *parts)

cdef enum:
    PART_UNITS = 1 << 17    # about how much text a thread takes at a time: a quarter of a millisecond and more
    SLICE_UNITS = 1 << 22   # how much a thread encodes between two looks at signals: under 0.1 s
    ODD = -1                # the count of a text that the core cannot encode


cdef class BertBatch:
    """Texts to one array of ids: threads call `run` till it returns, then one `odd` and `make_room`, they `move`.

    Then there is a `result`, which does not depend on the number of threads, and at last one calls `close`.
    """

    cdef BertEncoder encoder
    cdef SpecialMatcher matcher
    cdef list owners, workers   # of the memory of the views; of ids
    cdef list left              # parts to move
    cdef object lock, counts, ids, offsets
    cdef TextView *views
    cdef size_t capacity
    cdef int64_t[::1] n_ids     # of each text, or ODD
    cdef uint32_t[::1] out      # ids, and where those of each text begin
    cdef int64_t[::1] places
    cdef tk_parts parts         # their `first` and `end` are texts
    cdef readonly size_t units  # of all texts
    cdef bint failed            # there was no memory

    def __cinit__(self, BertEncoder encoder not None, list texts not None, SpecialMatcher matcher):
        cdef size_t k, n = len(texts), units = PART_UNITS
        cdef object text
        self.encoder = encoder
        self.matcher = matcher
        self.owners = []
        self.workers = []
        self.left = []
        self.lock = threading.Lock()
        self.counts = np.zeros(n, dtype=np.int64)
        self.n_ids = self.counts
        if tk_reserve(&self.views, &self.capacity, n + 1, sizeof(TextView)) != TK_OK:
            raise MemoryError
        for k in range(n):
            text = texts[k]
            if not isinstance(text, (str, bytes, bytearray, memoryview)):
                raise TypeError(f"text {k} of the batch is {type(text).__name__}, not str or bytes")
            try:
                self.owners.append(view_text(text, self.views + k))
            except ValueError as error:
                raise ValueError(f"text {k} of the batch: {error}") from None
            if units >= PART_UNITS:
                if tk_parts_add(&self.parts, k) != TK_OK:
                    raise MemoryError
                units = 0
            units += self.views[k].length
            self.units += self.views[k].length
            self.parts.list[self.parts.n - 1].end = k + 1

    def __dealloc__(self):
        free(self.views)
        free(self.parts.list)

    def run(self):
        """Encode parts until none is left; their ids stay with the worker."""
        cdef Worker worker = self.encoder.take_worker()
        cdef bint watches = threading.get_ident() == threading.main_thread().ident
        cdef size_t number = 0
        with self.lock:
            number = len(self.workers)
            self.workers.append(worker)
        try:
            with nogil:
                self.work(&worker.state, number, watches)
        except BaseException:
            self.stop()
            raise

    cdef int work(self, tk_bert_worker *w, size_t worker, bint watches) except -1 nogil:
        cdef const tk_special *specials = &self.matcher.special if self.matcher is not None else NULL
        cdef size_t number, k, before, units = 0
        cdef int status
        while True:
            number = tk_parts_claim(&self.parts)
            if number == self.parts.n:
                return 0
            self.parts.list[number].worker = worker
            self.parts.list[number].start = w.model.n
            for k in range(self.parts.list[number].first, self.parts.list[number].end):
                before = w.model.n
                status = encode_view(&self.encoder.state, w, specials, self.views + k)
                if status != TK_OK and status != TK_BERT_ODD:
                    self.failed = True
                    tk_parts_end(&self.parts, TK_FINISH)
                    return 0
                self.n_ids[k] = <int64_t> (w.model.n - before) if status == TK_OK else ODD
                units += self.views[k].length
                if units >= SLICE_UNITS:
                    units = 0
                    if tk_parts_dropped(&self.parts):
                        return 0
                    if watches:
                        with gil:
                            PyErr_CheckSignals()

    def stop(self):
        """Let all threads leave as soon as they can; no result comes."""
        tk_parts_end(&self.parts, TK_LEAVE)

    def odd(self) -> list:
        """Return the numbers of the texts that the components have to take one by one (csrc/bert.h)."""
        if self.failed:
            raise MemoryError("not enough memory to encode")
        return np.flatnonzero(self.counts == ODD).tolist()

    def make_room(self, odd):
        """Make the arrays of `result`; `odd` has the ids of those texts. Then threads call `move`."""
        lengths = self.counts.copy()
        for text, ids in odd.items():
            lengths[text] = len(ids)
        self.offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=self.offsets[1:])
        if len(self.workers) == 1 and not odd:
            self.ids = self.encoder.as_array(self.workers[0])
            return
        self.ids = np.empty(lengths.sum(), dtype=np.uint32)
        self.out, self.places = self.ids, self.offsets
        for text, ids in odd.items():
            self.ids[self.offsets[text] : self.offsets[text + 1]] = ids
        self.left = list(range(self.parts.n))

    def move(self):
        """Put the ids of parts where they belong, until none is left."""
        cdef size_t number = 0
        cdef tk_part *part
        while self.left:
            try:
                number = self.left.pop()
            except IndexError:  # another thread was faster
                return
            part = self.parts.list + number
            worker = self.workers[part.worker]
            with nogil:
                self.move_part((<Worker> worker).state.model.ids + part.start, part)

    cdef void move_part(self, const uint32_t *ids, const tk_part *part) noexcept nogil:
        # All texts up to one that is odd at once.
        cdef size_t k, n = 0, first = part.first
        for k in range(part.first, part.end + 1):
            if k < part.end and self.n_ids[k] != ODD:
                n += <size_t> self.n_ids[k]
                continue
            if n:
                memcpy(&self.out[self.places[first]], ids, n * sizeof(uint32_t))
            ids += n
            n = 0
            first = k + 1

    def result(self):
        """Return (ids, offsets): uint32 ids of all texts, int64 offsets (texts + 1,)."""
        return self.ids, self.offsets

    def close(self):
        """Give back what the threads worked with. Call it when no thread is in `run`."""
        while self.workers:
            self.encoder.give_back(self.workers.pop())
