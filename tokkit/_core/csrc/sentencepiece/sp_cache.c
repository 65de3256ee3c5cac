/* Fills, searches and grows the cache of units: see sp_cache.h. */
#include "sentencepiece/sp_cache.h"

#include "large_memory.h"

enum { LINE = TK_LINE_BYTES };
enum { MOST_SPILT = 1 << 21 }; /* ids of units that have more than an entry holds: then all are evicted */

/* ---- memory */

enum { FIRST_UNITS = 1 << 15 };

/* Lines for so many entries, two to a line. */
static size_t lines_for(size_t units) {
    size_t lines = 1;
    while (lines <= units / 4) lines *= 2;
    return lines;
}

int tk_sp_cache_init(tk_sp_cache *cache, size_t units) {
    size_t n_long = 1;
    while (n_long <= units / 16) n_long *= 2;
    cache->lines = lines_for(units);
    cache->mask = lines_for(units < FIRST_UNITS ? units : FIRST_UNITS) - 1;
    cache->long_mask = n_long - 1;
    if (cache->lines > (size_t)PTRDIFF_MAX / LINE / 2) return TK_NO_MEMORY;
    cache->long_entries = tk_table_alloc(n_long * sizeof(tk_sp_long_entry));
    cache->entries = tk_table_alloc(cache->lines * LINE);
    return cache->long_entries && cache->entries ? TK_OK : TK_NO_MEMORY;
}

void tk_sp_cache_free(tk_sp_cache *cache) {
    tk_table_free(cache->entries, cache->lines * LINE);
    tk_table_free(cache->long_entries, (cache->long_mask + 1) * sizeof *cache->long_entries);
    free(cache->spilt);
    memset(cache, 0, sizeof *cache);
}

/* ---- units */

static int spill(tk_sp_cache *cache, const uint32_t *ids, size_t count, uint32_t *place) {
    if (cache->n_spilt + count > MOST_SPILT) {
        memset(cache->entries, 0, (cache->mask + 1) * LINE);
        memset(cache->long_entries, 0, (cache->long_mask + 1) * sizeof *cache->long_entries);
        cache->n_spilt = cache->n = cache->n_long = 0;
    }
    if (tk_reserve(&cache->spilt, &cache->spilt_capacity, cache->n_spilt + count + 4, sizeof *ids)) return TK_NO_MEMORY;
    memcpy(cache->spilt + cache->n_spilt, ids, count * sizeof *ids);
    *place = (uint32_t)cache->n_spilt;
    cache->n_spilt += count;
    return TK_OK;
}

/* A key that finds its own place taken may have one of those beside it. */
enum { BESIDE = 4 };
TK_INLINE tk_sp_entry *line_beside(const tk_sp_cache *cache, size_t line, size_t k) {
    return cache->entries + 2 * ((line ^ k) & cache->mask);
}
TK_INLINE tk_sp_long_entry *long_beside(const tk_sp_cache *cache, size_t slot, size_t k) {
    return cache->long_entries + ((slot ^ k) & cache->long_mask);
}

/* The entry that a new key gets. */
static tk_sp_entry *place_for(tk_sp_cache *cache, size_t line) {
    for (size_t k = 0; k < BESIDE; k++) {
        tk_sp_entry *e = line_beside(cache, line, k);
        if (!e->high || !e[1].high) return e + (e->high != 0);
    }
    return cache->entries + 2 * line + (cache->turn++ & 1);
}

static tk_sp_long_entry *long_place_for(tk_sp_cache *cache, size_t slot) {
    for (size_t k = 0; k < BESIDE; k++)
        if (!long_beside(cache, slot, k)->key[3]) return long_beside(cache, slot, k);
    return long_beside(cache, slot, cache->turn++ % BESIDE);
}

/* The entry's line under the mask that there is now. */
static size_t own_line(const tk_sp_cache *cache, const tk_sp_entry *e) {
    return tk_sp_line_of(cache, e->low, e->high & ~TK_SP_SPILT);
}

