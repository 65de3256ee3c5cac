/* The merge loop over a flat arena of symbols: see bpe_train.h, and bpe_train_queue.h for pair counts and queue.

   Words are rows of cells (word_cells.h); `widths` has the number of cells of each token. */
#include "train/bpe_trainer.h"

enum { LOOK_AHEAD = 12 };
#define BORDER TK_BORDER
#define VOID TK_VOID

tk_bpe_trainer *tk_bpe_trainer_new(tk_bpe_limits limits) {
    TK_ASSERT(limits.vocab_size < (size_t)1 << 31 && limits.max_length >= 2);
    tk_bpe_trainer *t = tk_calloc(1, sizeof *t);
    if (t) t->limits = limits, t->words.folder = t->chunks.folder = limits.folder;
    return t;
}

void tk_bpe_trainer_free(tk_bpe_trainer *t) {
    if (!t) return;
    tk_pair_table_free(&t->pairs);
    tk_pair_table_free(&t->repeated);
    tk_queue_free(&t->queue);
    tk_chunks_free(&t->chunks);
    tk_token_table_free(&t->tokens);
    tk_word_cells_free(&t->words);
    tk_big_block_free(&t->first_block);
    void *blocks[] = {t->merges, t->merge_counts, t->widths, t->around, t->touched, t->records};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    free(t);
}

/* ---- tokens ---- */

int tk_bpe_trainer_token(tk_bpe_trainer *t, const uint8_t *bytes, size_t n, uint32_t width, int mergeable) {
    if (n == 0 || n > UINT32_MAX) return TK_BAD_INPUT;
    if (tk_token_room(&t->tokens, n)) return TK_NO_MEMORY;
    if (tk_reserve(&t->widths, &t->widths_capacity, t->tokens.n_ids + 1, sizeof *t->widths)) return TK_NO_MEMORY;
    t->widths[t->tokens.n_ids] = width;
    memcpy(t->tokens.bytes + t->tokens.n_bytes, bytes, n);
    if (n == 1) t->byte_ids[*bytes] = (tk_token)t->tokens.n_ids;
    size_t slot = tk_token_slot(&t->tokens, bytes, n);
    tk_token_commit(&t->tokens, n, mergeable ? &slot : NULL);
    return TK_OK;
}

int tk_bpe_trainer_join(tk_bpe_trainer *t, tk_trained_merge *m) {
    TK_ASSERT(m->left < t->tokens.n_ids && m->right < t->tokens.n_ids);
    TK_ASSERT(t->tokens.lengths[m->right] >= t->limits.n_prefix);
    size_t a = t->tokens.lengths[m->left], b = t->tokens.lengths[m->right] - t->limits.n_prefix;
    size_t old = t->around_capacity;
    uint32_t width = t->widths[m->left] + t->widths[m->right];
    if (tk_token_room(&t->tokens, a + b)) return TK_NO_MEMORY;
    if (tk_reserve(&t->widths, &t->widths_capacity, t->tokens.n_ids + 1, sizeof *t->widths)) return TK_NO_MEMORY;
    uint8_t *bytes = t->tokens.bytes + t->tokens.n_bytes;
    memcpy(bytes, tk_token_bytes(&t->tokens, m->left), a);
    memcpy(bytes + a, tk_token_bytes(&t->tokens, m->right) + t->limits.n_prefix, b);
    if (tk_holds_forbidden(t->limits.forbidden, bytes, a + b, width, t->limits.n_prefix))
        return TK_NO_MERGE;
    size_t slot = tk_token_slot(&t->tokens, bytes, a + b);
    if (!t->tokens.index[slot]) {
        t->widths[t->tokens.n_ids] = width;
        tk_token_commit(&t->tokens, a + b, &slot);
    }
    m->result = t->tokens.index[slot] - 1;
    if (tk_reserve(&t->around, &t->around_capacity, t->tokens.n_ids, sizeof *t->around)) return TK_NO_MEMORY;
    memset(t->around + old, 0, (t->around_capacity - old) * sizeof *t->around);
    return t->widths[m->result] == width ? TK_OK : TK_NO_MERGE;
}

/* ---- words ---- */

