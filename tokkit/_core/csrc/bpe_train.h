/* Counted words in, merges and token bytes out: byte-level BPE training in the order of tokenizers' trainer.

   The pair that occurs most merges first, the smaller (left id, right id) on ties. Like that trainer,
   - a merge whose bytes are a token already takes that token's id, and the vocabulary does not grow;
   - each time a merge makes new occurrences of a pair, these form an entry of their own in the queue, with the
     pair's count of that moment and the words that gained one. An entry that comes to the top with another
     count than its pair has now goes back with the present one; else it merges, in its own words alone;
   - a merged pair's own count stays as it is, less what overlaps with its occurrences took.
   The last two are seen only where one token is reached by several merges; then they decide ids. */
#ifndef TK_BPE_TRAIN_H
#define TK_BPE_TRAIN_H
#include "word_counts.h"

typedef struct {
    tk_token left, right, result;
} tk_trained_merge;

typedef struct tk_bpe_trainer tk_bpe_trainer;

/* Limits of a training. */
typedef struct {
    size_t vocab_size;     /* stop at so many ids, special tokens included; below 2^31 */
    int64_t min_frequency; /* stop at a pair that occurs less often */
    size_t max_length;     /* make no longer token, in bytes; at least 2 */
} tk_bpe_limits;

tk_bpe_trainer *tk_bpe_trainer_new(tk_bpe_limits limits);
void tk_bpe_trainer_free(tk_bpe_trainer *t);

/* Give the next id to a token, in the order of calls: the special tokens, then the 256 bytes as tokens of one
   byte. A merge that makes the same bytes takes the id of the token where `mergeable` says so. */
int tk_bpe_trainer_token(tk_bpe_trainer *t, const uint8_t *bytes, size_t n, int mergeable);

/* Lay out the words and count their pairs; `words` is read here only. TK_TOO_LARGE beyond 2^32 bytes of words. */
int tk_bpe_trainer_words(tk_bpe_trainer *t, const tk_word_counts *words);

/* Merge until about `budget` occurrences were visited; *done is set where training has ended. */
int tk_bpe_trainer_run(tk_bpe_trainer *t, size_t budget, int *done);

/* All merges so far in their order, with a pair more than once where it merged more than once. */
const tk_trained_merge *tk_bpe_trainer_merges(const tk_bpe_trainer *t, size_t *n);

/* Token i is bytes[ends[i - 1] .. ends[i]], from 0 for i = 0. */
const uint8_t *tk_bpe_trainer_tokens(const tk_bpe_trainer *t, const uint64_t **ends, size_t *n);

#endif
