/* The front of SentencePiece models: normalizes a document into a buffer and cuts that into units; see sp_engine.h. */
#include "encode/plan.h"

/* ---- memory */

int tk_sp_reserve_text(tk_sp_scratch *w, size_t need) {
    void *moved;
    if (need > UINT32_MAX - TK_SP_BUFFER) return TK_TOO_LARGE; /* places are of 32 bits */
    if (need > w->capacity) {
        if (!(moved = realloc(w->text, need + TK_SP_READABLE))) return TK_NO_MEMORY;
        w->text = moved;
        w->capacity = need;
    }
    if (tk_reserve(&w->starts, &w->starts_capacity, w->capacity + TK_SP_READABLE, sizeof *w->starts))
        return TK_NO_MEMORY;
    if (!w->aligned) return TK_OK;
    return tk_reserve(&w->from, &w->from_capacity, w->capacity + TK_SP_READABLE, sizeof *w->from);
}

static void free_buffer(tk_sp_scratch *w) {
    free(w->text);
    free(w->from);
    free(w->starts);
    w->text = NULL, w->from = NULL, w->starts = NULL;
    w->capacity = w->from_capacity = w->starts_capacity = 0;
}

void tk_sp_scratch_free(tk_sp_scratch *w) {
    free_buffer(w);
    free(w->nodes);
    free(w->tokens);
    free(w->symbols);
    tk_merge_scratch_free(&w->merge);
    free(w->parts);
    memset(w, 0, sizeof *w);
}

void tk_sp_scratch_shrink(tk_sp_scratch *w, size_t max) {
    if (w->capacity > max / 16) free_buffer(w);
    tk_shrink(&w->nodes, &w->nodes_capacity, sizeof *w->nodes, max);
    tk_shrink(&w->tokens, &w->tokens_capacity, sizeof *w->tokens, max);
    tk_shrink(&w->symbols, &w->symbols_capacity, 32, max);
    tk_merge_scratch_shrink(&w->merge, max);
    tk_shrink(&w->parts, &w->parts_capacity, sizeof *w->parts, max);
}

/* ---- a document */

void tk_sp_begin(tk_sp_scratch *w, size_t first, int is_continuation, size_t max) {
    w->first = w->settled = first;
    w->at = w->made = w->n = w->scanned = w->n_starts = w->next = 0;
    w->started = w->any = w->previous = w->finished = 0;
    w->is_continuation = is_continuation;
    w->max = max;
    w->score = 0;
    w->amount = 0;
}

static void put_space(tk_sp_scratch *w, size_t from) {
    if (w->aligned) w->from[w->n] = (uint32_t)from;
    w->text[w->n++] = ' ';
}

/* Leave out the spaces that the text begins with, and put the one that it shall begin with. */
static void start(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    const uint8_t *put;
    size_t n_put, taken;
    w->started = 1;
    if (w->is_continuation) {
        w->starts[w->n_starts++] = 0;
        w->any = 1;
        return;
    }
    while (m->remove_extra && w->at < n) {
        taken = tk_sp_replaced(m, text, n, w->at, &put, &n_put);
        if (n_put != 1 || *put != ' ') break;
        w->at += taken;
    }
    w->starts[w->n_starts++] = 0;
    w->previous = m->remove_extra;
    w->any = w->at < n;
    if (w->any && m->dummy_prefix && !m->suffix) put_space(w, w->at);
}

/* Leave out the spaces that it ends with, put the one that it shall end with, and end the last unit. */
static void finish(const tk_sp *m, tk_sp_scratch *w) {
    TK_ASSERT(w->n_starts && !w->finished);
    size_t begin = w->starts[w->n_starts - 1], end = w->n, from = w->at;
    while (m->remove_extra && end > begin && w->text[end - 1] == ' ') end--;
    if (w->aligned && end < w->n) from = w->from[end];
    w->n = end;
    if (w->any && m->dummy_prefix && m->suffix) put_space(w, from);
    if (w->aligned) w->from[w->n] = (uint32_t)from;
    if (w->n > begin) w->starts[w->n_starts++] = (uint32_t)w->n;
    w->finished = 1;
}

