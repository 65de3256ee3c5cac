/* Preloads, searches, fills and grows the cache of words: see word_cache.h. */
#include "encode/word_cache.h"

#include "large_memory.h"

enum {
    PRELOADED_AHEAD = 32, /* words whose lines are fetched together while preloading */
    MIN_LINE_BITS = 8,
    ROOMY_LINE_BITS = 19, /* up to 32 MiB a table has four lines a preloaded word: a megabyte does not grow it */
    MIN_LONG_SLOTS = 1 << 12,
    MAX_LONG_SLOTS = 1 << 17,   /* 3 MiB; long words are evicted when half of them are taken, */
    MAX_LONG_BYTES = 8 << 20,   /* or their bytes reach this, */
    MAX_ARENA_IDS = 4 << 20,    /* or an arena of ids this */
};

enum { LINE = 1 << TK_LINE_SHIFT };
_Static_assert(LINE == 2 * sizeof(tk_word), "a line is two entries");

static size_t slots(const tk_cache *c) { return (size_t)2 << c->line_bits; }

static void set_words(tk_cache *c, tk_word *words, unsigned line_bits) {
    TK_ASSERT(line_bits && line_bits < 64 - TK_LINE_SHIFT);
    c->words = words;
    c->line_bits = line_bits;
    c->line_shift = 64 - TK_LINE_SHIFT - line_bits;
}

/* The entry of a key, or the free one where it belongs. The table is never full. */
static tk_word *locate(const tk_cache *c, const tk_key *key) {
    size_t mask = slots(c) - 1, i = (size_t)(tk_cache_line(c, key->hash) - c->words);
    TK_ASSERT(key->high && i <= mask && c->n_words <= mask);
    for (;; i = (i + 1) & mask) {
        tk_word *w = c->words + i;
        if (!w->high || (w->low == key->low && w->high == key->high)) return w;
    }
}

size_t tk_cache_find(tk_cache *c, const tk_key *key, const uint32_t **ids) {
    tk_word *w = locate(c, key), *home = tk_cache_line(c, key->hash);
    if (!w->high) return 0;
    if (w != home && w != home + 1) { /* all slots from there to here are taken, so two may change places */
        home += c->turn ^= 1;
        tk_word here = *home;
        *home = *w;
        *w = here;
        w = home;
    }
    return tk_cache_ids(c, w, ids);
}

/* 0 where the arena has no room for the ids. */
static int keep_ids(tk_id_arena *a, const uint32_t *ids, size_t count) {
    TK_ASSERT(a->n <= a->capacity && (ids || !count));
    if (a->n + count > MAX_ARENA_IDS || tk_reserve(&a->ids, &a->capacity, a->n + count, sizeof *a->ids) != TK_OK)
        return 0;
    if (count) memcpy(a->ids + a->n, ids, count * sizeof *ids); /* without ids there may be no memory yet */
    a->n += count;
    return 1;
}

static int put(tk_cache *c, const tk_key *key, const uint32_t *ids, size_t count) {
    tk_word *w = locate(c, key);
    if (w->high) return TK_BAD_INPUT;
    TK_ASSERT(!count || (ids && ids[0] <= TK_ID_MASK)); /* of bytes without tokens there are no ids */
    if (count <= TK_INLINE_IDS) {
        memcpy(w->ids, ids, count * sizeof *ids);
        w->ids[0] |= (uint32_t)count << TK_ID_BITS;
    } else {
        if (!keep_ids(&c->many, ids, count)) return TK_NO_MEMORY;
        w->ids[0] = TK_MANY_IDS << TK_ID_BITS;
        w->ids[1] = (uint32_t)(c->many.n - count);
        w->ids[2] = (uint32_t)count;
    }
    w->low = key->low;
    w->high = key->high;
    c->n_words++;
    return TK_OK;
}

/* Double the table, if it may grow. */
static int grow(tk_cache *c) {
    if (c->line_bits >= c->max_line_bits) return 0;
    tk_word *old = c->words;
    size_t n = slots(c);
    tk_word *words = tk_table_alloc(2 * n * sizeof *words);
    if (!words) return 0;
    set_words(c, words, c->line_bits + 1);
    for (size_t i = 0; i < n; i++) {
        if (!old[i].high) continue;
        tk_key key = {old[i].low, old[i].high, 0};
        tk_key_hash(&key);
        *locate(c, &key) = old[i];
    }
    tk_table_free(old, n * sizeof *old);
    return 1;
}

