/* Building the trie of tokens: see token_trie.h. */
#include "encode/token_trie.h"

typedef struct {
    const uint8_t *bytes;
    uint32_t n, id;
} entry;

/* Entries [first, end), which share `depth` bytes, are below the node of this cell. */
typedef struct {
    size_t first, end, cell;
    uint32_t depth;
} task;

/* Which cells of a block are taken, and which of its places are the base of a node. */
typedef struct {
    uint64_t taken[4], bases[4];
    size_t n_taken;
} block;

typedef struct {
    tk_token_trie *trie;
    entry *entries;
    task *tasks;
    block *blocks;
    size_t n_tasks, tasks_capacity, n_blocks, blocks_capacity, cells_capacity;
} builder;

/* A new node looks for room in this many of the last blocks: more makes it smaller, and building slower. */
enum { OPEN_BLOCKS = 8, MANY_CHILDREN = 12, ALL_BYTES = 256 };

/* Fewer entries than this are sorted by comparing them, and so are those that share this many bytes, for the stack. */
enum { FEW_ENTRIES = 24, DEEP = 64 };
static const size_t ROOT = SIZE_MAX;

static int by_bytes(const void *left, const void *right) {
    const entry *a = left, *b = right;
    int order = memcmp(a->bytes, b->bytes, a->n < b->n ? a->n : b->n);
    if (order) return order;
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Sort entries that share `depth` bytes and stand in the order of their ids, by one byte after another; few or deep
   ones by comparing. `spare` has room for as many. */
static void sort(entry *entries, entry *spare, size_t n, uint32_t depth) {
    size_t starts[ALL_BYTES + 2] = {0}; /* of those that end here, and of those with each byte */
    if (n < FEW_ENTRIES) {
        for (size_t i = 1; i < n; i++) {
            entry moved = entries[i];
            size_t k = i;
            for (; k && by_bytes(entries + k - 1, &moved) > 0; k--) entries[k] = entries[k - 1];
            entries[k] = moved;
        }
        return;
    }
    if (depth == DEEP) {
        qsort(entries, n, sizeof(entry), by_bytes);
        return;
    }
    for (size_t i = 0; i < n; i++) starts[entries[i].n == depth ? 1 : entries[i].bytes[depth] + 2]++;
    for (size_t k = 1; k < ALL_BYTES + 2; k++) starts[k] += starts[k - 1];
    for (size_t i = 0; i < n; i++)
        spare[starts[entries[i].n == depth ? 0 : entries[i].bytes[depth] + 1]++] = entries[i];
    memcpy(entries, spare, n * sizeof(entry));
    /* Each start has become the end of its own. */
    for (size_t k = 1; k < ALL_BYTES + 1; k++)
        if (starts[k] - starts[k - 1] > 1) sort(entries + starts[k - 1], spare, starts[k] - starts[k - 1], depth + 1);
}

static int has(const uint64_t *bits, size_t i) { return bits[i >> 6] >> (i & 63) & 1; }
static void set(uint64_t *bits, size_t i) { bits[i >> 6] |= UINT64_C(1) << (i & 63); }

static int add_block(builder *b) {
    if (b->n_blocks == (size_t)1 << 24) return TK_TOO_LARGE;
    if (tk_reserve(&b->blocks, &b->blocks_capacity, b->n_blocks + 1, sizeof(block)) ||
        tk_reserve(&b->trie->cells, &b->cells_capacity, (b->n_blocks + 1) * ALL_BYTES, sizeof(uint64_t)))
        return TK_NO_MEMORY;
    memset(b->blocks + b->n_blocks, 0, sizeof(block));
    memset(b->trie->cells + b->n_blocks * ALL_BYTES, 0, ALL_BYTES * sizeof(uint64_t));
    b->n_blocks++;
    b->trie->n_cells = b->n_blocks * ALL_BYTES;
    return TK_OK;
}

/* A base in this block such that all children fall on free cells, or ALL_BYTES. */
static size_t fit(const block *k, const uint8_t *labels, size_t n) {
    if (n > ALL_BYTES - k->n_taken) return ALL_BYTES;
    for (size_t word = 0; word < ALL_BYTES / 64; word++)
        for (uint64_t free_cells = ~k->taken[word]; free_cells; free_cells &= free_cells - 1) {
            size_t base = (word * 64 + tk_lowest_bit(free_cells)) ^ labels[0], i = 1;
            if (has(k->bases, base)) continue;
            while (i < n && !has(k->taken, base ^ labels[i])) i++;
            if (i == n) return base;
        }
    return ALL_BYTES;
}

/* Where the children by these bytes shall stand. */
static int place(builder *b, const uint8_t *labels, size_t n, uint32_t *base) {
    size_t first = b->n_blocks > OPEN_BLOCKS ? b->n_blocks - OPEN_BLOCKS : 0, number, at = ALL_BYTES;
    if (n > MANY_CHILDREN && b->n_blocks > 1) first = b->n_blocks - 1; /* they would seldom find room */
    for (number = first; number < b->n_blocks; number++)
        if ((at = fit(b->blocks + number, labels, n)) < ALL_BYTES) break;
    if (at == ALL_BYTES) {
        int status = add_block(b);
        if (status != TK_OK) return status;
        at = fit(b->blocks + number, labels, n);
    }
    set(b->blocks[number].bases, at);
    b->blocks[number].n_taken += n;
    for (size_t i = 0; i < n; i++) set(b->blocks[number].taken, at ^ labels[i]);
    *base = (uint32_t)(number * ALL_BYTES + at);
    return TK_OK;
}

static int grow_children(builder *b, task t) {
    uint8_t labels[ALL_BYTES];
    size_t starts[ALL_BYTES + 1], n = 0;
    for (size_t i = t.first; i < t.end; i++) {
        uint8_t label = b->entries[i].bytes[t.depth];
        if (n && labels[n - 1] == label) continue;
        labels[n] = label;
        starts[n++] = i;
    }
    starts[n] = t.end;
    uint32_t base;
    int status = place(b, labels, n, &base);
    if (status != TK_OK) return status;
    uint64_t *node = t.cell == ROOT ? &b->trie->root : b->trie->cells + t.cell;
    *node |= (uint64_t)base << 32;
    for (size_t k = 0; k < n; k++) {
        size_t first = starts[k], cell = base ^ labels[k];
        uint64_t child = (uint64_t)(TK_TRIE_TAKEN | labels[k]) << TK_TRIE_ID_BITS;
        for (; first < starts[k + 1] && b->entries[first].n == t.depth + 1; first++)
            child = (child >> TK_TRIE_ID_BITS << TK_TRIE_ID_BITS) | (b->entries[first].id + 1);
        b->trie->cells[cell] = child;
        if (first == starts[k + 1]) continue;
        status = tk_reserve(&b->tasks, &b->tasks_capacity, b->n_tasks + 1, sizeof(task));
        if (status != TK_OK) return status;
        b->tasks[b->n_tasks++] = (task){first, starts[k + 1], cell, t.depth + 1};
    }
    return TK_OK;
}

static int grow(builder *b, size_t n) {
    int status = add_block(b);
    if (status != TK_OK) return status;
    set(b->blocks[0].bases, 0); /* the base of all nodes without children: no cell is its child */
    if (!n) return TK_OK;
    b->trie->root = (uint64_t)TK_TRIE_TAKEN << TK_TRIE_ID_BITS;
    status = tk_reserve(&b->tasks, &b->tasks_capacity, 1, sizeof(task));
    if (status != TK_OK) return status;
    b->tasks[b->n_tasks++] = (task){0, n, ROOT, 0};
    while (b->n_tasks && status == TK_OK) status = grow_children(b, b->tasks[--b->n_tasks]);
    return status;
}

int tk_token_trie_build(tk_token_trie *trie, const tk_own_tokens *own, const uint8_t *prefix, size_t n_prefix,
                        size_t longest, int64_t *twice) {
    builder b = {.trie = trie};
    size_t n = 0;
    memset(trie, 0, sizeof *trie);
    if (own->n_ids >= (size_t)1 << TK_TRIE_ID_BITS) return TK_TOO_LARGE;
    b.entries = tk_alloc(own->n_ids, sizeof(entry));
    if (!b.entries) return TK_NO_MEMORY;
    int sorted = 1;
    for (size_t id = 0; id < own->n_ids; id++) {
        size_t length = tk_own_length(own, id);
        const uint8_t *bytes = tk_own_bytes(own, id);
        if (length <= n_prefix || length > longest || (n_prefix && memcmp(bytes, prefix, n_prefix))) continue;
        if (length - n_prefix > UINT32_MAX) return free(b.entries), TK_TOO_LARGE;
        b.entries[n++] = (entry){bytes + n_prefix, (uint32_t)(length - n_prefix), (uint32_t)id};
        sorted = sorted && (n < 2 || by_bytes(b.entries + n - 2, b.entries + n - 1) < 0);
    }
    if (!sorted) {
        entry *spare = tk_alloc(n, sizeof(entry));
        if (!spare) return free(b.entries), TK_NO_MEMORY;
        sort(b.entries, spare, n, 0);
        free(spare);
    }
    for (size_t k = 1; k < n; k++)
        if (b.entries[k].n == b.entries[k - 1].n && !memcmp(b.entries[k].bytes, b.entries[k - 1].bytes, b.entries[k].n))
            *twice = b.entries[k].id;
    int status = grow(&b, n);
    free(b.entries);
    free(b.tasks);
    free(b.blocks);
    if (status != TK_OK) tk_token_trie_free(trie);
    return status;
}

void tk_token_trie_free(tk_token_trie *trie) {
    free(trie->cells);
    memset(trie, 0, sizeof *trie);
}
