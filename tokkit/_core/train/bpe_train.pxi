# Trains BPE on counted words, without the GIL, and saves the state of a training.

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokkit._core.split cimport AddedMatcher, tk_added

cdef extern from "train/bpe_train.h" nogil:
    ctypedef struct tk_trained_merge:
        pass
    ctypedef struct tk_bpe_trainer:
        pass
    ctypedef struct tk_bpe_limits:
        size_t vocab_size
        int64_t min_frequency
        size_t max_length
        size_t n_prefix
        const char *folder
        const tk_added *forbidden
    tk_bpe_trainer *tk_bpe_trainer_new(tk_bpe_limits)
    void tk_bpe_trainer_free(tk_bpe_trainer *)
    int tk_bpe_trainer_token(tk_bpe_trainer *, const uint8_t *, size_t, uint32_t width, int mergeable)
    int tk_bpe_trainer_words(tk_bpe_trainer *, const tk_word_counts *, const tk_spelling *)
    int tk_bpe_trainer_run(tk_bpe_trainer *, size_t budget, int *done)
    const tk_trained_merge *tk_bpe_trainer_merges(const tk_bpe_trainer *, size_t *n, const int64_t **counts)
    const uint8_t *tk_bpe_trainer_tokens(const tk_bpe_trainer *, const uint64_t **ends, size_t *n)

cdef extern from "train/bpe_state.h" nogil:
    enum:
        TK_STATE_SIZES
        TK_STATE_ARRAYS
    void tk_bpe_state_sizes(const tk_bpe_trainer *, uint64_t *sizes)
    void tk_bpe_state_arrays(const tk_bpe_trainer *, tk_state_array *)
    size_t tk_bpe_state_positions(
        const tk_bpe_trainer *, size_t *level, size_t *entry, size_t *at, uint32_t *out, size_t room
    )
    int tk_bpe_state_begin(tk_bpe_trainer *, const uint64_t *sizes)
    int tk_bpe_state_lists(tk_bpe_trainer *, tk_state_array *positions)
    int tk_bpe_state_end(tk_bpe_trainer *)

cdef size_t POSITIONS_AT_ONCE = 1 << 20


cdef class BPETrainer(Training):
    """Training in slices, so that the caller can report progress and be interrupted between them.

    `tokens` are (bytes, symbols) in the order of their ids. A merge with the bytes of a token gets the token's id
    if it joins that many symbols; with 0 it never does. With a `spelling` symbols are its characters; else bytes, and
    the last 256 tokens are these. `counts` is closed by this; with None the training continues from a state (`load`).
    With a `folder` words and positions are in mapped files there. No merge makes a token that has a `forbidden` text in
    it. Only one thread at a time may use a training.
    """

    cdef tk_bpe_trainer *trainer
    cdef bytes folder
    cdef AddedMatcher forbidden

    def __cinit__(self, WordCounts counts, list tokens not None, size_t vocab_size, int64_t min_frequency,
                  size_t max_length, Spelling spelling=None, bytes folder=None, AddedMatcher forbidden=None):
        cdef tk_bpe_limits limits
        cdef const tk_spelling *spelt = NULL
        cdef const char *p
        cdef int status
        if max_length < 2:
            raise ValueError(f"max_length is {max_length}; it must be at least 2")
        check_tokens(tokens, spelling, vocab_size)
        limits.vocab_size, limits.min_frequency, limits.max_length = vocab_size, min_frequency, max_length
        limits.n_prefix = 0
        self.folder, self.forbidden = folder, forbidden  # the trainer points to them
        limits.folder, limits.forbidden = NULL, NULL
        if folder is not None:
            limits.folder = folder
        if forbidden is not None:
            limits.forbidden = &forbidden.tokens
        if spelling is not None:
            limits.n_prefix, spelt = len(spelling.prefix), &spelling.table
        self.trainer = tk_bpe_trainer_new(limits)
        if self.trainer is NULL:
            raise MemoryError()
        for token, width in tokens:
            p = <const char *> (<bytes> token)
            check(tk_bpe_trainer_token(self.trainer, <const uint8_t *> p, len(token), width, width > 0))
        if counts is None:
            self.done = True  # until a state is loaded
            return
        counts.claim_open()
        with nogil:
            counts.seal()
            status = tk_bpe_trainer_words(self.trainer, &counts.table, spelt)
            counts.empty()
        counts.release()
        check(status)

    def __dealloc__(self):
        tk_bpe_trainer_free(self.trainer)

    cdef int visit(self, size_t budget, int *ended) noexcept nogil:
        return tk_bpe_trainer_run(self.trainer, budget, ended)

    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept:
        return tk_bpe_trainer_tokens(self.trainer, ends, n)

    def merges(self):
        """Return (left, right, result) of all merges as packed uint32; a pair may occur more than once."""
        cdef const tk_trained_merge *merges
        cdef const int64_t *counts
        cdef size_t n
        self.claim()
        try:
            merges = tk_bpe_trainer_merges(self.trainer, &n, &counts)
            return PyBytes_FromStringAndSize(<const char *> merges, n * sizeof(tk_trained_merge)) if n else b""
        finally:
            self.release()

    def merge_counts(self):
        """Return how often each pair of `merges` occurred when it merged, as packed int64."""
        cdef const int64_t *counts
        cdef size_t n
        self.claim()
        try:
            tk_bpe_trainer_merges(self.trainer, &n, &counts)
            return PyBytes_FromStringAndSize(<const char *> counts, n * sizeof(int64_t)) if n else b""
        finally:
            self.release()

    def save(self, file):
        """Write the state to a binary file: sizes and arrays, in the order and the types of this machine."""
        cdef tk_state_array arrays[TK_STATE_ARRAYS]
        cdef size_t level = 0, entry = 0, at = 0, n = 1
        sizes = bytearray(TK_STATE_SIZES * sizeof(uint64_t))
        room = bytearray(POSITIONS_AT_ONCE * sizeof(uint32_t))
        self.claim()
        try:
            tk_bpe_state_sizes(self.trainer, <uint64_t *> <char *> sizes)
            file.write(sizes)
            tk_bpe_state_arrays(self.trainer, arrays)
            write_arrays(file, arrays, TK_STATE_ARRAYS)
            while n:
                n = tk_bpe_state_positions(
                    self.trainer, &level, &entry, &at, <uint32_t *> <char *> room, POSITIONS_AT_ONCE
                )
                file.write(memoryview(room)[: n * sizeof(uint32_t)])
        finally:
            self.release()

    def load(self, read, size_t size):
        """Continue from a state of `size` bytes; `read(buffer)` fills a buffer. ValueError for an invalid state."""
        cdef tk_state_array arrays[TK_STATE_ARRAYS]
        cdef tk_state_array positions
        cdef size_t total = 0
        cdef int status
        self.claim()
        try:
            sizes = read_sizes(read, TK_STATE_SIZES, size)
            checked(tk_bpe_state_begin(self.trainer, <const uint64_t *> <char *> sizes))
            tk_bpe_state_arrays(self.trainer, arrays)
            read_arrays(read, arrays, TK_STATE_ARRAYS, &total, size)
            checked(tk_bpe_state_lists(self.trainer, &positions))
            read_arrays(read, &positions, 1, &total, size)
            with nogil:
                status = tk_bpe_state_end(self.trainer)
            checked(status)
            self.done = False
        finally:
            self.release()
