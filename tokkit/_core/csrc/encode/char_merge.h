/* BPE over characters, for models of tokenizer.json and of SentencePiece.

   The pair with the lowest rank merges first, of equal ranks the leftmost. A few symbols merge in small arrays, which
   is quadratic but local; many in a list with a heap, O(n log n). A symbol is the id of its token; TK_NO_ID merges with
   nothing. */
#ifndef TK_CHAR_MERGE_H
#define TK_CHAR_MERGE_H
#include "encode/token_trie.h"

enum { TK_FEW_SYMBOLS = 48, TK_FEW_SPARE = 4, TK_PAIR_FILTER_BITS = 19 };
#define TK_NO_RANK UINT32_MAX

typedef struct {
    uint64_t key; /* left << 32 | right; all ones is free */
    uint32_t rank, result;
} tk_ranked_pair;

/* Immutable once filled. Most pairs do not merge, and a filter of 64 KiB knows most of these. */
typedef struct {
    tk_ranked_pair *slots;
    uint8_t *filter;
    size_t mask;
    unsigned shift;
} tk_char_pairs;

/* Room for n pairs. TK_OK or TK_NO_MEMORY; freed by the second either way. */
int tk_char_pairs_init(tk_char_pairs *pairs, size_t n);
void tk_char_pairs_free(tk_char_pairs *pairs);

/* Of a pair that is put twice the last holds. rank < TK_NO_RANK. */
void tk_char_pairs_put(tk_char_pairs *pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t result);

TK_INLINE uint64_t tk_char_pair_hash(uint64_t key) { return (key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15); }

/* NULL for a pair that does not merge. */
TK_INLINE const tk_ranked_pair *tk_char_pair(const tk_char_pairs *pairs, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << 32 | right, hash = tk_char_pair_hash(key);
    if (!tk_has_bit(pairs->filter, (size_t)(hash >> (64 - TK_PAIR_FILTER_BITS)))) return NULL;
    for (size_t slot = (size_t)(hash >> pairs->shift);; slot = (slot + 1) & pairs->mask) {
        const tk_ranked_pair *pair = pairs->slots + slot;
        if (pair->key == key) return key != UINT64_MAX ? pair : NULL;
        if (pair->key == UINT64_MAX) return NULL;
    }
}

/* A few symbols: their ids, how many symbols of the unit stand before each, and what each becomes with the next. */
typedef struct {
    uint32_t ids[TK_FEW_SYMBOLS + TK_FEW_SPARE], at[TK_FEW_SYMBOLS + TK_FEW_SPARE];
    uint32_t ranks[TK_FEW_SYMBOLS + TK_FEW_SPARE], results[TK_FEW_SYMBOLS + TK_FEW_SPARE];
} tk_few;

/* Fill ranks[k] and results[k], for ids[k] and ids[k + 1]. */
TK_INLINE void tk_few_look(const tk_char_pairs *pairs, tk_few *few, size_t k) {
    const tk_ranked_pair *pair = tk_char_pair(pairs, few->ids[k], few->ids[k + 1]);
    few->ranks[k] = pair ? pair->rank : TK_NO_RANK;
    few->results[k] = pair ? pair->result : 0;
}

/* Merge n symbols, n <= TK_FEW_SYMBOLS, whose pairs were looked up; returns how many are left. */
size_t tk_merge_few(const tk_char_pairs *pairs, tk_few *few, size_t n);

/* Many symbols, in a list over the unit. */
typedef struct {
    uint32_t id, previous, next;
} tk_merge_link;

/* One thread's. All zero to begin with. */
typedef struct {
    tk_merge_link *links;
    uint64_t *heap, *skipped; /* rank << 32 | place */
    size_t links_capacity, heap_capacity, skipped_capacity;
} tk_merge_scratch;

/* The rules of tokenizers, if `merges`, where an entry of the heap stands for whatever gives its result; else those of
   sentencepiece. */
typedef struct {
    const uint32_t *merges; /* [n][3] left, right, result, by rank; or NULL */
    double dropout;         /* a merge is left out with this chance, by *random: for good, or with `merges` until */
    uint64_t *random;       /* another has been made */
    uint32_t *last_made;    /* of each id the two that were last seen to make it, or NULL */
} tk_merge_options;

/* Room for n symbols; their ids go to links[].id. */
int tk_merge_reserve(tk_merge_scratch *s, size_t n, const tk_merge_options *o);
void tk_merge_scratch_free(tk_merge_scratch *s);
void tk_merge_scratch_shrink(tk_merge_scratch *s, size_t most);

/* Merge n > 0 of them; what is left is links[0], the one at its `next`, and so on up to place n. */
void tk_merge_many(const tk_char_pairs *pairs, tk_merge_scratch *s, size_t n, const tk_merge_options *o);

/* From 0 on, below 1: splitmix64, of which 53 bits are taken. */
static inline double tk_chance(uint64_t *random) {
    uint64_t x = *random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

#endif