static tk_long_word *locate_long(const tk_cache *c, const uint8_t *bytes, size_t n, uint64_t hash) {
    for (size_t i = hash & c->long_mask;; i = (i + 1) & c->long_mask) {
        tk_long_word *w = c->long_words + i;
        if (!w->length || (w->hash == hash && w->length == n && !memcmp(c->bytes + w->bytes, bytes, n))) return w;
    }
}

size_t tk_cache_find_long(const tk_cache *c, const uint8_t *bytes, size_t n, uint64_t hash, const uint32_t **ids) {
    const tk_long_word *w = locate_long(c, bytes, n, hash);
    if (!w->length || !w->count) return 0; /* of a word without ids the place is of no use, nor need there be any */
    return *ids = c->long_ids.ids + w->ids, w->count;
}

static int put_long(tk_cache *c, const uint8_t *bytes, size_t n, const uint32_t *ids, size_t count) {
    TK_ASSERT(n > TK_SHORT_WORD && (c->long_mask & (c->long_mask + 1)) == 0 && c->n_long <= c->long_mask);
    uint64_t hash = tk_hash_bytes(bytes, n);
    tk_long_word *w = locate_long(c, bytes, n, hash);
    if (w->length) return TK_BAD_INPUT;
    if (c->n_bytes + n > UINT32_MAX || tk_reserve(&c->bytes, &c->bytes_capacity, c->n_bytes + n, 1) != TK_OK ||
        !keep_ids(&c->long_ids, ids, count))
        return TK_NO_MEMORY;
    memcpy(c->bytes + c->n_bytes, bytes, n);
    *w = (tk_long_word){hash, (uint32_t)c->n_bytes, (uint32_t)n, (uint32_t)(c->long_ids.n - count), (uint32_t)count};
    c->n_bytes += n;
    c->n_long++;
    return TK_OK;
}

static int grow_long(tk_cache *c) {
    size_t n = c->long_mask + 1;
    if (n >= MAX_LONG_SLOTS) return 0;
    tk_long_word *old = c->long_words, *grown = tk_table_alloc(2 * n * sizeof *grown);
    if (!grown) return 0;
    c->long_words = grown;
    c->long_mask = 2 * n - 1;
    for (size_t i = 0; i < n; i++)
        if (old[i].length) *locate_long(c, c->bytes + old[i].bytes, old[i].length, old[i].hash) = old[i];
    tk_table_free(old, n * sizeof *old);
    return 1;
}

/* Is token t a word of the vocabulary's own? One that no merge makes is where whole pretokens are looked up. */
static int is_preloaded(const tk_bpe *m, uint32_t t) {
    return m->length[t] && m->id[t] != TK_NONE && (t < 256 || m->left[t] != TK_NONE || m->whole_piece);
}

static int preload(tk_cache *c) {
    const tk_bpe *m = c->model;
    tk_key keys[PRELOADED_AHEAD];
    uint32_t tokens[PRELOADED_AHEAD];
    for (uint32_t t = 0; m && t < m->n;) {
        int n = 0;
        for (; t < m->n && n < PRELOADED_AHEAD; t++) {
            if (!is_preloaded(m, t) || m->length[t] > TK_SHORT_WORD) continue;
            keys[n] = tk_key_of(m->bytes[t], m->length[t], m->length[t]);
            TK_PREFETCH(tk_cache_line(c, keys[n].hash));
            tokens[n++] = t;
        }
        for (int k = 0; k < n; k++) {
            int status = put(c, keys + k, m->id + tokens[k], 1);
            if (status != TK_OK) return status;
        }
    }
    return TK_OK;
}

static int preload_long(tk_cache *c) {
    const tk_bpe *m = c->model;
    for (uint32_t t = 0; m && t < m->n; t++) {
        if (!is_preloaded(m, t) || m->length[t] <= TK_SHORT_WORD) continue;
        int status = put_long(c, m->bytes[t], m->length[t], m->id + t, 1);
        if (status != TK_OK) return status;
    }
    return TK_OK;
}

