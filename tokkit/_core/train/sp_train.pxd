# What other modules use of sp_train.pyx.
from libc.stdint cimport uint32_t, uint8_t

cdef extern from "train/piece_rules.h" nogil:
    ctypedef struct tk_piece_rules:
        uint32_t max_length
        uint8_t split_scripts, split_numbers, split_digits, split_spaces, space_last, pieces_of_spaces
    ctypedef struct tk_piece_kinds:
        tk_piece_rules rules
        uint8_t *kinds


cdef class PieceRules:
    cdef tk_piece_kinds kinds
