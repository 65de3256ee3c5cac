# A SentencePiece model's pieces and rules in, `WholeEncoder` out: text → ids, each text as a whole.
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from tokkit._core.special cimport SpecialMatcher, tk_special, tk_special_find

from tokkit._core.text import to_utf8

from tokkit._core.sp_normalize cimport check_normalized

cdef extern from "base.h":
    int TK_OK, TK_NO_MEMORY, TK_BAD_INPUT

KINDS = {"unigram": TK_SP_UNIGRAM, "bpe": TK_SP_BPE, "word": TK_SP_WORD, "char": TK_SP_CHAR}


cdef class Worker:
    # What encoding one text after another takes.
    cdef tk_sp_worker state

    def __dealloc__(self):
        tk_sp_worker_free(&self.state)


cdef class WholeEncoder:
    """One model of any kind. Immutable, and safe to share between threads; ValueError for what is no charsmap.

    Added tokens that a matcher finds cut a text, and what stands between them is a text of its own.
    """

    cdef tk_sp_whole model
    cdef object owners
    cdef list idle

    def __cinit__(
        self, str kind not None, bytes blob not None, const int64_t[::1] offsets, const float[::1] scores,
        const uint8_t[::1] types, *, bytes charsmap not None, bint add_prefix, bint remove_extra, bint escape,
        bint suffix, bint byte_fallback
    ):
        cdef tk_own_tokens own, symbols
        cdef tk_sp_options options
        cdef const char *reason = NULL
        cdef const uint8_t *p = <const uint8_t *> <const char *> charsmap
        cdef size_t n = types.shape[0], n_map = len(charsmap)
        cdef int status
        if not n or scores.shape[0] != types.shape[0] or offsets.shape[0] != types.shape[0] + 1:
            raise ValueError("scores and types have one entry for each piece, and there is at least one")
        self.idle = []
        self.owners = blob, offsets, scores, types
        self.model.kind, self.model.byte_fallback = KINDS[kind], byte_fallback
        self.model.scores, self.model.types, self.model.n_pieces = &scores[0], &types[0], n
        for_text = np.isin(types, (TK_SP_NORMAL, TK_SP_USER_DEFINED, TK_SP_UNUSED))
        if kind == "unigram":
            for_text &= np.asarray(types) != TK_SP_UNUSED
        cdef const uint8_t[::1] foreign = (~for_text).astype(np.uint8)
        cdef const uint8_t[::1] others = (np.asarray(types) != TK_SP_USER_DEFINED).astype(np.uint8)
        own.blob, own.offsets, own.n_ids = <const uint8_t *> <const char *> blob, &offsets[0], n
        own.foreign = &foreign[0]
        symbols = own
        symbols.foreign = &others[0]
        options.add_prefix, options.remove_extra, options.escape = add_prefix, remove_extra, escape
        options.suffix, options.one_byte_space = suffix, False
        for id_ in np.flatnonzero(np.asarray(types) == TK_SP_BYTE).tolist():
            self.model.bytes[int(blob[offsets[id_] + 3:offsets[id_] + 5], 16)] = id_
        with nogil:
            status = tk_sp_whole_init(&self.model, &own, p, n_map, options, &symbols, &reason)
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory for the pieces")
        if status == TK_BAD_INPUT:
            raise ValueError((<bytes> reason).decode())

    def __dealloc__(self):
        tk_sp_whole_free(&self.model)

    cdef Worker take_worker(self):
        try:
            return self.idle.pop()
        except IndexError:
            return Worker()

    cdef object run(self, Worker worker, bytes text, SpecialMatcher matcher):
        # Append the tokens of a text; where it is aligned, their spans become those in the text itself.
        cdef tk_sp_worker *w = &worker.state
        cdef const tk_special *specials = &matcher.special if matcher is not None else NULL
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef size_t n = len(text)
        cdef int status
        with nogil:
            status = encode_parts(&self.model, w, specials, p, n)
        check_normalized(status)

    def encode(self, text, SpecialMatcher matcher=None) -> list:
        """Return the ids of a text as a list."""
        return self.encode_array(text, matcher).tolist()

    def encode_array(self, text, SpecialMatcher matcher=None):
        """Return the ids of a text as a uint32 array."""
        cdef Worker worker = self.take_worker()
        worker.state.n, worker.state.text.aligns = 0, False
        self.run(worker, to_utf8(text), matcher)
        ids = copied_ids(&worker.state)
        self.idle.append(worker)
        return ids

    def count(self, text, SpecialMatcher matcher=None) -> int:
        """Return how many ids a text has."""
        return len(self.encode_array(text, matcher))

    def encode_several(self, list texts, SpecialMatcher matcher=None):
        """Return (ids of all texts in one array, how many each has, int64)."""
        cdef Worker worker = self.take_worker()
        worker.state.n, worker.state.text.aligns = 0, False
        ends = []
        for text in texts:
            self.run(worker, to_utf8(text), matcher)
            ends.append(worker.state.n)
        ids = copied_ids(&worker.state)
        self.idle.append(worker)
        return ids, np.diff(np.array([0, *ends], dtype=np.int64))

    def aligned(self, bytes text not None, SpecialMatcher matcher=None):
        """Return (ids, spans) of UTF-8: uint32 (n,), int64 (n, 2) in its bytes, as SentencePiece has them."""
        cdef Worker worker = self.take_worker()
        worker.state.n, worker.state.text.aligns = 0, True
        self.run(worker, text, matcher)
        found = copied_ids(&worker.state), copied_spans(&worker.state)
        self.idle.append(worker)
        return found

    def segments(self, bytes text not None):
        """Return (normalized text, ids, spans in it, origins): where each of its bytes comes from, uint32 (n + 1,)."""
        cdef Worker worker = self.take_worker()
        cdef tk_sp_worker *w = &worker.state
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef size_t n = len(text)
        cdef int status
        cdef uint32_t[::1] out
        w.n, w.text.aligns = 0, True
        with nogil:
            status = tk_sp_whole_encode(&self.model, w, p, n)
        check_normalized(status)
        origins = np.empty(w.text.n + 1, dtype=np.uint32)
        out = origins
        memcpy(&out[0], w.text.origin, (w.text.n + 1) * sizeof(uint32_t))
        found = (<const char *> w.text.text)[:w.text.n], copied_ids(w), copied_spans(w), origins
        self.idle.append(worker)
        return found

    def cache_info(self) -> dict:
        """Return sizes and counts of the caches: there are none."""
        return {"workers": len(self.idle), "words": 0, "most_words": 0, "misses": 0}


