/* Saves and checks the arrays of a BPE training: see bpe_state.h. */
#include "train/bpe_state.h"

#include "train/bpe_trainer.h"

enum { PAIR_SLOTS = TK_CELL_SIZES, PAIRS_USED, REPEATED_SLOTS, MERGES, TOP, LEVELS };
enum { FIRST_LEVEL = TK_CELL_ARRAYS + 4 };

void tk_bpe_state_sizes(const tk_bpe_trainer *t, uint64_t *sizes) {
    tk_word_cells_sizes(&t->words, sizes);
    sizes[PAIR_SLOTS] = t->pairs.n_slots;
    sizes[PAIRS_USED] = t->pairs.n_used;
    sizes[REPEATED_SLOTS] = t->repeated.n_slots;
    sizes[MERGES] = t->n_merges;
    sizes[TOP] = (uint64_t)t->queue.top;
    for (size_t k = 0; k < QUEUE_LEVELS; k++) sizes[LEVELS + k] = t->queue.levels[k].n;
}

void tk_bpe_state_arrays(const tk_bpe_trainer *t, tk_state_array *arrays) {
    const tk_state_array others[] = {
        {t->pairs.slots, t->pairs.n_slots * sizeof *t->pairs.slots},
        {t->repeated.slots, t->repeated.n_slots * sizeof *t->repeated.slots},
        {t->merges, t->n_merges * sizeof *t->merges},
        {t->merge_counts, t->n_merges * sizeof *t->merge_counts},
    };
    tk_word_cells_arrays(&t->words, arrays);
    memcpy(arrays + TK_CELL_ARRAYS, others, sizeof others);
    for (size_t k = 0; k < QUEUE_LEVELS; k++)
        arrays[FIRST_LEVEL + k] = (tk_state_array){t->queue.levels[k].entries, t->queue.levels[k].n * sizeof(tk_entry)};
}

_Static_assert(LEVELS + QUEUE_LEVELS == TK_STATE_SIZES, "a number for each array that grows");
_Static_assert(FIRST_LEVEL + QUEUE_LEVELS == TK_STATE_ARRAYS, "the cells, four more, and the queue");
_Static_assert(sizeof(tk_entry) == 32 && sizeof(tk_pair_count) == 16, "they are saved as they are");

size_t tk_bpe_state_positions(const tk_bpe_trainer *t, size_t *level, size_t *entry, size_t *at, uint32_t *out,
                              size_t room) {
    size_t made = 0;
    for (; *level < QUEUE_LEVELS; ++*level, *entry = 0) {
        const tk_level *v = &t->queue.levels[*level];
        for (; *entry < v->n; ++*entry, *at = 0) {
            const tk_entry *e = &v->entries[*entry];
            if (e->n < 2) continue;
            TK_ASSERT(*at < e->n && made <= room);
            size_t n = e->n - *at < room - made ? e->n - *at : room - made;
            memcpy(out + made, e->at.many + *at, n * sizeof *out);
            made += n;
            *at += n;
            if (*at < e->n) return made;
        }
    }
    return made;
}

/* ---- loading ---- */

/* One allocation of n items; *failed is set where there is none. */
static void *array_of(uint64_t n, size_t size, int *failed) {
    void *made = n > SIZE_MAX / 2 / size ? NULL : tk_alloc((size_t)n, size);
    if (!made) *failed = 1;
    return made;
}

static int is_table(uint64_t n_slots) { return !n_slots || (n_slots >= 2 && !(n_slots & (n_slots - 1))); }

int tk_bpe_state_begin(tk_bpe_trainer *t, const uint64_t *sizes) {
    int failed = 0;
    if (sizes[TOP] >= QUEUE_LEVELS || !is_table(sizes[PAIR_SLOTS]) || !is_table(sizes[REPEATED_SLOTS]))
        return TK_BAD_INPUT;
    int status = tk_word_cells_begin(&t->words, sizes, TK_VOID - 1);
    if (status) return status;
    t->pairs.slots = array_of(sizes[PAIR_SLOTS], sizeof *t->pairs.slots, &failed);
    t->pairs.n_slots = failed ? 0 : (size_t)sizes[PAIR_SLOTS];
    t->pairs.n_used = (size_t)sizes[PAIRS_USED];
    t->repeated.slots = array_of(sizes[REPEATED_SLOTS], sizeof *t->repeated.slots, &failed);
    t->repeated.n_slots = failed ? 0 : (size_t)sizes[REPEATED_SLOTS];
    t->merges = array_of(sizes[MERGES], sizeof *t->merges, &failed);
    t->merge_counts = array_of(sizes[MERGES], sizeof *t->merge_counts, &failed);
    t->n_merges = t->merges_capacity = t->merge_counts_capacity = failed ? 0 : (size_t)sizes[MERGES];
    t->queue.top = (int)sizes[TOP];
    for (size_t k = 0; k < QUEUE_LEVELS; k++) {
        tk_level *v = &t->queue.levels[k];
        if (k > sizes[TOP] && sizes[LEVELS + k]) return TK_BAD_INPUT;
        v->entries = array_of(sizes[LEVELS + k], sizeof *v->entries, &failed);
        v->n = v->capacity = failed ? 0 : (size_t)sizes[LEVELS + k];
    }
    return failed ? TK_NO_MEMORY : TK_OK;
}

