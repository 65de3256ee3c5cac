/* A word's bytes in, its ids out: an exact cache, keyed by all bytes of one piece and owned by one thread.

   Words of up to 15 bytes stand in 32-byte entries, two in a cache line: the 16-byte key is the bytes and,
   in its last byte, their number, so a free entry (all zero) equals no word. Up to four ids stand inline,
   their number in the top bits of the first; more go to the arena, and the key's top bit is set so that only
   the slow path finds them. A full line overflows into the next. Longer pieces have a table of their own.
   After construction both hold the vocabulary's own words and nothing else. Bounded: at its greatest size a
   table is emptied and seeded again. */
#ifndef TK_WORD_CACHE_H
#define TK_WORD_CACHE_H
#include "bpe_model.h"

enum { TK_SHORT_WORD = 15, TK_LONGEST_LEARNT = 512, TK_INLINE_IDS = 4 };
#define TK_ID_BITS 28
#define TK_ID_MASK ((UINT32_C(1) << TK_ID_BITS) - 1)
#define TK_MANY_IDS (UINT64_C(1) << 63)

typedef struct {
    uint64_t low, high;
    uint32_t ids[TK_INLINE_IDS]; /* count << 28 | id, id, …; or arena place and count where TK_MANY_IDS is set */
} tk_word;

typedef struct {
    uint64_t hash;
    uint32_t bytes, length, ids, count; /* places in the arenas of bytes and ids */
} tk_long_word;

typedef struct {
    uint32_t *ids; /* the vocabulary's ids, not token numbers */
    size_t n, capacity;
} tk_id_arena;

typedef struct {
    const tk_bpe *model;
    tk_word *words;         /* [2 << line_bits] */
    unsigned line_bits, max_line_bits;
    size_t n_words, n_seeds, max_words; /* n_seeds are the vocabulary's own, max_words what it may learn */
    tk_id_arena many;       /* of short words with more ids than an entry holds */
    tk_long_word *long_words;
    size_t n_long, long_mask;
    size_t longest;         /* no word that is longer is there */
    uint8_t *bytes;         /* of long words */
    size_t n_bytes, bytes_capacity;
    tk_id_arena long_ids;
    int learns, learns_long; /* 0: only the vocabulary's own words */
    uint64_t misses;
} tk_cache;

typedef struct {
    uint64_t low, high, hash;
} tk_key;

/* max_words: how many short words it may learn besides the vocabulary's (0: none). TK_OK, TK_NO_MEMORY, or
   TK_BAD_INPUT where two tokens have the same bytes. */
int tk_cache_init(tk_cache *cache, const tk_bpe *model, size_t max_words);
void tk_cache_free(tk_cache *cache);
size_t tk_cache_memory(const tk_cache *cache);

/* Find a word behind the first line; *ids gets its ids, the count is returned, 0 where it is not there. */
size_t tk_cache_find(const tk_cache *cache, const tk_key *key, const uint32_t **ids);
size_t tk_cache_find_long(const tk_cache *cache, const uint8_t *bytes, size_t n, const uint32_t **ids);

/* Learn a word. Forgetting it instead (no memory, or learning is off) is no error: the answer stands. */
void tk_cache_add(tk_cache *cache, const tk_key *key, const uint32_t *ids, size_t count);
void tk_cache_add_long(tk_cache *cache, const uint8_t *bytes, size_t n, const uint32_t *ids, size_t count);

TK_INLINE void tk_key_hash(tk_key *key) {
    key->hash = key->low * UINT64_C(0x9E3779B97F4A7C15) + key->high * UINT64_C(0xD6E8FEB86659FD93);
    key->hash ^= key->hash >> 32;
    key->hash *= UINT64_C(0x9FB21C651E98DF25);
}

/* The key of n <= 15 bytes. `readable` bytes may be read from p on: 16 make it one load and a mask. */
TK_INLINE tk_key tk_key_of(const uint8_t *p, size_t n, size_t readable) {
    tk_key key;
    if (TK_LIKELY(readable >= 16)) {
        uint64_t low = tk_load64(p), high = tk_load64(p + 8);
        unsigned bits = (unsigned)(n & 7) * 8;
        uint64_t mask = (UINT64_C(1) << bits) - 1;
        key.low = n < 8 ? low & mask : low;
        key.high = n < 8 ? 0 : high & mask;
    } else {
        uint8_t bytes[16] = {0};
        memcpy(bytes, p, n);
        key.low = tk_load64(bytes);
        key.high = tk_load64(bytes + 8);
    }
    key.high |= (uint64_t)n << 56;
    tk_key_hash(&key);
    return key;
}

TK_INLINE tk_word *tk_cache_line(const tk_cache *cache, uint64_t hash) {
    return cache->words + 2 * (size_t)(hash >> (64 - cache->line_bits));
}

#endif
