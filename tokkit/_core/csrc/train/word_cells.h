/* Counted words as rows of cells, which trainers merge in.

   Each word is a row of cells, one a symbol (a byte, or a character), closed by a BORDER cell. A token of n symbols
   covers n cells: the first and the last hold its id, so that both neighbours of a token are one step away without
   links, and a merge costs the same in a word of ten symbols and of a gigabyte. Cells where a token once began or
   ended are VOID, so an old position that no longer starts the token of its pair is told from one that does by its
   cell alone. */
#ifndef TK_WORD_CELLS_H
#define TK_WORD_CELLS_H
#include "train/big_blocks.h"
#include "train/word_counts.h"

enum { TK_CELL_BLOCK_BITS = 7, TK_CODE_POINTS = 0x110000 };
#define TK_BORDER UINT32_MAX
#define TK_VOID (UINT32_MAX - 1)

_Static_assert(TK_VOID < TK_BORDER, "ids are below both");

/* How words are spelt: in bytes, whose ids `bytes` has; or, where that is NULL, in characters: `first` has id + 1 of
   each that begins a word, and `rest` of each that does not. A character with 0 is left out. */
typedef struct {
    const tk_token *bytes;
    const tk_token *first, *rest; /* TK_CODE_POINTS of each */
} tk_spelling;

typedef struct {
    const char *folder; /* where `cells` is mapped, NULL for the heap */
    tk_big_block cells_block;
    uint32_t *cells;
    size_t n_cells;
    uint32_t *run_of_block; /* cell >> TK_CELL_BLOCK_BITS → the first run that has a cell there */
    uint32_t *run_ends;     /* words lie in the order of their counts; words of one count are a run */
    int64_t *run_counts;
    size_t n_runs;
} tk_word_cells;

/* An array of the state of a training, in memory. */
typedef struct {
    void *data;
    size_t n; /* bytes */
} tk_state_array;

enum { TK_CELL_SIZES = 2, TK_CELL_ARRAYS = 3 };

void tk_word_cells_free(tk_word_cells *c);

/* Lay the words out; those of less than `least` bytes are left out. TK_TOO_LARGE beyond `most` cells, 2^32 - 2 or
   less. Words in characters must be valid UTF-8. */
int tk_word_cells_lay_out(tk_word_cells *c, const tk_word_counts *words, const tk_spelling *spelling, uint32_t least,
                          size_t most);

/* Words as a training has merged them, to be saved: TK_CELL_SIZES numbers, and TK_CELL_ARRAYS arrays of these sizes. */
void tk_word_cells_sizes(const tk_word_cells *c, uint64_t *sizes);
void tk_word_cells_arrays(const tk_word_cells *c, tk_state_array *arrays);

/* Make the arrays of these sizes in an empty `c`, for the caller to fill: TK_OK, TK_NO_MEMORY, TK_NO_DISK, or
   TK_BAD_INPUT beyond `most` cells. */
int tk_word_cells_begin(tk_word_cells *c, const uint64_t *sizes, size_t most);

/* Check what was filled in: whole tokens of ids below n_ids, which cover `widths` cells, between borders. TK_OK or
   TK_BAD_INPUT. `starts`, n_cells bits of 0 or NULL, gets a bit for each cell that begins a token or is a border. */
int tk_word_cells_check(tk_word_cells *c, const uint32_t *widths, size_t n_ids, uint8_t *starts);

/* The run of the word that a cell belongs to: run_counts has how often that word occurs. */
TK_INLINE size_t tk_word_cells_run(const tk_word_cells *c, uint32_t position) {
    TK_ASSERT(position < c->n_cells);
    size_t run = c->run_of_block[position >> TK_CELL_BLOCK_BITS];
    while (c->run_ends[run] <= position) run++;
    TK_ASSERT(run < c->n_runs);
    return run;
}

#endif
