/* The merge loop of WordPiece: see wordpiece_train.h, scored_pairs.h for the choice, word_cells.h for the words. */
#include "train/wordpiece_train.h"

#include "train/bpe_train_queue.h"
#include "train/scored_pairs.h"
#include "encode/token_table.h"

#define BORDER TK_BORDER
#define VOID TK_VOID
#define NO_PLACE UINT32_MAX
/* Each merge of two tokens makes at most two places, and takes one token away: 3 · cells places at most. */
enum { MOST_CELLS = 1 << 30 };

typedef struct {
    uint32_t position, next;
} tk_place;

struct tk_wordpiece_trainer {
    tk_wordpiece_limits limits;
    tk_word_cells words;
    tk_token_table tokens;
    uint32_t *widths; /* by id: cells that a token covers */
    size_t widths_capacity;
    tk_pair_table numbers; /* pair → its number, in the place of a count */
    tk_scored_pairs scored;
    tk_big_block places_block;
    size_t n_places, places_capacity;
    uint32_t *touched; /* pairs whose count the merge at hand changed */
    size_t n_touched, touched_capacity;
    uint32_t *positions; /* where the pair at hand stands */
    size_t positions_capacity;
    tk_scored_merge *merges;
    size_t n_merges, merges_capacity;
};

tk_wordpiece_trainer *tk_wordpiece_trainer_new(tk_wordpiece_limits limits) {
    tk_wordpiece_trainer *t = tk_calloc(1, sizeof *t);
    if (t) t->limits = limits, t->words.folder = limits.folder;
    return t;
}

void tk_wordpiece_trainer_free(tk_wordpiece_trainer *t) {
    if (!t) return;
    tk_word_cells_free(&t->words);
    tk_token_table_free(&t->tokens);
    tk_pair_table_free(&t->numbers);
    tk_scored_pairs_free(&t->scored);
    tk_big_block_free(&t->places_block);
    void *blocks[] = {t->widths, t->touched, t->positions, t->merges};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    free(t);
}

static int token_room(tk_wordpiece_trainer *t, size_t n) {
    if (tk_token_room(&t->tokens, n)) return TK_NO_MEMORY;
    return tk_reserve(&t->widths, &t->widths_capacity, t->tokens.n_ids + 1, sizeof *t->widths);
}

int tk_wordpiece_trainer_token(tk_wordpiece_trainer *t, const uint8_t *bytes, size_t n, uint32_t width) {
    if (n == 0 || n > UINT32_MAX) return TK_BAD_INPUT;
    if (token_room(t, n)) return TK_NO_MEMORY;
    memcpy(t->tokens.bytes + t->tokens.n_bytes, bytes, n);
    t->widths[t->tokens.n_ids] = width;
    size_t slot = tk_token_slot(&t->tokens, bytes, n);
    tk_token_commit(&t->tokens, n, &slot);
    return TK_OK;
}

/* The token that a pair becomes: TK_OK, TK_NO_MEMORY, or TK_NO_MERGE where its text is forbidden, or a token of the
   same bytes has another width. */
static int join(tk_wordpiece_trainer *t, const tk_scored_pair *pair, tk_token *result) {
    TK_ASSERT(pair->left < t->tokens.n_ids && pair->right < t->tokens.n_ids);
    TK_ASSERT(t->tokens.lengths[pair->right] >= t->limits.n_prefix);
    size_t a = t->tokens.lengths[pair->left], b = t->tokens.lengths[pair->right] - t->limits.n_prefix;
    uint32_t width = t->widths[pair->left] + t->widths[pair->right];
    if (token_room(t, a + b)) return TK_NO_MEMORY;
    uint8_t *bytes = t->tokens.bytes + t->tokens.n_bytes;
    memcpy(bytes, tk_token_bytes(&t->tokens, pair->left), a);
    memcpy(bytes + a, tk_token_bytes(&t->tokens, pair->right) + t->limits.n_prefix, b);
    if (tk_holds_forbidden(t->limits.forbidden, bytes, a + b, width, t->limits.n_prefix))
        return TK_NO_MERGE;
    size_t slot = tk_token_slot(&t->tokens, bytes, a + b);
    if (!t->tokens.index[slot]) {
        t->widths[t->tokens.n_ids] = width;
        tk_token_commit(&t->tokens, a + b, &slot);
    }
    *result = t->tokens.index[slot] - 1;
    return t->widths[*result] == width ? TK_OK : TK_NO_MERGE;
}

