/* Pieces in, ids out: the cache of words, and the model for those that are not there; see bert.h. */
#include "bert.h"
#include "isa.h"
#include "large_memory.h"
#include "word_cache.h"

enum { ROOM = 1 << 13, BEHIND = 128 };
enum { SPARE_IDS = 4 };  /* an entry is copied whole */
enum { BATCH = 16 }; /* pieces whose places in the cache are fetched together */

static void free_stretch(tk_bert_worker *w) {
    free(w->text);
    free(w->from);
    free(w->to);
    free(w->places);
    w->text = NULL, w->from = w->to = w->places = NULL;
    w->room = 0;
}

/* Room for `need` bytes of a stretch, what stands there kept. */
static int make_room(tk_bert_worker *w, size_t need) {
    void *moved;
    if (need > w->room) {
        if (!(moved = realloc(w->text, need + BEHIND))) return TK_NO_MEMORY;
        w->text = moved;
    }
    if (w->aligned && (need > w->room || !w->to)) {
        size_t bytes = need > w->room ? need : w->room;
        if (!(moved = realloc(w->from, (bytes + BEHIND) * sizeof(uint32_t)))) return TK_NO_MEMORY;
        w->from = moved;
        if (!(moved = realloc(w->to, (bytes + BEHIND) * sizeof(uint32_t)))) return TK_NO_MEMORY;
        w->to = moved;
        if (!w->places && !(w->places = tk_alloc(TK_BERT_PIECES + BEHIND, sizeof(uint32_t)))) return TK_NO_MEMORY;
    } else if (!w->aligned && need > w->room) {
        free(w->from), free(w->to);
        w->from = w->to = NULL;
    }
    if (need > w->room) w->room = need;
    return TK_OK;
}

int tk_bert_worker_init(tk_bert_worker *w, size_t cache_words, size_t cache_long_words) {
    memset(w, 0, sizeof *w);
    if (tk_model_worker_init(&w->model, cache_long_words) != TK_OK) return TK_NO_MEMORY;
    unsigned bits = 0;
    while ((size_t)1 << bits <= cache_words / 4) bits++;
    w->cache.mask = ((size_t)1 << bits) - 1;
    w->cache.shift = 63 - bits; /* and one more: a shift by 64 is none */
    w->cache.entries = tk_table_alloc(2 * (w->cache.mask + 1) * sizeof(tk_bert_entry));
    w->starts = tk_alloc(TK_BERT_PIECES + BEHIND, sizeof(uint32_t));
    w->ends = tk_alloc(TK_BERT_PIECES + BEHIND, sizeof(uint32_t));
    if (!w->cache.entries || !w->starts || !w->ends) return tk_bert_worker_free(w), TK_NO_MEMORY;
    return make_room(w, ROOM);
}

void tk_bert_worker_free(tk_bert_worker *w) {
    tk_table_free(w->cache.entries, 2 * (w->cache.mask + 1) * sizeof(tk_bert_entry));
    free(w->starts);
    free(w->ends);
    free(w->utf8);
    free_stretch(w);
    tk_model_worker_free(&w->model);
    memset(w, 0, sizeof *w);
}

void tk_bert_begin(tk_bert_worker *w, int aligned) {
    w->aligned = aligned;
    w->n = w->n_starts = w->n_ends = w->word = w->model.n = 0;
    w->open = 0;
}

void tk_bert_worker_shrink(tk_bert_worker *w, size_t most) {
    tk_model_worker_shrink(&w->model, most);
    if (w->room > most) free_stretch(w);
    if (w->utf8_capacity <= most) return;
    free(w->utf8);
    w->utf8 = NULL;
    w->utf8_capacity = 0;
}

/* ---- tokens */

static int room_for(tk_bert_worker *w, size_t more) {
    tk_model_worker *o = &w->model;
    size_t need = o->n + more;
    int status = need <= o->ids_capacity ? TK_OK : tk_reserve(&o->ids, &o->ids_capacity, need, sizeof *o->ids);
    if (w->aligned && status == TK_OK) status = tk_reserve(&o->words, &o->words_capacity, need, sizeof *o->words);
    if (w->aligned && status == TK_OK) status = tk_reserve(&o->spans, &o->spans_capacity, 2 * need, sizeof *o->spans);
    return status;
}

TK_INLINE void put(tk_bert_worker *w, uint32_t id, size_t start, size_t end, size_t word) {
    tk_model_worker *o = &w->model;
    o->spans[2 * o->n] = (int64_t)start;
    o->spans[2 * o->n + 1] = (int64_t)end;
    o->words[o->n] = (int32_t)word;
    o->ids[o->n++] = id;
}

