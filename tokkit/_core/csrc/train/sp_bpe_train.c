/* The merge loop of sentencepiece's BPE: see sp_bpe_train.h, and word_cells.h for the layout of units. */
#include "train/sp_bpe_train.h"

#include "train/bpe_train_queue.h"
#include "encode/token_table.h"
#include "text/utf8.h"

#define BORDER TK_BORDER
#define VOID TK_VOID
#define NO_PLACE UINT32_MAX
/* A merge makes two places at most, and takes a symbol away. */
enum { MOST_CELLS = 1 << 30, MOST_CHARACTERS = 1024 };

typedef struct {
    tk_token left, right;
    int64_t count;
    uint32_t first, last; /* places, in the order in which they came to be */
    uint32_t n_symbols;
    uint32_t forbidden;
} bpe_pair;

/* A pair as it was queued. `prefix` is the beginning of its text, the first byte highest. */
typedef struct {
    int64_t count;
    uint64_t prefix;
    uint32_t n_symbols, pair;
} candidate;

typedef struct {
    uint32_t position, next;
} place;

typedef struct {
    tk_token left, right;
} sp_merge;

struct tk_sp_bpe_trainer {
    size_t n_wanted;
    const tk_piece_kinds *kinds;
    tk_word_cells words;
    tk_token_table tokens;
    uint32_t *widths; /* by id: symbols */
    size_t widths_capacity;
    tk_pair_table numbers; /* pair → its number, in the place of a count */
    bpe_pair *pairs;
    size_t n_pairs, pairs_capacity;
    tk_big_block places_block;
    size_t n_places, places_capacity;
    candidate *heap;
    size_t n_heap, heap_capacity;
    uint32_t *positions; /* where the pair at hand stands */
    size_t positions_capacity;
    sp_merge *merges;
    int64_t *counts; /* of the merges */
    size_t n_merges, merges_capacity, counts_capacity;
    size_t n_queued; /* pairs that are in the heap, or were */
};

tk_sp_bpe_trainer *tk_sp_bpe_trainer_new(size_t n_pieces, const tk_piece_kinds *kinds, const char *folder) {
    TK_ASSERT(kinds && kinds->kinds);
    tk_sp_bpe_trainer *t = tk_calloc(1, sizeof *t);
    if (t) t->n_wanted = n_pieces, t->kinds = kinds, t->words.folder = folder;
    return t;
}

void tk_sp_bpe_trainer_free(tk_sp_bpe_trainer *t) {
    if (!t) return;
    tk_word_cells_free(&t->words);
    tk_token_table_free(&t->tokens);
    tk_pair_table_free(&t->numbers);
    tk_big_block_free(&t->places_block);
    void *blocks[] = {t->widths, t->pairs, t->heap, t->positions, t->merges, t->counts};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    free(t);
}

static int token_room(tk_sp_bpe_trainer *t, size_t n) {
    if (tk_token_room(&t->tokens, n)) return TK_NO_MEMORY;
    return tk_reserve(&t->widths, &t->widths_capacity, t->tokens.n_ids + 1, sizeof *t->widths);
}

int tk_sp_bpe_trainer_character(tk_sp_bpe_trainer *t, uint32_t character) {
    if (token_room(t, 4)) return TK_NO_MEMORY;
    uint8_t *bytes = t->tokens.bytes + t->tokens.n_bytes;
    size_t n = (size_t)(tk_utf8_put(bytes, character) - bytes), slot = tk_token_slot(&t->tokens, bytes, n);
    if (t->tokens.index[slot]) return TK_BAD_INPUT;
    t->widths[t->tokens.n_ids] = 1;
    tk_token_commit(&t->tokens, n, &slot);
    return TK_OK;
}

/* ---- order ---- */

