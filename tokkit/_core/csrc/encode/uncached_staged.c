/* Encodes a unit that is not in the cache: runs the components one by one, then the model. */
#include "encode/plan.h"

int tk_run_stages(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, unsigned edge) {
    tk_staged *s = tk_staged_of(w);
    if (!s) return TK_NO_MEMORY;
    TK_ASSERT(n && !(edge & ~(unsigned)TK_EDGES));
    int place = edge & TK_EDGE_TEXT_START ? TK_AT_TEXT_START : TK_INSIDE;
    if (edge & TK_EDGE_SECTION_START) place = TK_AT_SECTION_START;
    int status = tk_aligned_reset(&s->unit, p, n, place, !(edge & TK_EDGE_END));
    s->unit.most = tk_max_grown(plan, n);
    if (status == TK_OK) status = tk_stages_run(plan->model.stages, plan->model.n_stages, &s->unit);
    if (status == TK_OK) status = tk_model_encode(plan->model.tokens, &s->model, &s->unit);
    /* Units that grow are not kept by the cache: all that grow in a text come by here. */
    if (status == TK_OK && plan->grown && s->model.n > n && (w->grown += s->model.n) > plan->grown) status = TK_GROWN;
    return status;
}

int tk_model_ids(const tk_model *model, tk_worker *w, const uint8_t *p, size_t n) {
    size_t count = 0;
    int status = tk_reserve_ids(w, n);
    if (status == TK_OK) status = model->encode_ids(model, p, n, w->ids + w->n_ids, &count);
    w->n_ids += count;
    return status;
}

static int encode(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, unsigned edge) {
    const tk_model *tokens = plan->model.tokens;
    if (tokens->encode_ids && !plan->model.n_stages) return tk_model_ids(tokens, w, p, n);
    int status = tk_run_stages(plan, w, p, n, edge);
    if (status == TK_OK) status = tk_reserve_ids(w, w->staged->model.n);
    if (status != TK_OK) return status;
    const tk_model_worker *m = &w->staged->model;
    if (m->n) memcpy(w->ids + w->n_ids, m->ids, m->n * sizeof *w->ids); /* of no tokens there may be no list */
    w->n_ids += m->n;
    return TK_OK;
}

int tk_encode_uncached_staged(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                              const tk_key *key, unsigned edge) {
    const uint32_t *ids;
    size_t count = 0, before = w->n_ids;
    int is_long = n > TK_SHORT_WORD;
    (void)readable;
    if (!is_long) count = tk_cache_find(&w->cache, key, &ids);
    else if (n <= w->cache.longest && !edge) count = tk_cache_find_long(&w->cache, p, n, key->low, &ids);
    if (count) return tk_emit_known(w, ids, count), TK_OK;
    w->cache.misses++;
    int status = encode(plan, w, p, n, edge);
    if (status != TK_OK) return status;
    count = w->n_ids - before;
    if (!tk_may_cache(count, n)) return TK_OK;
    if (!is_long) tk_cache_add(&w->cache, key, w->ids + before, count);
    else if (!edge) tk_cache_add_long(&w->cache, p, n, w->ids + before, count);
    return TK_OK;
}
