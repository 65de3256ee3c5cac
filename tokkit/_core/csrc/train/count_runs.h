/* Runs: words in the order of their bytes, each with its count, front-coded in blocks; and the merge of several runs.

   A word of a block is three numbers in base 128, lowest digits first (how many bytes it shares with the word before,
   how many follow, how often it occurs), with the bytes that follow before the last. The first of a block shares none,
   so that each block is read alone. Words rise strictly, within a block and from block to block. */
#ifndef TK_COUNT_RUNS_H
#define TK_COUNT_RUNS_H
#include "train/word_counts.h"

/* A block that is written. All zero is an empty one. */
typedef struct {
    uint8_t *bytes;
    size_t n, capacity;
    uint8_t *last; /* the word that was put last */
    size_t last_length, last_capacity;
    size_t n_words;
    uint64_t total; /* of the counts */
} tk_count_block;

void tk_count_block_free(tk_count_block *b);

/* Begin the block anew. */
void tk_count_block_clear(tk_count_block *b);

/* Append a word that is greater than the last: TK_OK or TK_NO_MEMORY. */
int tk_count_block_put(tk_count_block *b, const uint8_t *word, size_t n, int64_t count);

/* *order gets the numbers of a table's words in the order of their bytes, which the caller frees. */
int tk_count_order(const tk_word_counts *words, uint32_t **order);

/* Where a reader of a run stands. All zero is before its first block. */
typedef struct {
    const uint8_t *next, *end; /* of the block at hand */
    uint8_t *word;
    size_t length, capacity;
    uint64_t prefix; /* the word's first 8 bytes as a number, which compares as they do */
    int64_t count;
    int64_t factor; /* of a merge: what its counts are multiplied by, at least 1 */
    int at_start;   /* of a block */
    int started;
} tk_count_cursor;

void tk_count_cursor_free(tk_count_cursor *c);

/* Go on in another block. */
void tk_count_cursor_feed(tk_count_cursor *c, const uint8_t *block, size_t n);

/* Read a word: TK_OK, TK_BLOCK_READ at the end of the block, TK_NO_MEMORY, or TK_BAD_INPUT for no block of a run. */
int tk_count_cursor_next(tk_count_cursor *c);

/* Add the words of a block to a table. With `text` TK_BAD_INPUT is returned for a word that is not UTF-8, too; and
   TK_TOO_LARGE where the sum of counts times lengths, *total, would pass `most`. */
int tk_count_cursor_count(tk_count_cursor *c, tk_word_counts *words, int text, uint64_t *total, uint64_t most);

/* The merge of `n` runs. */
typedef struct {
    tk_count_cursor *cursors;
    uint32_t *heap; /* the cursors that have a word, the least first */
    size_t n, n_heap, n_begun;
    int64_t minimum; /* words of lesser sums are left out */
    int64_t divisor; /* what sums are divided by, rounded to the nearest and halves up; 1 where nothing is weighted */
    uint8_t *word;   /* the word at hand, whose sum is not complete yet */
    size_t length, capacity;
    int64_t sum; /* 0: there is none */
    uint64_t n_dropped, dropped; /* words left out, and the sum of their counts */
} tk_count_merge;

/* TK_OK or TK_NO_MEMORY; tk_count_merge_free in either case. Factors and the divisor are 1: change them before a
   run. */
int tk_count_merge_begin(tk_count_merge *m, size_t n, int64_t minimum);
void tk_count_merge_free(tk_count_merge *m);

/* Go on until `out` has `size` bytes (TK_MERGE_FULL), a run needs its next block (TK_MERGE_WANTS: feed cursor *which,
   then call again, with `ended` where it has none), or all are merged (TK_OK); else an error of *which. */
int tk_count_merge_run(tk_count_merge *m, tk_count_block *out, size_t size, size_t *which, int ended);

#endif