int tk_bert_append(tk_bert_worker *w, uint32_t id, size_t start, size_t end) {
    if (room_for(w, 1) != TK_OK) return TK_NO_MEMORY;
    if (w->aligned) put(w, id, start, end, w->word++);
    else w->model.ids[w->model.n++] = id;
    return TK_OK;
}

/* The line of a key: its two entries. */
TK_INLINE tk_bert_entry *line_of(const tk_bert_cache *cache, const tk_key *key) {
    return cache->entries + 2 * (key->hash >> 1 >> cache->shift);
}

/* The line beside it: who finds both entries of his own taken may have one there. */
TK_INLINE tk_bert_entry *line_beside(const tk_bert_cache *cache, const tk_bert_entry *line) {
    return cache->entries + ((size_t)(line - cache->entries) ^ 2);
}

TK_INLINE int is_full(const tk_bert_entry *line) { return line->high && line[1].high; }

static void learn(tk_bert_cache *cache, const tk_key *key, const tk_sub *subs, size_t count) {
    if (cache->mask == 0) return;
    tk_bert_entry *e = line_of(cache, key), *beside = line_beside(cache, e);
    if (is_full(e) && !is_full(beside)) e = beside;
    if (e->high && (!e[1].high || cache->turn++ & 1)) e++;
    cache->n += !e->high;
    *e = (tk_bert_entry){.low = key->low, .high = key->high, .count = (uint8_t)count};
    for (size_t k = 0; k < count; k++) e->ids[k] = subs[k].id, e->ends[k] = (uint8_t)subs[k].end;
}

/* The entry of a key that its own line has not: it moves there, so that what comes again and again is found at once. */
static TK_NOINLINE const tk_bert_entry *find_beside(tk_bert_cache *cache, tk_bert_entry *own, const tk_key *key) {
    if (!is_full(own) || cache->mask == 0) return NULL;
    tk_bert_entry *e = line_beside(cache, own);
    for (int i = 0; i < 2; i++, e++) {
        if (e->low != key->low || e->high != key->high) continue;
        own += cache->turn++ & 1;
        tk_bert_entry found = *e;
        *e = *own;
        *own = found;
        return own;
    }
    return NULL;
}

/* A piece in the stretch: its key is of the cache of words, or, for what is longer, of the model's of units. */
typedef union {
    tk_key word;
    tk_unit_key unit;
} piece_key;

TK_INLINE int is_long(size_t n) { return n > TK_SHORT_WORD; }

/* Whether the model's cache of units may have it: it is for longer words, and for those of more tokens. */
TK_INLINE int may_be_unit(const tk_bert_worker *w, size_t n) { return n <= TK_UNIT_BYTES && w->model.cache.units; }

/* The tokens of a piece by the model; `left` more pieces follow. */
static int miss(const tk_bert *m, tk_bert_worker *w, const tk_key *key, const tk_unit_key *unit, size_t k,
                size_t left) {
    size_t start = w->starts[k], n = w->ends[k] - start;
    tk_model_worker *o = &w->model;
    o->n_subs = 0;
    w->cache.misses++;
    int status = m->model->encode(m->model, o, w->text + start, n);
    if (status != TK_OK) return status == TK_UNKNOWN ? TK_BERT_ODD : status;
    if (!is_long(n) && o->n_subs <= TK_BERT_IDS) learn(&w->cache, key, o->subs, o->n_subs);
    else if (unit) tk_unit_learn(&o->cache, unit, o->subs, o->n_subs);
    if ((status = room_for(w, o->n_subs + TK_BERT_IDS * left + SPARE_IDS)) != TK_OK) return status;
    for (size_t i = 0; i < o->n_subs; i++) {
        const tk_sub *sub = o->subs + i;
        if (w->aligned) put(w, sub->id, w->from[start + sub->start], w->to[start + sub->end - 1], w->word + k);
        else o->ids[o->n++] = sub->id;
    }
    return TK_OK;
}

/* The tokens of a piece that is not in the cache of words. */
static TK_NOINLINE int look_further(const tk_bert *m, tk_bert_worker *w, piece_key *key, size_t k, size_t left) {
    size_t first = w->starts[k], n = w->ends[k] - first, start = 0, end = 0;
    tk_model_worker *o = &w->model;
    if (!may_be_unit(w, n)) return miss(m, w, &key->word, NULL, k, left);
    tk_unit_key unit_key = is_long(n) ? key->unit : tk_unit_key_of(&o->cache, w->text + first, n);
    const tk_unit *unit = tk_unit_find(&o->cache, &unit_key);
    if (!unit) return miss(m, w, &key->word, &unit_key, k, left);
    int status = room_for(w, TK_UNIT_TOKENS + TK_BERT_IDS * left + SPARE_IDS);
    if (status != TK_OK) return status;
    for (size_t line = 0; line <= (size_t)tk_unit_is_long(unit); line++)
        for (size_t i = 0; i < TK_UNIT_LINE; i++) {
            uint32_t id = tk_unit_next(unit[line].tokens[i], &start, &end);
            if (id == TK_NO_ID) break;
            if (w->aligned) put(w, id, w->from[first + start], w->to[first + end - 1], w->word + k);
            else o->ids[o->n++] = id;
        }
    return TK_OK;
}

