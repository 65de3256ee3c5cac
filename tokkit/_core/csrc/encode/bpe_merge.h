/* Byte-pair merging: the lowest rank first, then the leftmost. */
#ifndef TK_BPE_MERGE_H
#define TK_BPE_MERGE_H
#include "encode/bpe_model.h"

/* Pretokens up to this many bytes are merged in two small arrays, n² but local; longer ones in a heap. */
enum { TK_SMALL_MERGE = 128 };

/* Scratch of one thread. All zero to begin with. */
typedef struct {
    uint32_t small_symbols[TK_SMALL_MERGE], small_results[TK_SMALL_MERGE];
    uint32_t *symbols, *next, *previous; /* a list over the bytes, for long pretokens */
    uint64_t *heap;                      /* result << 32 | place */
    size_t capacity;
    uint64_t *memo;                      /* bpe_backtrack.c: validity of pairs */
    uint8_t *dead;
    size_t *waited;                      /* [TK_BUCKETS] bytes that asked for a trie which was not there */
    uint32_t *tokens, *nodes;            /* the sequence so far, and the tries' nodes of its tokens */
    size_t dead_capacity, tokens_capacity, nodes_capacity;
} tk_merger;

void tk_merger_free(tk_merger *merger);

/* Merge n bytes; *symbols (in the scratch, until the next call) gets *count token numbers.
   TK_OK, TK_NO_MEMORY or TK_TOO_LARGE (4 GiB or more in one pretoken). O(n log n). */
int tk_merge(const tk_bpe *model, tk_merger *merger, const uint8_t *bytes, size_t n, uint32_t **symbols,
             size_t *count);

#endif
