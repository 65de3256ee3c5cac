/* Hashed n-grams of characters and words, with the same hashes as in fastText. */
#ifndef TK_NGRAMS_H
#define TK_NGRAMS_H
#include "base.h"

/* Rows of a matrix, in the order in which they are met; all zero is an empty list. */
typedef struct {
    uint32_t *rows;
    size_t n, capacity;
} tk_row_list;

typedef struct {
    uint32_t min_n, max_n; /* characters of an n-gram, "<" and ">" around the word included; max_n 0: none */
    uint32_t bucket;       /* rows that n-grams share by their hashes; 0: none */
    uint32_t first;        /* the first of these rows */
    const int32_t *left;   /* of each bucket, its row from `first` on after pruning, or -1; NULL without pruning */
} tk_ngram_rows;

/* FNV-1a over 32 bits, in which a byte counts as a signed char. */
uint32_t tk_ngram_hash(const uint8_t *text, size_t n);

int tk_row_push(tk_row_list *list, uint32_t row);

/* Append the rows of the n-grams of "<word>", from left to right and shorter ones first: TK_OK or TK_NO_MEMORY. */
int tk_ngrams_of_word(const tk_ngram_rows *o, const uint8_t *word, size_t n, tk_row_list *out);

/* Append the rows of all sequences of 2 to `longest` words, given by their hashes. */
int tk_ngrams_of_words(const tk_ngram_rows *o, const uint32_t *hashes, size_t n, size_t longest, tk_row_list *out);
#endif
