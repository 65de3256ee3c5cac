/* Training of classic BPE, merge by merge, on words in the order of a text.

   The pair with the greatest count merges next, of equally frequent ones the one that comes first in the words as they
   are cut then. Counts are of all places where a pair stands, also where two overlap.

   Each pair has a list of the positions where it stands, or stood, so a merge visits these and not the words: all
   merges together make at most two positions for each symbol that they take away, and take time n log n. */
#ifndef TK_CLASSIC_TRAIN_H
#define TK_CLASSIC_TRAIN_H
#include "base.h"

typedef struct tk_classic_trainer tk_classic_trainer;

/* Word i is symbols[ends[i - 1] .. ends[i]], and occurs counts[i] times. Symbols are below n_symbols. */
typedef struct {
    const int32_t *symbols;
    const int64_t *ends, *counts;
    size_t n, n_words, n_symbols;
} tk_classic_words;

typedef struct {
    tk_token left, right;
    int64_t count;
} tk_classic_pair;

tk_classic_trainer *tk_classic_trainer_new(void);
void tk_classic_trainer_free(tk_classic_trainer *t);

/* Take the words over and count their pairs, once: TK_OK, TK_NO_MEMORY; TK_TOO_LARGE beyond 2^32 - 2 symbols or words;
   TK_BAD_INPUT for a symbol or an end that is out of range, whose number is *bad. */
int tk_classic_trainer_words(tk_classic_trainer *t, tk_classic_words words, size_t *bad);

/* Find the pair that merges next: *found is 0 where no pair occurs. */
int tk_classic_trainer_best(tk_classic_trainer *t, tk_classic_pair *best, int *found);

/* A pair of known symbols never merges. */
int tk_classic_trainer_forbid(tk_classic_trainer *t, tk_token left, tk_token right);

/* Make a pair of known symbols one symbol wherever it stands, in each word from the left: `result`, which is known or
   the next number. *visited grows by the positions looked at. */
int tk_classic_trainer_merge(tk_classic_trainer *t, tk_token left, tk_token right, tk_token result, size_t *visited);

size_t tk_classic_trainer_n_symbols(const tk_classic_trainer *t);

/* The words as they are cut now: how many symbols they have, then these, the ends and the counts of the words. */
size_t tk_classic_trainer_size(const tk_classic_trainer *t);
void tk_classic_trainer_cut(const tk_classic_trainer *t, int32_t *symbols, int64_t *ends, int64_t *counts);

#endif
