# Cuts words at places that no piece of a SentencePiece model crosses.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from tokkit._core.base cimport TK_OK
from tokkit._core.text cimport Normalizer, check_normalized, tk_sp_normalize, tk_sp_text, tk_sp_text_free

cdef extern from "train/piece_rules.h" nogil:
    int tk_piece_kinds_init(tk_piece_kinds *, tk_piece_rules)
    void tk_piece_kinds_free(tk_piece_kinds *)
    int tk_piece_forbid(tk_piece_kinds *, const uint32_t *, size_t)
    int tk_piece_is_valid(const tk_piece_kinds *, const uint32_t *, size_t)
    int tk_piece_words(const tk_piece_rules *, const uint8_t *, size_t, int64_t, tk_word_counts *)
    int tk_piece_units(const tk_piece_kinds *, const tk_word_counts *, tk_word_counts *)

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
