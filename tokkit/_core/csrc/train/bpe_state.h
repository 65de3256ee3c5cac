/* The state of a BPE training as arrays, from which it continues with equal results.

   Saved are the words as they are cut now, counts and positions of pairs, the queue in its very order (entries that
   compare equal come out by their places), and all merges. Tokens follow from the merges. */
#ifndef TK_BPE_STATE_H
#define TK_BPE_STATE_H
#include "train/bpe_train.h"

enum { TK_STATE_SIZES = 7 + 65, TK_STATE_ARRAYS = 7 + 65 };

/* The sizes that `tk_bpe_state_begin` wants: TK_STATE_SIZES numbers. */
void tk_bpe_state_sizes(const tk_bpe_trainer *t, uint64_t *sizes);

/* The arrays, TK_STATE_ARRAYS of them; the last are the entries of the queue, whose pointers mean nothing in a file. */
void tk_bpe_state_arrays(const tk_bpe_trainer *t, tk_state_array *arrays);

/* Copy positions of the queue's entries to `out`, which has room for `room`, from *level, *entry and *at on, which
   begin with 0; return how many, 0 at the end. */
size_t tk_bpe_state_positions(const tk_bpe_trainer *t, size_t *level, size_t *entry, size_t *at, uint32_t *out,
                              size_t room);

/* Make the arrays of these sizes in a trainer that has its first tokens and no words: TK_OK, TK_NO_MEMORY, or
   TK_BAD_INPUT. They are filled by the caller, and so are the positions after `tk_bpe_state_lists`. */
int tk_bpe_state_begin(tk_bpe_trainer *t, const uint64_t *sizes);

/* Make room for the positions that the entries say, which *positions gets: TK_OK or an error. */
int tk_bpe_state_lists(tk_bpe_trainer *t, tk_state_array *positions);

/* Make the tokens of the merges and check that all fits together: TK_OK, or TK_BAD_INPUT for what no training is. */
int tk_bpe_state_end(tk_bpe_trainer *t);

#endif