static size_t spell(const tk_sp_bpe_trainer *t, const bpe_pair *p, uint8_t *out) {
    TK_ASSERT(p->left < t->tokens.n_ids && p->right < t->tokens.n_ids);
    size_t a = t->tokens.lengths[p->left], b = t->tokens.lengths[p->right];
    memcpy(out, tk_token_bytes(&t->tokens, p->left), a);
    memcpy(out + a, tk_token_bytes(&t->tokens, p->right), b);
    return a + b;
}

TK_NOINLINE static int lesser_text(const tk_sp_bpe_trainer *t, uint32_t a, uint32_t b) {
    uint8_t x[8 * MOST_CHARACTERS], y[8 * MOST_CHARACTERS];
    size_t n = spell(t, &t->pairs[a], x), m = spell(t, &t->pairs[b], y);
    int order = memcmp(x, y, n < m ? n : m);
    if (order || n != m) return order ? order < 0 : n < m;
    return t->pairs[a].left < t->pairs[b].left; /* one text of two pairs: the one that merges bars the other */
}

TK_INLINE int before(const tk_sp_bpe_trainer *t, const candidate *a, const candidate *b) {
    if (a->count != b->count) return a->count > b->count;
    if (a->n_symbols != b->n_symbols) return a->n_symbols < b->n_symbols;
    if (a->prefix != b->prefix) return a->prefix < b->prefix;
    return lesser_text(t, a->pair, b->pair);
}

static void sift_down(tk_sp_bpe_trainer *t, candidate c) {
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < t->n_heap; i = child) {
        if (child + 1 < t->n_heap && before(t, &t->heap[child + 1], &t->heap[child])) child++;
        if (!before(t, &t->heap[child], &c)) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = c;
}

static int push(tk_sp_bpe_trainer *t, uint32_t number) {
    TK_ASSERT(number < t->n_pairs && !t->pairs[number].forbidden);
    const bpe_pair *p = &t->pairs[number];
    if (tk_reserve(&t->heap, &t->heap_capacity, t->n_heap + 1, sizeof *t->heap)) return TK_NO_MEMORY;
    candidate c = {p->count, 0, p->n_symbols, number};
    const uint8_t *text = tk_token_bytes(&t->tokens, p->left);
    size_t n = t->tokens.lengths[p->left], k = 0;
    for (; k < 8 && k < n; k++) c.prefix = c.prefix << 8 | text[k];
    text = tk_token_bytes(&t->tokens, p->right);
    n += t->tokens.lengths[p->right];
    for (size_t j = 0; k < 8 && k < n; k++) c.prefix = c.prefix << 8 | text[j++];
    if (k < 8) c.prefix <<= 8 * (8 - k);
    size_t i = t->n_heap++;
    for (; i && before(t, &c, &t->heap[(i - 1) / 2]); i = (i - 1) / 2) t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = c;
    return TK_OK;
}

/* ---- pairs ---- */

/* Whether the rules, or a piece that is spelt alike, keep a pair from merging. */
static int is_forbidden(const tk_sp_bpe_trainer *t, const bpe_pair *p) {
    uint8_t text[8 * MOST_CHARACTERS];
    uint32_t characters[MOST_CHARACTERS];
    TK_ASSERT(t->kinds->rules.max_length <= MOST_CHARACTERS);
    if (p->n_symbols > t->kinds->rules.max_length) return 1;
    size_t n = spell(t, p, text), n_characters = 0;
    unsigned length;
    for (size_t k = 0; k < n; k += length) characters[n_characters++] = tk_utf8_decode(text + k, &length);
    return !tk_piece_is_valid(t->kinds, characters, n_characters);
}

static bpe_pair pair_of(const tk_sp_bpe_trainer *t, tk_token left, tk_token right) {
    TK_ASSERT(left < t->tokens.n_ids && right < t->tokens.n_ids);
    bpe_pair made = {left, right, 0, NO_PLACE, NO_PLACE, t->widths[left] + t->widths[right], 0};
    made.forbidden = (uint32_t)is_forbidden(t, &made);
    return made;
}

