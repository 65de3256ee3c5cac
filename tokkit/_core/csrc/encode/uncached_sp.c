/* Encodes the units of a SentencePiece model that are not in the cache, and tracks the score: see sp_engine.h. */
#include <math.h>

#include "encode/plan.h"

enum { RUN = 1 << 12 }; /* bytes of units that are encoded as one without the cache */

/* ---- the score */

/* Bring the score up to date: it is what sentencepiece's lattice has after these tokens. */
static void settle(const tk_sp *m, tk_worker *w) {
    tk_sp_scratch *s = w->sp;
    float score = s->score;
    TK_ASSERT(s->first <= s->settled && s->settled <= w->n_ids);
    for (; s->settled < w->n_ids; s->settled++) score += m->scores[w->ids[s->settled]];
    s->score = score;
}

/* The tokens of p[0:n], which w->sp has then, from the true score on, with no look at the cache. */
static int find_tokens(const tk_sp *m, tk_worker *w, const uint8_t *p, size_t n) {
    tk_sp_scratch *s = w->sp;
    if (m->model != TK_SP_UNIGRAM) return m->bpe ? tk_sp_merge(m, s, p, n, 0, NULL) : tk_sp_look_up(m, s, p, n);
    settle(m, w);
    int status = tk_sp_best(m, s, p, n, &s->score);
    s->settled = w->n_ids + s->n_tokens;
    double amount = ceil(8 * fabs((double)s->score)) + 1;
    s->amount = amount < UINT32_MAX / 2 ? (uint32_t)amount : UINT32_MAX / 2;
    return status;
}

static int encode_plainly(const tk_sp *m, tk_worker *w, const uint8_t *p, size_t n) {
    tk_sp_scratch *s = w->sp;
    int status = find_tokens(m, w, p, n);
    if (status == TK_OK) status = tk_reserve_ids(w, s->n_tokens);
    if (status != TK_OK) return status;
    for (size_t k = 0; k < s->n_tokens; k++) w->ids[w->n_ids++] = s->tokens[k].id;
    return TK_OK;
}

/* ---- units that the first look does not find */

/* Put the ids of a unit that is known, of Unigram the last of `count` numbers left out; 0 where the score before them
   does not allow that. There is room. */
static int put_known(const tk_plan *plan, tk_worker *w, const uint32_t *ids, size_t count) {
    TK_ASSERT(count && w->n_ids + count <= w->ids_capacity + plan->model.scored);
    if (plan->model.scored) {
        uint32_t meta = w->sp->meta = ids[--count];
        if (!tk_sp_meta_holds(meta, w->sp->amount)) return 0;
        w->sp->amount += tk_sp_meta_sum(meta);
    }
    tk_emit_known(w, ids, count);
    return 1;
}

static void insert(tk_worker *w, const uint8_t *p, size_t n, const tk_key *key, const uint32_t *ids, size_t count) {
    if (!tk_may_cache(count, n)) return;
    if (n <= TK_SHORT_WORD) tk_cache_add(&w->cache, key, ids, count);
    else tk_cache_add_long(&w->cache, p, n, ids, count);
}

/* Encode a unit by itself and remember it; *known says whether its ids hold here and have been put. */
static int encode_alone(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, const tk_key *key, int *known) {
    const tk_sp *m = plan->model.sp;
    tk_sp_unit unit;
    size_t before = w->n_ids;
    TK_ASSERT(n && n <= TK_SP_MAX_UNIT);
    *known = 1;
    if (m->bpe) {
        int status = encode_plainly(m, w, p, n);
        if (status == TK_OK) insert(w, p, n, key, w->ids + before, w->n_ids - before);
        return status;
    }
    tk_sp_best_unit(m, p, n, &unit);
    *known = 0;
    if (unit.count == UINT32_MAX) return TK_OK;
    unit.ids[unit.count++] = unit.meta;
    insert(w, p, n, key, unit.ids, unit.count);
    int status = tk_reserve_ids(w, unit.count);
    if (status == TK_OK) *known = put_known(plan, w, unit.ids, unit.count);
    return status;
}

static int encode_unit(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, const tk_key *key);

/* The end of the first part of p[0:n] that no piece stands across, n if there is no other. The front has looked only
   for those beside spaces and characters beyond ASCII. */
static size_t part_end(const tk_sp *m, const uint8_t *p, size_t n) {
    size_t length = tk_sp_length(*p, n);
    uint32_t left = tk_packed(p, (unsigned)length);
    for (size_t i = length; i < n; i += length) {
        length = tk_sp_length(p[i], n - i);
        uint32_t right = tk_packed(p + i, (unsigned)length);
        if ((left != ' ' || right != ' ') && !tk_has_bit(m->neighbors, tk_neighbor_pair(left, right))) return i;
        left = right;
    }
    return n;
}

