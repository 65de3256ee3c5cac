/* Finds the pair of tokens with the best score, for wordpiece_train.c.

   A score is a function of count(xy), count(x), count(y) and, for the gain, of the number N of all tokens. A merge of
   (x, y) changes the counts of x and y, and so the scores of all pairs that these are part of: no one queue keeps its
   order through that. Two facts help.

   - Of pairs of one token that occur equally often, those score best whose other token is rarest, whatever the count of
     the shared one. So a pair that is not frequent lies in a group: the pairs of its commoner token with its count, a
     heap by the count of the other token. Frequent pairs, and those of very common tokens, are groups of their own.
   - A score only rises as a token's count falls, and only falls as N does. So the group keeps a bound of its best
     score: the score at a lower count of its token, the floor. It holds until the token's count is below the floor,
     which the token's queue of floors tells. A group of a low score has a low floor, since its bound may be far above
     its score and yet below the best: most groups are looked at again only now and then.

   One heap has the groups by their bounds; its first is the best once the bound is the score. */
#ifndef TK_SCORED_PAIRS_H
#define TK_SCORED_PAIRS_H
#include "train/bpe_train_queue.h"
#include "train/pair_scores.h"

#define TK_NO_PAIR UINT32_MAX
/* Pairs that occur at least so often are groups of their own: few have the same count. */
enum { TK_FREQUENT = 64 };
/* And those whose other token occurs so often: among gains to 32 bits, one more occurrence of it may be none, and then
   the ids decide, which a group's heap does not see. */
enum { TK_COMMON = 1 << 24 };
enum { TK_TOUCHED = 1, TK_BARRED = 2, TK_PLACED = 4, TK_RIGHT_OWNS = 8, TK_AMONG_OTHERS = 16 };

typedef struct {
    tk_token left, right;
    int64_t count;
    int64_t other_seen;   /* the count of the token that does not own it, as its group knows it */
    uint32_t first, last; /* places of its occurrences */
    uint32_t group, at;   /* and where in the heap of the group; TK_NO_PAIR outside */
    uint32_t flags;
} tk_scored_pair;

typedef struct {
    uint32_t *heap; /* pairs, the best first */
    uint32_t n, capacity;
    tk_token owner;
    uint32_t at;      /* in the heap of groups, TK_NO_PAIR outside */
    uint32_t version; /* of the floor: entries of the queue that have another one are out of date */
    int64_t count, floor, other; /* what the bound is of: count(xy), and the counts of the owner and the other token */
    double bound;
} tk_pair_group;

typedef struct {
    int64_t floor;
    uint32_t group, version;
} tk_floor;

typedef struct {
    tk_floor *floors; /* a heap with the highest first */
    size_t n_floors, floors_capacity;
    uint32_t *others; /* pairs that another token owns */
    size_t n_others, others_capacity;
    size_t n_owned; /* pairs that were ever given to it */
} tk_scored_token;

typedef struct {
    tk_pair_score score;
    tk_scored_pair *pairs;
    size_t n_pairs, pairs_capacity;
    int64_t *counts;         /* of tokens, by id */
    int64_t total;           /* of all tokens */
    tk_scored_token *tokens; /* by id */
    size_t n_tokens;
    tk_pair_group *groups;
    size_t n_groups, groups_capacity;
    tk_pair_table numbers; /* key of a group → its number, in the place of a count */
    uint32_t *heap;        /* groups that have pairs */
    size_t n, capacity;
    int64_t least; /* pairs that occur less often do not merge */
} tk_scored_pairs;

static inline void tk_scored_pairs_free(tk_scored_pairs *t) {
    for (size_t i = 0; i < t->n_tokens; i++) free(t->tokens[i].floors), free(t->tokens[i].others);
    for (size_t i = 0; i < t->n_groups; i++) free(t->groups[i].heap);
    tk_pair_table_free(&t->numbers);
    free(t->pairs), free(t->counts), free(t->tokens), free(t->groups), free(t->heap);
}

/* Make room for the tokens of ids below n. */
static inline int tk_scored_pairs_init(tk_scored_pairs *t, size_t n, int64_t least, tk_pair_score score) {
    t->least = least;
    t->score = score;
    t->counts = tk_calloc(n, sizeof *t->counts);
    t->tokens = tk_calloc(n, sizeof *t->tokens);
    if (!t->counts || !t->tokens) return TK_NO_MEMORY;
    t->n_tokens = n;
    return TK_OK;
}

/* ---- groups ---- */

