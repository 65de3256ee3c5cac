/* Merges pairs at their positions: see classic_train.h. A position is the number of a symbol in the text as given; it
   stays that of the token that begins there, so positions have the order of the text. */
#include "train/classic_train.h"

#include "train/bpe_train_queue.h"

/* What no position, word or symbol is. */
#define NONE UINT32_MAX

typedef struct {
    tk_token left, right;
    int64_t count;
    uint32_t *at; /* positions; those where the pair no longer stands are skipped */
    uint32_t n, capacity;
    uint32_t cursor; /* before it, the pair stands nowhere */
    uint32_t stamp;  /* of its one valid entry in the heap */
    uint8_t rising;  /* whether the positions are in order */
    uint8_t touched, forbidden;
} pair_list;

/* A pair as it was queued: it stood nowhere before `first`. */
typedef struct {
    int64_t count;
    uint32_t first, pair, stamp;
} candidate;

struct tk_classic_trainer {
    tk_token *symbols;          /* by position: that of the token which begins there, or NONE */
    uint32_t *previous, *next;  /* tokens of the same word, or NONE */
    uint32_t *words;            /* by position */
    size_t n;
    int64_t *counts; /* of the words */
    uint32_t *starts; /* their first positions, and n */
    size_t n_words, n_symbols;
    tk_pair_table numbers; /* pair → its number, in the place of a count */
    pair_list *pairs;
    size_t n_pairs, pairs_capacity;
    candidate *heap;
    size_t n_heap, heap_capacity;
    uint32_t *touched; /* pairs that gained a position, and are queued after the merge */
    size_t n_touched, touched_capacity;
};

tk_classic_trainer *tk_classic_trainer_new(void) { return tk_calloc(1, sizeof(tk_classic_trainer)); }

void tk_classic_trainer_free(tk_classic_trainer *t) {
    if (!t) return;
    for (size_t i = 0; i < t->n_pairs; i++) free(t->pairs[i].at);
    tk_pair_table_free(&t->numbers);
    void *blocks[] = {t->symbols, t->previous, t->next, t->words, t->counts, t->starts, t->pairs, t->heap, t->touched};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    free(t);
}

/* ---- the queue ---- */

TK_INLINE int before(const candidate *a, const candidate *b) {
    if (a->count != b->count) return a->count > b->count;
    return a->first < b->first;
}

static int push(tk_classic_trainer *t, uint32_t number) {
    TK_ASSERT(number < t->n_pairs);
    pair_list *p = &t->pairs[number];
    TK_ASSERT(p->cursor < p->n && p->count > 0);
    if (tk_reserve(&t->heap, &t->heap_capacity, t->n_heap + 1, sizeof *t->heap)) return TK_NO_MEMORY;
    candidate c = {p->count, p->at[p->cursor], number, ++p->stamp};
    size_t i = t->n_heap++;
    for (; i && before(&c, &t->heap[(i - 1) / 2]); i = (i - 1) / 2) t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = c;
    return TK_OK;
}

static candidate pop(tk_classic_trainer *t) {
    TK_ASSERT(t->n_heap);
    candidate top = t->heap[0], last = t->heap[--t->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < t->n_heap; i = child) {
        if (child + 1 < t->n_heap && before(&t->heap[child + 1], &t->heap[child])) child++;
        if (!before(&t->heap[child], &last)) break;
        t->heap[i] = t->heap[child];
    }
    if (t->n_heap) t->heap[i] = last;
    return top;
}

/* ---- pairs and their positions ---- */

static int stands(const tk_classic_trainer *t, const pair_list *p, uint32_t position) {
    TK_ASSERT(position < t->n);
    if (t->symbols[position] != p->left) return 0;
    uint32_t next = t->next[position];
    return next != NONE && t->symbols[next] == p->right;
}

