"""The encoder of SentencePiece models of all four types: raw text → ids, or ids with spans."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from tokkit._core.base cimport TK_BAD_INPUT, TK_OK, TK_TOO_LARGE
from tokkit._core.encode.models cimport filled
from tokkit._core.encode.plan cimport (
    Worker, check, rule_of, tk_encode_normalized_sp, tk_max_grown, tk_offsets_spans, tk_plan_sp, tk_sp, tk_sp_scratch,
    tk_worker,
)
from tokkit._core.text cimport TextView, view_text

import numpy as np

cdef extern from "sentencepiece/sp_engine.h" nogil:
    int TK_SP_UNIGRAM, TK_SP_BPE, TK_SP_WORD, TK_SP_CHAR
    ctypedef struct tk_sp_source:
        const uint8_t *blob
        const int64_t *offsets
        const float *scores
        const uint8_t *kinds
        const uint8_t *charsmap
        size_t n_ids, n_charsmap
        uint32_t unknown
        int model, byte_fallback, dummy_prefix, remove_extra, escape, suffix
    int tk_sp_build(tk_sp *m, const tk_sp_source *source, const char **reason)
    void tk_sp_free(tk_sp *m)
    int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t max)

cdef enum:
    UNCACHED = -1

MODELS = {"unigram": TK_SP_UNIGRAM, "bpe": TK_SP_BPE, "word": TK_SP_WORD, "char": TK_SP_CHAR}


cdef class SentencePieceEncoder:
    """Normalizer and model of sentencepiece as a plan. Only one thread at a time uses each cache inside.

    `offsets` (n + 1,), `scores` (n,) and `kinds` (n,) describe the pieces in `blob`; `model` is one of `MODELS`;
    `word_marks` (uint8, n): 1 if the piece begins a word, 2 if a word begins after it. Texts may be cut by `rule`,
    the tables of a cut rule (csrc/split/cut_rule.h), or nowhere.
    """

    def __cinit__(
        self, bytes blob not None, const int64_t[::1] offsets, const float[::1] scores, const uint8_t[::1] kinds, *,
        bytes charsmap not None, uint32_t unknown, str model not None, bint byte_fallback, bint dummy_prefix,
        bint remove_extra, bint escape, bint suffix, size_t cache_units, const uint8_t[::1] word_marks, rule=None
    ):
        cdef tk_sp_source source
        cdef const char *reason = NULL
        cdef int status
        cdef size_t n = kinds.shape[0]
        if {scores.shape[0], word_marks.shape[0], offsets.shape[0] - 1} != {n} or unknown >= n:
            raise ValueError(
                f"there are {n} kinds, {scores.shape[0]} scores, {word_marks.shape[0]} word_marks and "
                f"{offsets.shape[0]} offsets, and unknown is {unknown}; there must be one score and mark for each "
                f"kind, one offset more, and unknown must be below {n}"
            )
        source.blob, source.offsets, source.scores, source.kinds = blob, &offsets[0], &scores[0], &kinds[0]
        source.charsmap, source.n_charsmap = charsmap, len(charsmap)
        source.n_ids, source.unknown, source.model, source.byte_fallback = n, unknown, MODELS[model], byte_fallback
        source.dummy_prefix, source.remove_extra = dummy_prefix, remove_extra
        source.escape, source.suffix = escape, suffix
        with nogil:
            status = tk_sp_build(&self.state, &source, &reason)
        if status == TK_BAD_INPUT:
            raise ValueError(f"the charsmap is not valid: {reason.decode()}")
        if status == TK_TOO_LARGE:
            raise ValueError(
                f"there are {n} pieces, or too many pairs of pieces that merge; this encoder takes at most 8 million "
                f"of each"
            )
        if status != TK_OK:
            raise MemoryError("not enough memory for the tables of the model")

        self.n_ids, self.max_words = n, cache_units
        self.owners = word_marks
        tk_plan_sp(&self.plan, &self.state, &word_marks[0], self.max_words)
        self.plan.part_rule = rule_of(&self.cuts, rule)
        self.splittable = rule is not None
        self.share_ints()

    def __dealloc__(self):
        tk_sp_free(&self.state)

    def encode_whole(self, text):
        """Return the ids of a text as `encode_array` does, but without cutting it and without the cache.

        benchmarks.bench_sentencepiece compares the two: on text in which no word is repeated, cutting and cache may
        take at most twice as long.
        """
        cdef Worker worker = self.take_worker()
        try:
            worker.state.sp.uncached = <size_t> UNCACHED
            self.run(worker, text, None)
            return self.as_array(worker)
        finally:
            worker.state.sp.uncached = 0
            self.give_back(worker)

    def segments(self, bytes text not None):
        """Return (normalized, ids, spans, origin) of UTF-8: bytes with spaces as U+2581; uint32 (n,); int64 (n, 2) in
        them; and uint32 (bytes + 1,), the offset in the text that each of these bytes comes from.

        If a character becomes several byte pieces, all but the last have an empty span at its start.
        """
        cdef Worker worker = self.take_worker()
        cdef tk_worker *w = &worker.state
        cdef TextView view
        cdef int status
        cdef int64_t[:, ::1] moved
        text = view_text(text, &view)
        w.n_ids = 0
        try:
            with nogil:
                status = tk_encode_normalized_sp(&self.plan, w, <const uint8_t *> view.data, view.length)
            check(status)
            ids = filled(np.empty(w.n_ids, dtype=np.uint32), w.ids, w.n_ids * sizeof(uint32_t))
            spans = filled(np.empty((w.n_ids, 2), dtype=np.int64), tk_offsets_spans(w), 2 * w.n_ids * sizeof(int64_t))
            moved = spans
            normalized, origin = self.unescaped(w.sp, &moved[0, 0] if w.n_ids else NULL, 2 * w.n_ids)
            return normalized, ids, spans, origin
        finally:
            self.give_back(worker)

    cdef object unescaped(self, tk_sp_scratch *w, int64_t *spans, size_t n_spans):
        # The buffer with its spaces as U+2581, and the origins of its bytes; the spans become spans of this text.
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
        for k in range(n_spans):
            spans[k] = moved[spans[k]]
        return normalized[:at].tobytes(), origin

    def normalize(self, bytes text not None):
        """Return a text as the model normalizes it, with spaces as U+2581."""
        cdef Worker worker = self.take_worker()
        cdef tk_sp_scratch *w = worker.state.sp
        cdef TextView view
        text = view_text(text, &view)
        try:
            check(
                tk_sp_prepare(
                    &self.state, w, <const uint8_t *> view.data, view.length, tk_max_grown(&self.plan, view.length)
                )
            )
            return self.unescaped(w, NULL, 0)[0]
        finally:
            w.aligned = False
            self.give_back(worker)

    def build_steps(self) -> int:
        """Return how many bytes of pieces were read to find the merges: for BPE, at most twice the bytes of all
        pieces.
        """
        return self.state.steps