void tk_sp_cache_grow(tk_sp_cache *cache) {
    size_t n = cache->mask + 1;
    tk_sp_entry *e, *own;
    cache->mask = 2 * n - 1;
    for (e = cache->entries; e < cache->entries + 2 * n; e++) {
        size_t line = own_line(cache, e);
        if (!e->high || line < n) continue;
        *place_for(cache, line) = *e;
        memset(e, 0, sizeof *e);
    }
    /* Room has come up in lines whose keys are beside them, where nobody looks for them then. Each that moves leaves
       some itself: the few that this concerns are inserted anew. */
    for (e = cache->entries; e < cache->entries + 2 * n; e++) {
        own = cache->entries + 2 * own_line(cache, e);
        if (!e->high || (own->high && own[1].high)) continue;
        tk_sp_entry moved = *e;
        memset(e, 0, sizeof *e);
        own[own->high != 0] = moved;
    }
}

int tk_sp_cache_insert(tk_sp_cache *cache, const tk_sp_key *key, const tk_sp_unit *unit) {
    uint32_t place = 0;
    if (unit->count > 3 && spill(cache, unit->ids, unit->count, &place) != TK_OK) return TK_NO_MEMORY;
    tk_sp_entry *e = place_for(cache, key->line);
    cache->n += !e->high;
    *e = (tk_sp_entry){key->low, key->high, {place, unit->count, 0}, tk_sp_meta_of(unit)};
    if (unit->count > 3) e->high |= TK_SP_SPILT;
    else memcpy(e->ids, unit->ids, sizeof e->ids);
    return TK_OK;
}

static tk_sp_entry *find_in(tk_sp_entry *e, const tk_sp_key *key) {
    for (int i = 0; i < 2; i++, e++)
        if (e->low == key->low && (e->high & ~TK_SP_SPILT) == key->high) return e;
    return NULL;
}

const tk_sp_entry *tk_sp_cache_find(tk_sp_cache *cache, const tk_sp_key *key) {
    tk_sp_entry *own = cache->entries + 2 * key->line, *e = find_in(own, key);
    if (e || !own->high || !own[1].high) return e;
    for (size_t k = 1; k < BESIDE; k++) {
        if (!(e = find_in(line_beside(cache, key->line, k), key))) continue;
        own += cache->turn++ & 1; /* what comes again and again ends up where it is found at once */
        tk_sp_entry found = *e;
        *e = *own;
        *own = found;
        return own;
    }
    return NULL;
}

tk_sp_long_key tk_sp_long_key_of(const tk_sp_cache *cache, const uint8_t *p, size_t n) {
    tk_sp_long_key key;
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        key.words[i] = tk_load64(p + 8 * i) & tk_load64(TK_SP_MASKS + 32 - n + 8 * i);
        if (i == 3) key.words[i] |= (uint64_t)n << 56;
        hash = tk_mix64(hash ^ key.words[i]);
    }
    key.slot = (size_t)(hash >> 24) & cache->long_mask;
    return key;
}

const tk_sp_long_entry *tk_sp_cache_find_long(const tk_sp_cache *cache, const tk_sp_long_key *key) {
    for (size_t k = 0; k < BESIDE; k++) {
        const tk_sp_long_entry *e = long_beside(cache, key->slot, k);
        if (!memcmp(e->key, key->words, sizeof e->key)) return e;
        if (!e->key[3]) break;
    }
    return NULL;
}

int tk_sp_cache_insert_long(tk_sp_cache *cache, const tk_sp_long_key *key, const tk_sp_unit *unit) {
    uint32_t place = 0;
    if (unit->count > TK_SP_LONG_IDS && spill(cache, unit->ids, unit->count, &place) != TK_OK) return TK_NO_MEMORY;
    tk_sp_long_entry *e = long_place_for(cache, key->slot);
    cache->n_long += !e->key[3];
    memcpy(e->key, key->words, sizeof e->key);
    e->count = unit->count;
    e->meta = tk_sp_meta_of(unit);
    e->ids[0] = place;
    if (unit->count <= TK_SP_LONG_IDS) memcpy(e->ids, unit->ids, sizeof e->ids);
    return TK_OK;
}
