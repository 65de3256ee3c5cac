/* Whether characters can form one piece: the rules of sentencepiece's trainers. */
#ifndef TK_PIECE_RULES_H
#define TK_PIECE_RULES_H
#include "train/word_counts.h"

enum { TK_SPACE_MARK = 0x2581 }; /* stands for the space */

typedef struct {
    uint32_t max_length;         /* of a piece, in characters */
    uint8_t split_scripts;       /* no piece has characters of two scripts; Han, Hiragana and Katakana are one */
    uint8_t split_numbers;       /* digits have a script of their own kind, else any */
    uint8_t split_digits;        /* a digit is a piece alone */
    uint8_t split_spaces;        /* a space is the first of its piece; else it may stand inside as well */
    uint8_t space_last;          /* a space is the last of its piece, not the first */
    uint8_t pieces_of_spaces;    /* several spaces may be a piece */
} tk_piece_rules;

/* What each code point is to the rules: 0 where it belongs to no piece. */
typedef struct {
    tk_piece_rules rules;
    uint8_t *kinds; /* TK_CODE_POINTS of them */
    uint32_t *forbidden; /* texts that no piece of several characters holds, each ended by U+0000 */
    size_t n_forbidden, forbidden_capacity; /* characters of all, with their ends */
} tk_piece_kinds;

/* All code points belong to pieces but U+0000, U+001F, space, U+2585, surrogates; TK_OK or TK_NO_MEMORY. */
int tk_piece_kinds_init(tk_piece_kinds *k, tk_piece_rules rules);
void tk_piece_kinds_free(tk_piece_kinds *k);

/* Forbid a text that has no U+0000: TK_OK or TK_NO_MEMORY. */
int tk_piece_forbid(tk_piece_kinds *k, const uint32_t *characters, size_t n);

/* Whether the characters may be a piece. */
int tk_piece_is_valid(const tk_piece_kinds *k, const uint32_t *characters, size_t n);

/* Add the words of a normalized text, which occurs `count` times: what a space begins, or ends; where spaces do not
   split, it is one word. */
int tk_piece_words(const tk_piece_rules *r, const uint8_t *text, size_t n, int64_t count, tk_word_counts *words);

/* Add the parts of all words that no piece joins, with the words' counts, to `units`. */
int tk_piece_units(const tk_piece_kinds *k, const tk_word_counts *words, tk_word_counts *units);

#endif
