# A vocabulary in, an encoder out: text → ids, one crossing of the C boundary for a text or a batch.
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_New
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from tokkit._core.id_blocks cimport BlockPool
from tokkit._core.pattern cimport split_of
from tokkit._core.special cimport SpecialMatcher, tk_special, tk_special_find
from tokkit._core.text cimport (
    TK_DROPPED, TextView, chosen_isa, isa_number, tk_dfa_memo, tk_dfa_memo_free, tk_isa_use, tk_scan_by, tk_split,
    tk_utf8_of, view_text,
)

import numpy as np

from tokkit._core.text import to_utf8

cdef extern from "Python.h":
    void PyList_SET_ITEM(object list, Py_ssize_t i, PyObject *item)
    PyObject *PyLong_FromUnsignedLong(unsigned long value)

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define TK_SHARES_INTS 0
    #else
    #define TK_SHARES_INTS 1
    #endif
    """
    bint TK_SHARES_INTS

cdef enum:
    GIL_FREE_BYTES = 2048          # shorter texts cost less than giving up the GIL and taking it back
    SLICE_BYTES = 1 << 24          # how much is encoded between two looks at signals (under 0.2 s)
    KEEP_BYTES = 1 << 24           # scratch above this is given back after the call
    LONG_TEXT = 1 << 13            # units of text, whose ids may become an array without a copy

cdef double FIRST_DENSITY = 0.25  # English has 0.23 ids a byte

tk_isa_use(chosen_isa())

STATUS_MESSAGES = {
    TK_NO_MEMORY: (MemoryError, "not enough memory to encode"),
    TK_TOO_LARGE: (OverflowError, "a piece of 4 GiB or more cannot be merged"),
}


cdef object check(int status):
    if status != TK_OK:
        kind, message = STATUS_MESSAGES[status]
        raise kind(message)
    return None


cdef class Worker:
    # Cache and scratch for one thread at a time.
    def __cinit__(self, BPEEncoder encoder):
        cdef int status
        with nogil:  # it takes milliseconds: threads set up theirs side by side
            status = tk_worker_init(&self.state, &encoder.model, encoder.max_words)
        check_build(status, 0)
        self.density = FIRST_DENSITY

    def __dealloc__(self):
        tk_worker_free(&self.state)

    cdef void shrink(self) noexcept:
        tk_dfa_memo_free(&self.state.memo)
        if self.state.text_capacity > KEEP_BYTES:
            free(self.state.text)
            self.state.text = NULL
            self.state.text_capacity = 0
        if self.state.ids_capacity * sizeof(uint32_t) > KEEP_BYTES:
            free(self.state.ids)
            self.state.ids = NULL
            self.state.ids_capacity = 0


cdef inline tk_special *specials_of(matcher) except? NULL:
    return &(<SpecialMatcher> matcher).special if matcher is not None else NULL


cdef object check_build(int status, size_t culprit):
    if status == TK_NO_MEMORY:
        raise MemoryError("not enough memory for the tables of this vocabulary")
    if status == TK_TOO_LARGE:
        raise OverflowError("a BPE vocabulary may have up to 2097151 tokens and merges")
    if status == TK_BAD_INPUT and culprit >= 256:
        raise ValueError(
            f"merge {culprit - 256} names an id that is no token, or its result is not its two parts joined"
        )
    if status == TK_BAD_INPUT and culprit < 256:
        raise ValueError(f"no token is the byte 0x{culprit:02x}, or two tokens have the same bytes")
    return None


cdef class BPEEncoder:
    """Byte-level BPE over packed tokens. Immutable for callers; caches inside are one thread's at a time.

    `blob`, `offsets` (int64, n_ids + 1) and `special` (uint8, n_ids) are a packed vocabulary; `merges` is uint32
    (n, 3) or None for rank BPE; `split` numbers a scanner or is a SplitPattern;
    `max_words` bounds what a thread's cache learns. With `drops_unknown` a byte without a token gets no id.
    ValueError: a byte without a token, two tokens alike, a merge that does not fit. OverflowError: too large.
    """

    def __cinit__(
        self, bytes blob, const int64_t[::1] offsets, const uint8_t[::1] special, merges, bint whole_piece,
        split, size_t max_words, bint drops_unknown=False
    ):
        cdef tk_vocabulary vocabulary
        cdef const uint32_t[:, ::1] pairs
        cdef size_t culprit = 256
        cdef int status
        self.owner = blob
        self.pattern = split
        self.split = split_of(split)
        self.max_words = max_words
        self.idle = []
        self.pool = BlockPool()
        self.n_ids = offsets.shape[0] - 1
        vocabulary.blob = <const uint8_t *> <const char *> blob
        vocabulary.offsets = &offsets[0]
        vocabulary.n_ids = self.n_ids
        vocabulary.special = &special[0] if self.n_ids else NULL
        vocabulary.merges = NULL
        vocabulary.n_merges = 0
        vocabulary.whole_piece = whole_piece
        vocabulary.drops_unknown = drops_unknown
        if merges is not None:
            pairs = merges
            vocabulary.n_merges = pairs.shape[0]
            vocabulary.merges = &pairs[0, 0] if pairs.shape[0] else <const uint32_t *> &offsets[0]
        with nogil:
            status = tk_bpe_build(&self.model, &vocabulary, &culprit)
        check_build(status, culprit)
        if self.model.cuts.unconditional:
            self.split.cuts = &self.model.cuts
        if TK_SHARES_INTS:
            self.ints = <PyObject **> PyMem_Calloc(self.n_ids, sizeof(PyObject *))
            if self.ints is NULL:
                raise MemoryError

    def __dealloc__(self):
        cdef size_t i
        if self.ints is not NULL:
            for i in range(self.n_ids):
                Py_XDECREF(self.ints[i])
            PyMem_Free(self.ints)
        tk_bpe_free(&self.model)

    cdef Worker take_worker(self):
        try:
            return self.idle.pop()
        except IndexError:
            return Worker(self)

    cdef object give_back(self, Worker worker):
        worker.shrink()
        self.idle.append(worker)

    # ids of a text stay in the worker until they are copied out as a list, an array or a number

    cdef object run(self, Worker worker, text, matcher):
        cdef TextView view
        cdef tk_worker *w = &worker.state
        cdef tk_special *specials = specials_of(matcher)
        cdef const uint8_t *p = NULL
        cdef size_t n = 0, at = 0, stop
        cdef int status
        w.n_ids = 0
        text = view_text(text, &view)  # keeps the memory alive until the ids are there
        if view.length >= LONG_TEXT:
            self.pool.fit(&w.ids, &w.ids_capacity, view.length, worker.density)
        if view.length < GIL_FREE_BYTES:
            status = tk_utf8_of(&view, &w.text, &w.text_capacity, &p, &n)
            if status == TK_OK:
                status = encode_some(&self.model, w, &self.split, specials, p, n, &at, n)
            check(status)
            return None
        with nogil:
            status = tk_utf8_of(&view, &w.text, &w.text_capacity, &p, &n)
        check(status)
        while at < n:
            stop = at + SLICE_BYTES
            with nogil:
                status = encode_some(&self.model, w, &self.split, specials, p, n, &at, stop)
            check(status)
            if n > SLICE_BYTES:
                PyErr_CheckSignals()
        if view.length >= LONG_TEXT:
            worker.density = max(0.9 * worker.density, w.n_ids / <double> view.length)
        return None

    cdef list as_list(self, const uint32_t *ids, size_t n):
        cdef list result = PyList_New(n)
        cdef size_t k
        cdef PyObject *item
        for k in range(n):
            if TK_SHARES_INTS:
                item = self.ints[ids[k]]
                if item is NULL:
                    item = self.ints[ids[k]] = new_int(ids[k])
                Py_INCREF(<object> item)
            else:
                item = new_int(ids[k])
            PyList_SET_ITEM(result, k, item)
        return result

    cdef object as_array(self, Worker worker):
        return self.pool.array(&worker.state.ids, &worker.state.ids_capacity, worker.state.n_ids)

    def prepare(self):
        """Set up the cache of the first thread now, rather than when the first text comes."""
        self.give_back(self.take_worker())

    def encode(self, text, SpecialMatcher matcher=None) -> list:
        """Return the ids of a text as a list; special tokens that `matcher` finds become their ids."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, matcher)
            return self.as_list(worker.state.ids, worker.state.n_ids)
        finally:
            self.give_back(worker)

    def encode_array(self, text, SpecialMatcher matcher=None):
        """Return the ids of a text as a uint32 array."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, matcher)
            return self.as_array(worker)
        finally:
            self.give_back(worker)

    def count(self, text, SpecialMatcher matcher=None) -> int:
        """Return how many ids a text has."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, matcher)
            return worker.state.n_ids
        finally:
            self.give_back(worker)

    def encode_pieces(self, bytes text, const int64_t[::1] ends, bint only_merge=False):
        """Return the ids of text that is cut already, as a uint32 array; piece k ends at byte ends[k].

        With `only_merge` no piece is looked up as a whole, and the bytes need not be UTF-8.
        """
        cdef Worker worker = self.take_worker()
        cdef size_t count = ends.shape[0], k
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef int64_t last = 0
        cdef int status
        for k in range(count):
            if not last <= ends[k] <= len(text):
                raise ValueError("ends of pieces must rise from 0 to the length of the text")
            last = ends[k]
        try:
            worker.state.n_ids = 0
            if count:
                with nogil:
                    if only_merge:
                        status = tk_merge_pieces(&self.model, &worker.state, p, &ends[0], count)
                    else:
                        status = tk_encode_pieces(&self.model, &worker.state, p, &ends[0], count)
                check(status)
            return self.as_array(worker)
        finally:
            self.give_back(worker)

    def units(self, text, isa=None):
        """Return the ends of what is looked up and merged on its own, int64 byte offsets into `to_utf8(text)`.

        Those are pieces, parts of pieces between safe cuts where the scanner of `isa` makes them, and dropped text.
        """
        cdef int by = isa_number(isa)
        cdef bytes utf8 = to_utf8(text)
        cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8), at = 0, count = 0, got, k
        cdef size_t ends[256]
        cdef tk_dfa_memo memo
        cdef tk_split split = self.split
        memset(&memo, 0, sizeof(memo))
        split.memo = &memo
        result = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out = result
        while True:
            with nogil:
                got = tk_scan_by(by, &split, p, n, &at, ends, 256)
            if got == 0:
                tk_dfa_memo_free(&memo)
                return result[:count].copy()
            for k in range(got):
                out[count + k] = <int64_t> (ends[k] & ~TK_DROPPED)
            count += got

    def cache_info(self) -> dict:
        """Return sizes and counts of the idle workers' caches, added up."""
        cdef Worker worker
        totals = {"workers": 0, "words": 0, "own_words": 0, "long_words": 0, "misses": 0, "bytes": 0}
        for worker in list(self.idle):
            totals["workers"] += 1
            totals["words"] += worker.state.cache.n_words
            totals["own_words"] += worker.state.cache.n_seeds
            totals["long_words"] += worker.state.cache.n_long
            totals["misses"] += worker.state.cache.misses
            totals["bytes"] += tk_cache_memory(&worker.state.cache)
        return totals | {"max_words": self.max_words}

    def merges(self):
        """Return the merges that can happen, uint32 (n, 3): ids of left, right and result, in order of priority.

        One for each token that merging can make. Two models with equal merges and bytes give equal ids, be they
        rank BPE or merge lists, but for tokens that only a whole piece can be (`unreachable`).
        """
        cdef uint32_t t, n = 0
        cdef tk_bpe *m = &self.model
        result = np.empty((m.n, 3), dtype=np.uint32)
        cdef uint32_t[:, ::1] out = result
        for t in range(256, m.n):
            if m.left[t] != 0xFFFFFFFF:
                out[n, 0] = m.id[m.left[t]]
                out[n, 1] = m.id[m.right[t]]
                out[n, 2] = m.id[t]
                n += 1
        return result[:n].copy()

    @property
    def unreachable(self) -> int:
        """How many tokens no merge makes."""
        return self.model.unreachable