/* One place of a pair, `count` times, came to be (count > 0) or is no more. */
static int change(tk_wordpiece_trainer *t, tk_token left, tk_token right, int64_t count, uint32_t position) {
    size_t slot;
    int known;
    tk_scored_pairs *s = &t->scored;
    if (tk_pair_table_slot(&t->numbers, (uint64_t)left << 32 | right, &slot, &known)) return TK_NO_MEMORY;
    if (!known) {
        if (s->n_pairs == TK_NO_PAIR) return TK_TOO_LARGE;
        if (tk_reserve(&s->pairs, &s->pairs_capacity, s->n_pairs + 1, sizeof *s->pairs)) return TK_NO_MEMORY;
        s->pairs[s->n_pairs] = (tk_scored_pair){left, right, 0, 0, NO_PLACE, NO_PLACE, TK_NO_PAIR, TK_NO_PAIR, 0};
        t->numbers.slots[slot].count = (int64_t)s->n_pairs++;
    }
    uint32_t number = (uint32_t)t->numbers.slots[slot].count;
    tk_scored_pair *pair = &s->pairs[number];
    pair->count += count;
    TK_ASSERT(pair->left == left && pair->right == right && pair->count >= 0);
    if (!(pair->flags & TK_TOUCHED)) {
        if (tk_reserve(&t->touched, &t->touched_capacity, t->n_touched + 1, sizeof *t->touched)) return TK_NO_MEMORY;
        pair->flags |= TK_TOUCHED;
        t->touched[t->n_touched++] = number;
    }
    if (count < 0) return TK_OK;
    int status = tk_big_block_reserve(&t->places_block, t->words.folder, &t->places_capacity, t->n_places + 1,
                                      sizeof(tk_place));
    if (TK_UNLIKELY(status)) return status;
    tk_place *places = t->places_block.data;
    uint32_t place = (uint32_t)t->n_places++;
    TK_ASSERT(position && position < t->words.n_cells && place != NO_PLACE);
    places[place] = (tk_place){position, NO_PLACE};
    if (pair->first == NO_PLACE) pair->first = place;
    else places[pair->last].next = place;
    pair->last = place;
    return TK_OK;
}

/* Tell of all scores that changed: those of the pairs whose count did, and of the pairs of tokens whose count did. */
static int settle(tk_wordpiece_trainer *t, const tk_token *tokens, size_t n, size_t *visited) {
    tk_scored_pairs *s = &t->scored;
    size_t looked_at = 4 * t->n_touched;
    int status = TK_OK;
    for (size_t i = 0; i < t->n_touched && !status; i++) {
        s->pairs[t->touched[i]].flags &= ~(uint32_t)TK_TOUCHED;
        status = tk_scored_changed(s, t->touched[i]);
    }
    t->n_touched = 0;
    for (size_t k = 0; k < n && !status; k++) status = tk_scored_token_changed(s, tokens[k], &looked_at);
    *visited += looked_at;
    tk_work += looked_at;
    return status;
}

/* ---- words ---- */

