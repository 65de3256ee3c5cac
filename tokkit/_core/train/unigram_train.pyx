"""Trains Unigram by EM on counted units, without the GIL."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset

from tokkit._core.train.sp_train cimport PieceRules, tk_piece_kinds
from tokkit._core.train.training cimport check, checked, read_arrays, read_sizes, tk_state_array, write_arrays
from tokkit._core.train.word_counts cimport WordCounts, tk_word_counts

import numpy as np

cdef extern from "train/unigram_train.h" nogil:
    int TK_LONGEST_PIECE
    ctypedef struct tk_symbol_text:
        const uint32_t *symbols
        size_t n
    ctypedef struct tk_unigram_trainer:
        uint32_t *codes
        size_t n_codes
        tk_symbol_text text
        uint32_t *starts
        size_t n_units
        size_t n_edges
        uint32_t *at
        uint16_t *widths
        int64_t *occurrences
        double *probabilities
        size_t n_pieces
        int scale
        int log_scale
        const char *folder
    ctypedef struct tk_unigram_sums:
        int64_t log_likelihood
        int64_t n_failed
    void tk_unigram_trainer_free(tk_unigram_trainer *)
    int tk_unigram_trainer_units(tk_unigram_trainer *, const tk_word_counts *, uint32_t depth)
    int tk_unigram_trainer_seeds(tk_unigram_trainer *, const tk_piece_kinds *, size_t most)
    void tk_unigram_trainer_set(tk_unigram_trainer *, const double *)
    int tk_unigram_trainer_keep(tk_unigram_trainer *, const uint8_t *)
    int tk_unigram_trainer_expect(const tk_unigram_trainer *, size_t, size_t, int64_t *, tk_unigram_sums *)
    ctypedef struct tk_unigram_loss:
        const double *expected
        double total
        double token_cost
        int keep_divided
    int tk_unigram_trainer_losses(const tk_unigram_trainer *, size_t, size_t, tk_unigram_loss, double *)
    int tk_unigram_trainer_best(const tk_unigram_trainer *, size_t, size_t, int64_t *)
    enum:
        TK_UNIGRAM_SIZES
        TK_UNIGRAM_ARRAYS
    void tk_unigram_state_sizes(const tk_unigram_trainer *, uint64_t *sizes)
    void tk_unigram_state_arrays(const tk_unigram_trainer *, tk_state_array *)
    int tk_unigram_state_begin(tk_unigram_trainer *, const uint64_t *sizes)
    int tk_unigram_state_end(tk_unigram_trainer *)

LONGEST_PIECE = TK_LONGEST_PIECE


cdef class UnigramTrainer:
    """The pieces of counted units: all characters and the best `most` substrings, and their expected counts.

    `units` is closed by this; with None the training continues from a state (`load`). With a `folder` all memory that
    grows with the units is in mapped files there. Only `set`, `keep` and `load` change it; while one of them runs, no
    other call may.

    With `longest` and without rules, seeds are those of tokenizers: substrings of up to `longest` characters after
    which two different characters, or one and the end, come, counted once in each unit.
    """

    cdef tk_unigram_trainer t
    cdef bytes folder

    def __cinit__(self, WordCounts units, PieceRules rules, size_t most, bytes folder=None, size_t longest=0):
        cdef int status
        cdef uint32_t depth
        memset(&self.t, 0, sizeof(self.t))
        self.folder = folder  # the trainer points to it
        if folder is not None:
            self.t.folder = folder
        if units is None:
            return
        if (rules is None) == (longest == 0):
            raise ValueError("give units with the PieceRules that cut them, or with `longest`")
        if rules is None and longest >= <size_t> TK_LONGEST_PIECE:
            raise ValueError(f"longest is {longest}; it must be from 1 to {TK_LONGEST_PIECE - 1}")
        if rules is not None and not 0 < rules.kinds.rules.max_length <= <uint32_t> TK_LONGEST_PIECE:
            raise ValueError(
                f"max_length of rules is {rules.kinds.rules.max_length}; it must be from 1 to {TK_LONGEST_PIECE}"
            )
        depth = <uint32_t> longest + 1 if rules is None else rules.kinds.rules.max_length
        units.claim_open()
        with nogil:
            units.seal()
            status = tk_unigram_trainer_units(&self.t, &units.table, depth)
            units.empty()
        units.release()
        check(status)
        cdef const tk_piece_kinds *kinds = NULL if rules is None else &rules.kinds
        with nogil:
            status = tk_unigram_trainer_seeds(&self.t, kinds, most)
        check(status)

    def __dealloc__(self):
        tk_unigram_trainer_free(&self.t)

    def __len__(self):
        return self.t.n_pieces

    @property
    def n_units(self):
        """The number of distinct units."""
        return self.t.n_units

    @property
    def n_edges(self):
        """Occurrences of pieces in all units, each unit once."""
        return self.t.n_edges

    @property
    def scale(self):
        """Expected counts are in units of 2^-scale."""
        return self.t.scale

    @property
    def log_scale(self):
        """Log-likelihoods are in units of 2^-log_scale."""
        return self.t.log_scale

    def occurrences(self):
        """Return in how many places each piece occurs in the units, overlaps included, as int64."""
        found = np.empty(self.t.n_pieces, dtype=np.int64)
        cdef int64_t[::1] view = found
        cdef size_t i
        for i in range(self.t.n_pieces):
            view[i] = self.t.occurrences[i]
        return found

    def widths(self):
        """Return the number of characters of each piece, as int64."""
        found = np.empty(self.t.n_pieces, dtype=np.int64)
        cdef int64_t[::1] view = found
        cdef size_t i
        for i in range(self.t.n_pieces):
            view[i] = self.t.widths[i]
        return found

    def pieces(self, list numbers=None):
        """Return the pieces, those of one character first, or only those of some numbers."""
        cdef size_t i, k
        found = []
        for i in range(self.t.n_pieces) if numbers is None else numbers:
            if i >= self.t.n_pieces:
                raise IndexError(f"number {i} is out of range; there are {self.t.n_pieces} pieces")
            found.append("".join([
                chr(self.t.codes[self.t.text.symbols[self.t.at[i] + k] - 1]) for k in range(self.t.widths[i])
            ]))
        return found

    def set(self, const double[::1] probabilities not None):
        """Set the probability of each piece, which must be positive."""
        cdef size_t i
        if <size_t> len(probabilities) != self.t.n_pieces:
            raise ValueError(
                f"there are {len(probabilities)} probabilities; there must be one for each of {self.t.n_pieces} pieces"
            )
        for i in range(self.t.n_pieces):
            if not 0 < probabilities[i] <= 1:
                raise ValueError(f"probability {i} is {probabilities[i]}; it must be above 0, and at most 1")
        with nogil:
            tk_unigram_trainer_set(&self.t, &probabilities[0])

    def keep(self, const uint8_t[::1] kept not None):
        """Remove the pieces for which `kept` is 0."""
        cdef int status
        if <size_t> len(kept) != self.t.n_pieces:
            raise ValueError(f"kept has {len(kept)} entries; it must have one for each of {self.t.n_pieces} pieces")
        with nogil:
            status = tk_unigram_trainer_keep(&self.t, &kept[0])
        check(status)

    def expect(self, size_t start, size_t stop, int64_t[::1] expected not None):
        """Add what the units from `start` to `stop` expect of each piece; return (log-likelihood, units without any).

        The first is an integer in units of 2^-log_scale. Threads may call this at once, each with a table of its own.
        """
        cdef tk_unigram_sums sums
        cdef int status
        memset(&sums, 0, sizeof(sums))
        if <size_t> len(expected) != self.t.n_pieces or not start <= stop <= self.t.n_units:
            raise ValueError(
                f"units {start} to {stop} and {len(expected)} entries in expected are given; there are "
                f"{self.t.n_units} units, and expected must have one entry for each of {self.t.n_pieces} pieces"
            )
        with nogil:
            status = tk_unigram_trainer_expect(&self.t, start, stop, &expected[0], &sums)
        check(status)
        return sums.log_likelihood, sums.n_failed

    def losses(self, size_t start, size_t stop, const double[::1] expected not None, double total,
               double token_cost, double[::1] losses not None, bint keep_divided=False):
        """Estimate how much log-likelihood is lost without each of the pieces from `start` to `stop`.

        It is infinite for pieces that have no other segmentation; with `keep_divided`, for those with a better one too.
        """
        cdef int status
        cdef tk_unigram_loss by
        cdef size_t n = self.t.n_pieces
        if <size_t> len(expected) != n or <size_t> len(losses) != n or not start <= stop <= n:
            raise ValueError(
                f"pieces {start} to {stop}, {len(expected)} entries in expected and {len(losses)} in losses are given; "
                f"there are {n} pieces, and each array must have one entry for each"
            )
        by.expected, by.total, by.token_cost, by.keep_divided = &expected[0], total, token_cost, keep_divided
        with nogil:
            status = tk_unigram_trainer_losses(&self.t, start, stop, by, &losses[0])
        check(status)

    def best(self, size_t start, size_t stop, int64_t[::1] counts not None):
        """Add how often the best segmentations of the units from `start` to `stop` have each piece.

        Threads may call this at once, each with a table of its own.
        """
        cdef int status
        if <size_t> len(counts) != self.t.n_pieces or not start <= stop <= self.t.n_units:
            raise ValueError(
                f"units {start} to {stop} and {len(counts)} entries in counts are given; there are "
                f"{self.t.n_units} units, and counts must have one entry for each of {self.t.n_pieces} pieces"
            )
        with nogil:
            status = tk_unigram_trainer_best(&self.t, start, stop, &counts[0])
        check(status)

    def save(self, file):
        """Write the state to a binary file: sizes and arrays, in the order and the types of this machine."""
        cdef tk_state_array arrays[TK_UNIGRAM_ARRAYS]
        sizes = bytearray(TK_UNIGRAM_SIZES * sizeof(uint64_t))
        tk_unigram_state_sizes(&self.t, <uint64_t *> <char *> sizes)
        file.write(sizes)
        tk_unigram_state_arrays(&self.t, arrays)
        write_arrays(file, arrays, TK_UNIGRAM_ARRAYS)

    def load(self, read, size_t size):
        """Continue from a state of `size` bytes; `read(buffer)` fills a buffer. ValueError for an invalid state."""
        cdef tk_state_array arrays[TK_UNIGRAM_ARRAYS]
        cdef size_t total = 0
        cdef int status
        sizes = read_sizes(read, TK_UNIGRAM_SIZES, size)
        checked(tk_unigram_state_begin(&self.t, <const uint64_t *> <char *> sizes))
        tk_unigram_state_arrays(&self.t, arrays)
        read_arrays(read, arrays, TK_UNIGRAM_ARRAYS, &total, size)
        with nogil:
            status = tk_unigram_state_end(&self.t)
        checked(status)