static int rising(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Put the positions in order, without those where the pair no longer stands, and each once. */
static void put_in_order(const tk_classic_trainer *t, pair_list *p) {
    if (p->rising) return;
    uint32_t kept = 0;
    for (uint32_t i = p->cursor; i < p->n; i++)
        if (stands(t, p, p->at[i])) p->at[kept++] = p->at[i];
    qsort(p->at, kept, sizeof *p->at, rising);
    p->n = kept, kept = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (!kept || p->at[kept - 1] != p->at[i]) p->at[kept++] = p->at[i];
    p->n = kept, p->cursor = 0, p->rising = 1;
}

/* Move on to the first position where the pair stands; 0 if it stands nowhere. */
static int find_first(const tk_classic_trainer *t, pair_list *p) {
    put_in_order(t, p);
    while (p->cursor < p->n && !stands(t, p, p->at[p->cursor])) p->cursor++;
    return p->cursor < p->n;
}

static int room_for_position(pair_list *p) {
    if (p->n < p->capacity) return TK_OK;
    /* From two: most pairs are rare, and there are many. */
    size_t capacity = p->capacity ? (size_t)p->capacity * 2 : 2;
    if (capacity > NONE) capacity = NONE;
    uint32_t *at = realloc(p->at, capacity * sizeof *at);
    if (!at || p->n == NONE) return TK_NO_MEMORY;
    p->at = at, p->capacity = (uint32_t)capacity;
    return TK_OK;
}

/* A pair begins to stand at a position. */
static int gain(tk_classic_trainer *t, tk_token left, tk_token right, int64_t count, uint32_t position) {
    size_t slot;
    int known;
    if (tk_pair_table_slot(&t->numbers, (uint64_t)left << 32 | right, &slot, &known)) return TK_NO_MEMORY;
    if (!known) {
        t->numbers.slots[slot].count = (int64_t)t->n_pairs;
        if (t->n_pairs == NONE) return TK_TOO_LARGE;
        if (tk_reserve(&t->pairs, &t->pairs_capacity, t->n_pairs + 1, sizeof *t->pairs)) return TK_NO_MEMORY;
        t->pairs[t->n_pairs++] = (pair_list){.left = left, .right = right, .rising = 1};
    }
    uint32_t number = (uint32_t)t->numbers.slots[slot].count;
    pair_list *p = &t->pairs[number];
    TK_ASSERT(p->left == left && p->right == right);
    if (room_for_position(p)) return TK_NO_MEMORY;
    if (p->n > p->cursor && p->at[p->n - 1] > position) p->rising = 0;
    p->at[p->n++] = position;
    p->count += count;
    if (p->touched) return TK_OK;
    if (tk_reserve(&t->touched, &t->touched_capacity, t->n_touched + 1, sizeof *t->touched)) return TK_NO_MEMORY;
    p->touched = 1;
    t->touched[t->n_touched++] = number;
    return TK_OK;
}

/* A pair no longer stands at one of its positions. */
static void lose(tk_classic_trainer *t, tk_token left, tk_token right, int64_t count) {
    size_t slot;
    if (tk_pair_table_find(&t->numbers, (uint64_t)left << 32 | right, &slot))
        t->pairs[t->numbers.slots[slot].count].count -= count;
}

/* Queue the pairs that gained; those that only lost have an entry that is too good, which is mended at the top. */
static int queue_touched(tk_classic_trainer *t) {
    int status = TK_OK;
    for (size_t i = 0; i < t->n_touched; i++) {
        pair_list *p = &t->pairs[t->touched[i]];
        p->touched = 0;
        if (!status && p->count > 0 && !p->forbidden && find_first(t, p)) status = push(t, t->touched[i]);
    }
    t->n_touched = 0;
    return status;
}

/* ---- words ---- */

static int take(tk_classic_trainer *t, tk_classic_words given, size_t *bad) {
    size_t start = 0;
    for (size_t i = 0; i < given.n; i++) {
        *bad = i;
        if (given.symbols[i] < 0 || (size_t)given.symbols[i] >= given.n_symbols) return TK_BAD_INPUT;
        t->symbols[i] = (tk_token)given.symbols[i];
    }
    for (size_t w = 0; w < given.n_words; w++) {
        *bad = given.n + w;
        if (given.ends[w] < (int64_t)start || given.ends[w] > (int64_t)given.n) return TK_BAD_INPUT;
        size_t end = (size_t)given.ends[w];
        for (size_t i = start; i < end; i++) {
            t->previous[i] = i > start ? (uint32_t)i - 1 : NONE;
            t->next[i] = i + 1 < end ? (uint32_t)i + 1 : NONE;
            t->words[i] = (uint32_t)w;
        }
        t->counts[w] = given.counts[w];
        t->starts[w] = (uint32_t)start;
        start = end;
    }
    t->starts[given.n_words] = (uint32_t)start;
    *bad = given.n + given.n_words;
    return start == given.n ? TK_OK : TK_BAD_INPUT;
}

int tk_classic_trainer_words(tk_classic_trainer *t, tk_classic_words given, size_t *bad) {
    size_t n = given.n;
    TK_ASSERT(!t->symbols && bad);
    if (n >= NONE - 1 || given.n_words >= NONE - 1 || given.n_symbols >= NONE - 1) return TK_TOO_LARGE;
    t->symbols = tk_alloc(n, sizeof *t->symbols);
    t->previous = tk_alloc(n, sizeof *t->previous);
    t->next = tk_alloc(n, sizeof *t->next);
    t->words = tk_alloc(n, sizeof *t->words);
    t->counts = tk_alloc(given.n_words, sizeof *t->counts);
    t->starts = tk_alloc(given.n_words + 1, sizeof *t->starts);
    if (!t->symbols || !t->previous || !t->next || !t->words || !t->counts || !t->starts) return TK_NO_MEMORY;
    int status = take(t, given, bad);
    if (status) return status;
    t->n = n, t->n_words = given.n_words, t->n_symbols = given.n_symbols;
    for (uint32_t i = 0; i < n && !status; i++)
        if (t->next[i] != NONE) status = gain(t, t->symbols[i], t->symbols[i + 1], t->counts[t->words[i]], i);
    return status ? status : queue_touched(t);
}

size_t tk_classic_trainer_n_symbols(const tk_classic_trainer *t) { return t->n_symbols; }

size_t tk_classic_trainer_size(const tk_classic_trainer *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) n += t->symbols[i] != NONE;
    return n;
}