/* Normalize the rest of a document, or what there is room for. */
static int fill(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    int status = tk_sp_reserve_text(w, w->capacity > TK_SP_BUFFER ? w->capacity : TK_SP_BUFFER);
    if (status == TK_OK && !w->started) start(m, w, text, n);
    while (status == TK_OK && w->at < n) {
        size_t before = w->at, full = w->n;
        tk_kernels->sp_fill(m, w, text, n);
        TK_ASSERT(w->at >= before && w->at <= n && w->n >= full && w->n <= w->capacity + TK_SP_READABLE);
        w->made += w->n - full;
        if (w->max && w->made > w->max) return TK_GROWN;
        if (w->at != before) break;
        status = tk_sp_reserve_text(w, 2 * w->capacity); /* what one step puts is larger than the buffer */
    }
    return status;
}

/* Keep only the unit that is open. */
static int drop_units(tk_sp_scratch *w) {
    TK_ASSERT(w->n_starts && w->starts[w->n_starts - 1] <= w->n && w->n <= w->capacity + TK_SP_READABLE);
    size_t open = w->starts[w->n_starts - 1], left = w->n - open;
    memmove(w->text, w->text + open, left);
    w->n = w->scanned = left;
    w->starts[0] = 0;
    w->n_starts = 1;
    w->next = 0;
    /* Twice as much each time: what a long unit costs to move stays in proportion to its length. */
    return left > w->capacity / 2 ? tk_sp_reserve_text(w, 2 * w->capacity) : TK_OK;
}

int tk_sp_refill(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    int status = TK_OK;
    if (w->started) status = w->aligned ? tk_sp_reserve_text(w, 2 * w->capacity) : drop_units(w);
    if (status == TK_OK) status = fill(m, w, text, n);
    if (status != TK_OK) return status;
    if (!m->whole) tk_kernels->sp_cut(m, w);
    if (w->at == n) finish(m, w);
    return TK_OK;
}

int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t max) {
    int status = n < UINT32_MAX ? TK_OK : TK_TOO_LARGE;
    w->aligned = 1;
    tk_sp_begin(w, 0, 0, max);
    while (!w->finished && status == TK_OK) status = tk_sp_refill(m, w, text, n);
    return status;
}

/* ---- its units */

void tk_front_sp_begin(const tk_front *front, tk_worker *w, const tk_section *section, size_t max) {
    (void)front;
    tk_sp_begin(w->sp, w->n_ids, !(section->edges & (TK_EDGE_TEXT_START | TK_EDGE_SECTION_START)), max);
}

/* Of so many units that were looked up, if so many missed, so many are encoded without: where nothing comes again
   the look-up and what it displaces cost more than they save. */
enum { WINDOW = 1024, MANY = WINDOW * 2 / 5, PAUSE = 16 * WINDOW };

static void watch_misses(tk_worker *w, size_t count) {
    tk_sp_scratch *s = w->sp;
    if (s->looked >= WINDOW) {
        if (w->cache.misses - s->misses > MANY) s->uncached = PAUSE;
        s->misses = w->cache.misses;
        s->looked = 0;
    }
    s->looked += s->uncached ? 0 : count;
}

int tk_front_sp(const tk_front *front, tk_worker *w, tk_section *section, tk_units *units) {
    tk_sp_scratch *s = w->sp;
    units->count = 0;
    while (s->next + 1 >= s->n_starts) { /* there is no unit but the one that is open */
        if (s->finished || section->at >= section->stop) return TK_OK;
        int status = tk_sp_refill(front->sp, s, section->text, section->n);
        if (status != TK_OK) return status;
        section->at = s->at;
    }
    const uint32_t *starts = s->starts + s->next;
    size_t count = s->n_starts - 1 - s->next;
    if (count > TK_CHUNK) count = TK_CHUNK;
    for (size_t k = 0; k < count; k++) {
        TK_ASSERT(starts[k] < starts[k + 1] && starts[k + 1] <= s->n);
        units->ends[k] = starts[k + 1];
    }
    units->text = s->text, units->n = s->n + TK_SP_READABLE, units->start = starts[0], units->count = count;
    s->next += count;
    watch_misses(w, count);
    return TK_OK;
}
