# Declarations of train.pyx, and of the C that it calls.
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

# ---- training

cdef int check(int status) except -1  # OverflowError or MemoryError for what the core returned


cdef class Training:
    cdef bint busy
    cdef int done
    cdef int claim(self) except -1
    cdef void release(self) noexcept
    # What each trainer says: visit about `budget` occurrences, and set *ended at the end; and its tokens, joined.
    cdef int visit(self, size_t budget, int *ended) noexcept nogil
    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept


# ---- spelling

cdef extern from "train/word_cells.h" nogil:
    int TK_CODE_POINTS
    ctypedef uint32_t tk_token
    ctypedef struct tk_spelling:
        const tk_token *bytes
        const tk_token *first
        const tk_token *rest


cdef class Spelling:
    cdef tk_spelling table
    cdef tk_token *ids
    cdef readonly bytes prefix
    cdef readonly size_t n_ids  # ids are below


# ---- bpe_train

cdef extern from "train/word_cells.h" nogil:
    ctypedef struct tk_counted_word:
        uint64_t offset
        int64_t count
        uint32_t length
        uint32_t tag
    ctypedef struct tk_word_counts:
        size_t longest
        const char *folder
        uint8_t *bytes
        size_t n_bytes
        tk_counted_word *words
        size_t n_words
        size_t n_slots


cdef class WordCounts:
    cdef tk_word_counts table
    cdef bint busy, sealed
    cdef bytes folder
    cdef public bint cancelled
    cdef int claim(self) except -1
    cdef int claim_open(self) except -1
    cdef void release(self) noexcept
    cdef void seal(self) noexcept nogil  # no more counting; the words can be read still
    cdef void empty(self) noexcept nogil


# ---- piece_units

cdef extern from "train/piece_rules.h" nogil:
    ctypedef struct tk_piece_rules:
        uint32_t max_length
        uint8_t split_scripts, split_numbers, split_digits, split_spaces, space_last, pieces_of_spaces
    ctypedef struct tk_piece_kinds:
        tk_piece_rules rules
        uint8_t *kinds


cdef class PieceRules:
    cdef tk_piece_kinds kinds
