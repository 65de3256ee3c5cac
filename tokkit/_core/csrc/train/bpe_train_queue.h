/* The table of pair counts and the queue of bpe_trainer.c. */
#ifndef TK_BPE_TRAIN_QUEUE_H
#define TK_BPE_TRAIN_QUEUE_H
#include "train/big_blocks.h"

/* ---- chunks: lists of positions that live as long as the training ---- */

enum { CHUNK_ITEMS = 1 << 16, MAPPED_CHUNK_ITEMS = 1 << 24, FIRST_PAIR_SLOTS = 1024, QUEUE_LEVELS = 65 };

typedef struct {
    const char *folder; /* where blocks are mapped, NULL for the heap */
    tk_big_block *blocks;
    size_t n_blocks, capacity;
    uint32_t *next; /* free room of the newest shared block */
    size_t room;
} tk_chunks;

static inline void tk_chunks_free(tk_chunks *c) {
    for (size_t i = 0; i < c->n_blocks; i++) tk_big_block_free(&c->blocks[i]);
    free(c->blocks);
}

static inline uint32_t *tk_chunks_take(tk_chunks *c, size_t n) {
    if (n > c->room) {
        size_t usual = c->folder ? MAPPED_CHUNK_ITEMS : CHUNK_ITEMS;
        size_t size = n > usual / 4 ? n : usual; /* a large list gets a block of its own */
        if (tk_reserve(&c->blocks, &c->capacity, c->n_blocks + 1, sizeof *c->blocks)) return NULL;
        if (tk_big_block_make(&c->blocks[c->n_blocks], c->folder, size, sizeof(uint32_t))) return NULL;
        uint32_t *block = c->blocks[c->n_blocks++].data;
        if (size == n) return block;
        c->next = block;
        c->room = size;
    }
    TK_ASSERT(n && n <= c->room);
    uint32_t *list = c->next;
    c->next += n;
    c->room -= n;
    return list;
}

/* ---- pair table: (left id << 32 | right id) → count; pairs are never taken out ---- */

typedef struct {
    uint64_t key; /* UINT64_MAX where the slot is free */
    int64_t count;
} tk_pair_count;

typedef struct {
    tk_pair_count *slots;
    size_t n_slots, n_used;
} tk_pair_table;

static inline void tk_pair_table_free(tk_pair_table *t) { free(t->slots); }

static inline size_t tk_pair_table_probe(const tk_pair_table *t, uint64_t key) {
    TK_ASSERT(t->n_slots && !(t->n_slots & (t->n_slots - 1)) && key != UINT64_MAX);
    size_t i = tk_mix64(key) & (t->n_slots - 1);
    while (t->slots[i].key != key && t->slots[i].key != UINT64_MAX) i = (i + 1) & (t->n_slots - 1);
    return i;
}

/* Make room for n more pairs, so that no slot moves until these are in. */
static inline int tk_pair_table_reserve(tk_pair_table *t, size_t n) {
    size_t n_slots = t->n_slots ? t->n_slots : FIRST_PAIR_SLOTS;
    while ((t->n_used + n) * 4 > n_slots * 3) n_slots *= 2;
    if (n_slots == t->n_slots) return TK_OK;
    tk_pair_table grown = {tk_alloc(n_slots, sizeof *grown.slots), n_slots, t->n_used};
    if (!grown.slots) return TK_NO_MEMORY;
    for (size_t i = 0; i < n_slots; i++) grown.slots[i] = (tk_pair_count){UINT64_MAX, 0};
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].key != UINT64_MAX) grown.slots[tk_pair_table_probe(&grown, t->slots[i].key)] = t->slots[i];
    free(t->slots);
    *t = grown;
    return TK_OK;
}

/* The slot of a pair, made with count 0 where it is not *known yet. */
static inline int tk_pair_table_slot(tk_pair_table *t, uint64_t key, size_t *slot, int *known) {
    if (tk_pair_table_reserve(t, 1)) return TK_NO_MEMORY;
    size_t i = tk_pair_table_probe(t, key);
    *known = t->slots[i].key == key;
    if (!*known) t->slots[i].key = key, t->n_used++;
    TK_ASSERT(t->n_used < t->n_slots); /* a free slot ends each search */
    *slot = i;
    return TK_OK;
}

