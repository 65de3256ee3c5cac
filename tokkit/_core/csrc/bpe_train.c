/* The merge loop over a flat arena of symbols: see bpe_train.h, and bpe_train_queue.h for pair counts and queue.

   Each word is a row of cells, one a byte, closed by a BORDER cell. A token of n bytes covers n cells: the first
   and the last hold its id, so that both neighbours of a token are one step away without links, and a merge costs
   the same in a word of ten bytes and of a gigabyte. Cells where a token once began or ended are VOID, so an old
   position that no longer starts the token of its pair is told from one that does by its cell alone. */
#include "bpe_train.h"

#include "bpe_train_queue.h"
#include "token_table.h"

enum { BLOCK_BITS = 7, COMMON_COUNTS = 4096, LOOK_AHEAD = 12 };
#define BORDER UINT32_MAX
#define VOID (UINT32_MAX - 1)

/* What the merge at hand adds to one pair. */
typedef struct {
    int64_t count;
    size_t slot; /* in the pair table */
    uint32_t *list, *cursor;
    uint32_t n, one; /* positions; the only one stands here */
} tk_gain;

/* What the merge at hand changes in the pairs of one neighbouring token y. */
typedef struct {
    int64_t lost_before, lost_after; /* (y, left) and (right, y) */
    tk_gain before, after;           /* (y, result) and (result, y) */
    int touched;
} tk_neighbour;

typedef struct {
    uint64_t side; /* y << 1 | after */
    uint32_t position;
} tk_record;

struct tk_bpe_trainer {
    tk_bpe_limits limits;
    uint32_t *cells;
    size_t n_cells;
    uint32_t *run_of_block; /* cell >> BLOCK_BITS → the first run that has a cell there */
    uint32_t *run_ends;     /* words lie in the order of their counts; words of one count are a run */
    int64_t *run_counts;
    size_t n_runs;
    tk_pair_table pairs, repeated; /* repeated: pairs that got a second entry */
    tk_queue queue;
    uint32_t *first_positions; /* of the pairs of single bytes */
    tk_chunks chunks;
    tk_trained_merge *merges;
    size_t n_merges, merges_capacity;
    tk_token_table tokens;
    tk_neighbour *around; /* by id */
    size_t around_capacity;
    uint32_t *touched;
    size_t n_touched, touched_capacity;
    tk_record *records;
    size_t n_records, records_capacity;
    tk_token byte_ids[256];
};

tk_bpe_trainer *tk_bpe_trainer_new(tk_bpe_limits limits) {
    tk_bpe_trainer *t = tk_calloc(1, sizeof *t);
    if (t) t->limits = limits;
    return t;
}

void tk_bpe_trainer_free(tk_bpe_trainer *t) {
    if (!t) return;
    tk_pair_table_free(&t->pairs);
    tk_pair_table_free(&t->repeated);
    tk_queue_free(&t->queue);
    tk_chunks_free(&t->chunks);
    tk_token_table_free(&t->tokens);
    void *blocks[] = {t->cells,  t->run_of_block, t->run_ends, t->run_counts, t->first_positions,
                      t->merges, t->around,       t->touched,  t->records};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    free(t);
}

/* ---- tokens ---- */

int tk_bpe_trainer_token(tk_bpe_trainer *t, const uint8_t *bytes, size_t n, int mergeable) {
    if (n == 0 || n > UINT32_MAX) return TK_BAD_INPUT;
    if (tk_token_room(&t->tokens, n)) return TK_NO_MEMORY;
    memcpy(t->tokens.bytes + t->tokens.n_bytes, bytes, n);
    if (n == 1) t->byte_ids[*bytes] = (tk_token)t->tokens.n_ids;
    size_t slot = tk_token_slot(&t->tokens, bytes, n);
    tk_token_commit(&t->tokens, n, mergeable ? &slot : NULL);
    return TK_OK;
}

