# Trains sentencepiece's BPE on counted units, without the GIL: pieces in the order of their merges.

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "train/sp_bpe_train.h" nogil:
    ctypedef struct tk_sp_bpe_trainer:
        pass
    tk_sp_bpe_trainer *tk_sp_bpe_trainer_new(size_t n_pieces)
    void tk_sp_bpe_trainer_free(tk_sp_bpe_trainer *)
    int tk_sp_bpe_trainer_character(tk_sp_bpe_trainer *, uint32_t character)
    int tk_sp_bpe_trainer_units(
        tk_sp_bpe_trainer *, const tk_word_counts *, const tk_spelling *, const tk_piece_kinds *
    )
    int tk_sp_bpe_trainer_run(tk_sp_bpe_trainer *, size_t budget, int *done)
    size_t tk_sp_bpe_trainer_merges(const tk_sp_bpe_trainer *, const int64_t **counts)
    const uint8_t *tk_sp_bpe_trainer_tokens(const tk_sp_bpe_trainer *, const uint64_t **ends, size_t *n)


cdef class SentencePieceBPETrainer(Training):
    """Training in slices, to `n_pieces` merges; `alphabet` has the characters of all units, each once.

    A training is one thread's at a time.
    """

    cdef tk_sp_bpe_trainer *trainer
    cdef PieceRules rules  # read as long as this lives

    def __cinit__(self, WordCounts units not None, str alphabet not None, size_t n_pieces, PieceRules rules not None):
        cdef int status
        cdef Spelling spelling = Spelling([(c, id_, id_) for id_, c in enumerate(alphabet)], b"")
        if len(set(alphabet)) != len(alphabet):
            raise ValueError("a character of the alphabet is given twice")
        self.rules = rules
        self.trainer = tk_sp_bpe_trainer_new(n_pieces)
        if self.trainer is NULL:
            raise MemoryError()
        for character in alphabet:
            check(tk_sp_bpe_trainer_character(self.trainer, ord(character)))
        units.claim()
        with nogil:
            status = tk_sp_bpe_trainer_units(self.trainer, &units.table, &spelling.table, &rules.kinds)
        units.release()
        check(status)

    def __dealloc__(self):
        tk_sp_bpe_trainer_free(self.trainer)

    cdef int visit(self, size_t budget, int *ended) noexcept nogil:
        return tk_sp_bpe_trainer_run(self.trainer, budget, ended)

    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept:
        return tk_sp_bpe_trainer_tokens(self.trainer, ends, n)

    @property
    def n_merges(self):
        """Merges so far."""
        cdef const int64_t *counts
        return tk_sp_bpe_trainer_merges(self.trainer, &counts)

    def counts(self):
        """Return how often the pair of each merge occurred, as packed int64."""
        cdef const int64_t *counts
        cdef size_t n = tk_sp_bpe_trainer_merges(self.trainer, &counts)
        return PyBytes_FromStringAndSize(<const char *> counts, n * sizeof(int64_t)) if n else b""

    def pieces(self):
        """Return the pieces that merged, in their order."""
        cdef const int64_t *counts
        cdef const uint64_t *ends
        cdef size_t n, i, n_merges = tk_sp_bpe_trainer_merges(self.trainer, &counts)
        cdef const uint8_t *packed = tk_sp_bpe_trainer_tokens(self.trainer, &ends, &n)
        return [
            PyBytes_FromStringAndSize(<const char *> packed + ends[i - 1], ends[i] - ends[i - 1])
            for i in range(n - n_merges, n)
        ]
