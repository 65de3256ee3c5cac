/* Sentences of words as numbers of the words: reads lines of words separated by white space. */
#ifndef TK_SENTENCES_H
#define TK_SENTENCES_H
#include "train/word_counts.h"

/* All zero but max_words is an empty one. */
typedef struct {
    tk_word_counts words;  /* numbered in the order of first sight */
    uint32_t *ids;         /* the numbers since `ids` was emptied last, by n_ids = 0 */
    int64_t *ends;         /* where sentences end, counted from the first id of all; empty sentences are left out */
    size_t n_ids, ids_capacity, n_ends, ends_capacity;
    int64_t n_all;         /* ids that were read since the beginning */
    int64_t last_end;
    size_t max_words;      /* a longer sentence is cut into sentences of so many */
} tk_sentences;

void tk_sentences_free(tk_sentences *s);

/* Add a word of n > 0 bytes to the sentence at hand: a status of tk_word_counts_add. */
int tk_sentences_word(tk_sentences *s, const uint8_t *word, size_t n);

/* End the sentence at hand: TK_OK or TK_NO_MEMORY. */
int tk_sentences_end(tk_sentences *s);

/* Read the words of valid UTF-8, each "\n" ending a sentence; white space is what str.split takes for it. *used gets
   the bytes that were read: to the end where the text is the last, else to the last white space. */
int tk_sentences_text(tk_sentences *s, const uint8_t *text, size_t n, int last, size_t *used);

/* Replace ids by map[id], leave out those that become UINT32_MAX, and move the ends, of which those of sentences that
   become empty are left out. Returns how many ids are left; *n_ends is changed. */
size_t tk_sentences_map(uint32_t *ids, size_t n_ids, int64_t *ends, size_t *n_ends, const uint32_t *map);
#endif