/* Set m->result to the token that has the bytes of left and right, a new one where none has. */
static int join(tk_bpe_trainer *t, tk_trained_merge *m) {
    size_t a = t->tokens.lengths[m->left], b = t->tokens.lengths[m->right], old = t->around_capacity;
    if (tk_token_room(&t->tokens, a + b)) return TK_NO_MEMORY;
    uint8_t *bytes = t->tokens.bytes + t->tokens.n_bytes;
    memcpy(bytes, tk_token_bytes(&t->tokens, m->left), a);
    memcpy(bytes + a, tk_token_bytes(&t->tokens, m->right), b);
    size_t slot = tk_token_slot(&t->tokens, bytes, a + b);
    if (!t->tokens.index[slot]) tk_token_commit(&t->tokens, a + b, &slot);
    m->result = t->tokens.index[slot] - 1;
    if (tk_reserve(&t->around, &t->around_capacity, t->tokens.n_ids, sizeof *t->around)) return TK_NO_MEMORY;
    memset(t->around + old, 0, (t->around_capacity - old) * sizeof *t->around);
    return TK_OK;
}

/* ---- words ---- */

static int more_often(const void *a, const void *b) {
    int64_t x = ((const tk_counted_word *)a)->count, y = ((const tk_counted_word *)b)->count;
    return (x < y) - (x > y);
}

/* Words of at least two bytes and one occurrence, the most frequent first. Order among equals cannot matter:
   what a merge changes is a sum over words. Rare words are most, and a counting sort orders them in one pass. */
static tk_counted_word *sorted_words(const tk_word_counts *words, size_t *n, size_t *n_cells) {
    size_t starts[COMMON_COUNTS + 1] = {0}, n_common = 0;
    *n = 0, *n_cells = 1;
    for (size_t w = 0; w < words->n_words; w++) {
        const tk_counted_word *word = &words->words[w];
        if (word->length < 2 || word->count < 1) continue;
        ++*n;
        *n_cells += (size_t)word->length + 1;
        if (word->count < COMMON_COUNTS) starts[word->count]++;
        else n_common++;
    }
    tk_counted_word *sorted = tk_alloc(*n, sizeof *sorted);
    if (!sorted) return NULL;
    size_t at = n_common, common = 0;
    for (size_t c = COMMON_COUNTS; c-- > 1;) {
        size_t same = starts[c];
        starts[c] = at;
        at += same;
    }
    for (size_t w = 0; w < words->n_words; w++) {
        const tk_counted_word *word = &words->words[w];
        if (word->length < 2 || word->count < 1) continue;
        sorted[word->count < COMMON_COUNTS ? starts[word->count]++ : common++] = *word;
    }
    qsort(sorted, n_common, sizeof *sorted, more_often);
    return sorted;
}

static int lay_out(tk_bpe_trainer *t, const tk_word_counts *words, const tk_counted_word *sorted, size_t n) {
    size_t n_runs = 0;
    for (size_t w = 0; w < n; w++) n_runs += w == 0 || sorted[w].count != sorted[w - 1].count;
    t->cells = tk_alloc(t->n_cells, sizeof *t->cells);
    t->run_of_block = tk_calloc((t->n_cells >> BLOCK_BITS) + 1, sizeof *t->run_of_block);
    t->run_ends = tk_alloc(n_runs, sizeof *t->run_ends);
    t->run_counts = tk_alloc(n_runs, sizeof *t->run_counts);
    if (!t->cells || !t->run_of_block || !t->run_ends || !t->run_counts) return TK_NO_MEMORY;
    size_t at = 0, block = 0;
    t->cells[at++] = BORDER;
    for (size_t w = 0; w < n; w++) {
        if (w == 0 || sorted[w].count != sorted[w - 1].count) t->run_counts[t->n_runs++] = sorted[w].count;
        const uint8_t *bytes = words->bytes + sorted[w].offset;
        for (size_t k = 0; k < sorted[w].length; k++) t->cells[at++] = t->byte_ids[bytes[k]];
        t->cells[at++] = BORDER;
        t->run_ends[t->n_runs - 1] = (uint32_t)at;
        /* The blocks that begin in this word; the run's end is exclusive. */
        for (; block << BLOCK_BITS < at; block++) t->run_of_block[block] = (uint32_t)(t->n_runs - 1);
    }
    return TK_OK;
}

