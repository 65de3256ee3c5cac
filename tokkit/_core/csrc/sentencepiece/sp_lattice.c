/* Building and searching the lattice of all segmentations: see sp_lattice.h. */
#include "sentencepiece/sp_lattice.h"

#include <math.h>

enum { NO_WAY = UINT32_MAX, MOST_WAYS = 1 << 26 }; /* 2 GiB: a text for n-best is a sentence, not a book */

static int add_arc(tk_sp_lattice *l, size_t start, size_t end, uint32_t id, float score) {
    if (l->n_arcs == UINT32_MAX) return TK_TOO_LARGE;
    int status = tk_reserve(&l->arcs, &l->arcs_capacity, l->n_arcs + 1, sizeof *l->arcs);
    if (status == TK_OK) l->arcs[l->n_arcs++] = (tk_sp_arc){(uint32_t)start, (uint32_t)end, id, score, 0};
    return status;
}

static int add_arcs(tk_sp_lattice *l, const tk_sp *m, const uint8_t *p, size_t n) {
    int status = tk_reserve(&l->arcs, &l->arcs_capacity, n < SIZE_MAX / 4 ? 4 * n : n, sizeof *l->arcs);
    for (size_t at = 0, length; at < n && status == TK_OK; at += length) {
        int known = 0;
        uint64_t node = m->trie.root;
        length = tk_sp_length(p[at], n - at);
        for (size_t end = at; end < n && node && status == TK_OK;) {
            node = tk_trie_step(&m->trie, node, p[end++]);
            uint32_t id = tk_trie_id(node);
            if (!node || id == TK_NO_ID) continue;
            status = add_arc(l, at, end, id, m->scores[id]);
            known |= end - at == length;
        }
        if (!known && status == TK_OK) status = add_arc(l, at, at + length, m->unknown, m->unknown_score);
    }
    return status;
}

int tk_sp_lattice_build(tk_sp_lattice *l, const tk_sp *m, const uint8_t *p, size_t n) {
    memset(l, 0, sizeof *l);
    if (n >= UINT32_MAX) return TK_TOO_LARGE;
    l->n = n;
    int status = add_arcs(l, m, p, n);
    if (status != TK_OK) return status;
    l->first = tk_calloc(n + 3, sizeof *l->first);
    l->order = tk_alloc(l->n_arcs, sizeof *l->order);
    l->sums = tk_alloc(n + 1, sizeof *l->sums);
    float *best = tk_alloc(n + 1, sizeof *best);
    if (!l->first || !l->order || !l->sums || !best) return free(best), TK_NO_MEMORY;
    for (size_t k = 0; k < l->n_arcs; k++) l->first[l->arcs[k].end + 2]++;
    for (size_t e = 1; e < n + 3; e++) l->first[e] += l->first[e - 1];
    for (size_t k = 0; k < l->n_arcs; k++) l->order[l->first[l->arcs[k].end + 1]++] = (uint32_t)k;
    /* Arcs are in order of their starts, so all that end at one are done when it begins. */
    for (size_t e = 0; e <= n; e++) best[e] = -INFINITY;
    best[0] = 0;
    for (size_t k = 0; k < l->n_arcs; k++) {
        tk_sp_arc *arc = l->arcs + k;
        arc->best = best[arc->start] + arc->score;
        if (arc->best > best[arc->end]) best[arc->end] = arc->best;
    }
    free(best);
    return TK_OK;
}

void tk_sp_lattice_free(tk_sp_lattice *l) {
    free(l->arcs);
    free(l->first);
    free(l->order);
    free(l->sums);
    memset(l, 0, sizeof *l);
}

/* The logarithm of what an arc adds to the sum at its end. */
TK_INLINE double term(const tk_sp_lattice *l, const tk_sp_arc *arc, double alpha) {
    return l->sums[arc->start] + alpha * (double)arc->score;
}

void tk_sp_lattice_sum(tk_sp_lattice *l, double alpha) {
    l->sums[0] = 0;
    for (size_t e = 1; e <= l->n; e++) {
        double most = -INFINITY, sum = 0;
        for (size_t k = l->first[e]; k < l->first[e + 1]; k++) {
            double x = term(l, l->arcs + l->order[k], alpha);
            if (x > most) most = x;
        }
        for (size_t k = l->first[e]; k < l->first[e + 1]; k++) {
            double x = term(l, l->arcs + l->order[k], alpha);
            sum += x == most ? 1 : exp(x - most);
        }
        l->sums[e] = l->first[e] < l->first[e + 1] ? most + log(sum) : -INFINITY;
    }
}

double tk_sp_lattice_entropy(const tk_sp_lattice *l, double alpha, double *scratch) {
    scratch[0] = 0;
    for (size_t e = 1; e <= l->n; e++) {
        scratch[e] = 0;
        for (size_t k = l->first[e]; k < l->first[e + 1]; k++) {
            const tk_sp_arc *arc = l->arcs + l->order[k];
            double x = term(l, arc, alpha) - l->sums[e];
            if (x > -700) scratch[e] += exp(x) * (scratch[arc->start] - x);
        }
    }
    return scratch[l->n];
}

size_t tk_sp_lattice_sample(const tk_sp_lattice *l, double alpha, uint64_t *random, uint32_t *path) {
    size_t count = 0;
    for (size_t e = l->n; e > 0; count++) {
        double left = tk_chance(random);
        size_t k = l->first[e];
        for (; k + 1 < l->first[e + 1]; k++) {
            left -= exp(term(l, l->arcs + l->order[k], alpha) - l->sums[e]);
            if (left < 0) break;
        }
        path[count] = l->order[k];
        e = l->arcs[l->order[k]].start;
    }
    return count;
}

/* ---- n-best */

