/* The data of a BPE training: for bpe_trainer.c, and for bpe_state.c, which saves it. */
#ifndef TK_BPE_TRAINER_H
#define TK_BPE_TRAINER_H
#include "train/bpe_train.h"
#include "train/bpe_train_queue.h"
#include "encode/token_table.h"

/* What the merge at hand adds to one pair. */
typedef struct {
    int64_t count;
    size_t slot; /* in the pair table */
    uint32_t *list, *cursor;
    uint32_t n, one; /* positions; the only one stands here */
} tk_gain;

/* What the merge at hand changes in the pairs of one neighbouring token y. */
typedef struct {
    int64_t lost_before, lost_after; /* (y, left) and (right, y) */
    tk_gain before, after;           /* (y, result) and (result, y) */
    int touched;
} tk_neighbour;

typedef struct {
    uint64_t side; /* y << 1 | after */
    uint32_t position;
} tk_record;

struct tk_bpe_trainer {
    tk_bpe_limits limits;
    tk_word_cells words;
    tk_pair_table pairs, repeated; /* repeated: pairs that got a second entry */
    tk_queue queue;
    tk_big_block first_block;
    uint32_t *first_positions; /* of the pairs of single bytes */
    tk_chunks chunks;
    tk_trained_merge *merges;
    size_t n_merges, merges_capacity;
    int64_t *merge_counts; /* of each merge's pair, when it merged */
    size_t merge_counts_capacity;
    tk_token_table tokens;
    uint32_t *widths; /* by id */
    size_t widths_capacity;
    tk_neighbour *around; /* by id */
    size_t around_capacity;
    uint32_t *touched;
    size_t n_touched, touched_capacity;
    tk_record *records;
    size_t n_records, records_capacity;
    tk_token byte_ids[256];
};

/* Set m->result to the token that has the bytes of left and right, a new one where none has: TK_OK, TK_NO_MEMORY, or
   TK_NO_MERGE where it is not made: their text is forbidden, or the token that has them covers another number of cells,
   and so is another word's part that looks alike. */
int tk_bpe_trainer_join(tk_bpe_trainer *t, tk_trained_merge *m);

#endif