static size_t run_at(const tk_bpe_trainer *t, uint32_t position) {
    size_t run = t->run_of_block[position >> BLOCK_BITS];
    while (t->run_ends[run] <= position) run++;
    return run;
}

/* Count the pairs of bytes and queue each with its positions, through a table of all 2^16. */
static int first_pairs(tk_bpe_trainer *t) {
    tk_token base = t->byte_ids[0];
    for (int b = 1; b < 256; b++) base = t->byte_ids[b] < base ? t->byte_ids[b] : base;
    int64_t *counts = tk_calloc(1 << 16, sizeof *counts);
    size_t *starts = tk_calloc((1 << 16) + 1, sizeof *starts), run = 0, n = 0;
    int status = counts && starts ? TK_OK : TK_NO_MEMORY;
    for (size_t i = 1; !status && i + 1 < t->n_cells; i++) {
        if (t->cells[i] == BORDER || t->cells[i + 1] == BORDER) continue;
        while (t->run_ends[run] <= i) run++;
        size_t pair = (size_t)(t->cells[i] - base) << 8 | (t->cells[i + 1] - base);
        counts[pair] += t->run_counts[run];
        starts[pair + 1]++;
        n++;
    }
    t->first_positions = tk_alloc(n, sizeof *t->first_positions);
    if (!t->first_positions) status = TK_NO_MEMORY;
    for (size_t pair = 0; !status && pair < 1 << 16; pair++) starts[pair + 1] += starts[pair];
    for (size_t i = 1; !status && i + 1 < t->n_cells; i++) {
        if (t->cells[i] == BORDER || t->cells[i + 1] == BORDER) continue;
        size_t pair = (size_t)(t->cells[i] - base) << 8 | (t->cells[i + 1] - base);
        t->first_positions[starts[pair]++] = (uint32_t)i;
    }
    for (size_t pair = 0, start = 0; !status && pair < 1 << 16; start = starts[pair++]) { /* starts are ends now */
        if (!counts[pair]) continue;
        uint64_t key = (uint64_t)(base + (pair >> 8)) << 32 | (base + (pair & 255));
        tk_entry entry = {counts[pair], key, {.many = t->first_positions + start}, (uint32_t)(starts[pair] - start)};
        if (entry.n == 1) entry.at.one = t->first_positions[start];
        int known;
        size_t slot;
        if ((status = tk_pair_table_slot(&t->pairs, key, &slot, &known))) break;
        t->pairs.slots[slot].count = counts[pair];
        status = tk_queue_push(&t->queue, entry);
    }
    free(counts);
    free(starts);
    return status;
}

int tk_bpe_trainer_words(tk_bpe_trainer *t, const tk_word_counts *words) {
    size_t n;
    tk_counted_word *sorted = sorted_words(words, &n, &t->n_cells);
    if (!sorted) return TK_NO_MEMORY;
    int status = t->n_cells >= VOID ? TK_TOO_LARGE : lay_out(t, words, sorted, n);
    free(sorted);
    return status ? status : first_pairs(t);
}

/* ---- merging ---- */

static int touch(tk_bpe_trainer *t, tk_token y) {
    if (t->around[y].touched) return TK_OK;
    t->around[y].touched = 1;
    if (tk_reserve(&t->touched, &t->touched_capacity, t->n_touched + 1, sizeof *t->touched)) return TK_NO_MEMORY;
    t->touched[t->n_touched++] = y;
    return TK_OK;
}

/* One more occurrence of (y, result), or of (result, y) where `after`; (result, result) counts as after. */
static int gain(tk_bpe_trainer *t, tk_token y, int after, int64_t count, uint32_t position) {
    tk_gain *g = after ? &t->around[y].after : &t->around[y].before;
    if (tk_reserve(&t->records, &t->records_capacity, t->n_records + 1, sizeof *t->records)) return TK_NO_MEMORY;
    g->count += count;
    g->n++;
    t->records[t->n_records++] = (tk_record){(uint64_t)y << 1 | (uint64_t)after, position};
    return TK_OK;
}