/* Which of all pairs stand in the words, numbered from 0 in `count`. */
static int number_pairs(const tk_word_cells *w, tk_pair_table *numbers) {
    for (size_t i = 1; i + 1 < w->n_cells; i++) {
        size_t slot;
        int known;
        if (w->cells[i] == BORDER || w->cells[i + 1] == BORDER) continue;
        uint64_t key = (uint64_t)w->cells[i] << 32 | w->cells[i + 1];
        if (tk_pair_table_slot(numbers, key, &slot, &known)) return TK_NO_MEMORY;
        if (!known) numbers->slots[slot].count = (int64_t)numbers->n_used - 1;
    }
    return TK_OK;
}

/* The number of a pair of cells: of 2^16 where symbols are bytes, whose ids begin with `base`. */
TK_INLINE size_t pair_number(const tk_pair_table *numbers, tk_token base, const uint32_t *cells) {
    TK_ASSERT(numbers->n_slots || (cells[0] - base < 256 && cells[1] - base < 256));
    if (!numbers->n_slots) return (size_t)(cells[0] - base) << 8 | (cells[1] - base);
    return (size_t)numbers->slots[tk_pair_table_probe(numbers, (uint64_t)cells[0] << 32 | cells[1])].count;
}

/* Count the first pairs and queue each with its positions. */
static int first_pairs(tk_bpe_trainer *t, const tk_pair_table *numbers) {
    const tk_word_cells *w = &t->words;
    tk_token base = t->byte_ids[0];
    for (int b = 1; b < 256; b++) base = t->byte_ids[b] < base ? t->byte_ids[b] : base;
    size_t n_pairs = numbers->n_slots ? numbers->n_used : 1 << 16, run = 0, n = 0;
    int64_t *counts = tk_calloc(n_pairs, sizeof *counts);
    size_t *starts = tk_calloc(n_pairs + 1, sizeof *starts);
    int status = counts && starts ? TK_OK : TK_NO_MEMORY;
    for (size_t i = 1; !status && i + 1 < w->n_cells; i++) {
        if (w->cells[i] == BORDER || w->cells[i + 1] == BORDER) continue;
        while (w->run_ends[run] <= i) run++;
        size_t pair = pair_number(numbers, base, w->cells + i);
        TK_ASSERT(pair < n_pairs && run < w->n_runs);
        counts[pair] += w->run_counts[run];
        starts[pair + 1]++;
        n++;
    }
    if (!status) status = tk_big_block_make(&t->first_block, t->limits.folder, n, sizeof *t->first_positions);
    t->first_positions = t->first_block.data;
    for (size_t pair = 0; !status && pair < n_pairs; pair++) starts[pair + 1] += starts[pair];
    for (size_t i = 1; !status && i + 1 < w->n_cells; i++) {
        if (w->cells[i] == BORDER || w->cells[i + 1] == BORDER) continue;
        t->first_positions[starts[pair_number(numbers, base, w->cells + i)]++] = (uint32_t)i;
    }
    for (size_t pair = 0, start = 0; !status && pair < n_pairs; start = starts[pair++]) { /* starts are ends now */
        if (!counts[pair]) continue;
        const uint32_t *at = w->cells + t->first_positions[start];
        uint64_t key = (uint64_t)at[0] << 32 | at[1];
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

int tk_bpe_trainer_words(tk_bpe_trainer *t, const tk_word_counts *words, const tk_spelling *spelling) {
    tk_spelling in_bytes = {t->byte_ids, NULL, NULL};
    tk_pair_table numbers = {0};
    int status = tk_word_cells_lay_out(&t->words, words, spelling ? spelling : &in_bytes, 2, VOID - 1);
    if (!status && spelling) status = tk_pair_table_reserve(&numbers, 1);
    if (!status && spelling) status = number_pairs(&t->words, &numbers);
    if (!status) status = first_pairs(t, &numbers);
    tk_pair_table_free(&numbers);
    return status;
}

/* ---- merging ---- */

static int touch(tk_bpe_trainer *t, tk_token y) {
    TK_ASSERT(y < t->around_capacity);
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
    uint32_t *cells = t->words.cells, a = t->widths[m.left], n = a + t->widths[m.right];
    TK_ASSERT(p && p + n < t->words.n_cells && n <= t->limits.max_length);
    TK_ASSERT(cells[p] == m.left && cells[p + a] == m.right && m.result < t->tokens.n_ids);
    size_t room = t->limits.max_length - n; /* of a neighbour; the pair itself fits */
    tk_token previous = cells[p - 1], next = cells[p + n];
    if (a > 1) cells[p + a - 1] = VOID;
    if (n - a > 1) cells[p + a] = VOID;
    cells[p] = cells[p + n - 1] = m.result;
    if (previous != BORDER) {
        if (touch(t, previous)) return TK_NO_MEMORY;
        t->around[previous].lost_before += count;
        if (t->widths[previous] <= room &&
            gain(t, previous, previous == m.result, count, p - t->widths[previous]))
            return TK_NO_MEMORY;
    }
    if (next != BORDER) {
        if (touch(t, next)) return TK_NO_MEMORY;
        t->around[next].lost_after += count;
        if (t->widths[next] <= room && gain(t, next, 1, count, p)) return TK_NO_MEMORY;
    }
    return TK_OK;
}

static int merge_listed(tk_bpe_trainer *t, tk_trained_merge m, const uint32_t *positions, size_t n) {
    const uint32_t *cells = t->words.cells, a = t->widths[m.left];
    for (size_t i = 0; i < n; i++) {
        if (i + LOOK_AHEAD < n) TK_PREFETCH(&cells[positions[i + LOOK_AHEAD]]);
        uint32_t p = positions[i];
        if (cells[p] != m.left || cells[p + a] != m.right) continue;
        int status = merge_at(t, m, p, t->words.run_counts[tk_word_cells_run(&t->words, p)]);
        if (TK_UNLIKELY(status)) return status;
    }
    return TK_OK;
}

/* The same for a pair with several entries: its occurrences in these words may be listed in another entry. */
static int merge_words(tk_bpe_trainer *t, tk_trained_merge m, const uint32_t *positions, size_t n, size_t *visited) {
    const uint32_t *cells = t->words.cells;
    size_t behind = 0; /* the word done last */
    for (size_t i = 0; i < n; i++) {
        if (positions[i] < behind) continue;
        size_t p = positions[i];
        while (cells[p - 1] != BORDER) p--;
        int64_t count = t->words.run_counts[tk_word_cells_run(&t->words, (uint32_t)p)];
        for (; cells[p] != BORDER; p += t->widths[cells[p]], ++*visited) {
            if (cells[p] != m.left || cells[p + t->widths[m.left]] != m.right) continue;
            int status = merge_at(t, m, (uint32_t)p, count);
            if (status) return status;
        }
        tk_work += p - behind;
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
        if (!g->list && g->count > 0) return t->chunks.folder ? TK_NO_DISK : TK_NO_MEMORY;
    }
    for (size_t i = 0; i < t->n_records; i++) {
        tk_neighbour *y = &t->around[t->records[i].side >> 1];
        tk_gain *g = t->records[i].side & 1 ? &y->after : &y->before;
        TK_ASSERT(!g->cursor || (size_t)(g->cursor - g->list) < g->n);
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
    if ((status = tk_bpe_trainer_join(t, &m))) return status < 0 ? status : TK_OK;
    if (tk_reserve(&t->merges, &t->merges_capacity, t->n_merges + 1, sizeof *t->merges) ||
        tk_reserve(&t->merge_counts, &t->merge_counts_capacity, t->n_merges + 1, sizeof *t->merge_counts))
        return TK_NO_MEMORY;
    t->merge_counts[t->n_merges] = entry->count;
    t->merges[t->n_merges++] = m;
    TK_ASSERT(!t->n_touched && !t->n_records);
    const uint32_t *positions = entry->n == 1 ? &entry->at.one : entry->at.many;
    *visited += entry->n;
    tk_work += entry->n;
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

const tk_trained_merge *tk_bpe_trainer_merges(const tk_bpe_trainer *t, size_t *n, const int64_t **counts) {
    *n = t->n_merges;
    *counts = t->merge_counts;
    return t->merges;
}

const uint8_t *tk_bpe_trainer_tokens(const tk_bpe_trainer *t, const uint64_t **ends, size_t *n) {
    *ends = t->tokens.ends;
    *n = t->tokens.n_ids;
    return t->tokens.bytes;
}