static inline const tk_scored_pair *tk_group_first(const tk_scored_pairs *t, const tk_pair_group *g) {
    TK_ASSERT(g->n && g->heap[0] < t->n_pairs);
    return &t->pairs[g->heap[0]];
}

static inline double tk_bound_at(const tk_scored_pairs *t, const tk_pair_group *g, int64_t floor) {
    const tk_scored_pair *p = tk_group_first(t, g);
    if (t->score == TK_SCORE_PMI) return (double)p->count / ((double)floor * (double)p->other_seen);
    return tk_to_32_bits(tk_gain(p->count, floor, p->other_seen, t->total, p->left == p->right));
}

static inline int tk_ids_before(const tk_scored_pair *a, const tk_scored_pair *b) {
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

/* Whether the first pair of group i, by its bound, merges before that of group k, another one. */
static inline int tk_group_before(const tk_scored_pairs *t, uint32_t i, uint32_t k) {
    const tk_pair_group *a = &t->groups[i], *b = &t->groups[k];
    if (t->score == TK_SCORE_PMI) {
        /* A bound is off by less than 3 units in 2^53. */
        if (a->bound > b->bound * (1 + 1e-14)) return 1;
        if (b->bound > a->bound * (1 + 1e-14)) return 0;
        int64_t for_a[3] = {a->count, b->floor, b->other}, for_b[3] = {b->count, a->floor, a->other};
        int order = tk_compare_products(for_a, for_b);
        if (order) return order > 0;
    } else if (a->bound != b->bound) {
        return a->bound > b->bound;
    }
    if (a->count != b->count) return a->count > b->count;
    return tk_ids_before(tk_group_first(t, a), tk_group_first(t, b));
}

static inline void tk_group_put(tk_scored_pairs *t, size_t at, uint32_t i) {
    TK_ASSERT(at < t->n && i < t->n_groups);
    t->heap[at] = i;
    t->groups[i].at = (uint32_t)at;
}

/* Put group i at `at`, or where it belongs above or below that. */
static inline void tk_group_sift(tk_scored_pairs *t, size_t at, uint32_t i) {
    for (; at && tk_group_before(t, i, t->heap[(at - 1) / 2]); at = (at - 1) / 2)
        tk_group_put(t, at, t->heap[(at - 1) / 2]);
    for (size_t child; (child = 2 * at + 1) < t->n; at = child) {
        if (child + 1 < t->n && tk_group_before(t, t->heap[child + 1], t->heap[child])) child++;
        if (!tk_group_before(t, t->heap[child], i)) break;
        tk_group_put(t, at, t->heap[child]);
    }
    tk_group_put(t, at, i);
}

static inline int tk_floor_push(tk_scored_token *q, tk_floor entry) {
    if (tk_reserve(&q->floors, &q->floors_capacity, q->n_floors + 1, sizeof *q->floors)) return TK_NO_MEMORY;
    size_t at = q->n_floors++;
    for (size_t up; at && q->floors[up = (at - 1) / 2].floor < entry.floor; at = up) q->floors[at] = q->floors[up];
    q->floors[at] = entry;
    return TK_OK;
}

static inline tk_floor tk_floor_pop(tk_scored_token *q) {
    TK_ASSERT(q->n_floors);
    tk_floor first = q->floors[0], last = q->floors[--q->n_floors];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < q->n_floors; at = child) {
        if (child + 1 < q->n_floors && q->floors[child + 1].floor > q->floors[child].floor) child++;
        if (q->floors[child].floor <= last.floor) break;
        q->floors[at] = q->floors[child];
    }
    if (q->n_floors) q->floors[at] = last;
    return first;
}

/* Give group i this floor, and have its owner tell when its count falls below. */
static inline int tk_group_set_floor(tk_scored_pairs *t, uint32_t i, int64_t floor) {
    tk_pair_group *g = &t->groups[i];
    const tk_scored_pair *p = tk_group_first(t, g);
    g->count = p->count, g->other = p->other_seen, g->floor = floor;
    g->bound = tk_bound_at(t, g, floor);
    g->version++;
    /* A token occurs at least as often as a pair of it: a floor there needs no telling. */
    if (floor <= p->count) return TK_OK;
    return tk_floor_push(&t->tokens[g->owner], (tk_floor){floor, i, g->version});
}