int tk_bpe_state_lists(tk_bpe_trainer *t, tk_state_array *positions) {
    size_t n = 0, at = 0;
    for (size_t k = 0; k < QUEUE_LEVELS; k++)
        for (size_t i = 0; i < t->queue.levels[k].n; i++) {
            uint32_t more = t->queue.levels[k].entries[i].n;
            if (more < 1 || more >= t->words.n_cells || more > SIZE_MAX / 8 - n) return TK_BAD_INPUT;
            n += more > 1 ? more : 0;
        }
    int status = tk_big_block_make(&t->first_block, t->limits.folder, n, sizeof *t->first_positions);
    if (status) return status;
    t->first_positions = t->first_block.data;
    for (size_t k = 0; k < QUEUE_LEVELS; k++)
        for (size_t i = 0; i < t->queue.levels[k].n; i++) {
            tk_entry *e = &t->queue.levels[k].entries[i];
            if (e->n < 2) continue;
            e->at.many = t->first_positions + at;
            at += e->n;
        }
    *positions = (tk_state_array){t->first_positions, n * sizeof *t->first_positions};
    return TK_OK;
}

static int check_table(const tk_pair_table *p, size_t n_ids, size_t *n_used) {
    *n_used = 0;
    for (size_t i = 0; i < p->n_slots; i++) {
        uint64_t key = p->slots[i].key;
        if (key == UINT64_MAX) continue;
        if (key >> 32 >= n_ids || (uint32_t)key >= n_ids) return TK_BAD_INPUT;
        ++*n_used;
    }
    return p->n_slots && *n_used >= p->n_slots ? TK_BAD_INPUT : TK_OK;
}

/* Whether cells p to p + n - 1 are in one token, at its beginning or not. */
static int in_one_token(const uint8_t *starts, size_t p, size_t n) {
    for (size_t k = 1; k < n; k++)
        if (tk_has_bit(starts, p + k)) return 0;
    return 1;
}

/* A position is where both tokens of its pair once stood: since then they can only have become parts of others. */
static int check_entry(const tk_bpe_trainer *t, const uint8_t *starts, const tk_entry *e) {
    size_t left = (size_t)(e->key >> 32), right = (uint32_t)e->key, n_ids = t->tokens.n_ids;
    if (left >= n_ids || right >= n_ids) return TK_BAD_INPUT;
    size_t a = t->widths[left], b = t->widths[right], n = t->words.n_cells;
    const uint32_t *positions = e->n == 1 ? &e->at.one : e->at.many;
    if (!a || !b || a + b >= n) return TK_BAD_INPUT;
    for (size_t i = 0; i < e->n; i++) {
        size_t p = positions[i];
        if (p < 1 || p + a + b >= n || t->words.cells[p] == TK_BORDER || t->words.cells[p + a] == TK_BORDER ||
            !in_one_token(starts, p, a) || !in_one_token(starts, p + a, b))
            return TK_BAD_INPUT;
    }
    return TK_OK;
}

int tk_bpe_state_end(tk_bpe_trainer *t) {
    for (size_t i = 0; i < t->n_merges; i++) {
        tk_trained_merge m = t->merges[i];
        if (m.left >= t->tokens.n_ids || m.right >= t->tokens.n_ids || !t->widths[m.left] || !t->widths[m.right] ||
            t->tokens.lengths[m.right] < t->limits.n_prefix ||
            (size_t)t->widths[m.left] + t->widths[m.right] > t->words.n_cells)
            return TK_BAD_INPUT;
        int status = tk_bpe_trainer_join(t, &m);
        if (status < 0) return status;
        if (status || m.result != t->merges[i].result) return TK_BAD_INPUT;
    }
    uint8_t *starts = tk_calloc(t->words.n_cells / 8 + 1, 1);
    if (!starts) return TK_NO_MEMORY;
    size_t n_used = 0, n_ids = t->tokens.n_ids;
    int status = tk_word_cells_check(&t->words, t->widths, n_ids, starts);
    if (!status) status = check_table(&t->pairs, n_ids, &n_used);
    if (!status && n_used != t->pairs.n_used) status = TK_BAD_INPUT;
    if (!status) status = check_table(&t->repeated, n_ids, &t->repeated.n_used);
    for (size_t k = 0; !status && k < QUEUE_LEVELS; k++)
        for (size_t i = 0; !status && i < t->queue.levels[k].n; i++)
            status = check_entry(t, starts, &t->queue.levels[k].entries[i]);
    free(starts);
    return status;
}