/* Merge the pair at `p`, where it stands, and note what changes. */
static int merge_at(tk_bpe_trainer *t, tk_trained_merge m, uint32_t p, int64_t count) {
    uint32_t *cells = t->cells, a = t->tokens.lengths[m.left], n = a + t->tokens.lengths[m.right];
    size_t room = t->limits.max_length - n; /* of a neighbour; the pair itself fits */
    tk_token previous = cells[p - 1], next = cells[p + n];
    if (a > 1) cells[p + a - 1] = VOID;
    if (n - a > 1) cells[p + a] = VOID;
    cells[p] = cells[p + n - 1] = m.result;
    if (previous != BORDER) {
        if (touch(t, previous)) return TK_NO_MEMORY;
        t->around[previous].lost_before += count;
        if (t->tokens.lengths[previous] <= room &&
            gain(t, previous, previous == m.result, count, p - t->tokens.lengths[previous]))
            return TK_NO_MEMORY;
    }
    if (next != BORDER) {
        if (touch(t, next)) return TK_NO_MEMORY;
        t->around[next].lost_after += count;
        if (t->tokens.lengths[next] <= room && gain(t, next, 1, count, p)) return TK_NO_MEMORY;
    }
    return TK_OK;
}

static int merge_listed(tk_bpe_trainer *t, tk_trained_merge m, const uint32_t *positions, size_t n) {
    const uint32_t *cells = t->cells, a = t->tokens.lengths[m.left];
    for (size_t i = 0; i < n; i++) {
        if (i + LOOK_AHEAD < n) TK_PREFETCH(&cells[positions[i + LOOK_AHEAD]]);
        uint32_t p = positions[i];
        if (cells[p] != m.left || cells[p + a] != m.right) continue;
        int status = merge_at(t, m, p, t->run_counts[run_at(t, p)]);
        if (TK_UNLIKELY(status)) return status;
    }
    return TK_OK;
}

/* The same for a pair with several entries: its occurrences in these words may be listed in another entry. */
static int merge_words(tk_bpe_trainer *t, tk_trained_merge m, const uint32_t *positions, size_t n, size_t *visited) {
    const uint32_t *cells = t->cells;
    size_t behind = 0; /* the word done last */
    for (size_t i = 0; i < n; i++) {
        if (positions[i] < behind) continue;
        size_t p = positions[i];
        while (cells[p - 1] != BORDER) p--;
        int64_t count = t->run_counts[run_at(t, (uint32_t)p)];
        for (; cells[p] != BORDER; p += t->tokens.lengths[cells[p]], ++*visited) {
            if (cells[p] != m.left || cells[p + t->tokens.lengths[m.left]] != m.right) continue;
            int status = merge_at(t, m, (uint32_t)p, count);
            if (status) return status;
        }
        behind = p;
    }
    return TK_OK;
}

static uint64_t key_of(tk_token left, tk_token right) { return (uint64_t)left << 32 | right; }

static uint64_t gain_key(tk_trained_merge m, tk_token y, int after) {
    return after ? key_of(m.result, y) : key_of(y, m.result);
}

/* Count what the merge gained and lost. */
static int apply_changes(tk_bpe_trainer *t, tk_trained_merge m) {
    if (tk_pair_table_reserve(&t->pairs, 2 * t->n_touched)) return TK_NO_MEMORY; /* slots stay where they are */
    for (size_t i = 0; i < 2 * t->n_touched; i++) {
        tk_token y = t->touched[i >> 1];
        tk_gain *g = i & 1 ? &t->around[y].after : &t->around[y].before;
        if (!g->n) continue;
        int known, twice;
        uint64_t key = gain_key(m, y, i & 1);
        if (tk_pair_table_slot(&t->pairs, key, &g->slot, &known)) return TK_NO_MEMORY;
        t->pairs.slots[g->slot].count += g->count;
        if (TK_UNLIKELY(known)) {
            size_t slot;
            if (tk_pair_table_slot(&t->repeated, key, &slot, &twice)) return TK_NO_MEMORY;
        }
    }
    for (size_t i = 0; i < t->n_touched; i++) {
        const tk_neighbour *y = &t->around[t->touched[i]];
        if (y->lost_before) tk_pair_table_lose(&t->pairs, key_of(t->touched[i], m.left), y->lost_before);
        if (y->lost_after) tk_pair_table_lose(&t->pairs, key_of(m.right, t->touched[i]), y->lost_after);
    }
    return TK_OK;
}

