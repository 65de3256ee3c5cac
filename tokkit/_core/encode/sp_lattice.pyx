"""The lattice of a normalized text by a SentencePiece model: n-best, samples, entropy, BPE with dropout."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from tokkit._core.base cimport TK_OK, TK_TOO_LARGE
from tokkit._core.encode.plan cimport tk_sp, tk_sp_scratch
from tokkit._core.encode.sp_engine cimport SentencePieceEncoder

import time

import numpy as np

cdef extern from "sentencepiece/sp_lattice.h" nogil:
    ctypedef struct tk_sp_token:
        uint32_t id
        uint32_t start
        uint32_t end
    ctypedef struct tk_sp_tokens "tk_sp_scratch":
        tk_sp_token *tokens
        size_t n_tokens, tokens_capacity
    ctypedef struct tk_sp_rules "tk_sp":
        uint32_t unknown
        uint32_t bytes_ "bytes"[256]
        int byte_fallback, escape
    ctypedef struct tk_sp_arc:
        uint32_t start, end, id
        float score
    ctypedef struct tk_sp_lattice:
        tk_sp_arc *arcs
        double *sums
    ctypedef struct tk_sp_way:
        uint32_t arc, next
        double total, so_far
    ctypedef struct tk_sp_search:
        tk_sp_way *ways
        uint32_t *found
        size_t n_found
    int tk_sp_lattice_build(tk_sp_lattice *lattice, const tk_sp *m, const uint8_t *p, size_t n)
    void tk_sp_lattice_free(tk_sp_lattice *lattice)
    void tk_sp_lattice_sum(tk_sp_lattice *lattice, double alpha)
    double tk_sp_lattice_entropy(const tk_sp_lattice *lattice, double alpha, double *scratch)
    size_t tk_sp_lattice_sample(const tk_sp_lattice *lattice, double alpha, uint64_t *random, uint32_t *path)
    int tk_sp_lattice_search(
        const tk_sp_lattice *lattice, tk_sp_search *search, size_t n, double alpha, uint64_t *random
    )
    void tk_sp_search_free(tk_sp_search *search)
    void tk_sp_scratch_free(tk_sp_scratch *w)
    int tk_sp_best(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, float *score)
    int tk_sp_merge(
        const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, double dropout, uint64_t *random
    )

new_array, IDS, SPANS = np.empty, np.dtype(np.uint32), np.dtype(np.int64)
cdef bytes SPACE = "\u2581".encode()


cdef class NormalizedText:
    # A normalized text as it is in the engine's buffer.
    cdef SentencePieceEncoder encoder
    cdef bytes form

    def __cinit__(self, SentencePieceEncoder encoder not None, bytes normalized not None):
        self.encoder = encoder
        self.form = normalized.replace(SPACE, b" ") if encoder.state.escape else normalized

    cdef object arrays(self, const tk_sp_token *tokens, size_t n):
        # Ids, and spans in the normalized text, where spaces have three bytes.
        cdef const uint8_t *p = <const uint8_t *> <const char *> self.form
        cdef size_t k, at = 0, end, wider = 2 if self.encoder.state.escape else 0
        cdef int64_t place = 0
        cdef int64_t *out
        cdef Py_buffer id_view, span_view
        ids, spans = new_array(n, IDS), new_array((n, 2), SPANS)
        PyObject_GetBuffer(ids, &id_view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        PyObject_GetBuffer(spans, &span_view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        out = <int64_t *> span_view.buf
        for k in range(2 * n):
            end = tokens[k // 2].end if k % 2 else tokens[k // 2].start
            while at < end:
                place += 1 + (wider if p[at] == c" " else 0)
                at += 1
            out[k] = place
        for k in range(n):
            (<uint32_t *> id_view.buf)[k] = tokens[k].id
        PyBuffer_Release(&id_view)
        PyBuffer_Release(&span_view)
        return ids, spans

    cdef object tokens(self, tk_sp_tokens *w):
        # The tokens of the model: neighbouring unknown ones become one.
        cdef const tk_sp_rules *rules = <const tk_sp_rules *> &self.encoder.state
        cdef tk_sp_token *last = NULL
        cdef size_t k, n = 0
        for k in range(w.n_tokens):
            if (
                last is not NULL and last.id == rules.unknown and w.tokens[k].id == rules.unknown
                and not rules.byte_fallback
            ):
                last.end = w.tokens[k].end
                continue
            last = w.tokens + n
            last[0] = w.tokens[k]
            n += 1
        return self.arrays(w.tokens, n)

    def best(self):
        """Return (ids, spans, score) of the best path, found as the encoder finds it."""
        cdef tk_sp_scratch w
        cdef float score = 0
        cdef int status
        cdef const uint8_t *p = self.form
        cdef size_t n = len(self.form)
        memset(&w, 0, sizeof(w))
        try:
            with nogil:
                status = tk_sp_best(&self.encoder.state, &w, p, n, &score)
            check_lattice(status)
            return *self.tokens(<tk_sp_tokens *> &w), score
        finally:
            tk_sp_scratch_free(&w)

    def merge(self, double dropout, uint64_t seed):
        """Return (ids, spans) of BPE; each merge is skipped with probability `dropout`."""
        cdef tk_sp_scratch w
        cdef int status
        cdef const uint8_t *p = self.form
        cdef size_t n = len(self.form)
        memset(&w, 0, sizeof(w))
        try:
            with nogil:
                status = tk_sp_merge(&self.encoder.state, &w, p, n, dropout, &seed)
            check_lattice(status)
            return self.tokens(<tk_sp_tokens *> &w)
        finally:
            tk_sp_scratch_free(&w)


cdef class Lattice(NormalizedText):
    """The lattice of a normalized text by a Unigram model: all its paths. A path is (ids, spans, score).

    ids are uint32 (n,), spans int64 (n, 2) in bytes of the normalized text.
    """

    cdef tk_sp_lattice state
    cdef double alpha
    cdef tk_sp_token *made    # the tokens of a path, and its arcs
    cdef uint32_t *path

    def __cinit__(self, SentencePieceEncoder encoder not None, bytes normalized not None):
        cdef const uint8_t *p = self.form
        cdef size_t n = len(self.form)
        cdef int status
        self.alpha = float("nan")
        with nogil:
            status = tk_sp_lattice_build(&self.state, &encoder.state, p, n)
        check_lattice(status)
        self.made = <tk_sp_token *> PyMem_Malloc((3 * n + 1) * sizeof(tk_sp_token))  # a space has three bytes
        self.path = <uint32_t *> PyMem_Malloc((3 * n + 1) * sizeof(uint32_t))
        if self.made is NULL or self.path is NULL:
            raise MemoryError

    def __dealloc__(self):
        tk_sp_lattice_free(&self.state)
        PyMem_Free(self.made)
        PyMem_Free(self.path)

    cdef size_t fill(self, size_t count, bint backwards) noexcept:
        # The tokens of the path, from its first arc to its last; returns their number.
        cdef const tk_sp_rules *rules = <const tk_sp_rules *> &self.encoder.state
        cdef const uint8_t *p = <const uint8_t *> <const char *> self.form
        cdef const uint8_t *spelt
        cdef const tk_sp_arc *arc
        cdef tk_sp_token *last = NULL
        cdef size_t k, i, n = 0, width
        for k in range(count):
            arc = self.state.arcs + self.path[count - 1 - k if backwards else k]
            width = 1
            spelt = NULL
            if arc.id == rules.unknown and rules.byte_fallback:
                spelt, width = p + arc.start, arc.end - arc.start
                if rules.escape and width == 1 and spelt[0] == c" ":
                    spelt, width = <const uint8_t *> <const char *> SPACE, 3
            elif last is not NULL and last.id == rules.unknown and arc.id == rules.unknown:
                last.end = arc.end
                continue
            for i in range(width):
                last = self.made + n
                last.id = arc.id if spelt is NULL else rules.bytes_[spelt[i]]
                last.start, last.end = arc.start, arc.start
                n += 1
            last.end = arc.end
        return n

    cdef tuple way(self, size_t count, bint backwards, bint ids_only):
        # (ids, spans) of the path; or its ids as a list, and None.
        cdef size_t k, n = self.fill(count, backwards)
        if not ids_only:
            return self.arrays(self.made, n)
        for k in range(n):
            self.path[k] = self.made[k].id
        return self.encoder.as_list(self.path, n), None

    cdef object sum_up(self, double alpha):
        if alpha != self.alpha:
            with nogil:
                tk_sp_lattice_sum(&self.state, alpha)
            self.alpha = alpha

    cdef object ways(self, tk_sp_search *search, double until=float("inf"), bint ids_only=False):
        cdef size_t k, at, count
        found = []
        for k in range(search.n_found):
            if time.monotonic() > until:
                raise TimeoutError(f"{k} of {search.n_found} segmentations were made in time")
            at = search.found[k]
            total, so_far, count = search.ways[at].total, search.ways[at].so_far, 0
            while search.ways[at].arc != <uint32_t> -1:
                self.path[count] = search.ways[at].arc
                count += 1
                at = search.ways[at].next
            found.append((*self.way(count, False, ids_only), total, so_far))
        return found

    def nbest(self, size_t n, double seconds=float("inf"), *, bint ids_only=False):
        """Return up to n paths, the best first. TimeoutError after so many seconds.

        With `ids_only`, ids are a list, and spans None.
        """
        cdef tk_sp_search search
        cdef int status
        cdef double until = time.monotonic() + seconds
        memset(&search, 0, sizeof(search))
        try:
            with nogil:
                status = tk_sp_lattice_search(&self.state, &search, n, 1, NULL)
            check_lattice(status)
            return [(ids, spans, total) for ids, spans, total, _ in self.ways(&search, until, ids_only)]
        finally:
            tk_sp_search_free(&search)

    def sample(self, double alpha, uint64_t seed, size_t n, *, bint ids_only=False):
        """Return n random paths; the score is the logarithm of their probability. `ids_only` is as in `nbest`."""
        cdef size_t length = len(self.form), k, count
        cdef double score
        self.sum_up(alpha)
        found = []
        for _ in range(n):
            with nogil:
                count = tk_sp_lattice_sample(&self.state, alpha, &seed, self.path)
                score = -self.state.sums[length]
                for k in range(count):
                    score += alpha * self.state.arcs[self.path[k]].score
            found.append((*self.way(count, True, ids_only), score))
        return found

    def sample_distinct(self, double alpha, uint64_t seed, size_t n):
        """Return up to n paths drawn without replacement, as (ids, spans, noisy score, log-probability)."""
        cdef tk_sp_search search
        cdef int status
        memset(&search, 0, sizeof(search))
        self.sum_up(alpha)
        try:
            with nogil:
                status = tk_sp_lattice_search(&self.state, &search, n, alpha, &seed)
            check_lattice(status)
            return self.ways(&search)
        finally:
            tk_sp_search_free(&search)

    def total(self, double alpha):
        """Return the logarithm of the sum of exp(alpha × score) over all paths."""
        self.sum_up(alpha)
        return self.state.sums[len(self.form)]

    def entropy(self, double alpha):
        """Return the entropy of the paths, in nats; the probability of each is proportional to exp(alpha × score)."""
        cdef double[::1] scratch = np.empty(len(self.form) + 1)
        cdef double result
        self.sum_up(alpha)
        with nogil:
            result = tk_sp_lattice_entropy(&self.state, alpha, &scratch[0])
        return result


cdef object check_lattice(int status):
    if status == TK_TOO_LARGE:
        raise ValueError("the text is too long, or has too many segmentations of the same score, to list them")
    if status != TK_OK:
        raise MemoryError("not enough memory for the segmentations of a text")
