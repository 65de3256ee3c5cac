/* Counting the distinct pretokens of documents: the input of vocabulary training. */
#ifndef TK_WORD_COUNTS_H
#define TK_WORD_COUNTS_H
#include "split/scan.h"
#include "train/big_blocks.h"

typedef struct {
    uint64_t offset; /* of its bytes in the table's `bytes` */
    int64_t count;
    uint32_t length; /* in bytes, at least 1 */
    uint32_t tag;    /* upper half of its hash */
} tk_counted_word;

_Static_assert(sizeof(tk_counted_word) == 24, "there are many, and word_counts.pyx reads them");

/* All zero is an empty table. */
typedef struct {
    size_t longest; /* bytes of a word; a longer one is counted in parts, each of whole characters. 0: no bound */
    const char *folder; /* where words and their bytes are mapped, NULL for the heap; it outlives the table */
    tk_big_block bytes_block, words_block;
    uint8_t *bytes;
    size_t n_bytes, bytes_capacity;
    tk_counted_word *words; /* in the order of first sight */
    size_t n_words, words_capacity;
    uint64_t *slots; /* tag << 32 | number of the word + 1, or 0 */
    size_t n_slots;  /* a power of two, or 0 */
} tk_word_counts;

/* Where a count over documents stands. Documents are lines with their ends, or end at `ends`. */
typedef struct {
    const uint8_t *text;
    size_t n;
    const int64_t *ends; /* NULL: every "\n" ends a document; else rising, the last is n */
    size_t n_ends, next; /* the end that comes next */
    size_t start, stop;  /* the document at hand */
    size_t pos;          /* in it; pretokens before are counted */
    int done;
} tk_documents;

void tk_word_counts_free(tk_word_counts *t);

/* Drop the hash slots; words can then be read, and counted no longer. */
void tk_word_counts_seal(tk_word_counts *t);

/* Add `count` to a word of n > 0 bytes: TK_OK, TK_NO_MEMORY, TK_NO_DISK, or TK_TOO_LARGE beyond 2^32 words, or bytes
   a word. */
int tk_word_counts_add(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count);

/* The same for a table without a bound; *number gets the word's place in the order of first sight. */
int tk_word_counts_number(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count, uint32_t *number);

/* The place of a word in the order of first sight, or UINT32_MAX where the table, which has slots, lacks it. */
uint32_t tk_word_counts_find(const tk_word_counts *t, const uint8_t *word, size_t n);

/* Count the pretokens of about `budget` bytes of documents, as `split` cuts them; d->done is set after the last. */
int tk_word_counts_text(tk_word_counts *t, tk_documents *d, const tk_split *split, size_t budget);

/* Add all words of `from`. */
int tk_word_counts_merge(tk_word_counts *t, const tk_word_counts *from);

#endif