static inline int tk_pair_table_find(const tk_pair_table *t, uint64_t key, size_t *slot) {
    if (!t->n_slots) return 0;
    *slot = tk_pair_table_probe(t, key);
    return t->slots[*slot].key == key;
}

/* Take from a pair's count. A pair too long to become a token was never counted, and is not here. */
static inline void tk_pair_table_lose(tk_pair_table *t, uint64_t key, int64_t count) {
    size_t slot;
    if (tk_pair_table_find(t, key, &slot)) t->slots[slot].count -= count;
}

/* ---- queue: the greatest count first, then the smaller pair ---- */

/* A pair with the positions that gave rise to this entry; the count is that of the pair when it was queued. */
typedef struct {
    int64_t count;
    uint64_t key;
    union {
        uint32_t one;         /* n == 1 */
        const uint32_t *many; /* rising */
    } at;
    uint32_t n;
} tk_entry;

/* Entries by the bit length of their count. Only those of the greatest length are a heap: most pairs are rare,
   are never reached, and so are never compared. */
typedef struct {
    tk_entry *entries;
    size_t n, capacity;
} tk_level;

typedef struct {
    tk_level levels[QUEUE_LEVELS];
    int top; /* the level that is a heap; those above are empty */
} tk_queue;

static inline void tk_queue_free(tk_queue *q) {
    for (int i = 0; i < QUEUE_LEVELS; i++) free(q->levels[i].entries);
}

static inline int tk_entry_before(const tk_entry *a, const tk_entry *b) {
    return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static inline void tk_level_sift_down(tk_level *v, size_t i, tk_entry entry) {
    for (size_t child; (child = 2 * i + 1) < v->n; i = child) {
        if (child + 1 < v->n && tk_entry_before(&v->entries[child + 1], &v->entries[child])) child++;
        if (!tk_entry_before(&v->entries[child], &entry)) break;
        v->entries[i] = v->entries[child];
    }
    v->entries[i] = entry;
}

static inline void tk_level_heapify(tk_level *v) {
    for (size_t i = v->n / 2; i-- > 0;) tk_level_sift_down(v, i, v->entries[i]);
}

static inline int tk_bit_length(int64_t count) {
    int bits = 0;
    for (uint64_t rest = count > 0 ? (uint64_t)count : 0; rest; rest >>= 1) bits++;
    return bits;
}

static inline int tk_queue_push(tk_queue *q, tk_entry entry) {
    int level = tk_bit_length(entry.count);
    TK_ASSERT(entry.n && level < QUEUE_LEVELS && q->top >= 0 && q->top < QUEUE_LEVELS);
    tk_level *v = &q->levels[level];
    if (tk_reserve(&v->entries, &v->capacity, v->n + 1, sizeof *v->entries)) return TK_NO_MEMORY;
    size_t i = v->n++;
    if (level > q->top) { /* it is alone in its level, all above being empty: a heap already */
        q->top = level;
    } else if (level == q->top) {
        for (; i && tk_entry_before(&entry, &v->entries[(i - 1) / 2]); i = (i - 1) / 2)
            v->entries[i] = v->entries[(i - 1) / 2];
    }
    v->entries[i] = entry;
    return TK_OK;
}

/* Take out the first entry: TK_OK or TK_QUEUE_EMPTY. */
static inline int tk_queue_pop(tk_queue *q, tk_entry *first) {
    tk_level *v = &q->levels[q->top];
    if (!v->n) {
        while (q->top && !q->levels[q->top].n) q->top--;
        v = &q->levels[q->top];
        if (!v->n) return TK_QUEUE_EMPTY;
        tk_level_heapify(v);
    }
    TK_ASSERT(v->n < 2 || !tk_entry_before(&v->entries[1], &v->entries[0]));
    *first = v->entries[0];
    if (--v->n) tk_level_sift_down(v, 0, v->entries[v->n]);
    return TK_OK;
}

#endif