/* Give group i a floor as low as a bound allows that is half-way between its score and the best of the others. */
static inline int tk_group_lower_floor(tk_scored_pairs *t, uint32_t i, double best) {
    static const int shifts[] = {20, 10, 5, 2, 1}, fractions[] = {3, 6, 9};
    const tk_pair_group *g = &t->groups[i];
    int64_t count = t->counts[g->owner], least = tk_group_first(t, g)->count;
    double score = tk_bound_at(t, g, count), limit = score + (best - score) / 2;
    for (size_t k = 0; k < 8; k++) {
        int64_t floor = k < 5 ? count >> shifts[k] : count - (count >> fractions[k - 5]);
        if (floor < least) floor = least;
        if (tk_bound_at(t, g, floor) <= limit) return tk_group_set_floor(t, i, floor);
    }
    return tk_group_set_floor(t, i, count);
}

/* The first pair of group i changed, its count or that of its other token. */
static inline int tk_group_changed(tk_scored_pairs *t, uint32_t i) {
    tk_pair_group *g = &t->groups[i];
    if (g->n == 0) {
        g->version++;
        if (g->at == TK_NO_PAIR) return TK_OK;
        size_t at = g->at;
        uint32_t last = t->heap[--t->n];
        g->at = TK_NO_PAIR;
        if (last != i) tk_group_sift(t, at, last);
        return TK_OK;
    }
    if (tk_group_lower_floor(t, i, t->n ? t->groups[t->heap[0]].bound : -INFINITY)) return TK_NO_MEMORY;
    if (g->at == TK_NO_PAIR) {
        if (tk_reserve(&t->heap, &t->capacity, t->n + 1, sizeof *t->heap)) return TK_NO_MEMORY;
        g->at = (uint32_t)t->n++;
    }
    tk_group_sift(t, g->at, i);
    return TK_OK;
}

/* ---- pairs in their groups ---- */

static inline int tk_pair_before(const tk_scored_pairs *t, uint32_t i, uint32_t k) {
    const tk_scored_pair *a = &t->pairs[i], *b = &t->pairs[k];
    return a->other_seen != b->other_seen ? a->other_seen < b->other_seen : tk_ids_before(a, b);
}

static inline void tk_pair_put(tk_scored_pairs *t, tk_pair_group *g, size_t at, uint32_t i) {
    TK_ASSERT(at < g->n && i < t->n_pairs);
    g->heap[at] = i;
    t->pairs[i].at = (uint32_t)at;
}

static inline void tk_pair_sift(tk_scored_pairs *t, tk_pair_group *g, size_t at, uint32_t i) {
    for (; at && tk_pair_before(t, i, g->heap[(at - 1) / 2]); at = (at - 1) / 2)
        tk_pair_put(t, g, at, g->heap[(at - 1) / 2]);
    for (size_t child; (child = 2 * at + 1) < g->n; at = child) {
        if (child + 1 < g->n && tk_pair_before(t, g->heap[child + 1], g->heap[child])) child++;
        if (!tk_pair_before(t, g->heap[child], i)) break;
        tk_pair_put(t, g, at, g->heap[child]);
    }
    tk_pair_put(t, g, at, i);
}

static inline int tk_pair_leave(tk_scored_pairs *t, uint32_t i) {
    tk_scored_pair *p = &t->pairs[i];
    uint32_t group = p->group;
    if (group == TK_NO_PAIR) return TK_OK;
    tk_pair_group *g = &t->groups[group];
    size_t at = p->at;
    TK_ASSERT(at < g->n && g->heap[at] == i);
    uint32_t last = g->heap[--g->n];
    p->group = p->at = TK_NO_PAIR;
    if (last != i) tk_pair_sift(t, g, at, last);
    return at == 0 ? tk_group_changed(t, group) : TK_OK;
}

static inline int tk_pair_group_of(tk_scored_pairs *t, uint32_t i, tk_token owner, int64_t other_count,
                                   uint32_t *group) {
    const tk_scored_pair *p = &t->pairs[i];
    int alone = p->count >= TK_FREQUENT || p->left == p->right || other_count >= TK_COMMON;
    uint64_t key = alone ? UINT64_C(1) << 63 | i : (uint64_t)owner << 32 | (uint64_t)p->count;
    size_t slot;
    int known;
    if (tk_pair_table_slot(&t->numbers, key, &slot, &known)) return TK_NO_MEMORY;
    if (!known) {
        if (tk_reserve(&t->groups, &t->groups_capacity, t->n_groups + 1, sizeof *t->groups)) return TK_NO_MEMORY;
        t->groups[t->n_groups] = (tk_pair_group){.owner = owner, .at = TK_NO_PAIR};
        t->numbers.slots[slot].count = (int64_t)t->n_groups++;
    }
    *group = (uint32_t)t->numbers.slots[slot].count;
    return TK_OK;
}

