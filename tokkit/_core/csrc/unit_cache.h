/* The bytes of a unit in, its tokens out: an exact cache of bounded size, keyed by all bytes, owned by one thread.

   An entry is one cache line: up to 31 bytes and their number, up to 5 tokens. It may stand in one of two
   neighbouring lines; a new one takes the place of one of them by turns. */
#ifndef TK_UNIT_CACHE_H
#define TK_UNIT_CACHE_H
#include "base.h"

/* A token of a unit: bytes of the unit. */
typedef struct {
    uint32_t id, start, end;
} tk_sub;

enum { TK_UNIT_BYTES = 31, TK_UNIT_TOKENS = 5 };

typedef struct {
    uint64_t key[4]; /* the last byte is the number of bytes; 0 is a free entry */
    uint32_t ids[TK_UNIT_TOKENS];
    uint8_t count, spare, starts[TK_UNIT_TOKENS], ends[TK_UNIT_TOKENS];
} tk_unit;

/* All zero is a cache that is off. */
typedef struct {
    void *block;    /* where `units`, which is aligned to cache lines, lies in */
    tk_unit *units; /* [mask + 1] */
    size_t mask, n;
    unsigned turn;
    uint64_t misses;
} tk_unit_cache;

/* Room for as many units as the greatest power of two that is not above `units`; off below 2. */
static inline int tk_unit_cache_init(tk_unit_cache *cache, size_t units) {
    memset(cache, 0, sizeof *cache);
    if (units < 2) return TK_OK;
    size_t n = 2;
    while (n <= units / 2) n *= 2;
    cache->block = tk_calloc(n + 1, sizeof(tk_unit));
    if (!cache->block) return TK_NO_MEMORY;
    cache->units = (tk_unit *)(((uintptr_t)cache->block + 63) & ~(uintptr_t)63);
    cache->mask = n - 1;
    return TK_OK;
}

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
    uint64_t hash = UINT64_C(0x2545F4914F6CDD1D);
    for (int i = 0; i < 4; i++) key.words[i] = tk_load64(p + 8 * i) & tk_load64(mask + 8 * i);
    key.words[3] |= (uint64_t)n << 56;
    for (int i = 0; i < 4; i++) hash = (hash ^ key.words[i]) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 32;
    key.slot = (size_t)(hash >> 7) & cache->mask & ~(size_t)1;
    return key;
}

TK_INLINE int tk_unit_is(const tk_unit *unit, const tk_unit_key *key) {
    return ((unit->key[0] ^ key->words[0]) | (unit->key[1] ^ key->words[1]) | (unit->key[2] ^ key->words[2]) |
            (unit->key[3] ^ key->words[3])) == 0;
}

TK_INLINE const tk_unit *tk_unit_find(tk_unit_cache *cache, const tk_unit_key *key) {
    const tk_unit *unit = cache->units + key->slot;
    if (TK_LIKELY(tk_unit_is(unit, key))) return unit;
    if (tk_unit_is(unit + 1, key)) return unit + 1;
    cache->misses++;
    return NULL;
}

static inline void tk_unit_learn(tk_unit_cache *cache, const tk_unit_key *key, const tk_sub *subs, size_t count) {
    if (count > TK_UNIT_TOKENS) return;
    for (size_t i = 0; i < count; i++)
        if (subs[i].end > UINT8_MAX) return;
    tk_unit *unit = cache->units + key->slot;
    if (unit->key[3] && (!unit[1].key[3] || cache->turn++ & 1)) unit++;
    cache->n += !unit->key[3];
    memcpy(unit->key, key->words, sizeof unit->key);
    unit->count = (uint8_t)count;
    for (size_t i = 0; i < count; i++) {
        unit->ids[i] = subs[i].id;
        unit->starts[i] = (uint8_t)subs[i].start;
        unit->ends[i] = (uint8_t)subs[i].end;
    }
}

#endif