/* Encode a unit by its parts, the first of `end` bytes, and remember it if the cache takes one so long. */
static int encode_parts(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t end, const tk_key *key) {
    const tk_sp *m = plan->model.sp;
    size_t before = w->n_ids;
    uint32_t meta = tk_sp_meta(TK_SP_MAX_LIMIT, 0);
    for (size_t start = 0;; end = start + part_end(m, p + start, n - start)) {
        tk_key part = {0, 0, 0};
        if (end - start <= TK_SHORT_WORD) part = tk_key_of_16(p + start, end - start);
        else if (end - start <= TK_SP_MAX_UNIT) part.low = tk_hash_bytes(p + start, end - start);
        int status = encode_unit(plan, w, p + start, end - start, &part);
        if (status != TK_OK) return status;
        if (!m->bpe) meta = tk_sp_meta_joined(meta, w->sp->meta);
        start = end;
        if (start == n) break;
    }
    w->sp->meta = meta;
    if (n > TK_SP_MAX_UNIT || !tk_sp_meta_limit(meta)) return TK_OK;
    size_t count = w->n_ids - before;
    int status = tk_reserve_ids(w, 1); /* behind the ids, for as long as they are copied */
    if (status != TK_OK) return status;
    w->ids[w->n_ids] = meta;
    insert(w, p, n, key, w->ids + before, count + plan->model.scored);
    return TK_OK;
}

static TK_NOINLINE int encode_unit(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, const tk_key *key) {
    const tk_sp *m = plan->model.sp;
    const uint32_t *ids;
    size_t count = 0;
    int status = tk_reserve_ids(w, n + TK_INLINE_IDS), known;
    if (status != TK_OK) return status;
    if (n <= TK_SHORT_WORD) count = tk_cache_find(&w->cache, key, &ids);
    else if (n <= TK_SP_MAX_UNIT) count = tk_cache_find_long(&w->cache, p, n, key->low, &ids);
    if (count) {
        if (put_known(plan, w, ids, count)) return TK_OK;
    } else if (!m->whole) {
        size_t end = part_end(m, p, n);
        if (end < n) return encode_parts(plan, w, p, n, end, key);
        if (n <= TK_SP_MAX_UNIT) {
            w->cache.misses++;
            status = encode_alone(plan, w, p, n, key, &known);
            if (status != TK_OK || known) return status;
        }
    }
    w->sp->meta = 0;
    return encode_plainly(m, w, p, n);
}

int tk_encode_uncached_sp(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                          const tk_key *key, unsigned edge) {
    (void)readable, (void)edge;
    return encode_unit(plan, w, p, n, key);
}

/* ---- units without the cache */

/* Several as one, which is as exact and costs less. */
int tk_encode_run_sp(const tk_plan *plan, tk_worker *w, const tk_units *u, size_t *k) {
    const tk_sp *m = plan->model.sp;
    tk_sp_scratch *s = w->sp;
    size_t start = *k ? u->ends[*k - 1] : u->start, end = *k + 1;
    while (!m->bpe && end < u->count && u->ends[end - 1] - start < RUN) end++;
    s->uncached -= end - *k < s->uncached ? end - *k : s->uncached;
    *k = end;
    return encode_plainly(m, w, u->text + start, u->ends[end - 1] - start);
}

/* ---- the end of a document */

/* Neighbouring unknown tokens are one. */
size_t tk_finish_sp(const tk_plan *plan, tk_worker *w, int64_t *spans) {
    const tk_sp *m = plan->model.sp;
    size_t first = w->sp->first, n = first, any = 0;
    TK_ASSERT(first <= w->n_ids);
    if (m->byte_fallback) return w->n_ids;
    for (size_t k = first; k < w->n_ids; k++) any += w->ids[k] == m->unknown;
    if (any < 2) return w->n_ids;
    for (size_t k = first; k < w->n_ids; k++) {
        if (n > first && w->ids[k] == m->unknown && w->ids[n - 1] == m->unknown) {
            if (spans) spans[2 * n - 1] = spans[2 * k + 1];
            continue;
        }
        if (spans) spans[2 * n] = spans[2 * k], spans[2 * n + 1] = spans[2 * k + 1];
        w->ids[n++] = w->ids[k];
    }
    return n;
}

/* ---- with offsets */

int tk_offsets_sp(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit) {
    const tk_sp *m = plan->model.sp;
    tk_sp_scratch *s = w->sp;
    tk_sp_unit alone = {.count = 0};
    int status = find_tokens(m, w, unit->p, unit->n);
    if (status == TK_OK) status = tk_offsets_reserve(w, s->n_tokens);
    uint32_t *packed = status == TK_OK ? tk_offsets_pack(w, s->n_tokens) : NULL;
    if (!packed) return status == TK_OK ? TK_NO_MEMORY : status;
    for (size_t k = 0; k < s->n_tokens; k++) {
        const tk_sp_token *t = s->tokens + k;
        packed[2 * k] = t->id;
        packed[2 * k + 1] = tk_offsets_packed(t->start, t->end, 0);
        tk_offsets_append(w, t->id, unit->base + t->start, unit->base + t->end, 0);
    }
    if (m->whole || unit->n > TK_SP_MAX_UNIT) return TK_OK;
    unit->kept = 2 * s->n_tokens;
    if (m->bpe) return TK_OK;
    tk_sp_best_unit(m, unit->p, unit->n, &alone);
    int same = alone.count == s->n_tokens;
    for (size_t k = 0; same && k < s->n_tokens; k++) same = alone.ids[k] == s->tokens[k].id;
    packed[unit->kept] = alone.meta;
    unit->kept = same ? unit->kept + 1 : 0;
    return TK_OK;
}
