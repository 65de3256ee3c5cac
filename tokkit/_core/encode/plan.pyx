"""The encoder of every tokenizer: text → ids by a plan, in one call of C per text or batch."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_New
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from tokkit._core.base cimport TK_BAD_INPUT, TK_GROWN, TK_NO_MEMORY, TK_OK, TK_TOO_LARGE, TK_UNENCODABLE, TK_UNSUPPORTED
from tokkit._core.encode.id_blocks cimport BlockPool
from tokkit._core.split cimport AddedMatcher
from tokkit._core.text cimport TextView, tk_utf8_of, view_text

import numpy as np

from tokkit._core.text import Grown

cdef extern from "Python.h":
    void PyList_SET_ITEM(object list, Py_ssize_t i, PyObject *item)
    PyObject *PyLong_FromUnsignedLong(unsigned long value)

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define TK_SHARES_INTS 0
    #define TK_SWAP(slot, object) __atomic_exchange_n(slot, object, __ATOMIC_ACQ_REL)
    #else
    #define TK_SHARES_INTS 1
    #define TK_SWAP(slot, object) tk_swap(slot, object)
    static CYTHON_INLINE PyObject *tk_swap(PyObject **slot, PyObject *object) {
        PyObject *before = *slot;
        *slot = object;
        return before;
    }
    #endif
    """
    bint TK_SHARES_INTS
    PyObject *tk_swap_object "TK_SWAP" (PyObject **slot, PyObject *object)  # returns what the slot had

cdef enum:
    KEEP_BYTES = 1 << 24           # larger scratch memory is freed after the call
    GROWN_BYTES = 1 << 26          # the same limit as in tokkit.limits
    LONG_TEXT = 1 << 13            # units of text from which on ids become an array without a copy

new_array, IDS, SPANS, WORDS = np.empty, np.dtype(np.uint32), np.dtype(np.int64), np.dtype(np.int32)

cdef double FIRST_DENSITY = 0.25  # ids per byte; English has 0.23

STATUS_MESSAGES = {
    TK_NO_MEMORY: (MemoryError, "not enough memory to encode"),
    TK_TOO_LARGE: (OverflowError, "the text has 4 GiB or more without a position to cut it at; it must have less"),
    TK_GROWN: (Grown, "the tokenizer's stages make the text too large, over 32 times its size"),
    TK_UNENCODABLE: (LookupError, "a character has no token, and the model has no unknown token"),
    TK_UNSUPPORTED: (LookupError, "the components must be run one after the other"),
}


cdef object check(int status):
    if status != TK_OK:
        error, message = STATUS_MESSAGES[status]
        raise error(message)
    return None


cdef class Finder:
    """Which added tokens to find in a text, by one policy. Immutable.

    `given` finds those in the original text and `normalized` those in the normalized text; each is (AddedMatcher,
    bytes that select tokens, or None for all). `guard` has all of them: no token may lie across a position where a
    text is cut. Without a guard, texts in which tokens are searched are not cut.
    """

    def __cinit__(self, given=None, normalized=None, AddedMatcher guard=None):
        cdef AddedMatcher matcher
        self.owners = given, normalized
        self.guard = guard
        self.splittable = guard is not None or (given is None and normalized is None)
        memset(&self.finder, 0, sizeof(self.finder))
        if given is not None:
            matcher = given[0]
            self.finder.given, self.finder.given_ids = &matcher.tokens, &matcher.ids[0]
            self.finder.given_allowed = matcher.which(given[1])
        if normalized is not None:
            matcher = normalized[0]
            self.finder.normalized, self.finder.normalized_ids = &matcher.tokens, &matcher.ids[0]
            self.finder.normalized_allowed = matcher.which(normalized[1])


cdef tk_finder *finder_of(Finder finder) noexcept:
    return &finder.finder if finder is not None else NULL


cdef tk_cut_rule *rule_of(tk_cut_rule *out, tables) except? NULL:
    # Fills a rule and returns it; NULL for None.
    cdef const uint8_t[::1] left, right
    cdef size_t k
    if tables is None:
        return NULL
    left, right = tables
    if left.shape[0] != TK_ATOMS or right.shape[0] != TK_ATOMS:
        raise ValueError(
            f"the tables of a cut rule have {left.shape[0]} and {right.shape[0]} entries; both must have {TK_ATOMS}"
        )
    for k in range(TK_ATOMS):
        out.left[k], out.right[k] = left[k], right[k]
    tk_cut_rule_finish(out)
    return out


