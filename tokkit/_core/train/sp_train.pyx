"""SentencePiece's pieces: which are allowed, and BPE of them."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tokkit._core.base cimport TK_OK
from tokkit._core.charsmap cimport Normalizer, check_normalized, tk_sp_normalize, tk_sp_text, tk_sp_text_free
from tokkit._core.train.training cimport (
    Spelling, Training, check, checked, read_arrays, read_sizes, tk_spelling, tk_state_array, write_arrays,
)
from tokkit._core.train.word_counts cimport WordCounts, tk_word_counts

import numpy as np

cdef extern from "train/piece_rules.h" nogil:
    int tk_piece_kinds_init(tk_piece_kinds *, tk_piece_rules)
    void tk_piece_kinds_free(tk_piece_kinds *)
    int tk_piece_forbid(tk_piece_kinds *, const uint32_t *, size_t)
    int tk_piece_is_valid(const tk_piece_kinds *, const uint32_t *, size_t)
    int tk_piece_words(const tk_piece_rules *, const uint8_t *, size_t, int64_t, tk_word_counts *)
    int tk_piece_units(const tk_piece_kinds *, const tk_word_counts *, tk_word_counts *)

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

cdef enum:
    CODE_POINTS = 0x110000


cdef class PieceRules:
    """The rules of `piece_rules.h`; with `alphabet`, a str, other characters belong to no piece.

    No piece of several characters has one of the `forbidden` texts in it.
    """

    def __cinit__(self, uint32_t max_length, *, bint split_scripts=True, bint split_numbers=True,
                  bint split_digits=False, bint split_spaces=True, bint space_last=False, bint pieces_of_spaces=False,
                  str alphabet=None, forbidden=()):
        cdef tk_piece_rules rules
        cdef size_t c
        cdef uint8_t *kept
        cdef uint32_t[::1] characters
        rules.max_length = max_length
        rules.split_scripts, rules.split_numbers, rules.split_digits = split_scripts, split_numbers, split_digits
        rules.split_spaces, rules.space_last, rules.pieces_of_spaces = split_spaces, space_last, pieces_of_spaces
        check(tk_piece_kinds_init(&self.kinds, rules))
        for text in forbidden:
            if text and "\0" not in text:  # which is in no piece
                characters = np.array([ord(character) for character in text], dtype=np.uint32)
                check(tk_piece_forbid(&self.kinds, &characters[0], characters.shape[0]))
        if alphabet is None:
            return
        kept = <uint8_t *> malloc(CODE_POINTS)
        if kept is NULL:
            raise MemoryError()
        for c in range(<size_t> CODE_POINTS):
            kept[c] = 0
        for character in alphabet:
            kept[<size_t> ord(character)] = 1
        for c in range(<size_t> CODE_POINTS):
            if not kept[c]:
                self.kinds.kinds[c] = 0
        free(kept)

    def __dealloc__(self):
        tk_piece_kinds_free(&self.kinds)

    def is_valid(self, str piece not None):
        """Whether a text can be a piece."""
        cdef size_t i, n = len(piece)
        cdef uint32_t *characters = <uint32_t *> malloc((n + 1) * sizeof(uint32_t))
        if characters is NULL:
            raise MemoryError()
        for i in range(n):
            characters[i] = ord(piece[<Py_ssize_t> i])
        found = tk_piece_is_valid(&self.kinds, characters, n)
        free(characters)
        return bool(found)

    def words(self, WordCounts texts not None, Normalizer normalizer not None, bytes folder=None):
        """Return the words of the texts (valid UTF-8) after normalization, and how often each occurs.

        With a `folder` they are in mapped files there.
        """
        cdef tk_sp_text out
        cdef size_t i
        cdef int status = TK_OK
        cdef WordCounts words = WordCounts(0, folder)
        memset(&out, 0, sizeof(out))
        out.most = normalizer.most
        texts.claim()
        with nogil:
            for i in range(texts.table.n_words):
                status = tk_sp_normalize(
                    &normalizer.state, texts.table.bytes + texts.table.words[i].offset, texts.table.words[i].length,
                    &out,
                )
                if status == TK_OK:
                    status = tk_piece_words(
                        &self.kinds.rules, out.text, out.n, texts.table.words[i].count, &words.table
                    )
                if status != TK_OK:
                    break
            tk_sp_text_free(&out)
        texts.release()
        check_normalized(status)
        check(status)
        return words

    def units(self, WordCounts words not None, bytes folder=None):
        """Return the spans of the words (valid UTF-8) between which no piece crosses, and how often each occurs.

        With a `folder` they are in mapped files there.
        """
        cdef int status
        cdef WordCounts units = WordCounts(0, folder)
        words.claim()
        with nogil:
            status = tk_piece_units(&self.kinds, &words.table, &units.table)
        words.release()
        check(status)
        return units


# Trains sentencepiece's BPE on counted units, without the GIL: pieces in the order of their merges.


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
