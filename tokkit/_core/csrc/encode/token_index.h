/* Finds packed tokens by their bytes: a hash table with open addressing, immutable once built. */
#ifndef TK_TOKEN_INDEX_H
#define TK_TOKEN_INDEX_H
#include "encode/token_trie.h"

/* Of tokens with the same bytes the first is found. All zero is an index that needs no freeing. */
typedef struct {
    const uint8_t *blob;
    const int64_t *offsets;
    uint64_t *slots; /* [mask + 1] upper half of the hash | number + 1; 0 is free */
    size_t mask;
} tk_token_index;

/* The owner of the tokens keeps them alive. *twice is set to the number of the first token whose bytes one before it
   has, if there is one. TK_OK, or TK_NO_MEMORY: of memory, or of numbers below 2^32 - 1. */
int tk_token_index_build(tk_token_index *index, const tk_own_tokens *own, size_t *twice);

static inline void tk_token_index_free(tk_token_index *index) { free(index->slots); }

/* As tk_hash_bytes, but without a call for the few bytes that most tokens have. */
TK_INLINE uint64_t tk_token_hash(const uint8_t *p, size_t n) {
    uint64_t h = UINT64_C(0x2545F4914F6CDD1D) ^ (n * UINT64_C(0x9FB21C651E98DF25)), tail = 0;
    for (; n > 8; p += 8, n -= 8) h = (h ^ tk_load64(p)) * UINT64_C(0x9E3779B97F4A7C15), h ^= h >> 31;
    if (n & 8) tail = tk_load64(p);
    else
        for (size_t i = 0; i < n; i++) tail |= (uint64_t)p[i] << (8 * i);
    h = (h ^ tail) * UINT64_C(0xD6E8FEB86659FD93);
    return h ^ (h >> 32);
}

/* The slot of the bytes: it holds the token that has them, or 0. */
TK_INLINE size_t tk_token_index_slot(const tk_token_index *index, const uint8_t *bytes, size_t n, uint64_t hash) {
    size_t slot = (size_t)hash & index->mask;
    for (uint64_t entry; (entry = index->slots[slot]); slot = (slot + 1) & index->mask) {
        if ((entry ^ hash) >> 32) continue;
        const int64_t *ends = index->offsets + (uint32_t)entry;
        if ((size_t)(ends[0] - ends[-1]) == n && !memcmp(index->blob + ends[-1], bytes, n)) break;
    }
    return slot;
}

/* One more than the number of the token with these bytes, or 0. */
TK_INLINE uint32_t tk_token_index_find(const tk_token_index *index, const uint8_t *bytes, size_t n) {
    return (uint32_t)index->slots[tk_token_index_slot(index, bytes, n, tk_token_hash(bytes, n))];
}

#endif
