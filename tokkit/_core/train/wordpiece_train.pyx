"""Trains WordPiece by a score on counted words, without the GIL."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from tokkit._core.split cimport AddedMatcher, tk_added
from tokkit._core.train.training cimport (
    Spelling, Training, check, checked, read_arrays, read_sizes, tk_spelling, tk_state_array, write_arrays,
)
from tokkit._core.train.word_counts cimport WordCounts, tk_word_counts

from tokkit._core.train.training import check_tokens

cdef extern from "train/wordpiece_train.h" nogil:
    ctypedef enum tk_pair_score:
        TK_SCORE_PMI
        TK_SCORE_GAIN
    ctypedef struct tk_scored_merge:
        pass
    ctypedef struct tk_wordpiece_trainer:
        pass
    ctypedef struct tk_wordpiece_limits:
        size_t vocab_size
        int64_t min_frequency
        size_t n_prefix
        tk_pair_score score
        const char *folder
        const tk_added *forbidden
    tk_wordpiece_trainer *tk_wordpiece_trainer_new(tk_wordpiece_limits)
    void tk_wordpiece_trainer_free(tk_wordpiece_trainer *)
    int tk_wordpiece_trainer_token(tk_wordpiece_trainer *, const uint8_t *, size_t, uint32_t width)
    int tk_wordpiece_trainer_words(tk_wordpiece_trainer *, const tk_word_counts *, const tk_spelling *)
    int tk_wordpiece_trainer_run(tk_wordpiece_trainer *, size_t budget, int *done)
    const tk_scored_merge *tk_wordpiece_trainer_merges(const tk_wordpiece_trainer *, size_t *n)
    const uint8_t *tk_wordpiece_trainer_tokens(const tk_wordpiece_trainer *, const uint64_t **ends, size_t *n)
    enum:
        TK_WORDPIECE_SIZES
        TK_WORDPIECE_ARRAYS
    void tk_wordpiece_state_sizes(const tk_wordpiece_trainer *, uint64_t *sizes)
    void tk_wordpiece_state_arrays(const tk_wordpiece_trainer *, tk_state_array *)
    int tk_wordpiece_state_begin(tk_wordpiece_trainer *, const uint64_t *sizes)
    int tk_wordpiece_state_end(tk_wordpiece_trainer *)


cdef class WordPieceTrainer(Training):
    """Training in slices, with the arguments of `BPETrainer`; `min_frequency` is at least 1.

    `by_gain` chooses merges by their gain in log-likelihood, else by mutual information.
    """

    cdef tk_wordpiece_trainer *trainer
    cdef bytes folder
    cdef AddedMatcher forbidden

    def __cinit__(self, WordCounts counts, list tokens not None, size_t vocab_size, int64_t min_frequency,
                  Spelling spelling not None, bint by_gain, bytes folder=None,
                  AddedMatcher forbidden=None):
        cdef tk_wordpiece_limits limits
        cdef const char *p
        cdef int status
        if min_frequency < 1:
            raise ValueError(f"min_frequency is {min_frequency}; it must be at least 1")
        check_tokens(tokens, spelling, vocab_size)
        limits.vocab_size, limits.min_frequency, limits.n_prefix = vocab_size, min_frequency, len(spelling.prefix)
        limits.score = TK_SCORE_GAIN if by_gain else TK_SCORE_PMI
        self.folder, self.forbidden = folder, forbidden  # the trainer points to them
        limits.folder, limits.forbidden = NULL, NULL
        if folder is not None:
            limits.folder = folder
        if forbidden is not None:
            limits.forbidden = &forbidden.tokens
        self.trainer = tk_wordpiece_trainer_new(limits)
        if self.trainer is NULL:
            raise MemoryError()
        for token, width in tokens:
            p = <const char *> (<bytes> token)
            check(tk_wordpiece_trainer_token(self.trainer, <const uint8_t *> p, len(token), width))
        if counts is None:
            self.done = True  # until a state is loaded
            return
        counts.claim_open()
        with nogil:
            counts.seal()
            status = tk_wordpiece_trainer_words(self.trainer, &counts.table, &spelling.table)
            counts.empty()
        counts.release()
        check(status)

    def __dealloc__(self):
        tk_wordpiece_trainer_free(self.trainer)

    cdef int visit(self, size_t budget, int *ended) noexcept nogil:
        return tk_wordpiece_trainer_run(self.trainer, budget, ended)

    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept:
        return tk_wordpiece_trainer_tokens(self.trainer, ends, n)

    def merges(self):
        """Return (left, right, result, count, count of left, of right, of all tokens) of all merges, packed int64."""
        cdef const tk_scored_merge *merges
        cdef size_t n
        self.claim()
        try:
            merges = tk_wordpiece_trainer_merges(self.trainer, &n)
            return PyBytes_FromStringAndSize(<const char *> merges, n * sizeof(tk_scored_merge)) if n else b""
        finally:
            self.release()

    def save(self, file):
        """Write the state to a binary file: sizes and arrays, in the order and the types of this machine."""
        cdef tk_state_array arrays[TK_WORDPIECE_ARRAYS]
        sizes = bytearray(TK_WORDPIECE_SIZES * sizeof(uint64_t))
        self.claim()
        try:
            tk_wordpiece_state_sizes(self.trainer, <uint64_t *> <char *> sizes)
            file.write(sizes)
            tk_wordpiece_state_arrays(self.trainer, arrays)
            write_arrays(file, arrays, TK_WORDPIECE_ARRAYS)
        finally:
            self.release()

    def load(self, read, size_t size):
        """Continue from a state of `size` bytes; `read(buffer)` fills a buffer. ValueError for an invalid state."""
        cdef tk_state_array arrays[TK_WORDPIECE_ARRAYS]
        cdef size_t total = 0
        cdef int status
        self.claim()
        try:
            sizes = read_sizes(read, TK_WORDPIECE_SIZES, size)
            checked(tk_wordpiece_state_begin(self.trainer, <const uint64_t *> <char *> sizes))
            tk_wordpiece_state_arrays(self.trainer, arrays)
            read_arrays(read, arrays, TK_WORDPIECE_ARRAYS, &total, size)
            with nogil:
                status = tk_wordpiece_state_end(self.trainer)
            checked(status)
            self.done = False
        finally:
            self.release()
