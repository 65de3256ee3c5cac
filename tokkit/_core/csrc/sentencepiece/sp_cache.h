/* An exact cache of the ids of units, of bounded size and owned by one thread; see sp_engine.h. */
#ifndef TK_SP_CACHE_H
#define TK_SP_CACHE_H
#include "sentencepiece/sp_engine.h"

int tk_sp_cache_init(tk_sp_cache *cache, size_t units);
void tk_sp_cache_free(tk_sp_cache *cache);

/* Twice as many entries, once half of them are taken: few units stay where they are fast to reach, and touch few of the
   pages that there are. Lines of keys are others then. */
void tk_sp_cache_grow(tk_sp_cache *cache);
TK_INLINE int tk_sp_cache_is_full(const tk_sp_cache *cache) {
    return cache->n > cache->mask && cache->mask + 1 < cache->lines;
}

typedef struct {
    uint64_t low, high;
    size_t line;
} tk_sp_key;

typedef struct {
    uint64_t words[4];
    size_t slot;
} tk_sp_long_key;

/* Bytes to keep: n of them from the (32 - n)th on, then none. */
static const uint8_t TK_SP_MASKS[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

#define TK_SP_ADD UINT64_C(0x2545F4914F6CDD1D)
#define TK_SP_MIX_LOW UINT64_C(0x9E3779B97F4A7C15)
#define TK_SP_MIX_HIGH UINT64_C(0xD6E8FEB86659FD93)
#define TK_SP_MIX UINT64_C(0xBF58476D1CE4E5B9)

TK_INLINE size_t tk_sp_line_of(const tk_sp_cache *cache, uint64_t low, uint64_t high) {
    uint64_t hash = (low ^ TK_SP_ADD) * TK_SP_MIX_LOW ^ high * TK_SP_MIX_HIGH;
    return (size_t)(((hash ^ hash >> 32) * TK_SP_MIX) >> 32) & cache->mask;
}

/* The key of n bytes; of more than TK_SP_SHORT, one that no entry has. 16 may be read from p on. */
TK_INLINE tk_sp_key tk_sp_key_of(const tk_sp_cache *cache, const uint8_t *p, size_t n) {
    size_t kept = n < 16 ? n : 16;
    tk_sp_key key;
    key.low = tk_load64(p) & tk_load64(TK_SP_MASKS + 32 - kept);
    key.high = (tk_load64(p + 8) & tk_load64(TK_SP_MASKS + 40 - kept)) | (uint64_t)kept << 56;
    if (kept == 16) key.high |= UINT64_C(64) << 56;
    key.line = tk_sp_line_of(cache, key.low, key.high);
    return key;
}

/* The key of n bytes, from TK_SP_SHORT + 1 on to TK_SP_LONG. 32 may be read from p on. */
tk_sp_long_key tk_sp_long_key_of(const tk_sp_cache *cache, const uint8_t *p, size_t n);

/* The entry of a key, NULL for none; and what to put into one. TK_OK or TK_NO_MEMORY. */
const tk_sp_entry *tk_sp_cache_find(tk_sp_cache *cache, const tk_sp_key *key);
const tk_sp_long_entry *tk_sp_cache_find_long(const tk_sp_cache *cache, const tk_sp_long_key *key);
int tk_sp_cache_insert(tk_sp_cache *cache, const tk_sp_key *key, const tk_sp_unit *unit);
int tk_sp_cache_insert_long(tk_sp_cache *cache, const tk_sp_long_key *key, const tk_sp_unit *unit);

TK_INLINE uint32_t tk_sp_meta_of(const tk_sp_unit *unit) {
    return unit->limit << 16 | unit->sum << 2 | (unit->count <= 3 ? unit->count : 0);
}

#endif
