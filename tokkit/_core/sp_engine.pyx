# A sentencepiece model, Unigram or BPE, in, an encoder of raw text out: ids, or ids with spans.
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_New
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t

from tokkit._core.id_blocks cimport BlockPool
from tokkit._core.special cimport SpecialMatcher, tk_special, tk_special_find
from tokkit._core.text cimport TextView, chosen_isa, isa_number, tk_isa_use, tk_utf8_of, view_text

import numpy as np

cdef extern from "Python.h":
    void PyList_SET_ITEM(object list, Py_ssize_t i, PyObject *item)
    PyObject *PyLong_FromUnsignedLong(unsigned long value)

cdef enum:
    GIL_FREE_BYTES = 2048     # shorter texts cost less than giving up the GIL and taking it back
    SLICE_BYTES = 1 << 24     # how much is encoded between two looks at signals (under 0.5 s)
    KEEP_BYTES = 1 << 24      # scratch above this is given back after the call

tk_isa_use(chosen_isa())


def use_isa(name):
    """From now on, encode with this instruction set, in all threads; None is the one that the process has chosen."""
    tk_isa_use(isa_number(name))


cdef struct Progress:  # in a text: parts between added tokens are documents
    size_t at, start, end  # where the part begins; where the token behind it begins and ends
    uint32_t id_
    bint begun


cdef class Worker:
    # Cache and scratch for one thread at a time.

    def __cinit__(self, size_t cache_units):
        if tk_sp_scratch_init(&self.state, cache_units) != TK_OK:
            raise MemoryError("not enough memory for the cache of units")

    def __dealloc__(self):
        tk_sp_scratch_free(&self.state)