/* Whether way a is to be looked at before b: the greater total; of equal ones what is nearer to the beginning, so that
   ways that are as good as one another do not all grow together. */
static int before(const tk_sp_lattice *l, const tk_sp_search *s, uint32_t a, uint32_t b) {
    const tk_sp_way *x = s->ways + a, *y = s->ways + b;
    if (x->total != y->total) return x->total > y->total;
    size_t i = x->arc == NO_WAY ? l->n : l->arcs[x->arc].start, j = y->arc == NO_WAY ? l->n : l->arcs[y->arc].start;
    return i != j ? i < j : a > b;
}

static int add_way(tk_sp_search *s, tk_sp_way way) {
    if (s->n_ways >= MOST_WAYS) return TK_TOO_LARGE;
    if (tk_reserve(&s->ways, &s->ways_capacity, s->n_ways + 1, sizeof *s->ways)) return TK_NO_MEMORY;
    s->ways[s->n_ways++] = way;
    return TK_OK;
}

static int push_number(const tk_sp_lattice *l, tk_sp_search *s, uint32_t number) {
    if (tk_reserve(&s->heap, &s->heap_capacity, s->n_heap + 1, sizeof *s->heap)) return TK_NO_MEMORY;
    size_t i = s->n_heap++;
    for (; i && before(l, s, number, s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = number;
    return TK_OK;
}

static int push(const tk_sp_lattice *l, tk_sp_search *s, tk_sp_way way) {
    int status = add_way(s, way);
    return status == TK_OK ? push_number(l, s, (uint32_t)(s->n_ways - 1)) : status;
}

static uint32_t pop(const tk_sp_lattice *l, tk_sp_search *s) {
    uint32_t top = s->heap[0], last = s->heap[--s->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
        if (child + 1 < s->n_heap && before(l, s, s->heap[child + 1], s->heap[child])) child++;
        if (!before(l, s, s->heap[child], last)) break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
    return top;
}

static double gumbel(uint64_t *random) { return -log(-log(tk_chance(random) + 0x1p-54)); }

/* What may stand before a way that begins at e, by chance: the greatest of the noisy scores is that of the way. */
static int grow_by_chance(const tk_sp_lattice *l, tk_sp_search *s, uint32_t number, size_t e, double alpha,
                          uint64_t *random) {
    const tk_sp_way way = s->ways[number];
    size_t from = s->n_ways, first = l->first[e], end = l->first[e + 1];
    double most = -INFINITY;
    int status = TK_OK;
    if (tk_reserve(&s->ways, &s->ways_capacity, from + (end - first), sizeof *s->ways) != TK_OK) return TK_NO_MEMORY;
    for (size_t k = first; k < end; k++) {
        tk_sp_way *next = s->ways + from + (k - first);
        next->so_far = way.so_far + term(l, l->arcs + l->order[k], alpha) - l->sums[e];
        next->total = next->so_far + gumbel(random);
        if (next->total > most) most = next->total;
    }
    for (size_t k = first; k < end && status == TK_OK; k++) {
        tk_sp_way next = s->ways[from + (k - first)]; /* each is put where it stands already */
        double v = way.total - next.total + log1p(-exp(next.total - most));
        next.total = way.total - (v > 0 ? v : 0) - log1p(exp(-fabs(v)));
        next.arc = l->order[k];
        next.next = number;
        status = push(l, s, next);
    }
    return status;
}

/* All that may stand before a way that begins at e. `*next` is the one that is looked at next, if it is one of these:
   it never lies in the heap. */
static int grow(const tk_sp_lattice *l, tk_sp_search *s, uint32_t number, size_t e, uint32_t *next) {
    const tk_sp_way way = s->ways[number];
    uint32_t best = NO_WAY;
    int status = TK_OK;
    for (size_t k = l->first[e]; k < l->first[e + 1] && status == TK_OK; k++) {
        const tk_sp_arc *arc = l->arcs + l->order[k];
        float so_far = (float)way.so_far;
        status = add_way(s, (tk_sp_way){l->order[k], number, arc->best + so_far, arc->score + so_far});
        if (status != TK_OK) return status;
        uint32_t made = (uint32_t)(s->n_ways - 1), other = made;
        if (best == NO_WAY || before(l, s, made, best)) other = best, best = made;
        if (other != NO_WAY) status = push_number(l, s, other);
    }
    if (best == NO_WAY || status != TK_OK) return status;
    if (s->n_heap && before(l, s, s->heap[0], best)) return push_number(l, s, best);
    *next = best;
    return TK_OK;
}

int tk_sp_lattice_search(const tk_sp_lattice *l, tk_sp_search *s, size_t n, double alpha, uint64_t *random) {
    s->n_ways = s->n_heap = s->n_found = 0;
    int status = push(l, s, (tk_sp_way){NO_WAY, NO_WAY, random ? gumbel(random) : 0, 0});
    uint32_t next = NO_WAY;
    while ((s->n_heap || next != NO_WAY) && s->n_found < n && status == TK_OK) {
        tk_work++;
        uint32_t number = next != NO_WAY ? next : pop(l, s), arc = s->ways[number].arc;
        size_t e = arc == NO_WAY ? l->n : l->arcs[arc].start;
        next = NO_WAY;
        if (e) {
            status = random ? grow_by_chance(l, s, number, e, alpha, random) : grow(l, s, number, e, &next);
            continue;
        }
        status = tk_reserve(&s->found, &s->found_capacity, s->n_found + 1, sizeof *s->found);
        if (status == TK_OK) s->found[s->n_found++] = number;
    }
    return status;
}

void tk_sp_search_free(tk_sp_search *s) {
    free(s->ways);
    free(s->heap);
    free(s->found);
    memset(s, 0, sizeof *s);
}
