/* The memory that one thread encodes with: see plan.h. */
#include "encode/plan.h"

static int init_scratch(tk_worker *w, const tk_plan *plan) {
    if (!plan->model.sp) return TK_OK;
    w->sp = tk_calloc(1, sizeof *w->sp);
    return w->sp ? tk_sp_reserve_text(w->sp, TK_SP_BUFFER) : TK_NO_MEMORY;
}

int tk_worker_init(tk_worker *w, const tk_plan *plan, size_t max_words) {
    memset(w, 0, sizeof *w);
    int status = tk_cache_init(&w->cache, plan->model.bpe, max_words, plan->cache_lines);
    if (status == TK_OK && plan->max_cached) w->cache.longest = plan->max_cached;
    return status == TK_OK ? init_scratch(w, plan) : status;
}

int tk_worker_copy(tk_worker *w, const tk_plan *plan, const tk_worker *other) {
    memset(w, 0, sizeof *w);
    int status = tk_cache_copy(&w->cache, &other->cache);
    return status == TK_OK ? init_scratch(w, plan) : status;
}

tk_staged *tk_staged_of(tk_worker *w) {
    if (w->staged) return w->staged;
    tk_staged *staged = tk_calloc(1, sizeof *staged);
    if (!staged) return NULL;
    staged->unit.spare = &staged->unit_spare;
    staged->section.spare = &staged->section_spare;
    return w->staged = staged;
}

static void free_staged(tk_staged *s) {
    if (!s) return;
    tk_aligned_free(&s->unit);
    tk_aligned_free(&s->unit_spare);
    tk_aligned_free(&s->section);
    tk_aligned_free(&s->section_spare);
    tk_model_worker_free(&s->model);
    free(s);
}

void tk_worker_free(tk_worker *w) {
    tk_cache_free(&w->cache);
    tk_merger_free(&w->merger);
    tk_dfa_memo_free(&w->memo);
    free_staged(w->staged);
    tk_offsets_free(w->offsets);
    if (w->sp) tk_sp_scratch_free(w->sp);
    free(w->sp);
    free(w->ids);
    free(w->text);
    memset(w, 0, sizeof *w);
}

static void shrink_aligned(tk_aligned *a, size_t max) {
    tk_aligned *spare = a->spare;
    if (a->text_capacity <= max && a->spans_capacity <= max / sizeof(tk_span) && a->capacity <= max / sizeof(tk_piece))
        return;
    tk_aligned_free(a);
    a->spare = spare;
}

void tk_worker_shrink(tk_worker *w, size_t max) {
    tk_staged *s = w->staged;
    tk_dfa_memo_free(&w->memo);
    tk_shrink(&w->text, &w->text_capacity, 1, max);
    tk_shrink(&w->ids, &w->ids_capacity, sizeof *w->ids, max);
    tk_offsets_shrink(w->offsets, max);
    if (w->sp) tk_sp_scratch_shrink(w->sp, max);
    if (!s) return;
    shrink_aligned(&s->unit, max);
    shrink_aligned(&s->unit_spare, max);
    shrink_aligned(&s->section, max);
    shrink_aligned(&s->section_spare, max);
    tk_model_worker_shrink(&s->model, max);
}
