# Trains sentencepiece's BPE on counted units, without the GIL: pieces in the order of their merges.

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "train/sp_bpe_train.h" nogil:
    ctypedef struct tk_sp_bpe_trainer:
        pass
    tk_sp_bpe_trainer *tk_sp_bpe_trainer_new(size_t n_pieces, const tk_piece_kinds *, const char *folder)
    void tk_sp_bpe_trainer_free(tk_sp_bpe_trainer *)
    int tk_sp_bpe_trainer_character(tk_sp_bpe_trainer *, uint32_t character)
    int tk_sp_bpe_trainer_units(tk_sp_bpe_trainer *, const tk_word_counts *, const tk_spelling *)
    int tk_sp_bpe_trainer_run(tk_sp_bpe_trainer *, size_t budget, int *done)
    size_t tk_sp_bpe_trainer_merges(const tk_sp_bpe_trainer *, const int64_t **counts)
    const uint8_t *tk_sp_bpe_trainer_tokens(const tk_sp_bpe_trainer *, const uint64_t **ends, size_t *n)
    enum:
        TK_SP_BPE_SIZES
        TK_SP_BPE_ARRAYS
    void tk_sp_bpe_state_sizes(const tk_sp_bpe_trainer *, uint64_t *sizes)
    void tk_sp_bpe_state_arrays(const tk_sp_bpe_trainer *, tk_state_array *)
    int tk_sp_bpe_state_begin(tk_sp_bpe_trainer *, const uint64_t *sizes)
    int tk_sp_bpe_state_end(tk_sp_bpe_trainer *)


cdef class SentencePieceBPETrainer(Training):
    """Training in slices, to `n_pieces` merges; `alphabet` has the characters of all units, each once.

    `units` is closed by this; with None the training continues from a state (`load`). With a `folder` units and
    positions are in mapped files there. Only one thread at a time may use a training.
    """

    cdef tk_sp_bpe_trainer *trainer
    cdef PieceRules rules  # must stay alive as long as this, like the folder
    cdef bytes folder

    def __cinit__(self, WordCounts units, str alphabet not None, size_t n_pieces, PieceRules rules not None,
                  bytes folder=None):
        cdef int status
        cdef const char *mapped = NULL
        cdef Spelling spelling = Spelling([(c, id_, id_) for id_, c in enumerate(alphabet)], b"")
        if len(set(alphabet)) != len(alphabet):
            raise ValueError("alphabet has a character twice; all must be different")
        self.rules, self.folder = rules, folder
        if folder is not None:
            mapped = folder
        self.trainer = tk_sp_bpe_trainer_new(n_pieces, &rules.kinds, mapped)
        if self.trainer is NULL:
            raise MemoryError()
        for character in alphabet:
            check(tk_sp_bpe_trainer_character(self.trainer, ord(character)))
        if units is None:
            self.done = True  # until a state is loaded
            return
        units.claim_open()
        with nogil:
            units.seal()
            status = tk_sp_bpe_trainer_units(self.trainer, &units.table, &spelling.table)
            units.empty()
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
        """The number of merges so far."""
        cdef const int64_t *counts
        return tk_sp_bpe_trainer_merges(self.trainer, &counts)

    def counts(self):
        """Return how often the pair of each merge occurred, as packed int64."""
        cdef const int64_t *counts
        cdef size_t n = tk_sp_bpe_trainer_merges(self.trainer, &counts)
        return PyBytes_FromStringAndSize(<const char *> counts, n * sizeof(int64_t)) if n else b""

    def pieces(self):
        """Return the pieces that merges made, in their order."""
        cdef const int64_t *counts
        cdef const uint64_t *ends
        cdef size_t n, i, n_merges = tk_sp_bpe_trainer_merges(self.trainer, &counts)
        cdef const uint8_t *packed = tk_sp_bpe_trainer_tokens(self.trainer, &ends, &n)
        return [
            PyBytes_FromStringAndSize(<const char *> packed + ends[i - 1], ends[i] - ends[i - 1])
            for i in range(n - n_merges, n)
        ]

    def save(self, file):
        """Write the state to a binary file: sizes and arrays, in the order and the types of this machine."""
        cdef tk_state_array arrays[TK_SP_BPE_ARRAYS]
        sizes = bytearray(TK_SP_BPE_SIZES * sizeof(uint64_t))
        self.claim()
        try:
            tk_sp_bpe_state_sizes(self.trainer, <uint64_t *> <char *> sizes)
            file.write(sizes)
            tk_sp_bpe_state_arrays(self.trainer, arrays)
            write_arrays(file, arrays, TK_SP_BPE_ARRAYS)
        finally:
            self.release()

    def load(self, read, size_t size):
        """Continue from a state of `size` bytes; `read(buffer)` fills a buffer. ValueError for an invalid state."""
        cdef tk_state_array arrays[TK_SP_BPE_ARRAYS]
        cdef size_t total = 0
        cdef int status
        self.claim()
        try:
            sizes = read_sizes(read, TK_SP_BPE_SIZES, size)
            checked(tk_sp_bpe_state_begin(self.trainer, <const uint64_t *> <char *> sizes))
            tk_sp_bpe_state_arrays(self.trainer, arrays)
            read_arrays(read, arrays, TK_SP_BPE_ARRAYS, &total, size)
            with nogil:
                status = tk_sp_bpe_state_end(self.trainer)
            checked(status)
            self.done = False
        finally:
            self.release()