cdef class SentencePieceEncoder:
    """Normalizer and model of sentencepiece in one pass. Caches inside are one thread's at a time.

    `offsets` (n + 1,), `scores` (n,) and `kinds` (n,) say what the pieces in `blob` are.
    """

    def __cinit__(
        self, bytes blob not None, const int64_t[::1] offsets, const float[::1] scores, const uint8_t[::1] kinds, *,
        bytes charsmap not None, uint32_t unknown, bint bpe, bint byte_fallback, bint dummy_prefix, bint remove_extra,
        bint escape, bint suffix, size_t cache_units
    ):
        cdef tk_sp_source source
        cdef const char *reason = NULL
        cdef int status
        cdef size_t n = kinds.shape[0]
        if offsets.shape[0] != <Py_ssize_t> n + 1 or scores.shape[0] != <Py_ssize_t> n or unknown >= n:
            raise ValueError(
                f"{n} kinds of pieces go with as many scores, one more offset and an unknown piece below that; there "
                f"are {scores.shape[0]}, {offsets.shape[0]} and {unknown}"
            )
        self.idle = []
        self.pool = BlockPool()
        self.cache_units = cache_units
        source.blob, source.offsets, source.scores, source.kinds = blob, &offsets[0], &scores[0], &kinds[0]
        source.charsmap, source.n_charsmap = charsmap, len(charsmap)
        source.n_ids, source.unknown, source.bpe, source.byte_fallback = n, unknown, bpe, byte_fallback
        source.dummy_prefix, source.remove_extra = dummy_prefix, remove_extra
        source.escape, source.suffix = escape, suffix
        with nogil:
            status = tk_sp_build(&self.state, &source, &reason)
        if status == TK_BAD_INPUT:
            raise ValueError(f"the charsmap is broken: {reason.decode()}")
        if status == TK_TOO_LARGE:
            raise ValueError(
                f"{n} pieces are too many: this encoder numbers two million, and eight million ways to merge two to one"
            )
        if status != TK_OK:
            raise MemoryError("not enough memory for the tables of the model")

    def __dealloc__(self):
        tk_sp_free(&self.state)

    cdef Worker take_worker(self):
        try:
            return self.idle.pop()
        except IndexError:
            return Worker(self.cache_units)

    cdef object give_back(self, Worker worker):
        tk_sp_scratch_shrink(&worker.state, KEEP_BYTES)
        self.idle.append(worker)

    cdef int run(self, Worker worker, text, SpecialMatcher matcher, bint aligned) except -1:
        # Leaves the ids of a text in the worker.
        cdef TextView view
        cdef Progress progress
        cdef tk_sp_scratch *w = &worker.state
        cdef const tk_special *specials = &matcher.special if matcher is not None else NULL
        cdef const uint8_t *p = NULL
        cdef size_t n = 0
        cdef int status
        text = view_text(text, &view)  # keeps the memory alive until the ids are there
        tk_sp_begin(w, aligned)
        progress.at, progress.begun = 0, False
        if view.length < GIL_FREE_BYTES:
            status = tk_utf8_of(&view, &w.utf8, &w.utf8_capacity, &p, &n)
            if status == TK_OK:
                status = encode_some(&self.state, w, specials, p, n, &progress)
        else:
            with nogil:
                status = tk_utf8_of(&view, &w.utf8, &w.utf8_capacity, &p, &n)
            while status == TK_OK and progress.at < n:
                with nogil:
                    status = encode_some(&self.state, w, specials, p, n, &progress)
                if n > SLICE_BYTES:
                    PyErr_CheckSignals()
        if status == TK_TOO_LARGE:
            raise ValueError("a text without a place to cut it at, or one for spans, holds less than 4 GiB")
        if status != TK_OK:
            raise MemoryError("not enough memory to encode")
        return 0

    def encode(self, text, SpecialMatcher matcher=None):
        """Return the ids of a text as a list; added tokens that `matcher` finds become their ids."""
        cdef Worker worker = self.take_worker()
        cdef list result
        cdef size_t k
        try:
            self.run(worker, text, matcher, False)
            result = PyList_New(worker.state.n_ids)
            for k in range(worker.state.n_ids):
                PyList_SET_ITEM(result, k, new_int(worker.state.ids[k]))
            return result
        finally:
            self.give_back(worker)

    def encode_array(self, text, SpecialMatcher matcher=None):
        """Return the ids of a text as a uint32 array."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, matcher, False)
            return self.as_array(worker)
        finally:
            self.give_back(worker)

    cdef object as_array(self, Worker worker):
        cdef tk_sp_scratch *w = &worker.state
        return self.pool.array(&w.ids, &w.ids_capacity, w.n_ids)

    def count(self, text, SpecialMatcher matcher=None):
        """Return how many ids a text has."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, matcher, False)
            return worker.state.n_ids
        finally:
            self.give_back(worker)

    def encode_several(self, list texts, SpecialMatcher matcher=None):
        """Return (ids of all texts in one array, how many each has, int64)."""
        cdef Worker worker
        cdef size_t n = len(texts), done = 0, k
        cdef const tk_special *specials = &matcher.special if matcher is not None else NULL
        cdef int status = TK_OK
        cdef list owners = []  # they keep the memory of the views alive
        counts = np.empty(n + 1, dtype=np.int64)
        cdef int64_t[::1] out = counts
        cdef TextView *views = <TextView *> PyMem_Malloc((n + 1) * sizeof(TextView))
        if views is NULL:
            raise MemoryError
        worker = self.take_worker()
        try:
            for k in range(n):
                owners.append(view_text(texts[k], views + k))
            tk_sp_begin(&worker.state, False)
            while done < n and status == TK_OK:
                with nogil:
                    status = encode_views(&self.state, &worker.state, specials, views, n, &done, &out[0])
                PyErr_CheckSignals()
            if status == TK_TOO_LARGE:
                raise ValueError("a text without a place to cut it at holds less than 4 GiB")
            if status != TK_OK:
                raise MemoryError("not enough memory to encode")
            return self.as_array(worker), counts[:n]
        finally:
            PyMem_Free(views)
            self.give_back(worker)

    def aligned(self, bytes text not None, SpecialMatcher matcher=None):
        """Return (ids, spans) of UTF-8: uint32 (n,), int64 (n, 2) in bytes of the text, as sentencepiece has them.

        Of a character that becomes several byte pieces, all but the last have an empty span at its start.
        """
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, matcher, True)
            return self.as_array_with_spans(worker)
        finally:
            self.give_back(worker)

    cdef object as_array_with_spans(self, Worker worker):
        cdef tk_sp_scratch *w = &worker.state
        cdef size_t k
        cdef int64_t[:, ::1] out
        spans = np.empty((w.n_ids, 2), dtype=np.int64)
        if w.n_ids:
            out = spans
            for k in range(w.n_ids):
                out[k, 0], out[k, 1] = w.spans[2 * k], w.spans[2 * k + 1]
        return self.as_array(worker), spans

    def encode_whole(self, text):
        """Return the ids of a text as `encode_array` does, but by no cuts and no cache: what those are measured by."""
        cdef Worker worker = self.take_worker()
        try:
            worker.state.unprobed = <size_t> -1
            self.run(worker, text, None, False)
            return self.as_array(worker)
        finally:
            worker.state.unprobed = 0
            self.give_back(worker)

    def segments(self, bytes text not None):
        """Return (normalized, ids, spans, origin) of UTF-8: bytes with U+2581 spelt out; uint32 (n,); int64 (n, 2) in
        them; and uint32 (bytes + 1,), the byte of the text that each of them comes from.
        """
        cdef Worker worker = self.take_worker()
        cdef tk_sp_scratch *w = &worker.state
        cdef TextView view
        cdef int status
        cdef const uint8_t *p
        text = view_text(text, &view)
        p = <const uint8_t *> view.data
        try:
            tk_sp_begin(w, True)
            with nogil:
                status = tk_sp_encode_aligned(&self.state, w, p, view.length)
            if status == TK_TOO_LARGE:
                raise ValueError("a text for spans holds less than 4 GiB")
            if status != TK_OK:
                raise MemoryError("not enough memory to encode")
            normalized, origin = self.spelt_out(w)
            ids, spans = self.as_array_with_spans(worker)
            return normalized, ids, spans, origin
        finally:
            self.give_back(worker)

    cdef object spelt_out(self, tk_sp_scratch *w):
        # The buffer with its spaces as U+2581; the spans that the worker has become those of this text.
        cdef size_t k, i, at = 0, width = 3 if self.state.escape else 1
        cdef uint32_t[::1] moved = np.empty(w.n + 1, dtype=np.uint32), from_
        cdef uint8_t[::1] out
        for k in range(w.n):
            moved[k] = <uint32_t> at
            at += width if w.text[k] == c" " else 1
        moved[w.n] = <uint32_t> at
        origin, normalized = np.empty(at + 1, dtype=np.uint32), np.empty(at + 1, dtype=np.uint8)
        from_, out = origin, normalized
        for k in range(w.n):
            for i in range(moved[k], moved[k + 1]):
                from_[i] = w.from_[k]
                out[i] = w.text[k]
            if moved[k + 1] - moved[k] == 3:
                out[moved[k]], out[moved[k] + 1], out[moved[k] + 2] = 0xE2, 0x96, 0x81
        from_[at] = w.from_[w.n]
        for k in range(2 * w.n_ids):
            w.spans[k] = moved[w.spans[k]]
        return normalized[:at].tobytes(), origin

    def normalize(self, bytes text not None):
        """Return a text as the model normalizes it, with U+2581 spelt out."""
        cdef Worker worker = self.take_worker()
        cdef tk_sp_scratch *w = &worker.state
        cdef TextView view
        text = view_text(text, &view)
        try:
            tk_sp_begin(w, True)
            if tk_sp_prepare(&self.state, w, <const uint8_t *> view.data, view.length) != TK_OK:
                raise MemoryError("not enough memory to normalize")
            return self.spelt_out(w)[0]
        finally:
            self.give_back(worker)

    def build_steps(self) -> int:
        """Return how many bytes of pieces were looked at to find out what merges: of BPE, at most twice as many as
        there are.
        """
        return self.state.steps

    def cache_info(self) -> dict:
        """Return sizes and counts of the idle workers' caches, added up."""
        cdef Worker worker
        cdef tk_sp_cache *cache
        totals = {"workers": 0, "words": 0, "long_words": 0, "max_words": 0, "misses": 0}
        for worker in list(self.idle):
            cache = &worker.state.cache
            totals["workers"] += 1
            totals["words"] += cache.n
            totals["long_words"] += cache.n_long
            totals["max_words"] += 2 * (cache.mask + 1)
            totals["misses"] += cache.misses
        return totals


