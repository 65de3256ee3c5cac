/* Finding the pair of tokens with the best score: what wordpiece_train.c chooses by.

   A merge of (x, y) changes the counts of x and y, and so the scores of all pairs that they are part of: no one queue
   keeps its order through that. But among the pairs (x, *) the order is that of count(xy) / count(y), whatever
   count(x) is, and among the pairs (*, y) that of count(xy) / count(x). So each pair lies in the heap of its left or of
   its right token, whichever had more pairs when it came to be, and a knockout tree has the best of all heaps. A
   change of count(x) then has to be told to those pairs of x alone that lie in heaps of their other token: common
   tokens, which have many pairs and whose counts change all the time, have few of these. */
#ifndef TK_SCORED_PAIRS_H
#define TK_SCORED_PAIRS_H
#include "base.h"

#define TK_NO_PAIR UINT32_MAX
enum { TK_TOUCHED = 1, TK_BARRED = 2, TK_PLACED = 4, TK_WITH_RIGHT = 8, TK_AMONG_OTHERS = 16 };

typedef struct {
    tk_token left, right;
    int64_t count;
    int64_t seen, seen_other; /* its count and that of the token whose heap it is not in, as the heap knows them */
    uint32_t first, last;     /* places of its occurrences */
    uint32_t at;              /* in the heap, TK_NO_PAIR outside */
    uint32_t flags;
} tk_scored_pair;

/* A token on one side of its pairs: its number is 2 · id for those that begin with it, 2 · id + 1 for the others. */
typedef struct {
    uint32_t *heap; /* pairs that may merge */
    uint32_t *others; /* pairs that lie, or lay, in the heap of their other token */
    size_t n, capacity, n_others, others_capacity;
    int dirty; /* the tree has to hear of it */
} tk_role;

typedef struct {
    tk_scored_pair *pairs;
    size_t n_pairs, pairs_capacity;
    int64_t *counts; /* of tokens, by id */
    tk_role *roles;
    size_t n_roles;
    uint32_t *tree;   /* node i is the better of nodes 2i and 2i + 1; the best pair of role r is node n_leaves + r */
    uint8_t *waiting; /* nodes that are to be looked at */
    size_t n_leaves;  /* a power of two, at least 2 */
    int64_t least;    /* pairs that occur less often do not merge */
    uint32_t *dirty;
    size_t n_dirty, dirty_capacity;
} tk_scored_pairs;

static inline void tk_scored_pairs_free(tk_scored_pairs *t) {
    for (size_t r = 0; r < t->n_roles; r++) free(t->roles[r].heap), free(t->roles[r].others);
    void *blocks[] = {t->pairs, t->counts, t->roles, t->tree, t->waiting, t->dirty};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
}

/* Make room for the tokens of ids below n. */
static inline int tk_scored_pairs_init(tk_scored_pairs *t, size_t n, int64_t least) {
    t->least = least;
    for (t->n_leaves = 2; t->n_leaves < 2 * n;) t->n_leaves *= 2;
    t->counts = tk_calloc(n, sizeof *t->counts);
    t->roles = tk_calloc(2 * n, sizeof *t->roles);
    t->tree = tk_alloc(2 * t->n_leaves, sizeof *t->tree);
    t->waiting = tk_calloc(t->n_leaves, 1);
    if (!t->counts || !t->roles || !t->tree || !t->waiting) return TK_NO_MEMORY;
    t->n_roles = 2 * n;
    for (size_t i = 0; i < 2 * t->n_leaves; i++) t->tree[i] = TK_NO_PAIR;
    return TK_OK;
}

/* a · b · c in 192 bits, the highest limb first. */
static inline void tk_product3(uint64_t a, uint64_t b, uint64_t c, uint64_t out[3]) {
    uint64_t parts[2] = {0, 0}, limbs[6] = {0}, digits[4];
    const uint64_t mask = UINT32_MAX;
    uint64_t low = (a & mask) * (b & mask), m1 = (a >> 32) * (b & mask), m2 = (a & mask) * (b >> 32);
    uint64_t middle = (low >> 32) + (m1 & mask) + (m2 & mask);
    parts[0] = (middle << 32) | (low & mask);
    parts[1] = (a >> 32) * (b >> 32) + (m1 >> 32) + (m2 >> 32) + (middle >> 32);
    for (int i = 0; i < 4; i++) digits[i] = parts[i >> 1] >> (i & 1 ? 32 : 0) & mask;
    for (int j = 0; j < 2; j++) {
        uint64_t carry = 0, factor = j ? c >> 32 : c & mask;
        for (int i = 0; i < 4; i++) {
            uint64_t sum = digits[i] * factor + limbs[i + j] + carry;
            limbs[i + j] = sum & mask;
            carry = sum >> 32;
        }
        limbs[4 + j] += carry;
    }
    for (int k = 0; k < 3; k++) out[k] = limbs[5 - 2 * k] << 32 | limbs[4 - 2 * k];
}

