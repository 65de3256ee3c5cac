/* Encodes the sections of a text by a sentencepiece model, which has its own normalizer, units and cache: see
   sp_engine.h. Each section is a document. */
#include "encode/plan.h"
#include "sentencepiece/sp_engine.h"

int tk_sp_worker_init(tk_worker *w, size_t cache_units) {
    w->sp = tk_calloc(1, sizeof *w->sp);
    return w->sp ? tk_sp_scratch_init(w->sp, cache_units) : TK_NO_MEMORY;
}

void tk_sp_worker_free(tk_worker *w) {
    if (!w->sp) return;
    tk_sp_scratch_free(w->sp);
    free(w->sp);
}

/* The result goes from the worker to the scratch, and back. */
static void swap_ids(tk_worker *w) {
    tk_sp_scratch *s = w->sp;
    uint32_t *ids = s->ids;
    size_t n = s->n_ids, capacity = s->ids_capacity;
    s->ids = w->ids, s->n_ids = w->n_ids, s->ids_capacity = w->ids_capacity;
    w->ids = ids, w->n_ids = n, w->ids_capacity = capacity;
}

int tk_sp_section(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop,
                  unsigned edges) {
    tk_sp_scratch *s = w->sp;
    swap_ids(w);
    if (!*at) {
        s->aligned = 0;
        tk_sp_begin_document(s);
        s->continues = !(edges & (TK_EDGE_TEXT_START | TK_EDGE_SECTION_START));
    }
    s->most = tk_most_grown(plan, n);
    int status = tk_sp_encode(plan->sp, s, text, n, stop);
    tk_work += s->at - *at;
    *at = s->at;
    swap_ids(w);
    return status;
}

int tk_sp_section_placed(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n) {
    tk_sp_begin(w->sp, 1);
    w->sp->most = tk_most_grown(plan, n);
    return tk_sp_encode_aligned(plan->sp, w->sp, text, n);
}
