/* The bytes of a unit in, its tokens out: an exact cache of bounded size, keyed by all bytes, owned by one thread.

   An entry is one cache line: up to 31 bytes and their number, up to 8 tokens. It stands in one of two neighbouring
   lines, or of the two beside them; where all are taken, a new one takes the place of one of the first two by turns.
   One of more tokens takes both. */
#ifndef TK_UNIT_CACHE_H
#define TK_UNIT_CACHE_H
#include "base.h"

/* A token of a unit: bytes of the unit. */
typedef struct {
    uint32_t id, start, end;
} tk_sub;

enum {
    TK_UNIT_BYTES = 31,
    TK_UNIT_LINE = 8, /* tokens of a line, of which an entry has one or two */
    TK_UNIT_TOKENS = 2 * TK_UNIT_LINE,
    TK_UNIT_END_BITS = 5,
    TK_UNIT_ID_BITS = 24
};

/* A token is where it ends, then its id + 1 (ids are below 2^23, see token_trie.h); 0 stands behind the last one. It
   begins where the one before it ends, or, with TK_UNIT_SAME, where that begins. */
#define TK_UNIT_SAME (UINT32_C(1) << 30)
#define TK_UNIT_LONG (UINT32_C(1) << 31) /* of the first token: the second line is of this unit too */

typedef struct {
    uint64_t key[4]; /* the last byte is the number of bytes; 0 is a free entry, 255 the second line of another */
    uint32_t tokens[TK_UNIT_LINE];
} tk_unit;

/* All zero is a cache that is off. */
typedef struct {
    tk_unit *units; /* [mask + 1], aligned to cache lines */
    size_t mask, n;
    unsigned turn;
    uint64_t misses;
} tk_unit_cache;

/* Room for as many units as the greatest power of two that is not above `units`; off below 2. */
int tk_unit_cache_init(tk_unit_cache *cache, size_t units);
void tk_unit_cache_free(tk_unit_cache *cache);

typedef struct {
    uint64_t words[4];
    size_t slot; /* the even one of two */
} tk_unit_key;

/* The key of n bytes, n ≤ TK_UNIT_BYTES, where 32 may be read from p on. */
TK_INLINE tk_unit_key tk_unit_key_of(const tk_unit_cache *cache, const uint8_t *p, size_t n) {
    static const uint8_t keep[64] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    tk_unit_key key;
    const uint8_t *mask = keep + 32 - n;
    for (int i = 0; i < 4; i++) key.words[i] = tk_load64(p + 8 * i) & tk_load64(mask + 8 * i);
    key.words[3] |= (uint64_t)n << 56;
    /* Four products that do not wait for one another; their upper halves are the ones that are mixed. */
    uint64_t hash = (key.words[0] ^ UINT64_C(0x2545F4914F6CDD1D)) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= key.words[1] * UINT64_C(0xD6E8FEB86659FD93) >> 7;
    hash ^= key.words[2] * UINT64_C(0x9FB21C651E98DF25) >> 13;
    hash ^= key.words[3] * UINT64_C(0xC2B2AE3D27D4EB4F) >> 19;
    hash = (hash ^ hash >> 32) * UINT64_C(0xBF58476D1CE4E5B9);
    key.slot = (size_t)(hash >> 29) & cache->mask & ~(size_t)1;
    return key;
}

TK_INLINE int tk_unit_is(const tk_unit *unit, const tk_unit_key *key) {
    return ((unit->key[0] ^ key->words[0]) | (unit->key[1] ^ key->words[1]) | (unit->key[2] ^ key->words[2]) |
            (unit->key[3] ^ key->words[3])) == 0;
}

/* The two lines beside those of a slot: who finds his own taken may have one of them. */
TK_INLINE tk_unit *tk_unit_beside(const tk_unit_cache *cache, size_t slot) {
    return cache->units + ((slot ^ 2) & cache->mask);
}

TK_INLINE int tk_unit_pair_is_full(const tk_unit *even) { return even->key[3] && even[1].key[3]; }

TK_INLINE const tk_unit *tk_unit_find(tk_unit_cache *cache, const tk_unit_key *key) {
    const tk_unit *unit = cache->units + key->slot;
    if (TK_LIKELY(tk_unit_is(unit, key))) return unit;
    if (tk_unit_is(unit + 1, key)) return unit + 1;
    if (tk_unit_pair_is_full(unit)) {
        unit = tk_unit_beside(cache, key->slot);
        if (tk_unit_is(unit, key)) return unit;
        if (tk_unit_is(unit + 1, key)) return unit + 1;
    }
    cache->misses++;
    return NULL;
}

TK_INLINE int tk_unit_is_long(const tk_unit *unit) { return (unit->tokens[0] & TK_UNIT_LONG) != 0; }

/* The token after those that end at *end: its id, or UINT32_MAX behind the last; *start and *end move to it. */
TK_INLINE uint32_t tk_unit_next(uint32_t token, size_t *start, size_t *end) {
    if (!token) return UINT32_MAX;
    if (!(token & TK_UNIT_SAME)) *start = *end;
    *end = token & ((UINT32_C(1) << TK_UNIT_END_BITS) - 1);
    return (token >> TK_UNIT_END_BITS & ((UINT32_C(1) << TK_UNIT_ID_BITS) - 1)) - 1;
}

/* Whether the tokens fit into an entry; `tokens` gets them, and 0 behind them. */
static inline int tk_unit_pack(uint32_t tokens[TK_UNIT_TOKENS], const tk_sub *subs, size_t count) {
    size_t start = 0, end = 0;
    if (count > TK_UNIT_TOKENS) return 0;
    memset(tokens, 0, TK_UNIT_TOKENS * sizeof *tokens);
    for (size_t i = 0; i < count; i++) {
        int same = i && subs[i].start == start && subs[i].end == end;
        if ((!same && subs[i].start != end) || subs[i].end > TK_UNIT_BYTES) return 0;
        start = subs[i].start;
        end = subs[i].end;
        tokens[i] = (subs[i].id + 1) << TK_UNIT_END_BITS | (uint32_t)end | (same ? TK_UNIT_SAME : 0);
    }
    if (count > TK_UNIT_LINE) tokens[0] |= TK_UNIT_LONG;
    return 1;
}

/* Make both lines free. */
static inline void tk_unit_forget(tk_unit_cache *cache, tk_unit *even) {
    cache->n -= (even->key[3] != 0) + (even[1].key[3] && !tk_unit_is_long(even));
    even->key[3] = even[1].key[3] = 0;
    even->tokens[0] = 0;
}

static inline void tk_unit_learn(tk_unit_cache *cache, const tk_unit_key *key, const tk_sub *subs, size_t count) {
    uint32_t tokens[TK_UNIT_TOKENS];
    tk_unit *unit = cache->units + key->slot, *beside = tk_unit_beside(cache, key->slot);
    if (!tk_unit_pack(tokens, subs, count)) return;
    if (tk_unit_pair_is_full(unit) && !tk_unit_pair_is_full(beside)) unit = beside;
    if (count > TK_UNIT_LINE || tk_unit_is_long(unit)) tk_unit_forget(cache, unit);
    if (unit->key[3] && (!unit[1].key[3] || cache->turn++ & 1)) unit++;
    cache->n += !unit->key[3];
    memcpy(unit->key, key->words, sizeof unit->key);
    memcpy(unit->tokens, tokens, sizeof unit->tokens);
    if (count <= TK_UNIT_LINE) return;
    unit[1].key[3] = UINT64_MAX;
    memcpy(unit[1].tokens, tokens + TK_UNIT_LINE, sizeof unit->tokens);
}

#endif
