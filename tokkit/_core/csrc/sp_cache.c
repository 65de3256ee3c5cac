/* The bytes of a unit in, its ids out: see sp_cache.h. */
#include "sp_cache.h"

#include "large_memory.h"

enum { LINE = TK_LINE_BYTES };
enum { MOST_SPILT = 1 << 21 }; /* ids of units that have more than an entry holds: then all is forgotten */

/* ---- memory */

enum { FIRST_UNITS = 1 << 15 };

/* A table of so many entries, two to a line; `cache` keeps what it has if there is no memory. */
static int make_entries(tk_sp_cache *cache, size_t units) {
    size_t lines = 1;
    while (lines <= units / 4) lines *= 2;
    if (lines > (size_t)PTRDIFF_MAX / LINE / 2) return TK_NO_MEMORY;
    void *entries = tk_table_alloc(lines * LINE);
    if (!entries) return TK_NO_MEMORY;
    cache->entries = entries;
    cache->mask = lines - 1;
    return TK_OK;
}

int tk_sp_cache_init(tk_sp_cache *cache, size_t units) {
    size_t n_long = 1;
    while (n_long <= units / 16) n_long *= 2;
    cache->most = units;
    cache->long_mask = n_long - 1;
    cache->long_entries = tk_table_alloc(n_long * sizeof(tk_sp_long_entry));
    if (!cache->long_entries) return TK_NO_MEMORY;
    return make_entries(cache, units < FIRST_UNITS ? units : FIRST_UNITS);
}

void tk_sp_cache_free(tk_sp_cache *cache) {
    tk_table_free(cache->entries, (cache->mask + 1) * LINE);
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

/* A key that finds both its entries taken may have one of the neighbouring line. */
TK_INLINE size_t neighbour(const tk_sp_cache *cache, size_t line) { return (line ^ 1) & cache->mask; }

/* The entry that a new key gets. */
static tk_sp_entry *place_for(tk_sp_cache *cache, size_t line) {
    tk_sp_entry *e = cache->entries + 2 * line, *others = cache->entries + 2 * neighbour(cache, line);
    if (!e->high || !e[1].high) return e + (e->high != 0);
    if (!others->high || !others[1].high) return others + (others->high != 0);
    return e + (cache->turn++ & 1);
}

void tk_sp_cache_grow(tk_sp_cache *cache) {
    tk_sp_cache old = *cache;
    size_t n = 2 * (old.mask + 1);
    if (make_entries(cache, 2 * n < cache->most ? 2 * n : cache->most) != TK_OK) return;
    for (size_t k = 0; k < n; k++) {
        const tk_sp_entry *e = old.entries + k;
        if (e->high) *place_for(cache, tk_sp_line_of(cache, e->low, e->high & ~TK_SP_SPILT)) = *e;
    }
    tk_table_free(old.entries, (old.mask + 1) * LINE);
}

int tk_sp_cache_learn(tk_sp_cache *cache, const tk_sp_key *key, const tk_sp_unit *unit) {
    uint32_t place = 0;
    if (unit->count > 3 && spill(cache, unit->ids, unit->count, &place) != TK_OK) return TK_NO_MEMORY;
    tk_sp_entry *e = place_for(cache, key->line);
    cache->n += !e->high;
    *e = (tk_sp_entry){key->low, key->high, {place, unit->count, 0}, tk_sp_meta_of(unit)};
    if (unit->count > 3) e->high |= TK_SP_SPILT;
    else memcpy(e->ids, unit->ids, sizeof e->ids);
    return TK_OK;
}

static const tk_sp_entry *find_in(const tk_sp_entry *e, const tk_sp_key *key) {
    for (int i = 0; i < 2; i++, e++)
        if (e->low == key->low && (e->high & ~TK_SP_SPILT) == key->high) return e;
    return NULL;
}

const tk_sp_entry *tk_sp_cache_find(const tk_sp_cache *cache, const tk_sp_key *key) {
    const tk_sp_entry *line = cache->entries + 2 * key->line, *e = find_in(line, key);
    if (e || !line->high || !line[1].high) return e; /* the neighbour has what finds both taken */
    return find_in(cache->entries + 2 * neighbour(cache, key->line), key);
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
    const tk_sp_long_entry *e = cache->long_entries + key->slot;
    return memcmp(e->key, key->words, sizeof e->key) ? NULL : e;
}

int tk_sp_cache_learn_long(tk_sp_cache *cache, const tk_sp_long_key *key, const tk_sp_unit *unit) {
    uint32_t place = 0;
    if (unit->count > TK_SP_LONG_IDS && spill(cache, unit->ids, unit->count, &place) != TK_OK) return TK_NO_MEMORY;
    tk_sp_long_entry *e = cache->long_entries + (key->slot);
    cache->n_long += !e->key[3];
    memcpy(e->key, key->words, sizeof e->key);
    e->count = unit->count;
    e->meta = tk_sp_meta_of(unit);
    e->ids[0] = place;
    if (unit->count <= TK_SP_LONG_IDS) memcpy(e->ids, unit->ids, sizeof e->ids);
    return TK_OK;
}
