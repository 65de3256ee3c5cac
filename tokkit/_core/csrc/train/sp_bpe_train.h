/* BPE training from counted units, as sentencepiece does it.

   The pair that occurs most merges next, of pairs as frequent the one with fewer characters, then the lesser text. A
   pair that spells a piece which is there already never merges, nor one that the rules forbid. Every place where a pair
   stands counts, two of "aaa" too, though they overlap. A pair that other merges have used up has the count 0, and is
   a piece after all pairs that occur. */
#ifndef TK_SP_BPE_TRAIN_H
#define TK_SP_BPE_TRAIN_H
#include "train/piece_rules.h"
#include "train/word_cells.h"

typedef struct tk_sp_bpe_trainer tk_sp_bpe_trainer;

/* Merge `n_pieces` times at most. Units and places are mapped in `folder`, which outlives the trainer, or in the heap
   where that is NULL. `kinds` too must live as long. */
tk_sp_bpe_trainer *tk_sp_bpe_trainer_new(size_t n_pieces, const tk_piece_kinds *kinds, const char *folder);
void tk_sp_bpe_trainer_free(tk_sp_bpe_trainer *t);

/* Give the next id to a character; all come before the units. */
int tk_sp_bpe_trainer_character(tk_sp_bpe_trainer *t, uint32_t character);

/* Lay the units out and count their pairs; what is given is read here only. TK_TOO_LARGE beyond 2^30 characters,
   TK_NO_DISK where the folder has no room for them. */
int tk_sp_bpe_trainer_units(tk_sp_bpe_trainer *t, const tk_word_counts *units, const tk_spelling *spelling);

/* Merge until about `budget` occurrences were visited; *done is set where training has ended. */
int tk_sp_bpe_trainer_run(tk_sp_bpe_trainer *t, size_t budget, int *done);

/* Merges so far; *counts gets how often each one's pair occurred. */
size_t tk_sp_bpe_trainer_merges(const tk_sp_bpe_trainer *t, const int64_t **counts);

/* Token i is bytes[ends[i - 1] .. ends[i]], from 0 for i = 0: the characters, then what merged. */
const uint8_t *tk_sp_bpe_trainer_tokens(const tk_sp_bpe_trainer *t, const uint64_t **ends, size_t *n);

/* ---- the state, from which a training goes on with equal results: units as they are cut now, merges, and the pairs
   that ever occurred, which are counted anew. ---- */

enum { TK_SP_BPE_SIZES = TK_CELL_SIZES + 2, TK_SP_BPE_ARRAYS = TK_CELL_ARRAYS + 3 };
void tk_sp_bpe_state_sizes(const tk_sp_bpe_trainer *t, uint64_t *sizes);
void tk_sp_bpe_state_arrays(const tk_sp_bpe_trainer *t, tk_state_array *arrays);

/* Make the arrays of these sizes in a trainer that has its characters and no units: TK_OK or an error. */
int tk_sp_bpe_state_begin(tk_sp_bpe_trainer *t, const uint64_t *sizes);

/* Make the tokens of the merges and count the pairs: TK_OK, or TK_BAD_INPUT for what no training is. */
int tk_sp_bpe_state_end(tk_sp_bpe_trainer *t);

#endif