/* Count the tokens and pairs of the words as they are cut now. */
static int count_tokens(tk_wordpiece_trainer *t) {
    const tk_word_cells *w = &t->words;
    size_t n_ids = t->tokens.n_ids + w->n_cells, run = 0, visited = 0;
    if (n_ids > t->limits.vocab_size) n_ids = t->limits.vocab_size;
    if (n_ids < t->tokens.n_ids) n_ids = t->tokens.n_ids;
    int status = tk_scored_pairs_init(&t->scored, n_ids, t->limits.min_frequency, t->limits.score);
    for (size_t i = 1, width; i < w->n_cells && !status; i += width) {
        tk_token token = w->cells[i];
        width = token == BORDER ? 1 : t->widths[token];
        if (token == BORDER) continue;
        while (w->run_ends[run] <= i) run++;
        int64_t count = w->run_counts[run];
        t->scored.counts[token] += count;
        t->scored.total += count;
        if (w->cells[i + width] != BORDER) status = change(t, token, w->cells[i + width], count, (uint32_t)i);
    }
    return status ? status : settle(t, NULL, 0, &visited);
}

int tk_wordpiece_trainer_words(tk_wordpiece_trainer *t, const tk_word_counts *words, const tk_spelling *spelling) {
    int status = tk_word_cells_lay_out(&t->words, words, spelling, 1, MOST_CELLS);
    return status ? status : count_tokens(t);
}

/* ---- merging ---- */