/* A pair begins to occur at a place. */
static int gain(tk_sp_bpe_trainer *t, tk_token left, tk_token right, int64_t count, uint32_t position) {
    size_t slot;
    int known;
    if (tk_pair_table_slot(&t->numbers, (uint64_t)left << 32 | right, &slot, &known)) return TK_NO_MEMORY;
    if (!known) {
        if (tk_reserve(&t->pairs, &t->pairs_capacity, t->n_pairs + 1, sizeof *t->pairs)) return TK_NO_MEMORY;
        t->pairs[t->n_pairs] = pair_of(t, left, right);
        t->numbers.slots[slot].count = (int64_t)t->n_pairs++;
    }
    bpe_pair *p = &t->pairs[t->numbers.slots[slot].count];
    if (p->forbidden) return TK_OK;
    int status =
        tk_big_block_reserve(&t->places_block, t->words.folder, &t->places_capacity, t->n_places + 1, sizeof(place));
    if (TK_UNLIKELY(status)) return status;
    place *places = t->places_block.data;
    uint32_t number = (uint32_t)t->n_places++;
    TK_ASSERT(position < t->words.n_cells && number != NO_PLACE);
    places[number] = (place){position, NO_PLACE};
    if (p->first == NO_PLACE) p->first = number;
    else places[p->last].next = number;
    p->last = number;
    p->count += count;
    return TK_OK;
}

/* A pair is no more at one of its places. */
static void lose(tk_sp_bpe_trainer *t, tk_token left, tk_token right, int64_t count) {
    size_t slot;
    if (tk_pair_table_find(&t->numbers, (uint64_t)left << 32 | right, &slot))
        t->pairs[t->numbers.slots[slot].count].count -= count;
}

