/* WordPiece training by a score, from counted words.

   The pair (x, y) with the greatest score merges next, of pairs with the same score the one that occurs more often,
   then the one with the smaller (left id, right id). The score is count(xy) / (count(x) · count(y)), as a fraction
   (TK_SCORE_PMI), or the gain in log-likelihood that the merge brings (TK_SCORE_GAIN), compared to 32 bits. Counts are
   those of the words as they are cut at that step, a word of one token counted too; a pair is counted at each place
   where it stands, also where two overlap. A pair merges wherever it stands, from left to right; where its bytes are a
   token already, that token is what it becomes, and the vocabulary does not grow. */
#ifndef TK_WORDPIECE_TRAIN_H
#define TK_WORDPIECE_TRAIN_H
#include "train/forbidden.h"
#include "train/scored_pairs.h"
#include "train/word_cells.h"

/* A merge, and what it was chosen by: the counts then, and the tokens of all words, `total`. */
typedef struct {
    int64_t left, right, result;
    int64_t count, left_count, right_count, total;
} tk_scored_merge;

typedef struct tk_wordpiece_trainer tk_wordpiece_trainer;

typedef struct {
    size_t vocab_size;     /* stop at so many ids, special tokens included; below 2^31 */
    int64_t min_frequency; /* at least 1: pairs that occur less often do not merge */
    size_t n_prefix;       /* bytes that a token which does not begin its word begins with: "##" */
    tk_pair_score score;
    const tk_added *forbidden; /* texts that no merge makes part of a token, NULL for none; they outlive it */
    const char *folder; /* where words and places are mapped, NULL for the heap; it outlives the trainer */
} tk_wordpiece_limits;

tk_wordpiece_trainer *tk_wordpiece_trainer_new(tk_wordpiece_limits limits);
void tk_wordpiece_trainer_free(tk_wordpiece_trainer *t);

/* Give the next id to a token, in the order of calls; symbols have a width of 1. A merge that makes the same bytes
   takes its id, and is not made where `width` is not the number of its symbols. */
int tk_wordpiece_trainer_token(tk_wordpiece_trainer *t, const uint8_t *bytes, size_t n, uint32_t width);

/* Lay out the words and count their pairs; what is given is read here only. TK_TOO_LARGE beyond 2^30 bytes of words,
   TK_NO_DISK where the folder has no room for them. */
int tk_wordpiece_trainer_words(tk_wordpiece_trainer *t, const tk_word_counts *words, const tk_spelling *spelling);

/* Merge until about `budget` occurrences were visited; *done is set where training has ended. */
int tk_wordpiece_trainer_run(tk_wordpiece_trainer *t, size_t budget, int *done);

const tk_scored_merge *tk_wordpiece_trainer_merges(const tk_wordpiece_trainer *t, size_t *n);

/* Token i is bytes[ends[i - 1] .. ends[i]], from 0 for i = 0. */
const uint8_t *tk_wordpiece_trainer_tokens(const tk_wordpiece_trainer *t, const uint64_t **ends, size_t *n);

/* ---- the state, from which a training goes on with equal results: words as they are cut now, and merges. Pairs are
   counted anew, because which merges next depends on nothing else. ---- */

enum { TK_WORDPIECE_SIZES = TK_CELL_SIZES + 1, TK_WORDPIECE_ARRAYS = TK_CELL_ARRAYS + 1 };
void tk_wordpiece_state_sizes(const tk_wordpiece_trainer *t, uint64_t *sizes);
void tk_wordpiece_state_arrays(const tk_wordpiece_trainer *t, tk_state_array *arrays);

/* Make the arrays of these sizes in a trainer that has its first tokens and no words: TK_OK or an error. */
int tk_wordpiece_state_begin(tk_wordpiece_trainer *t, const uint64_t *sizes);

/* Make the tokens of the merges and count tokens and pairs: TK_OK, or TK_BAD_INPUT for what no training is. */
int tk_wordpiece_state_end(tk_wordpiece_trainer *t);

#endif
