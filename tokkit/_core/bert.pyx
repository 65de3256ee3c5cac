# A WordPiece model and the options of BERT's normalizer in, an encoder of raw text out: ids, or tokens with spans.
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_New
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tokkit._core.id_blocks cimport BlockPool
from tokkit._core.models cimport PieceEncoder, filled, tk_model_worker, tk_unit_cache
from tokkit._core.special cimport SpecialMatcher, tk_special, tk_special_find
from tokkit._core.text cimport TextView, chosen_isa, isa_number, tk_isa_use, tk_utf8_of, view_text

import numpy as np

cdef extern from "Python.h":
    void PyList_SET_ITEM(object list, Py_ssize_t i, PyObject *item)
    PyObject *PyLong_FromUnsignedLong(unsigned long value)

cdef extern from "base.h" nogil:
    int TK_OK, TK_NO_MEMORY

cdef enum:
    GIL_FREE_BYTES = 2048          # shorter texts cost less than giving up the GIL and taking it back
    SLICE_BYTES = 1 << 24          # how much is encoded between two looks at signals (under 0.2 s)
    KEEP_BYTES = 1 << 24           # scratch above this is given back after the call

new_array, SPANS, WORDS = np.empty, np.dtype(np.int64), np.dtype(np.int32)

tk_isa_use(chosen_isa())


def use_isa(name):
    """From now on, encode with this instruction set, in all threads; None is the one that the process has chosen."""
    tk_isa_use(isa_number(name))


cdef class Worker:

    def __cinit__(self, size_t cache_words, size_t cache_long_words):
        if tk_bert_worker_init(&self.state, cache_words, cache_long_words) != TK_OK:
            raise MemoryError("not enough memory for the cache of words")

    def __dealloc__(self):
        tk_bert_worker_free(&self.state)


cdef class BertEncoder:
    """BERT's normalizer, its pretokenizer and a WordPiece model in one pass. Caches inside are one thread's at a time.

    Each method returns None for a text that the components have to take one by one (csrc/bert.h).
    """

    def __cinit__(
        self, PieceEncoder model not None, *, bint clean, bint chinese, bint strip, bint lower, size_t cache_words,
        size_t cache_long_words
    ):
        cdef int status
        self.model = model
        self.idle = []
        self.pool = BlockPool()
        self.cache_words = cache_words
        self.cache_long_words = cache_long_words
        with nogil:
            status = tk_bert_build(&self.state, &model.model, clean, chinese, strip, lower)
        if status != TK_OK:
            raise MemoryError("not enough memory for the table of characters")

    def __dealloc__(self):
        tk_bert_free(&self.state)

    cdef Worker take_worker(self):
        cdef Worker worker
        try:
            worker = self.idle.pop()
        except IndexError:
            worker = Worker(self.cache_words, self.cache_long_words)
        tk_bert_begin(&worker.state, False)
        return worker

    cdef object give_back(self, Worker worker):
        tk_bert_worker_shrink(&worker.state, KEEP_BYTES)
        self.idle.append(worker)

    cdef bint run(self, Worker worker, text, SpecialMatcher matcher, bint aligned) except -1:
        # Leaves the tokens of a text in the worker; returns whether they are there.
        cdef TextView view
        cdef tk_bert_worker *w = &worker.state
        cdef const tk_special *specials = &matcher.special if matcher is not None else NULL
        cdef const uint8_t *p = NULL
        cdef size_t n = 0, at = 0, start = 0
        cdef int status
        text = view_text(text, &view)  # keeps the memory alive until the tokens are there
        tk_bert_begin(w, aligned)
        if view.length < GIL_FREE_BYTES:
            status = tk_utf8_of(&view, &w.utf8, &w.utf8_capacity, &p, &n)
            if status == TK_OK:
                status = encode_some(&self.state, w, specials, p, n, &at, &start, n)
        else:
            with nogil:
                status = tk_utf8_of(&view, &w.utf8, &w.utf8_capacity, &p, &n)
            while status == TK_OK and at < n:
                with nogil:
                    status = encode_some(&self.state, w, specials, p, n, &at, &start, at + SLICE_BYTES)
                if n > SLICE_BYTES:
                    PyErr_CheckSignals()
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory to encode")
        return status == TK_OK

    def encode(self, text, SpecialMatcher matcher=None):
        """Return the ids of a text as a list; added tokens that `matcher` finds become their ids."""
        cdef Worker worker = self.take_worker()
        cdef list result
        cdef size_t k
        try:
            if not self.run(worker, text, matcher, False):
                return None
            result = PyList_New(worker.state.model.n)
            for k in range(worker.state.model.n):
                PyList_SET_ITEM(result, k, new_int(worker.state.model.ids[k]))
            return result
        finally:
            self.give_back(worker)

    def encode_array(self, text, SpecialMatcher matcher=None):
        """Return the ids of a text as a uint32 array."""
        cdef Worker worker = self.take_worker()
        try:
            return self.as_array(worker) if self.run(worker, text, matcher, False) else None
        finally:
            self.give_back(worker)

    cdef object as_array(self, Worker worker):
        cdef tk_model_worker *o = &worker.state.model
        return self.pool.array(&o.ids, &o.ids_capacity, o.n)

    def count(self, text, SpecialMatcher matcher=None):
        """Return how many ids a text has."""
        cdef Worker worker = self.take_worker()
        try:
            return worker.state.model.n if self.run(worker, text, matcher, False) else None
        finally:
            self.give_back(worker)

    def aligned(self, bytes text, SpecialMatcher matcher=None):
        """Return (ids, spans, words) of UTF-8: uint32 (n,), int64 (n, 2) in bytes, int32 (n,) numbers of pieces."""
        cdef Worker worker = self.take_worker()
        cdef tk_model_worker *o = &worker.state.model
        if len(text) > 0xFFFFFFF0:
            return None
        try:
            if not self.run(worker, text, matcher, True):
                return None
            return (
                self.as_array(worker),
                filled(new_array((o.n, 2), SPANS), o.spans, o.n * 2 * sizeof(int64_t)),
                filled(new_array(o.n, WORDS), o.words, o.n * sizeof(int32_t)),
            )
        finally:
            self.give_back(worker)

    def cache_info(self) -> dict:
        """Return sizes and counts of the idle workers' caches, added up."""
        cdef Worker worker
        cdef tk_unit_cache *units
        totals = {"workers": 0, "words": 0, "most_words": 0, "misses": 0}
        for worker in list(self.idle):
            totals["workers"] += 1
            units = &worker.state.model.cache
            totals["words"] += worker.state.cache.n + units.n
            totals["most_words"] += 2 * (worker.state.cache.mask + 1) if worker.state.cache.mask else 0
            totals["most_words"] += units.mask + 1 if units.units is not NULL else 0
            totals["misses"] += worker.state.cache.misses
        return totals