cdef object copied_ids(const tk_sp_worker *w):
    cdef uint32_t[::1] out
    ids = np.empty(w.n, dtype=np.uint32)
    if w.n:
        out = ids
        memcpy(&out[0], w.ids, w.n * sizeof(uint32_t))
    return ids


cdef object copied_spans(const tk_sp_worker *w):
    cdef int64_t[:, ::1] out
    spans = np.empty((w.n, 2), dtype=np.int64)
    if w.n:
        out = spans
        memcpy(&out[0, 0], w.spans, 2 * w.n * sizeof(int64_t))
    return spans


cdef int encode_parts(
    const tk_sp_whole *m, tk_sp_worker *w, const tk_special *specials, const uint8_t *p, size_t n
) noexcept nogil:
    # Added tokens cut the text, and each part is a text of its own.
    cdef size_t at = 0, start = 0, end = 0, k
    cdef uint32_t id_ = 0
    cdef int status = TK_OK
    while at < n and status == TK_OK:
        if specials == NULL or not tk_special_find(specials, p, n, at, &start, &end, &id_):
            start = end = n
        if at < start:
            k = w.n
            status = tk_sp_whole_encode(m, w, p + at, start - at)
            if status == TK_OK and w.text.aligns:
                for k in range(2 * k, 2 * w.n):
                    w.spans[k] = <int64_t> (at + w.text.origin[w.spans[k]])
        if start < n and status == TK_OK:
            status = tk_sp_append(w, id_, start, end)
        at = end
    return status
