"""The models of tokenizer.json over a text in pretokens: ids, spans and words, in one call of C per text."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tokkit._core.align cimport AlignedText, check_stage, tk_aligned
from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY, TK_OK, TK_TOO_LARGE, TK_UNENCODABLE
from tokkit._core.token_tables cimport (
    tk_find_merges, tk_own_tokens, tk_token_index, tk_token_index_build, tk_token_index_free,
)

import numpy as np

cdef extern from "encode/model.h" nogil:
    uint32_t TK_NO_ID
    ctypedef struct tk_model_options:
        uint32_t unknown
        bint byte_fallback, whole_piece, fuses, drops_unknown, suffix_apart
        const uint8_t *prefix
        const uint8_t *suffix
        size_t n_prefix, n_suffix
        const uint32_t *merges
        size_t n_merges
        double dropout
        const double *scores
        double least_score
        size_t most_characters
        uint32_t first_byte
    void tk_model_worker_free(tk_model_worker *w)
    int tk_char_bpe_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit)
    int tk_unigram_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit)
    int tk_wordpiece_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit)
    int tk_wordlevel_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit)
    int tk_longest_match_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit)
    int tk_bytes_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit)
    void tk_model_free(tk_model *m)
    uint32_t tk_trie_find(const tk_token_trie *trie, const uint8_t *bytes, size_t n)
    int tk_model_encode(const tk_model *model, tk_model_worker *w, const tk_aligned *text)

ctypedef int (*build_model)(tk_model *, const tk_own_tokens *, const tk_model_options *, int64_t *) noexcept nogil

new_array, IDS, SPANS, WORDS = np.empty, np.dtype(np.uint32), np.dtype(np.int64), np.dtype(np.int32)

cdef enum:
    KEEP_MODEL_BYTES = 1 << 22  # a scratch array larger than this is freed after the call


cdef class ModelWorker:
    # Scratch memory for one thread at a time.
    cdef tk_model_worker state

    def __cinit__(self):
        memset(&self.state, 0, sizeof(self.state))

    def __dealloc__(self):
        tk_model_worker_free(&self.state)


cdef build_model builder_of(str kind) except NULL:
    if kind == "bpe":
        return tk_char_bpe_build
    if kind == "unigram":
        return tk_unigram_build
    if kind == "wordpiece":
        return tk_wordpiece_build
    if kind == "wordlevel":
        return tk_wordlevel_build
    if kind == "longest_match":
        return tk_longest_match_build
    if kind == "bytes":
        return tk_bytes_build
    raise ValueError(f"kind is {kind!r}; it must be bpe, unigram, wordpiece, wordlevel, longest_match or bytes")


cdef const uint8_t *checked_added(const uint8_t[::1] added_ids, size_t n_ids) except? NULL:
    if <size_t> added_ids.shape[0] != n_ids:
        raise ValueError(f"added_ids has {added_ids.shape[0]} entries; it must have one for each of {n_ids} ids")
    return &added_ids[0] if n_ids else NULL


cdef class PieceEncoder:
    """A model's tables: immutable for callers; only one thread at a time uses each scratch memory inside.

    `kind` is "bpe", "unigram", "wordpiece", "wordlevel", "longest_match" or "bytes"; `blob`, `offsets` (int64,
    n_ids + 1) are a packed vocabulary, of which `added_ids` (uint8, n_ids) marks the ids that only added tokens have,
    not the model. `options`, by name: unknown (id or None), byte_fallback, whole_piece, fuses, drops_unknown, prefix
    and suffix (bytes), merges (uint32, (n, 3)), dropout, suffix_apart, scores (float64), least_score, most_characters,
    first_byte.
    ValueError(number): the id of a token that has the same bytes as another, or -1 - the number of a merge that does
    not fit.
    """

    def __cinit__(self, str kind, bytes blob, const int64_t[::1] offsets, const uint8_t[::1] added_ids, dict options):
        cdef tk_own_tokens own
        cdef tk_model_options o
        cdef const uint32_t[:, ::1] merges
        cdef const double[::1] scores
        cdef bytes prefix = options.get("prefix", b""), suffix = options.get("suffix", b"")
        cdef int64_t culprit = -1
        cdef build_model build = builder_of(kind)
        cdef int status
        memset(&o, 0, sizeof(o))
        own.blob = <const uint8_t *> <const char *> blob
        own.offsets = &offsets[0]
        own.n_ids = offsets.shape[0] - 1
        own.excluded = checked_added(added_ids, own.n_ids)
        unknown = options.get("unknown")
        o.unknown = TK_NO_ID if unknown is None else unknown
        o.byte_fallback = options.get("byte_fallback", False)
        o.whole_piece = options.get("whole_piece", False)
        o.fuses = options.get("fuses", False)
        o.drops_unknown = options.get("drops_unknown", False)
        o.suffix_apart = options.get("suffix_apart", False)
        o.prefix, o.n_prefix = <const uint8_t *> <const char *> prefix, len(prefix)
        o.suffix, o.n_suffix = <const uint8_t *> <const char *> suffix, len(suffix)
        o.dropout = options.get("dropout", 0.0)
        o.least_score = options.get("least_score", 0.0)
        o.most_characters = options.get("most_characters", 0)
        o.first_byte = options.get("first_byte", 0)
        if options.get("merges") is not None:
            merges = options["merges"]
            o.n_merges = merges.shape[0]
            if merges.shape[1] != 3:
                raise ValueError(f"merges has {merges.shape[1]} columns; it must have 3: left, right and result")
            o.merges = &merges[0, 0] if o.n_merges else NULL
        if options.get("scores") is not None:
            scores = options["scores"]
            if scores.shape[0] != <Py_ssize_t> own.n_ids:
                raise ValueError(f"scores has {scores.shape[0]} entries; it must have one for each of {own.n_ids} ids")
            o.scores = &scores[0] if own.n_ids else NULL
        self.drops = o.dropout > 0
        self.owners = (prefix, suffix, options.get("merges"), options.get("scores"))
        self.idle = []
        with nogil:
            status = build(&self.model, &own, &o, &culprit)
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory for the tables of this vocabulary")
        if status == TK_TOO_LARGE:
            raise OverflowError(
                "the vocabulary is too large; the tokens of a model must have less than 2**32 bytes in total, and ids "
                "below 2**23"
            )
        if status == TK_BAD_INPUT:
            raise ValueError(culprit)

    def __dealloc__(self):
        tk_model_free(&self.model)

    def encode(self, AlignedText text not None, seed=None):
        """Return (ids, spans, words): uint32 (n,), int64 (n, 2) in bytes of the original, int32 (n,).

        With a seed, 0 up to 2^64, the model's dropout is on. LookupError(number): that pretoken has an unknown
        character, and the model has no unknown token.
        """
        cdef ModelWorker worker
        cdef tk_model_worker *w
        cdef int status
        cdef uint64_t random = 0 if seed is None else seed
        try:
            worker = self.idle.pop()
        except IndexError:
            worker = ModelWorker()
        w = &worker.state
        w.drops = self.drops and seed is not None
        w.random = random
        with nogil:
            status = tk_model_encode(&self.model, w, &text.state)
        try:
            if status == TK_UNENCODABLE:
                raise LookupError(w.failed)
            check_stage(status)
            return (
                filled(new_array(w.n, IDS), w.ids, w.n * sizeof(uint32_t)),
                filled(new_array((w.n, 2), SPANS), w.spans, w.n * 2 * sizeof(int64_t)),
                filled(new_array(w.n, WORDS), w.words, w.n * sizeof(int32_t)),
            )
        finally:
            tk_model_worker_shrink(w, KEEP_MODEL_BYTES)
            self.idle.append(worker)

    @property
    def cuts_at_blanks(self) -> bool:
        """Whether, in BPE, U+2581 after another character begins a span that merges alone."""
        return self.model.cuts_at_blanks

    @property
    def falls_back(self) -> bool:
        """Whether, in BPE, all characters that are not tokens become bytes, and no merge joins these."""
        return self.model.falls_back

    @property
    def may_drop(self) -> bool:
        """Whether characters can have no token: the characters after them in a pretoken then have other spans."""
        return self.model.unknown == TK_NO_ID and not self.model.falls_back and not self.model.by_bytes

    def has(self, bytes token not None) -> bool:
        """Return whether the model has a token of its own with these bytes."""
        return tk_trie_find(&self.model.trie, <const uint8_t *> <const char *> token, len(token)) != TK_NO_ID


def find_merges(
    bytes blob, const int64_t[::1] offsets, const uint8_t[::1] added_ids, bytes text, uint8_t between,
    size_t n_prefix, size_t n_merges
):
    """Return (ids of left, right and result of each merge of `text`, uint32 (n_merges, 3); how many were found).

    `text` has, for each merge, left, `between` and right, with a zero byte between merges. The result of a merge is
    left + right, without the first `n_prefix` bytes of right. The number found is less than n_merges if a merge is not
    two strings, or if one of its strings or its result is not a token.
    """
    cdef tk_own_tokens own
    cdef uint32_t[:, ::1] out
    cdef const uint8_t *p = <const uint8_t *> <const char *> text
    cdef size_t number = 0, n = len(text), twice = 0
    cdef int status = TK_OK
    cdef tk_token_index index
    own.blob = <const uint8_t *> <const char *> blob
    own.offsets = &offsets[0]
    own.n_ids = offsets.shape[0] - 1
    own.excluded = checked_added(added_ids, own.n_ids)
    merges = new_array((n_merges, 3), IDS)
    if n_merges:
        out = merges
        with nogil:
            status = tk_token_index_build(&index, &own, &twice)
            if status == TK_OK:
                status = tk_find_merges(&index, p, n, between, n_prefix, &out[0, 0], n_merges, &number)
            tk_token_index_free(&index)
    if status == TK_NO_MEMORY:
        raise MemoryError("not enough memory to look up the merges")
    return merges, number


cdef object filled(array, const void *source, size_t n_bytes):
    # Uses the buffer protocol directly: to make a typed memoryview takes as long as to process a short text.
    cdef Py_buffer out
    if n_bytes:
        PyObject_GetBuffer(array, &out, PyBUF_SIMPLE | PyBUF_WRITABLE)
        memcpy(out.buf, source, n_bytes)
        PyBuffer_Release(&out)
    return array