/* Queue the pairs that gained, each with the positions it gained. */
static int queue_gains(tk_bpe_trainer *t, tk_trained_merge m) {
    for (size_t i = 0; i < 2 * t->n_touched; i++) {
        tk_gain *g = i & 1 ? &t->around[t->touched[i >> 1]].after : &t->around[t->touched[i >> 1]].before;
        if (!g->n) continue;
        g->count = t->pairs.slots[g->slot].count;
        g->list = g->count < 1 ? NULL : g->n == 1 ? &g->one : tk_chunks_take(&t->chunks, g->n);
        g->cursor = g->list;
        if (!g->list && g->count > 0) return TK_NO_MEMORY;
    }
    for (size_t i = 0; i < t->n_records; i++) {
        tk_neighbour *y = &t->around[t->records[i].side >> 1];
        tk_gain *g = t->records[i].side & 1 ? &y->after : &y->before;
        if (g->cursor) *g->cursor++ = t->records[i].position;
    }
    for (size_t i = 0; i < 2 * t->n_touched; i++) {
        tk_token y = t->touched[i >> 1];
        const tk_gain *g = i & 1 ? &t->around[y].after : &t->around[y].before;
        if (!g->n || !g->list) continue;
        tk_entry entry = {g->count, gain_key(m, y, i & 1), {.many = g->list}, g->n};
        if (g->n == 1) entry.at.one = g->one;
        if (tk_queue_push(&t->queue, entry)) return TK_NO_MEMORY;
    }
    for (size_t i = 0; i < t->n_touched; i++) t->around[t->touched[i]] = (tk_neighbour){0};
    t->n_touched = t->n_records = 0;
    return TK_OK;
}

static int merge_entry(tk_bpe_trainer *t, const tk_entry *entry, size_t *visited) {
    tk_trained_merge m = {(tk_token)(entry->key >> 32), (tk_token)entry->key, 0};
    int status;
    size_t slot;
    if (join(t, &m)) return TK_NO_MEMORY;
    if (tk_reserve(&t->merges, &t->merges_capacity, t->n_merges + 1, sizeof *t->merges)) return TK_NO_MEMORY;
    t->merges[t->n_merges++] = m;
    const uint32_t *positions = entry->n == 1 ? &entry->at.one : entry->at.many;
    *visited += entry->n;
    if (t->repeated.n_used && tk_pair_table_find(&t->repeated, entry->key, &slot))
        status = merge_words(t, m, positions, entry->n, visited);
    else status = merge_listed(t, m, positions, entry->n);
    if (status) return status;
    if ((status = apply_changes(t, m))) return status;
    return queue_gains(t, m);
}

int tk_bpe_trainer_run(tk_bpe_trainer *t, size_t budget, int *done) {
    for (size_t visited = 0; visited < budget; visited += 8) { /* a pop and its bookkeeping cost as much as 8 */
        tk_entry top;
        size_t slot;
        *done = 1;
        if (t->tokens.n_ids >= t->limits.vocab_size) return TK_OK;
        int status = tk_queue_pop(&t->queue, &top);
        if (status) return status < 0 ? status : TK_OK;
        int64_t count = tk_pair_table_find(&t->pairs, top.key, &slot) ? t->pairs.slots[slot].count : 0;
        if (top.count == count && (count < 1 || count < t->limits.min_frequency)) return TK_OK;
        *done = 0;
        if (top.count != count) {
            top.count = count;
            status = tk_queue_push(&t->queue, top);
        } else {
            status = merge_entry(t, &top, &visited);
        }
        if (status) return status;
    }
    return TK_OK;
}

const tk_trained_merge *tk_bpe_trainer_merges(const tk_bpe_trainer *t, size_t *n) {
    *n = t->n_merges;
    return t->merges;
}

const uint8_t *tk_bpe_trainer_tokens(const tk_bpe_trainer *t, const uint64_t **ends, size_t *n) {
    *ends = t->tokens.ends;
    *n = t->tokens.n_ids;
    return t->tokens.bytes;
}