int tk_cache_init(tk_cache *c, const tk_bpe *model, size_t max_words, size_t lines) {
    memset(c, 0, sizeof *c);
    c->model = model;
    size_t preloaded = 0, long_preloaded = 0, long_slots = MIN_LONG_SLOTS;
    uint32_t n = model ? model->n : 0;
    for (uint32_t t = 0; t < n; t++)
        if (model->length[t] > TK_SHORT_WORD) long_preloaded++;
        else preloaded += model->length[t] > 0;
    c->longest = TK_LONGEST_CACHED;
    for (uint32_t t = 0; t < n; t++)
        if (model->length[t] > c->longest) c->longest = model->length[t];
    while (long_slots < 4 * long_preloaded) long_slots *= 2;
    c->line_bits = lines ? (unsigned)lines : MIN_LINE_BITS;
    while (((size_t)1 << c->line_bits) < (c->line_bits < ROOMY_LINE_BITS ? 4 : 2) * preloaded) c->line_bits++;
    c->max_line_bits = c->line_bits;
    while (max_words && ((size_t)1 << c->max_line_bits) < preloaded + max_words) c->max_line_bits++;
    c->inserts = max_words > 0;
    c->long_mask = long_slots - 1;
    set_words(c, tk_table_alloc(slots(c) * sizeof *c->words), c->line_bits);
    c->long_words = tk_table_alloc(long_slots * sizeof *c->long_words);
    int status = c->words && c->long_words ? preload(c) : TK_NO_MEMORY;
    if (status == TK_OK) status = preload_long(c);
    c->n_preloaded = c->n_words;
    c->max_words = max_words;
    c->inserts_long = c->inserts && c->n_bytes < MAX_LONG_BYTES / 2 && c->n_long < MAX_LONG_SLOTS / 4;
    if (status != TK_OK) tk_cache_free(c);
    return status;
}

static void *copy_of(const void *source, size_t n_bytes) {
    void *made = n_bytes ? tk_alloc(n_bytes, 1) : NULL;
    if (made) memcpy(made, source, n_bytes);
    return made;
}

int tk_cache_copy(tk_cache *c, const tk_cache *other) {
    const size_t n_words = slots(other) * sizeof *c->words, n_long = (other->long_mask + 1) * sizeof *c->long_words;
    *c = *other;
    c->misses = 0;
    c->many.capacity = c->many.n;
    c->long_ids.capacity = c->long_ids.n;
    c->bytes_capacity = c->n_bytes;
    c->words = tk_table_alloc(n_words);
    c->long_words = tk_table_alloc(n_long);
    c->many.ids = copy_of(other->many.ids, c->many.n * sizeof(uint32_t));
    c->long_ids.ids = copy_of(other->long_ids.ids, c->long_ids.n * sizeof(uint32_t));
    c->bytes = copy_of(other->bytes, c->n_bytes);
    if (c->words && c->long_words && (c->many.ids || !c->many.n) && (c->long_ids.ids || !c->long_ids.n) &&
        (c->bytes || !c->n_bytes)) {
        memcpy(c->words, other->words, n_words);
        memcpy(c->long_words, other->long_words, n_long);
        return TK_OK;
    }
    tk_cache_free(c);
    return TK_NO_MEMORY;
}

void tk_cache_free(tk_cache *c) {
    tk_table_free(c->words, slots(c) * sizeof *c->words);
    tk_table_free(c->long_words, (c->long_mask + 1) * sizeof *c->long_words);
    free(c->many.ids);
    free(c->bytes);
    free(c->long_ids.ids);
    memset(c, 0, sizeof *c);
}

size_t tk_cache_memory(const tk_cache *c) {
    return slots(c) * sizeof *c->words + (c->long_mask + 1) * sizeof *c->long_words + c->bytes_capacity +
           (c->many.capacity + c->long_ids.capacity) * sizeof(uint32_t);
}

/* Preloading again cannot fail: the same words fitted before, and no memory has been given back. */
static void evict_all(tk_cache *c) {
    memset(c->words, 0, slots(c) * sizeof *c->words);
    c->n_words = c->many.n = 0;
    (void)preload(c);
}

static void evict_all_long(tk_cache *c) {
    memset(c->long_words, 0, (c->long_mask + 1) * sizeof *c->long_words);
    c->n_long = c->n_bytes = c->long_ids.n = 0;
    (void)preload_long(c);
}

void tk_cache_add(tk_cache *c, const tk_key *key, const uint32_t *ids, size_t count) {
    if (!c->inserts) return;
    if (c->many.n + count > MAX_ARENA_IDS || c->n_words - c->n_preloaded >= c->max_words) evict_all(c);
    size_t full = c->model ? slots(c) / 4 : slots(c) / 8 * 3; /* without a vocabulary a table begins small, and cold */
    if (c->n_words >= full && !grow(c) && c->n_words >= slots(c) / 2) evict_all(c);
    (void)put(c, key, ids, count);
}

void tk_cache_add_long(tk_cache *c, const uint8_t *bytes, size_t n, const uint32_t *ids, size_t count) {
    if (!c->inserts_long || n > TK_LONGEST_CACHED) return;
    if (c->n_bytes + n > MAX_LONG_BYTES || c->long_ids.n + count > MAX_ARENA_IDS) evict_all_long(c);
    if (c->n_long >= c->long_mask / 2 && !grow_long(c)) evict_all_long(c);
    (void)put_long(c, bytes, n, ids, count);
}