cdef class Worker:
    # Cache and scratch memory for one thread at a time; a new cache is empty, or has the words of another.
    def __cinit__(self, Encoder encoder, Worker other=None):
        cdef int status
        with nogil:  # it takes milliseconds: threads set up their own in parallel
            if other is None:
                status = tk_worker_init(&self.state, &encoder.plan, encoder.max_words)
            else:
                status = tk_worker_copy(&self.state, &encoder.plan, &other.state)
        if status == TK_BAD_INPUT:
            raise ValueError("two tokens have the same bytes; all tokens must be different")
        check(status)
        self.density = FIRST_DENSITY

    def __dealloc__(self):
        tk_worker_free(&self.state)

    cdef void shrink(self) noexcept:
        tk_worker_shrink(&self.state, KEEP_BYTES)


cdef class Encoder:
    """Runs one plan. Immutable for callers; one thread at a time uses each cache. Subclasses define the plan."""

    def __cinit__(self, *_args, **_options):
        self.idle = []
        self.pool = BlockPool()
        self.plan.grown = GROWN_BYTES

    cdef int share_ints(self) except -1:
        # Called when n_ids is known.
        if TK_SHARES_INTS:
            self.ints = <PyObject **> PyMem_Calloc(self.n_ids, sizeof(PyObject *))
            if self.ints is NULL:
                raise MemoryError
        return 0

    def __dealloc__(self):
        cdef size_t i
        Py_XDECREF(self.ready)
        if self.ints is not NULL:
            for i in range(self.n_ids):
                Py_XDECREF(self.ints[i])
            PyMem_Free(self.ints)

    cdef Worker take_worker(self):
        cdef PyObject *ready = tk_swap_object(&self.ready, NULL)
        if ready is not NULL:
            return owned_worker(ready)
        try:
            return self.idle.pop()
        except IndexError:
            return Worker(self)

    cdef object give_back(self, Worker worker):
        cdef PyObject *before
        worker.shrink()
        Py_INCREF(worker)
        before = tk_swap_object(&self.ready, <PyObject *> worker)
        if before is not NULL:
            self.idle.append(owned_worker(before))
        return None

    cdef object copy_caches(self, size_t n):
        # Gives n threads what one knows: a copy is made sooner than the words are found out again.
        cdef size_t missing = n - min(n, <size_t> len(self.idle_workers()))
        cdef Worker worker
        if missing == 0 or missing == n:
            return None
        worker = self.take_worker()
        try:
            for _ in range(missing):
                self.idle.append(Worker(self, worker))
        except MemoryError:  # the threads set up empty caches
            pass
        return self.give_back(worker)

    cdef list idle_workers(self):
        cdef PyObject *ready = tk_swap_object(&self.ready, NULL)
        if ready is not NULL:
            self.idle.append(owned_worker(ready))
        return list(self.idle)

    cdef bint describe(self, tk_document *document, Finder finder) noexcept:
        # Whether a text may be cut into chunks, and how.
        document.rule = self.plan.part_rule
        document.special = NULL
        document.beside = self.plan.front.edges != 0 or self.plan.model.sp != NULL
        if finder is not None and finder.guard is not None:
            document.special = &finder.guard.tokens
        return self.splittable and (finder is None or finder.splittable)

    # The ids of a text stay in the worker until they are copied to a list or an array, or counted.

    cdef int run_short(self, Worker worker, const TextView *view, Finder finder) noexcept:
        # A text for which the GIL is kept.
        cdef tk_worker *w = &worker.state
        cdef const uint8_t *p = NULL
        cdef size_t n = 0, at = 0
        cdef int status
        w.n_ids = 0
        w.is_continuation = w.has_next = 0
        status = tk_utf8_of(view, &w.text, &w.text_capacity, &p, &n)
        while status == TK_OK and at < n:
            status = tk_encode(&self.plan, w, finder_of(finder), p, n, &at, n)
        return status

    cdef object run(self, Worker worker, text, Finder finder):
        cdef TextView view
        cdef tk_worker *w = &worker.state
        cdef const tk_finder *added = finder_of(finder)
        cdef const uint8_t *p = NULL
        cdef size_t n = 0, at = 0, stop
        cdef int status
        text = view_text(text, &view)  # keeps the memory alive until the ids are copied
        if view.length < GIL_FREE_BYTES:
            return check(self.run_short(worker, &view, finder))
        w.n_ids = 0
        w.is_continuation = w.has_next = 0
        if view.length >= LONG_TEXT:
            self.pool.fit(&w.ids, &w.ids_capacity, view.length, worker.density)
        with nogil:
            status = tk_utf8_of(&view, &w.text, &w.text_capacity, &p, &n)
        check(status)
        while at < n:
            stop = at + SLICE_BYTES
            with nogil:
                status = tk_encode(&self.plan, w, added, p, n, &at, stop)
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
            # A special token may have an id above all those of a SentencePiece model.
            if TK_SHARES_INTS and ids[k] < self.n_ids:
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

    def bound(self, size_t n_bytes):
        """Limit what stages may make of a text: to so many bytes, or 32 times its size if that is more."""
        self.plan.grown = n_bytes

    def prepare(self):
        """Set up the cache of the first thread now, instead of at the first text."""
        self.give_back(self.take_worker())

    def encode(self, text, Finder finder=None) -> list:
        """Return the ids of a text as a list; added tokens that `finder` finds become their ids."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, finder)
            return self.as_list(worker.state.ids, worker.state.n_ids)
        finally:
            self.give_back(worker)

    def encode_lists(self, texts, Finder finder=None, list before=None, list after=None) -> list:
        """Return the ids of each text as a list, with ids put before and after them."""
        cdef Worker worker = self.take_worker()
        cdef list made = [], ids
        cdef bint plain = not before and not after
        before, after = before or [], after or []
        try:
            for text in texts:
                self.run(worker, text, finder)
                ids = self.as_list(worker.state.ids, worker.state.n_ids)
                made.append(ids if plain else before + ids + after)
            return made
        finally:
            self.give_back(worker)

    def encode_array(self, text, Finder finder=None):
        """Return the ids of a text as a uint32 array."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, finder)
            return self.as_array(worker)
        finally:
            self.give_back(worker)

    def count(self, text, Finder finder=None) -> int:
        """Return how many ids a text has."""
        cdef Worker worker = self.take_worker()
        try:
            self.run(worker, text, finder)
            return worker.state.n_ids
        finally:
            self.give_back(worker)

    cdef int run_offsets(self, Worker worker, const TextView *view, Finder finder) noexcept:
        cdef tk_worker *w = &worker.state
        cdef const tk_finder *added = finder_of(finder)
        cdef const uint8_t *p = NULL
        cdef size_t n = 0
        cdef int status
        w.n_ids = 0
        if view.length < GIL_FREE_BYTES:
            status = tk_utf8_of(view, &w.text, &w.text_capacity, &p, &n)
            return tk_encode_offsets(&self.plan, w, added, p, n) if status == TK_OK else status
        with nogil:
            status = tk_utf8_of(view, &w.text, &w.text_capacity, &p, &n)
            if status == TK_OK:
                status = tk_encode_offsets(&self.plan, w, added, p, n)
        return status

    def encode_part(self, bytes text not None, Finder finder, bint is_continuation, bint has_next) -> list:
        """Return the ids of a chunk of a text: one that continues earlier text, or that more text follows."""
        cdef Worker worker = self.take_worker()
        cdef tk_worker *w = &worker.state
        cdef const tk_finder *added = finder_of(finder)
        cdef TextView view
        cdef size_t at = 0, n
        cdef int status
        text = view_text(text, &view)
        n = view.length
        w.n_ids = 0
        try:
            while at < n:
                w.is_continuation, w.has_next = is_continuation, has_next
                with nogil:
                    status = tk_encode(
                        &self.plan, w, added, <const uint8_t *> view.data, n, &at, at + SLICE_BYTES
                    )
                check(status)
                PyErr_CheckSignals()
            return self.as_list(w.ids, w.n_ids)
        finally:
            self.give_back(worker)

    def cache_info(self) -> dict:
        """Return the sums of sizes and counts of the idle workers' caches."""
        cdef Worker worker
        totals = {"workers": 0, "words": 0, "own_words": 0, "long_words": 0, "misses": 0, "bytes": 0}
        for worker in self.idle_workers():
            totals["workers"] += 1
            totals["words"] += worker.state.cache.n_words
            totals["own_words"] += worker.state.cache.n_preloaded
            totals["long_words"] += worker.state.cache.n_long
            totals["misses"] += worker.state.cache.misses
            totals["bytes"] += tk_cache_memory(&worker.state.cache)
        return totals | {"max_words": self.max_words}


cdef inline Worker owned_worker(PyObject *worker):
    # Takes over the caller's reference.
    cdef Worker found = <Worker> worker
    Py_DECREF(found)
    return found


cdef inline PyObject *new_int(uint32_t value) except NULL:
    return PyLong_FromUnsignedLong(value)
