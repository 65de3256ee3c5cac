# Declarations for the trainers: the rules of pieces.
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

from tokkit._core.bpe_train cimport tk_word_counts


cdef extern from "train/piece_rules.h" nogil:
    ctypedef struct tk_piece_rules:
        uint32_t max_length
        uint8_t split_scripts, split_numbers, split_digits, split_spaces, space_last, pieces_of_spaces
    ctypedef struct tk_piece_kinds:
        tk_piece_rules rules
        uint8_t *kinds


cdef class PieceRules:
    cdef tk_piece_kinds kinds