void tk_classic_trainer_cut(const tk_classic_trainer *t, int32_t *symbols, int64_t *ends, int64_t *counts) {
    size_t n = 0;
    for (size_t w = 0; w < t->n_words; w++) {
        for (size_t i = t->starts[w]; i < t->starts[w + 1]; i++)
            if (t->symbols[i] != NONE) symbols[n++] = (int32_t)t->symbols[i];
        ends[w] = (int64_t)n;
        counts[w] = t->counts[w];
    }
}

/* ---- merging ---- */

int tk_classic_trainer_best(tk_classic_trainer *t, tk_classic_pair *best, int *found) {
    for (*found = 0; t->n_heap && !*found;) {
        candidate top = pop(t);
        pair_list *p = &t->pairs[top.pair];
        tk_work++;
        if (top.stamp != p->stamp || p->count <= 0 || p->forbidden) continue;
        uint32_t cursor = p->cursor;
        if (!find_first(t, p)) continue;
        tk_work += p->cursor > cursor ? p->cursor - cursor : 0;
        *found = top.count == p->count && top.first == p->at[p->cursor];
        *best = (tk_classic_pair){p->left, p->right, p->count};
        int status = push(t, top.pair);
        if (status) return status;
    }
    return TK_OK;
}

int tk_classic_trainer_forbid(tk_classic_trainer *t, tk_token left, tk_token right) {
    size_t slot;
    if (left >= t->n_symbols || right >= t->n_symbols) return TK_BAD_INPUT;
    if (tk_pair_table_find(&t->numbers, (uint64_t)left << 32 | right, &slot))
        t->pairs[t->numbers.slots[slot].count].forbidden = 1;
    return TK_OK;
}

/* Merge the pair at `at`, where it stands. */
static int merge_at(tk_classic_trainer *t, tk_token left, tk_token right, tk_token result, uint32_t at) {
    uint32_t previous = t->previous[at], second = t->next[at], after = t->next[second];
    int64_t count = t->counts[t->words[at]];
    int status = TK_OK;
    TK_ASSERT(second != NONE && t->symbols[at] == left && t->symbols[second] == right);
    TK_ASSERT(t->words[at] == t->words[second] && at < second);
    lose(t, left, right, count);
    if (previous != NONE) lose(t, t->symbols[previous], left, count);
    if (after != NONE) lose(t, right, t->symbols[after], count);
    t->symbols[at] = result;
    t->symbols[second] = NONE;
    t->next[at] = after;
    if (after != NONE) t->previous[after] = at;
    if (previous != NONE) status = gain(t, t->symbols[previous], result, count, previous);
    if (!status && after != NONE) status = gain(t, result, t->symbols[after], count, at);
    return status;
}

int tk_classic_trainer_merge(tk_classic_trainer *t, tk_token left, tk_token right, tk_token result, size_t *visited) {
    size_t slot;
    if (left >= t->n_symbols || right >= t->n_symbols || result > t->n_symbols) return TK_BAD_INPUT;
    if (result == t->n_symbols) {
        if (t->n_symbols + 1 >= NONE) return TK_TOO_LARGE;
        t->n_symbols++;
    }
    if (!tk_pair_table_find(&t->numbers, (uint64_t)left << 32 | right, &slot)) return TK_OK;
    /* The list is taken out: the pair may gain positions again while it is merged. */
    pair_list *p = &t->pairs[t->numbers.slots[slot].count];
    put_in_order(t, p);
    const pair_list merged = *p;
    p->at = NULL, p->n = p->capacity = p->cursor = 0;
    int status = TK_OK;
    for (uint32_t i = merged.cursor; i < merged.n && !status; i++)
        if (stands(t, &merged, merged.at[i])) status = merge_at(t, left, right, result, merged.at[i]);
    tk_work += merged.n - merged.cursor;
    *visited += merged.n - merged.cursor;
    free(merged.at);
    return status ? status : queue_touched(t);
}
