/* BPE training from counted words, of bytes or characters, with the merge order of tokenizers.

   The pair that occurs most merges first, the smaller (left id, right id) on ties. Like that trainer,
   - a merge whose bytes are a token already takes that token's id, and the vocabulary does not grow;
   - each time a merge makes new occurrences of a pair, these form an entry of their own in the queue, with the
     pair's count of that moment and the words that gained one. An entry that comes to the top with another
     count than its pair has now goes back with the present one; else it merges, in its own words alone;
   - a merged pair's own count stays as it is, less what overlaps with its occurrences took.
   The last two are seen only where one token is reached by several merges; then they decide ids. */
#ifndef TK_BPE_TRAIN_H
#define TK_BPE_TRAIN_H
#include "train/forbidden.h"
#include "train/word_cells.h"

typedef struct {
    tk_token left, right, result;
} tk_trained_merge;

typedef struct tk_bpe_trainer tk_bpe_trainer;

/* Limits of a training. */
typedef struct {
    size_t vocab_size;     /* stop at so many ids, special tokens included; below 2^31 */
    int64_t min_frequency; /* stop at a pair that occurs less often */
    size_t max_length;     /* make no longer token, in bytes or characters of text; at least 2 */
    size_t n_prefix;       /* bytes that a symbol which does not begin its word begins with: "##" */
    const char *folder;    /* where words and positions are mapped, NULL for the heap; it outlives the trainer */
    const tk_added *forbidden; /* texts that no merge makes part of a token, NULL for none; they outlive it too */
} tk_bpe_limits;

tk_bpe_trainer *tk_bpe_trainer_new(tk_bpe_limits limits);
void tk_bpe_trainer_free(tk_bpe_trainer *t);

/* Give the next id to a token, in the order of calls: the special tokens, then the symbols: the 256 bytes as tokens
   of one byte, or characters, of a width of 1. A merge that makes the same bytes takes the id of the token where
   `mergeable` says so, and is not made where `width` is not the number of its symbols. */
int tk_bpe_trainer_token(tk_bpe_trainer *t, const uint8_t *bytes, size_t n, uint32_t width, int mergeable);

/* Lay out the words, in bytes where `spelling` is NULL, and count their pairs; `words` and `spelling` are read here
   only. TK_TOO_LARGE beyond 2^32 bytes of words, TK_NO_DISK where the folder has no room for them. */
int tk_bpe_trainer_words(tk_bpe_trainer *t, const tk_word_counts *words, const tk_spelling *spelling);

/* Merge until about `budget` occurrences were visited; *done is set where training has ended. */
int tk_bpe_trainer_run(tk_bpe_trainer *t, size_t budget, int *done);

/* All merges so far in their order, with a pair more than once where it merged more than once; *counts gets how often
   each pair occurred when it merged. */
const tk_trained_merge *tk_bpe_trainer_merges(const tk_bpe_trainer *t, size_t *n, const int64_t **counts);

/* Token i is bytes[ends[i - 1] .. ends[i]], from 0 for i = 0. */
const uint8_t *tk_bpe_trainer_tokens(const tk_bpe_trainer *t, const uint64_t **ends, size_t *n);

#endif
