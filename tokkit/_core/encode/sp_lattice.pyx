"""The lattice of a normalized text by a SentencePiece model: n-best, samples, entropy, BPE with dropout."""

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

SPACE = "\u2581".encode()


cdef class NormalizedText:
    # A normalized text as it is in the engine's buffer, and the offset of each of its bytes there.
    cdef SentencePieceEncoder encoder
    cdef bytes form
    cdef object places

    def __cinit__(self, SentencePieceEncoder encoder not None, bytes normalized not None):
        self.encoder = encoder
        self.form = normalized.replace(SPACE, b" ") if encoder.state.escape else normalized
        widths = np.where((np.frombuffer(self.form, np.uint8) == 0x20) & bool(encoder.state.escape), len(SPACE), 1)
        self.places = np.append(0, np.cumsum(widths)).astype(np.int64)

    cdef object tokens(self, tk_sp_tokens *w):
        # The tokens of the model: neighbouring unknown ones become one.
        cdef const tk_sp_rules *rules = <const tk_sp_rules *> &self.encoder.state
        cdef size_t k
        cdef int64_t last = -1
        cdef list ids = [], spans = []
        for k in range(w.n_tokens):
            if last == rules.unknown and w.tokens[k].id == rules.unknown and not rules.byte_fallback:
                spans[len(spans) - 1][1] = w.tokens[k].end
                continue
            last = w.tokens[k].id
            ids.append(last)
            spans.append([w.tokens[k].start, w.tokens[k].end])
        return np.array(ids, dtype=np.uint32), self.places[np.array(spans, dtype=np.int64).reshape((len(spans), 2))]

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

    def __cinit__(self, SentencePieceEncoder encoder not None, bytes normalized not None):
        cdef const uint8_t *p = self.form
        cdef size_t n = len(self.form)
        cdef int status
        self.alpha = float("nan")
        with nogil:
            status = tk_sp_lattice_build(&self.state, &encoder.state, p, n)
        check_lattice(status)

    def __dealloc__(self):
        tk_sp_lattice_free(&self.state)

    cdef object way(self, list path):
        # From the first arc to the last.
        cdef const tk_sp_rules *rules = <const tk_sp_rules *> &self.encoder.state
        cdef list ids = [], spans = []
        cdef const tk_sp_arc *arc
        cdef size_t number
        cdef int64_t last = -1
        for number in path:
            arc = self.state.arcs + number
            if arc.id == rules.unknown and rules.byte_fallback:
                spelt = self.form[arc.start : arc.end]
                if rules.escape and spelt == b" ":
                    spelt = SPACE
                ids += [rules.bytes_[byte] for byte in spelt]
                spans += [[arc.start, arc.start]] * (len(spelt) - 1) + [[arc.start, arc.end]]
            elif last == rules.unknown and arc.id == rules.unknown:
                spans[len(spans) - 1][1] = arc.end
            else:
                ids.append(arc.id)
                spans.append([arc.start, arc.end])
            last = arc.id
        return np.array(ids, dtype=np.uint32), self.places[np.array(spans, dtype=np.int64).reshape((len(spans), 2))]

    cdef object sum_up(self, double alpha):
        if alpha != self.alpha:
            with nogil:
                tk_sp_lattice_sum(&self.state, alpha)
            self.alpha = alpha

    cdef object ways(self, tk_sp_search *search, double until=float("inf")):
        cdef size_t k, at
        found = []
        for k in range(search.n_found):
            if time.monotonic() > until:
                raise TimeoutError(f"{k} of {search.n_found} segmentations were made in time")
            at = search.found[k]
            path, total, so_far = [], search.ways[at].total, search.ways[at].so_far
            while search.ways[at].arc != <uint32_t> -1:
                path.append(search.ways[at].arc)
                at = search.ways[at].next
            found.append((*self.way(path), total, so_far))
        return found

    def nbest(self, size_t n, double seconds=float("inf")):
        """Return up to n paths, the best first. TimeoutError after so many seconds."""
        cdef tk_sp_search search
        cdef int status
        cdef double until = time.monotonic() + seconds
        memset(&search, 0, sizeof(search))
        try:
            with nogil:
                status = tk_sp_lattice_search(&self.state, &search, n, 1, NULL)
            check_lattice(status)
            return [(ids, spans, total) for ids, spans, total, _ in self.ways(&search, until)]
        finally:
            tk_sp_search_free(&search)

    def sample(self, double alpha, uint64_t seed, size_t n):
        """Return n random paths; the score is the logarithm of their probability."""
        cdef size_t length = len(self.form), k, count
        cdef double score
        cdef uint32_t[::1] path = np.empty(length + 1, dtype=np.uint32)
        self.sum_up(alpha)
        found = []
        for _ in range(n):
            with nogil:
                count = tk_sp_lattice_sample(&self.state, alpha, &seed, &path[0])
                score = -self.state.sums[length]
                for k in range(count):
                    score += alpha * self.state.arcs[path[k]].score
            found.append((*self.way(list(path[:count])[::-1]), score))
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