static inline int tk_pair_enter(tk_scored_pairs *t, uint32_t i, uint32_t group) {
    tk_pair_group *g = &t->groups[group];
    if (g->n == g->capacity) {
        uint32_t capacity = g->capacity ? 2 * g->capacity : 1;
        uint32_t *grown = realloc(g->heap, (size_t)capacity * sizeof *grown);
        if (!grown) return TK_NO_MEMORY;
        g->heap = grown, g->capacity = capacity;
    }
    TK_ASSERT(t->pairs[i].group == TK_NO_PAIR && g->n < g->capacity);
    t->pairs[i].group = group;
    tk_pair_sift(t, g, g->n++, i);
    return TK_OK;
}

/* The count of pair i changed, or that of a token of it. */
static inline int tk_scored_changed(tk_scored_pairs *t, uint32_t i) {
    tk_scored_pair *p = &t->pairs[i];
    if (p->count < t->least || p->flags & TK_BARRED) return tk_pair_leave(t, i);
    if (!(p->flags & TK_PLACED)) {
        const tk_scored_token *a = &t->tokens[p->left], *b = &t->tokens[p->right];
        int right_is_commoner = a->n_owned + a->n_others < b->n_owned + b->n_others;
        p->flags |= TK_PLACED | (right_is_commoner ? TK_RIGHT_OWNS : 0);
        t->tokens[right_is_commoner ? p->right : p->left].n_owned++;
    }
    int right_owns = (p->flags & TK_RIGHT_OWNS) != 0;
    tk_token owner = right_owns ? p->right : p->left, other = right_owns ? p->left : p->right;
    if (!(p->flags & TK_AMONG_OTHERS)) {
        tk_scored_token *o = &t->tokens[other];
        if (tk_reserve(&o->others, &o->others_capacity, o->n_others + 1, sizeof *o->others)) return TK_NO_MEMORY;
        o->others[o->n_others++] = i;
        p->flags |= TK_AMONG_OTHERS;
    }
    uint32_t group;
    if (tk_pair_group_of(t, i, owner, t->counts[other], &group)) return TK_NO_MEMORY;
    if (p->group != group && tk_pair_leave(t, i)) return TK_NO_MEMORY;
    tk_pair_group *g = &t->groups[group];
    uint32_t first = g->n ? g->heap[0] : TK_NO_PAIR;
    p->other_seen = t->counts[other];
    if (p->group == TK_NO_PAIR) {
        if (tk_pair_enter(t, i, group)) return TK_NO_MEMORY;
    } else {
        tk_pair_sift(t, g, p->at, i);
    }
    return first == i || g->heap[0] == i ? tk_group_changed(t, group) : TK_OK;
}

/* The count of a token changed: look again at its pairs that others own, and at its groups whose floor is above. */
static inline int tk_scored_token_changed(tk_scored_pairs *t, tk_token token, size_t *visited) {
    tk_scored_token *q = &t->tokens[token];
    size_t kept = 0;
    *visited += q->n_others;
    for (size_t k = 0; k < q->n_others; k++) {
        uint32_t i = q->others[k];
        if (t->pairs[i].group == TK_NO_PAIR) t->pairs[i].flags &= ~(uint32_t)TK_AMONG_OTHERS;
        else q->others[kept++] = i;
        if (t->pairs[i].group != TK_NO_PAIR && tk_scored_changed(t, i)) return TK_NO_MEMORY;
    }
    q->n_others = kept;
    while (q->n_floors && q->floors[0].floor > t->counts[token]) {
        tk_floor entry = tk_floor_pop(q);
        ++*visited;
        if (t->groups[entry.group].version == entry.version && tk_group_changed(t, entry.group)) return TK_NO_MEMORY;
    }
    return TK_OK;
}

/* Find the pair that merges next, TK_NO_PAIR for none. */
static inline int tk_scored_best(tk_scored_pairs *t, uint32_t *best, size_t *visited) {
    *best = TK_NO_PAIR;
    while (t->n) {
        uint32_t i = t->heap[0];
        ++*visited;
        if (tk_group_set_floor(t, i, t->counts[t->groups[i].owner])) return TK_NO_MEMORY;
        tk_group_sift(t, 0, i);
        if (t->heap[0] == i) {
            *best = t->groups[i].heap[0];
            return TK_OK;
        }
        if (tk_group_lower_floor(t, i, t->groups[t->heap[0]].bound)) return TK_NO_MEMORY;
        tk_group_sift(t, t->groups[i].at, i);
    }
    return TK_OK;
}

#endif