cdef inline PyObject *new_int(uint32_t value) except NULL:
    return PyLong_FromUnsignedLong(value)


cdef int encode_some(
    tk_bpe *model, tk_worker *w, const tk_split *split, const tk_special *specials, const uint8_t *p, size_t n,
    size_t *at, size_t stop
) noexcept nogil:
    # From *at until *at is n or has passed `stop`. Special tokens cut the text first: each part between them is
    # matched as a text of its own.
    cdef size_t start = 0, end = 0, part
    cdef uint32_t id_ = 0
    cdef int status
    if specials == NULL:
        return tk_encode(model, w, split, p, n, at, stop)
    while at[0] < n and at[0] < stop:
        if not tk_special_find(specials, p, n, at[0], &start, &end, &id_):
            start = end = n
        part = 0
        status = tk_encode(model, w, split, p + at[0], start - at[0], &part, stop - at[0])
        if status != TK_OK:
            return status
        at[0] += part
        if at[0] < start:  # `stop` came first; what follows is found again
            break
        if start < n:
            status = tk_append_id(w, id_)
            if status != TK_OK:
                return status
            at[0] = end
    return TK_OK


# for stages.pyx, which has neither the code of this extension nor its instruction set

cdef int encode_stage(
    tk_bpe *model, tk_worker *w, const tk_split *split, const uint8_t *p, size_t n, int stage, size_t *pieces
) noexcept nogil:
    return tk_encode_stage(model, w, split, p, n, stage, pieces)


cdef int use_isa(object name) except -1:
    # From now on, all threads encode with this instruction set; None is the one that the process has chosen.
    tk_isa_use(isa_number(name))
    return 0