TK_INLINE const tk_bert_entry *find(tk_bert_worker *w, const piece_key *key, size_t n) {
    if (TK_UNLIKELY(is_long(n))) return NULL;
    tk_bert_entry *line = line_of(&w->cache, &key->word), *e = line;
    e += ((e->low ^ key->word.low) | (e->high ^ key->word.high)) != 0;
    if (TK_LIKELY(((e->low ^ key->word.low) | (e->high ^ key->word.high)) == 0)) return e;
    return find_beside(&w->cache, line, &key->word);
}

TK_INLINE int emit(const tk_bert *m, tk_bert_worker *w, int aligned) {
    piece_key keys[BATCH];
    tk_model_worker *o = &w->model;
    size_t n = w->n_ends;
    int status = room_for(w, TK_BERT_IDS * n + SPARE_IDS);
    for (size_t first = 0; first < n && status == TK_OK; first += BATCH) {
        size_t last = first + BATCH < n ? first + BATCH : n;
        for (size_t k = first; k < last; k++) {
            if (w->ends[k] == 0) continue;
            const uint8_t *p = w->text + w->starts[k];
            size_t length = w->ends[k] - w->starts[k];
            piece_key *key = keys + (k - first);
            if (TK_LIKELY(!is_long(length))) {
                key->word = tk_key_of_16(p, length);
                TK_PREFETCH(line_of(&w->cache, &key->word));
            } else if (may_be_unit(w, length)) {
                key->unit = tk_unit_key_of(&o->cache, p, length);
                TK_PREFETCH(o->cache.units + key->unit.slot);
                TK_PREFETCH(o->cache.units + key->unit.slot + 1);
            }
        }
        for (size_t k = first; k < last; k++) {
            if (w->ends[k] == 0) {
                if (aligned) put(w, w->starts[k], w->from[w->places[k]], w->to[w->places[k]], w->word + k);
                else o->ids[o->n++] = w->starts[k];
                continue;
            }
            const tk_bert_entry *e = find(w, keys + (k - first), w->ends[k] - w->starts[k]);
            if (TK_UNLIKELY(!e)) {
                if ((status = look_further(m, w, keys + (k - first), k, n - k - 1)) != TK_OK) return status;
                continue;
            }
            if (!aligned) {
                memcpy(o->ids + o->n, e->ids, sizeof e->ids);
                o->n += e->count;
                continue;
            }
            const uint32_t *from = w->from + w->starts[k], *to = w->to + w->starts[k];
            for (size_t i = 0, at = 0; i < e->count; at = e->ends[i++])
                put(w, e->ids[i], from[at], to[e->ends[i] - 1], w->word + k);
        }
    }
    w->word += n;
    return status;
}

/* Begin a new stretch with the word that is not at its end yet. */
static int carry(tk_bert_worker *w) {
    size_t start = w->open ? w->starts[w->n_starts - 1] : w->n, n = w->n - start;
    memmove(w->text, w->text + start, n);
    if (w->aligned && n) {
        memmove(w->from, w->from + start, n * sizeof *w->from);
        memmove(w->to, w->to + start, n * sizeof *w->to);
    }
    w->n = n;
    w->n_ends = 0;
    w->n_starts = (size_t)w->open;
    w->starts[0] = 0;
    if (n > UINT32_MAX / 4) return TK_BERT_ODD; /* a word of a gigabyte: places are of 32 bits */
    /* Twice as much each time: what a long word costs to move stays in proportion to its length. */
    return n > w->room / 2 ? make_room(w, 2 * w->room) : TK_OK;
}

static tk_bert_split chosen_split(void) {
#if TK_X86
    if (tk_isa == TK_ISA_AVX512) return tk_bert_split_avx512;
    if (tk_isa == TK_ISA_AVX2) return tk_bert_split_avx2;
#endif
    return tk_bert_split_scalar;
}

int tk_bert_encode(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop) {
    tk_bert_split split = chosen_split();
    int status = make_room(w, w->room > ROOM ? w->room : ROOM);
    while (*at < n && *at < stop && status == TK_OK) {
        *at = split(m, w, text, n, *at, &status);
        if (*at == n && w->open) {
            w->ends[w->n_ends++] = (uint32_t)w->n;
            w->open = 0;
        }
        if (status == TK_OK) status = w->aligned ? emit(m, w, 1) : emit(m, w, 0);
        if (status == TK_OK) status = carry(w);
    }
    return status;
}