TK_NOINLINE static int tk_compare_exactly(const int64_t a[3], const int64_t b[3]) {
    uint64_t x[3], y[3];
    tk_product3((uint64_t)a[0], (uint64_t)a[1], (uint64_t)a[2], x);
    tk_product3((uint64_t)b[0], (uint64_t)b[1], (uint64_t)b[2], y);
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k]) return x[k] > y[k] ? 1 : -1;
    return 0;
}

/* 1 where a[0] · a[1] · a[2] is greater than b's, -1 where it is less, 0 where they are equal; all are at least 1. */
TK_INLINE int tk_compare_products(const int64_t a[3], const int64_t b[3]) {
    double x = (double)a[0] * (double)a[1] * (double)a[2], y = (double)b[0] * (double)b[1] * (double)b[2];
    /* A product of doubles is off by less than 6 units in 2^53, and below 2^53 by nothing. */
    if (x > y * (1 + 1e-14)) return 1;
    if (y > x * (1 + 1e-14)) return -1;
    if (x < 0x1p53 && y < 0x1p53) return (x > y) - (x < y);
    return tk_compare_exactly(a, b);
}

static inline int tk_first_of_equals(const tk_scored_pair *a, const tk_scored_pair *b) {
    if (a->count != b->count) return a->count > b->count;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

/* Whether pair i merges before pair k, another one. */
static inline int tk_scored_before(const tk_scored_pairs *t, uint32_t i, uint32_t k) {
    const tk_scored_pair *a = &t->pairs[i], *b = &t->pairs[k];
    int64_t for_a[3] = {a->count, t->counts[b->left], t->counts[b->right]};
    int64_t for_b[3] = {b->count, t->counts[a->left], t->counts[a->right]};
    int order = tk_compare_products(for_a, for_b);
    return order ? order > 0 : tk_first_of_equals(a, b);
}

/* The same of two pairs of one heap, as that knows them: one changes at a time. */
static inline int tk_heap_before(const tk_scored_pairs *t, uint32_t i, uint32_t k) {
    const tk_scored_pair *a = &t->pairs[i], *b = &t->pairs[k];
    int64_t for_a[3] = {a->seen, b->seen_other, 1}, for_b[3] = {b->seen, a->seen_other, 1};
    int order = tk_compare_products(for_a, for_b);
    if (order) return order > 0;
    if (a->seen != b->seen) return a->seen > b->seen;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static inline void tk_heap_put(tk_scored_pairs *t, tk_role *role, size_t at, uint32_t i) {
    role->heap[at] = i;
    t->pairs[i].at = (uint32_t)at;
}

/* Put pair i at `at`, or where it belongs above or below that. */
static inline void tk_heap_sift(tk_scored_pairs *t, tk_role *role, size_t at, uint32_t i) {
    for (; at && tk_heap_before(t, i, role->heap[(at - 1) / 2]); at = (at - 1) / 2)
        tk_heap_put(t, role, at, role->heap[(at - 1) / 2]);
    for (size_t child; (child = 2 * at + 1) < role->n; at = child) {
        if (child + 1 < role->n && tk_heap_before(t, role->heap[child + 1], role->heap[child])) child++;
        if (!tk_heap_before(t, role->heap[child], i)) break;
        tk_heap_put(t, role, at, role->heap[child]);
    }
    tk_heap_put(t, role, at, i);
}

static inline void tk_heap_take(tk_scored_pairs *t, tk_role *role, uint32_t i) {
    size_t at = t->pairs[i].at;
    uint32_t last = role->heap[--role->n];
    t->pairs[i].at = TK_NO_PAIR;
    if (last != i) tk_heap_sift(t, role, at, last);
}

static inline int tk_scored_mark_dirty(tk_scored_pairs *t, size_t role) {
    if (t->roles[role].dirty) return TK_OK;
    if (tk_reserve(&t->dirty, &t->dirty_capacity, t->n_dirty + 1, sizeof *t->dirty)) return TK_NO_MEMORY;
    t->roles[role].dirty = 1;
    t->dirty[t->n_dirty++] = (uint32_t)role;
    return TK_OK;
}

static inline int tk_scored_may_merge(const tk_scored_pairs *t, uint32_t i) {
    return t->pairs[i].count >= t->least && !(t->pairs[i].flags & TK_BARRED);
}

/* Bring a heap up to date on pair i, whose score changed. */
static inline int tk_scored_changed(tk_scored_pairs *t, uint32_t i) {
    tk_scored_pair *p = &t->pairs[i];
    size_t left = 2 * (size_t)p->left, right = 2 * (size_t)p->right + 1;
    if (!tk_scored_may_merge(t, i)) {
        if (p->at == TK_NO_PAIR) return TK_OK;
        size_t own = p->flags & TK_WITH_RIGHT ? right : left;
        tk_heap_take(t, &t->roles[own], i);
        return tk_scored_mark_dirty(t, own);
    }
    if (!(p->flags & TK_PLACED)) {
        const tk_role *a = &t->roles[left], *b = &t->roles[right];
        p->flags |= TK_PLACED | (a->n + a->n_others < b->n + b->n_others ? TK_WITH_RIGHT : 0);
    }
    int with_right = (p->flags & TK_WITH_RIGHT) != 0;
    size_t own = with_right ? right : left;
    tk_role *role = &t->roles[own], *other = &t->roles[with_right ? left : right];
    if (!(p->flags & TK_AMONG_OTHERS)) {
        if (tk_reserve(&other->others, &other->others_capacity, other->n_others + 1, sizeof *other->others))
            return TK_NO_MEMORY;
        other->others[other->n_others++] = i;
        p->flags |= TK_AMONG_OTHERS;
    }
    p->seen = p->count;
    p->seen_other = t->counts[with_right ? p->left : p->right];
    if (p->at == TK_NO_PAIR) {
        if (tk_reserve(&role->heap, &role->capacity, role->n + 1, sizeof *role->heap)) return TK_NO_MEMORY;
        p->at = (uint32_t)role->n++;
    }
    tk_heap_sift(t, role, p->at, i);
    return tk_scored_mark_dirty(t, own);
}

/* A token's count changed: tell the pairs in other heaps of it, and the tree. */
static inline int tk_scored_token_changed(tk_scored_pairs *t, tk_token token, size_t *visited) {
    for (size_t r = 2 * (size_t)token; r < 2 * (size_t)token + 2; r++) {
        tk_role *role = &t->roles[r];
        size_t kept = 0;
        *visited += role->n_others;
        for (size_t k = 0; k < role->n_others; k++) {
            uint32_t i = role->others[k];
            if (!tk_scored_may_merge(t, i)) t->pairs[i].flags &= ~(uint32_t)TK_AMONG_OTHERS;
            else role->others[kept++] = i;
            if (tk_scored_changed(t, i)) return TK_NO_MEMORY;
        }
        role->n_others = kept;
        if (tk_scored_mark_dirty(t, r)) return TK_NO_MEMORY;
    }
    return TK_OK;
}

/* Bring the tree up to date, level by level, each node once. Returns the nodes that were looked at. */
static inline size_t tk_scored_settle(tk_scored_pairs *t) {
    size_t n = t->n_dirty, visited = 0;
    for (size_t d = 0; d < n; d++) {
        tk_role *role = &t->roles[t->dirty[d]];
        role->dirty = 0;
        t->dirty[d] += (uint32_t)t->n_leaves;
        t->tree[t->dirty[d]] = role->n ? role->heap[0] : TK_NO_PAIR;
    }
    for (size_t level = t->n_leaves; level > 1; level /= 2) {
        size_t above = 0;
        for (size_t d = 0; d < n; d++) {
            uint32_t node = t->dirty[d] / 2;
            if (t->waiting[node]) continue;
            t->waiting[node] = 1;
            t->dirty[above++] = node;
        }
        n = above;
        for (size_t d = 0; d < n; d++) {
            uint32_t node = t->dirty[d], a = t->tree[2 * node], b = t->tree[2 * node + 1];
            t->tree[node] = a == TK_NO_PAIR || (b != TK_NO_PAIR && tk_scored_before(t, b, a)) ? b : a;
            t->waiting[node] = 0;
        }
        visited += n;
    }
    t->n_dirty = 0;
    return visited;
}

#endif
