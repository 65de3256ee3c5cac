"""BPE from counted words: of bytes, and classic BPE of characters."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from tokkit._core.base cimport TK_BAD_INPUT, TK_TOO_LARGE
from tokkit._core.split cimport AddedMatcher, tk_added
from tokkit._core.train.training cimport (
    Spelling, Training, check, checked, read_arrays, read_sizes, tk_spelling, tk_state_array, tk_token, write_arrays,
)
from tokkit._core.train.word_counts cimport WordCounts, tk_word_counts

import numpy as np

from tokkit._core.train.training import check_tokens

cdef extern from "train/bpe_train.h" nogil:
    ctypedef struct tk_trained_merge:
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

cdef extern from "train/classic_train.h" nogil:
    ctypedef struct tk_classic_trainer:
        pass
    ctypedef struct tk_classic_words:
        const int32_t *symbols
        const int64_t *ends
        const int64_t *counts
        size_t n, n_words, n_symbols
    ctypedef struct tk_classic_pair:
        tk_token left, right
        int64_t count
    tk_classic_trainer *tk_classic_trainer_new()
    void tk_classic_trainer_free(tk_classic_trainer *)
    int tk_classic_trainer_words(tk_classic_trainer *, tk_classic_words, size_t *bad)
    int tk_classic_trainer_best(tk_classic_trainer *, tk_classic_pair *, int *found)
    int tk_classic_trainer_forbid(tk_classic_trainer *, tk_token, tk_token)
    int tk_classic_trainer_merge(tk_classic_trainer *, tk_token, tk_token, tk_token, size_t *)
    size_t tk_classic_trainer_n_symbols(const tk_classic_trainer *)
    size_t tk_classic_trainer_size(const tk_classic_trainer *)
    void tk_classic_trainer_cut(const tk_classic_trainer *, int32_t *, int64_t *, int64_t *)

cdef size_t POSITIONS_AT_ONCE = 1 << 20


cdef class BPETrainer(Training):
    """Training in slices, so that the caller can report progress and be interrupted between them.

    `tokens` are (bytes, symbols) in the order of their ids. A merge with the bytes of a token gets the token's id
    if it joins that many symbols; with 0 it never does. With a `spelling` symbols are its characters; else bytes, and
    the last 256 tokens are these. `counts` is closed by this; with None the training continues from a state (`load`).
    With a `folder` words and positions are in mapped files there. No merge makes a token that has a `forbidden` text in
    it. Only one thread at a time may use a training.
    """

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


# Classic BPE: merges the most frequent pair of symbols, again and again; ties by first occurrence in the text.

cdef enum:
    VISITS_A_SLICE = 1 << 22  # positions visited between two checks for Ctrl-C: some 50 ms


cdef class ClassicTrainer:
    """Training merge by merge: `best()` says which pair comes next, `merge(…)` makes it one symbol everywhere.

    Word i is `symbols[ends[i - 1]:ends[i]]` (int32), occurs `counts[i]` times (int64); words are in order of first
    occurrence. Symbols are below `n_symbols`. MemoryError; OverflowError for 2^32 words or symbols.
    """

    cdef tk_classic_trainer *trainer
    cdef size_t n_words
    cdef size_t visited

    def __cinit__(
        self, const int32_t[::1] symbols, const int64_t[::1] ends, const int64_t[::1] counts, size_t n_symbols
    ):
        cdef tk_classic_words words
        cdef size_t bad = 0
        cdef int status
        words.n, words.n_words, words.n_symbols = symbols.shape[0], ends.shape[0], n_symbols
        if counts.shape[0] != ends.shape[0]:
            raise ValueError(f"there are {counts.shape[0]} counts and {ends.shape[0]} ends; the numbers must be equal")
        words.symbols = &symbols[0] if words.n else NULL
        words.ends, words.counts = &ends[0] if words.n_words else NULL, &counts[0] if words.n_words else NULL
        self.n_words = words.n_words
        self.trainer = tk_classic_trainer_new()
        if self.trainer is NULL:
            raise MemoryError()
        with nogil:
            status = tk_classic_trainer_words(self.trainer, words, &bad)
        if status == TK_BAD_INPUT and bad < words.n:
            raise ValueError(f"symbol {bad} is {symbols[bad]}; it must be from 0 to {<int64_t> n_symbols - 1}")
        if status == TK_BAD_INPUT:
            raise ValueError(f"the ends of the words must not decrease, and the last must be {words.n}")
        if status == TK_TOO_LARGE:
            raise OverflowError(f"there are {words.n_words} words of {words.n} symbols; both must be below 2**32 - 2")
        check(status)

    def __dealloc__(self):
        tk_classic_trainer_free(self.trainer)

    def words(self):
        """Return the current symbols of all words, the end of each word in them, and counts, in the order of the input.

        A training that continues from these has the same results.
        """
        cdef size_t n = tk_classic_trainer_size(self.trainer)
        symbols = np.empty(n + 1, np.int32)  # a view needs an item
        ends, counts = np.empty(self.n_words + 1, np.int64), np.empty(self.n_words + 1, np.int64)
        cdef int32_t[::1] to_symbols = symbols
        cdef int64_t[::1] to_ends = ends, to_counts = counts
        tk_classic_trainer_cut(self.trainer, &to_symbols[0], &to_ends[0], &to_counts[0])
        return symbols[:n], ends[: self.n_words], counts[: self.n_words]

    def best(self):
        """Return (left, right, count) of the pair that occurs most, the first in the text of equals; None for none."""
        cdef tk_classic_pair pair
        cdef int found = 0
        cdef int status
        with nogil:
            status = tk_classic_trainer_best(self.trainer, &pair, &found)
        check(status)
        return (pair.left, pair.right, pair.count) if found else None

    def forbid(self, uint32_t left, uint32_t right):
        """Leave a pair out from now on: it is never the best."""
        self.check_symbols(tk_classic_trainer_forbid(self.trainer, left, right))

    def merge(self, uint32_t left, uint32_t right, uint32_t result):
        """Make the pair one symbol wherever it occurs, from the left; `result` is the next number or a known one."""
        cdef int status
        with nogil:
            status = tk_classic_trainer_merge(self.trainer, left, right, result, &self.visited)
        self.check_symbols(status)
        if self.visited > VISITS_A_SLICE:
            self.visited = 0
            PyErr_CheckSignals()

    cdef int check_symbols(self, int status) except -1:
        if status == TK_BAD_INPUT:
            n = tk_classic_trainer_n_symbols(self.trainer)
            raise ValueError(f"left, right or result is out of range; there are {n} symbols")
        return check(status)