static int rising(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Collect where a pair stands, or stood, from left to right. */
static int collect(tk_sp_bpe_trainer *t, const bpe_pair *p, size_t *n) {
    const place *places = t->places_block.data;
    int in_order = 1;
    *n = 0;
    for (uint32_t at = p->first; at != NO_PLACE; at = places[at].next) {
        if (tk_reserve(&t->positions, &t->positions_capacity, *n + 1, sizeof *t->positions)) return TK_NO_MEMORY;
        t->positions[*n] = places[at].position;
        if (*n && t->positions[*n] < t->positions[*n - 1]) in_order = 0;
        ++*n;
    }
    if (!in_order) qsort(t->positions, *n, sizeof *t->positions, rising);
    return TK_OK;
}

static int stands(const tk_sp_bpe_trainer *t, const bpe_pair *p, uint32_t position) {
    const uint32_t *cells = t->words.cells;
    return cells[position] == p->left && cells[position + t->widths[p->left]] == p->right;
}

/* Queue the pairs that came to be since the last call, those too that are gone again: see sp_bpe_train.h. */
static int queue_new(tk_sp_bpe_trainer *t) {
    for (; t->n_queued < t->n_pairs; t->n_queued++) {
        if (t->pairs[t->n_queued].forbidden) continue;
        int status = push(t, (uint32_t)t->n_queued);
        if (status) return status;
    }
    return TK_OK;
}

/* Count the pairs of the units as they are cut now. */
static int count_pairs(tk_sp_bpe_trainer *t) {
    const tk_word_cells *w = &t->words;
    size_t run = 0;
    int status = TK_OK;
    for (size_t i = 1, width; i < w->n_cells && !status; i += width) {
        width = w->cells[i] == BORDER ? 1 : t->widths[w->cells[i]];
        if (w->cells[i] == BORDER || w->cells[i + width] == BORDER) continue;
        while (w->run_ends[run] <= i) run++;
        status = gain(t, w->cells[i], w->cells[i + width], w->run_counts[run], (uint32_t)i);
    }
    return status ? status : queue_new(t);
}

int tk_sp_bpe_trainer_units(tk_sp_bpe_trainer *t, const tk_word_counts *units, const tk_spelling *spelling) {
    if (t->kinds->rules.max_length > MOST_CHARACTERS) return TK_BAD_INPUT;
    int status = tk_word_cells_lay_out(&t->words, units, spelling, 2, MOST_CELLS);
    return status ? status : count_pairs(t);
}

/* ---- merging ---- */

static int merge_at(tk_sp_bpe_trainer *t, const bpe_pair *p, tk_token made, uint32_t at, int64_t count) {
    uint32_t *cells = t->words.cells, a = t->widths[p->left], n = p->n_symbols;
    TK_ASSERT(at && at + n < t->words.n_cells && a < n && made < t->tokens.n_ids);
    tk_token previous = cells[at - 1], next = cells[at + n];
    int status = TK_OK;
    if (previous != BORDER) lose(t, previous, p->left, count);
    if (next != BORDER) lose(t, p->right, next, count);
    if (a > 1) cells[at + a - 1] = VOID;
    if (n - a > 1) cells[at + a] = VOID;
    cells[at] = cells[at + n - 1] = made;
    if (previous != BORDER) status = gain(t, previous, made, count, at - t->widths[previous]);
    if (!status && next != BORDER) status = gain(t, made, next, count, at);
    return status;
}

/* Make a token of a pair: TK_OK, TK_NO_MEMORY, or TK_NO_MERGE where its text is a piece already. */
static int join(tk_sp_bpe_trainer *t, const bpe_pair *p) {
    if (token_room(t, (size_t)t->tokens.lengths[p->left] + t->tokens.lengths[p->right])) return TK_NO_MEMORY;
    uint8_t *bytes = t->tokens.bytes + t->tokens.n_bytes;
    size_t length = spell(t, p, bytes), slot = tk_token_slot(&t->tokens, bytes, length);
    if (t->tokens.index[slot]) return TK_NO_MERGE;
    t->widths[t->tokens.n_ids] = p->n_symbols;
    tk_token_commit(&t->tokens, length, &slot);
    return TK_OK;
}

/* Merge a pair wherever it counts; TK_NO_MERGE where its text is a piece already. */
static int merge_pair(tk_sp_bpe_trainer *t, uint32_t number, size_t *visited) {
    TK_ASSERT(number < t->n_pairs && !t->pairs[number].forbidden);
    const bpe_pair p = t->pairs[number];
    size_t n;
    tk_token made = (tk_token)t->tokens.n_ids;
    int status = join(t, &p);
    if (status) return status;
    if (tk_reserve(&t->counts, &t->counts_capacity, t->n_merges + 1, sizeof *t->counts) ||
        tk_reserve(&t->merges, &t->merges_capacity, t->n_merges + 1, sizeof *t->merges))
        return TK_NO_MEMORY;
    t->merges[t->n_merges] = (sp_merge){p.left, p.right};
    t->counts[t->n_merges++] = p.count;
    if (!p.count) return TK_OK; /* it stands nowhere any more */
    status = collect(t, &p, &n);
    for (size_t i = 0; i < n && !status; i++) {
        uint32_t at = t->positions[i];
        if (!stands(t, &p, at)) continue;
        status = merge_at(t, &p, made, at, t->words.run_counts[tk_word_cells_run(&t->words, at)]);
    }
    *visited += n;
    tk_work += n;
    return status ? status : queue_new(t);
}

int tk_sp_bpe_trainer_run(tk_sp_bpe_trainer *t, size_t budget, int *done) {
    for (size_t visited = 0; visited < budget; visited += 8) { /* what a merge costs beside its occurrences */
        *done = t->n_merges >= t->n_wanted || !t->n_heap;
        if (*done) return TK_OK;
        candidate top = t->heap[0];
        t->n_heap--;
        if (t->n_heap) sift_down(t, t->heap[t->n_heap]);
        int64_t count = t->pairs[top.pair].count; /* it can only have become less */
        TK_ASSERT(count <= top.count);
        int status = count == top.count ? merge_pair(t, top.pair, &visited) : push(t, top.pair);
        if (status < 0) return status;
    }
    return TK_OK;
}

size_t tk_sp_bpe_trainer_merges(const tk_sp_bpe_trainer *t, const int64_t **counts) {
    *counts = t->counts;
    return t->n_merges;
}

const uint8_t *tk_sp_bpe_trainer_tokens(const tk_sp_bpe_trainer *t, const uint64_t **ends, size_t *n) {
    *ends = t->tokens.ends;
    *n = t->tokens.n_ids;
    return t->tokens.bytes;
}

/* ---- the state ---- */

void tk_sp_bpe_state_sizes(const tk_sp_bpe_trainer *t, uint64_t *sizes) {
    tk_word_cells_sizes(&t->words, sizes);
    sizes[TK_CELL_SIZES] = t->n_merges;
    sizes[TK_CELL_SIZES + 1] = t->n_pairs;
}

void tk_sp_bpe_state_arrays(const tk_sp_bpe_trainer *t, tk_state_array *arrays) {
    tk_word_cells_arrays(&t->words, arrays);
    arrays[TK_CELL_ARRAYS] = (tk_state_array){t->merges, t->n_merges * sizeof *t->merges};
    arrays[TK_CELL_ARRAYS + 1] = (tk_state_array){t->counts, t->n_merges * sizeof *t->counts};
    arrays[TK_CELL_ARRAYS + 2] = (tk_state_array){t->pairs, t->n_pairs * sizeof *t->pairs};
}

int tk_sp_bpe_state_begin(tk_sp_bpe_trainer *t, const uint64_t *sizes) {
    if (t->kinds->rules.max_length > MOST_CHARACTERS || sizes[TK_CELL_SIZES] > UINT32_MAX ||
        sizes[TK_CELL_SIZES + 1] > UINT32_MAX)
        return TK_BAD_INPUT;
    int status = tk_word_cells_begin(&t->words, sizes, MOST_CELLS);
    if (status) return status;
    size_t n = (size_t)sizes[TK_CELL_SIZES], n_pairs = (size_t)sizes[TK_CELL_SIZES + 1];
    if (tk_reserve(&t->merges, &t->merges_capacity, n, sizeof *t->merges) ||
        tk_reserve(&t->counts, &t->counts_capacity, n, sizeof *t->counts) ||
        tk_reserve(&t->pairs, &t->pairs_capacity, n_pairs, sizeof *t->pairs))
        return TK_NO_MEMORY;
    t->n_merges = n;
    t->n_pairs = n_pairs;
    return TK_OK;
}

/* Make the pairs of a state again, with no places. */
static int restore_pairs(tk_sp_bpe_trainer *t) {
    for (size_t i = 0; i < t->n_pairs; i++) {
        tk_token left = t->pairs[i].left, right = t->pairs[i].right;
        size_t slot;
        int known;
        if (left >= t->tokens.n_ids || right >= t->tokens.n_ids) return TK_BAD_INPUT;
        if (tk_pair_table_slot(&t->numbers, (uint64_t)left << 32 | right, &slot, &known)) return TK_NO_MEMORY;
        if (known) return TK_BAD_INPUT;
        t->numbers.slots[slot].count = (int64_t)i;
        t->pairs[i] = pair_of(t, left, right);
    }
    return TK_OK;
}

int tk_sp_bpe_state_end(tk_sp_bpe_trainer *t) {
    for (size_t i = 0; i < t->n_merges; i++) {
        bpe_pair p = {.left = t->merges[i].left, .right = t->merges[i].right};
        if (p.left >= t->tokens.n_ids || p.right >= t->tokens.n_ids) return TK_BAD_INPUT;
        p.n_symbols = t->widths[p.left] + t->widths[p.right];
        if (p.n_symbols > t->kinds->rules.max_length) return TK_BAD_INPUT; /* and so its text has a bound */
        int status = join(t, &p);
        if (status) return status < 0 ? status : TK_BAD_INPUT;
    }
    if (tk_word_cells_check(&t->words, t->widths, t->tokens.n_ids, NULL)) return TK_BAD_INPUT;
    int status = restore_pairs(t);
    return status ? status : count_pairs(t);
}