cdef inline PyObject *new_int(uint32_t value) except NULL:
    return PyLong_FromUnsignedLong(value)


cdef int encode_some(
    const tk_bert *m, tk_bert_worker *w, const tk_special *specials, const uint8_t *p, size_t n, size_t *at,
    size_t *part, size_t stop
) noexcept nogil:
    # From *at until that is n or has passed `stop`. Added tokens cut the text; *part is where the next of them, which
    # is looked for only there, may begin.
    cdef size_t start = 0, end = 0
    cdef uint32_t id_ = 0
    cdef int status
    if specials == NULL:
        return tk_bert_encode(m, w, p, n, at, stop)
    while at[0] < n and at[0] < stop:
        if not tk_special_find(specials, p, n, part[0], &start, &end, &id_):
            start = end = n
        if at[0] < start:
            status = tk_bert_encode(m, w, p, start, at, stop)
            if status != TK_OK:
                return status
            if at[0] < start:  # `stop` came first; what follows is found again
                part[0] = at[0]
                return TK_OK
        if start < n:
            status = tk_bert_append(w, id_, start, end)
            if status != TK_OK:
                return status
            at[0] = end
            part[0] = end
    return TK_OK


cdef int encode_view(
    const tk_bert *m, tk_bert_worker *w, const tk_special *specials, const TextView *view
) noexcept nogil:
    # Append the ids of a text to those of others; TK_BERT_ODD leaves them as they were.
    cdef const uint8_t *p = NULL
    cdef size_t n = 0, at = 0, start = 0, before = w.model.n
    cdef int status = tk_utf8_of(view, &w.utf8, &w.utf8_capacity, &p, &n)
    if status == TK_OK:
        status = encode_some(m, w, specials, p, n, &at, &start, n)
    if status == TK_BERT_ODD:
        tk_bert_begin(w, False)
        w.model.n = before
    return status