static int rising(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Collect the positions of a pair in rising order; the pair forgets them. */
static int collect(tk_wordpiece_trainer *t, tk_scored_pair *pair, size_t *n) {
    const tk_place *places = t->places_block.data;
    int in_order = 1;
    *n = 0;
    for (uint32_t place = pair->first; place != NO_PLACE; place = places[place].next) {
        if (tk_reserve(&t->positions, &t->positions_capacity, *n + 1, sizeof *t->positions)) return TK_NO_MEMORY;
        t->positions[*n] = places[place].position;
        if (*n && t->positions[*n] < t->positions[*n - 1]) in_order = 0;
        ++*n;
    }
    if (!in_order) qsort(t->positions, *n, sizeof *t->positions, rising);
    pair->first = pair->last = NO_PLACE;
    return TK_OK;
}

/* Merge (x, y) to z at `p`, where it stands. */
static int merge_at(tk_wordpiece_trainer *t, tk_token x, tk_token y, tk_token z, uint32_t p, int64_t count) {
    uint32_t *cells = t->words.cells, a = t->widths[x], n = a + t->widths[y];
    tk_token previous = cells[p - 1], next = cells[p + n];
    TK_ASSERT(p && p + n < t->words.n_cells && cells[p] == x && cells[p + a] == y && count > 0);
    int status = change(t, x, y, -count, 0);
    if (a > 1) cells[p + a - 1] = VOID;
    if (n - a > 1) cells[p + a] = VOID;
    cells[p] = cells[p + n - 1] = z;
    if (!status && previous != BORDER) {
        status = change(t, previous, x, -count, 0);
        if (!status) status = change(t, previous, z, count, p - t->widths[previous]);
    }
    if (!status && next != BORDER) {
        status = change(t, y, next, -count, 0);
        if (!status) status = change(t, z, next, count, p);
    }
    return status;
}

static int merge_pair(tk_wordpiece_trainer *t, uint32_t number, size_t *visited) {
    tk_scored_pairs *s = &t->scored;
    const tk_scored_pair pair = s->pairs[number]; /* as it was chosen */
    tk_token z, x = pair.left, y = pair.right;
    size_t n;
    int status = join(t, &pair, &z);
    if (status < 0) return status;
    if (status) {
        s->pairs[number].flags |= TK_BARRED;
        TK_ASSERT(t->n_touched < t->touched_capacity); /* the pair was touched when it came to be */
        t->touched[t->n_touched++] = number;
        return settle(t, NULL, 0, visited);
    }
    if (tk_reserve(&t->merges, &t->merges_capacity, t->n_merges + 1, sizeof *t->merges)) return TK_NO_MEMORY;
    t->merges[t->n_merges++] =
        (tk_scored_merge){x, y, z, pair.count, s->counts[x], s->counts[y], s->total};
    if ((status = collect(t, &s->pairs[number], &n))) return status;
    const uint32_t *cells = t->words.cells;
    int64_t merged = 0;
    for (size_t i = 0; i < n && !status; i++) {
        uint32_t p = t->positions[i];
        if (cells[p] != x || cells[p + t->widths[x]] != y) continue;
        int64_t count = t->words.run_counts[tk_word_cells_run(&t->words, p)];
        status = merge_at(t, x, y, z, p, count);
        merged += count;
    }
    if (status) return status;
    *visited += n;
    tk_work += n;
    s->counts[x] -= merged;
    s->counts[y] -= merged;
    s->counts[z] += merged;
    s->total -= merged;
    TK_ASSERT(s->counts[x] >= 0 && s->counts[y] >= 0 && s->total > 0 && z < s->n_tokens);
    tk_token changed[3] = {x, y, z};
    return settle(t, changed, 3, visited);
}

int tk_wordpiece_trainer_run(tk_wordpiece_trainer *t, size_t budget, int *done) {
    for (size_t visited = 0; visited < budget; visited += 8) { /* what a merge costs beside its occurrences */
        uint32_t best = TK_NO_PAIR;
        int status = TK_OK;
        if (t->tokens.n_ids < t->limits.vocab_size) status = tk_scored_best(&t->scored, &best, &visited);
        *done = best == TK_NO_PAIR;
        if (status || *done) return status;
        if ((status = merge_pair(t, best, &visited))) return status;
    }
    return TK_OK;
}

const tk_scored_merge *tk_wordpiece_trainer_merges(const tk_wordpiece_trainer *t, size_t *n) {
    *n = t->n_merges;
    return t->merges;
}

const uint8_t *tk_wordpiece_trainer_tokens(const tk_wordpiece_trainer *t, const uint64_t **ends, size_t *n) {
    *ends = t->tokens.ends;
    *n = t->tokens.n_ids;
    return t->tokens.bytes;
}

/* ---- the state ---- */

void tk_wordpiece_state_sizes(const tk_wordpiece_trainer *t, uint64_t *sizes) {
    tk_word_cells_sizes(&t->words, sizes);
    sizes[TK_CELL_SIZES] = t->n_merges;
}

void tk_wordpiece_state_arrays(const tk_wordpiece_trainer *t, tk_state_array *arrays) {
    tk_word_cells_arrays(&t->words, arrays);
    arrays[TK_CELL_ARRAYS] = (tk_state_array){t->merges, t->n_merges * sizeof *t->merges};
}

int tk_wordpiece_state_begin(tk_wordpiece_trainer *t, const uint64_t *sizes) {
    if (sizes[TK_CELL_SIZES] > UINT32_MAX) return TK_BAD_INPUT;
    int status = tk_word_cells_begin(&t->words, sizes, MOST_CELLS);
    if (status) return status;
    t->n_merges = (size_t)sizes[TK_CELL_SIZES];
    return tk_reserve(&t->merges, &t->merges_capacity, t->n_merges, sizeof *t->merges);
}

int tk_wordpiece_state_end(tk_wordpiece_trainer *t) {
    for (size_t i = 0; i < t->n_merges; i++) {
        int64_t left = t->merges[i].left, right = t->merges[i].right, n_ids = (int64_t)t->tokens.n_ids;
        if (left < 0 || left >= n_ids || right < 0 || right >= n_ids || !t->widths[left] || !t->widths[right] ||
            t->tokens.lengths[right] < t->limits.n_prefix ||
            (size_t)t->widths[left] + t->widths[right] > t->words.n_cells)
            return TK_BAD_INPUT;
        tk_scored_pair pair = {.left = (tk_token)left, .right = (tk_token)right};
        tk_token made;
        int status = join(t, &pair, &made);
        if (status < 0) return status;
        if (status || (int64_t)made != t->merges[i].result) return TK_BAD_INPUT;
    }
    if (tk_word_cells_check(&t->words, t->widths, t->tokens.n_ids, NULL)) return TK_BAD_INPUT;
    return count_tokens(t);
}