cdef inline PyObject *new_int(uint32_t value) except NULL:
    return PyLong_FromUnsignedLong(value)


cdef int encode_some(
    const tk_sp *m, tk_sp_scratch *w, const tk_special *specials, const uint8_t *p, size_t n, Progress *progress
) noexcept nogil:
    # From progress.at on for about SLICE_BYTES. Each part between added tokens is a document.
    cdef size_t begin = progress.at, length
    cdef int status
    while progress.at < n and progress.at - begin < SLICE_BYTES:
        if not progress.begun:
            if specials == NULL or not tk_special_find(
                specials, p, n, progress.at, &progress.start, &progress.end, &progress.id_
            ):
                progress.start = progress.end = n
            tk_sp_begin_document(w)
            progress.begun = True
        length = progress.start - progress.at
        if length and w.aligned:
            status = tk_sp_encode_aligned(m, w, p + progress.at, length)
            if status != TK_OK:
                return status
            move_spans(w, <uint32_t> progress.at)
        elif length:
            status = tk_sp_encode(m, w, p + progress.at, length, w.at + SLICE_BYTES)
            if status != TK_OK or w.at < length:
                return status
        if progress.start < n:
            status = tk_sp_put_id(w, progress.id_, progress.start, progress.end)
            if status != TK_OK:
                return status
        progress.at = progress.end
        progress.begun = False
    return TK_OK


cdef void move_spans(tk_sp_scratch *w, uint32_t offset) noexcept nogil:
    # From the buffer to the text that a document stands in.
    cdef size_t k
    for k in range(2 * w.first, 2 * w.n_ids):
        w.spans[k] = w.from_[w.spans[k]] + offset


cdef int encode_views(
    const tk_sp *m, tk_sp_scratch *w, const tk_special *specials, const TextView *views, size_t n, size_t *done,
    int64_t *counts
) noexcept nogil:
    # Texts from *done on, until they are n or have been SLICE_BYTES: *done is behind them.
    cdef Progress progress
    cdef const uint8_t *p = NULL
    cdef size_t length = 0, before, taken = 0
    cdef int status = TK_OK
    while done[0] < n and taken < SLICE_BYTES and status == TK_OK:
        before = w.n_ids
        progress.at, progress.begun = 0, False
        status = tk_utf8_of(views + done[0], &w.utf8, &w.utf8_capacity, &p, &length)
        while status == TK_OK and progress.at < length:
            status = encode_some(m, w, specials, p, length, &progress)
        counts[done[0]] = <int64_t> (w.n_ids - before)
        taken += length
        done[0] += 1
    return status
