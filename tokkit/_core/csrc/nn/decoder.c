/* Runs chunks of new tokens through all layers, after the tokens in the caches: see decoder.h. */
#include "nn/decoder.h"

#include "nn/rows.h"
#include "nn/steps.h"

/* New rows of a chunk: enough that reading the weights again for the next one costs little, and few enough that the
   widest layer of a small model stays in the second cache (benchmarks/bench_generate.py). */
enum { CHUNK_ROWS = TK_KV_CHUNK };
enum { IDENTITY = 0 }; /* the first of lanes_math.h, which is for files of one instruction set */

/* New tokens of one sequence: `rows` of them, after the `before` that are in its cache or in chunks before. */
typedef struct {
    const tk_kv *kv;         /* or NULL */
    const tk_memory *memory; /* or NULL */
    size_t before, rows;
} tk_span;

typedef struct {
    const tk_decoder *d;
    size_t wide_step, dim_step, mixed_step;
    float *wide, *normed, *second, *mixed;
    int isa, threads;
} tk_decoder_job;

static void normalise(const tk_decoder_job *job, const float *x, size_t x_step, size_t rows, size_t columns,
                      const tk_norm *norm, float *y, size_t y_step) {
    tk_row_work w = {.x = x, .y = y, .n = rows, .m = columns, .weight = norm->weight, .bias = norm->bias};
    w.eps = job->d->eps, w.x_step = (ptrdiff_t)x_step, w.y_step = (ptrdiff_t)y_step;
    tk_rows_run(&w, job->d->rms ? TK_RMS_NORM : TK_LAYER_NORM, job->isa, 1);
}

static int product(const tk_decoder_job *job, const tk_linear *l, const float *x, size_t x_step, size_t rows, float *y,
                   size_t y_step, int activation, const float *residual) {
    return tk_multiply(l, x, x_step, rows, y, y_step, activation, residual, job->isa, job->threads);
}

static void norm_heads(const tk_decoder_job *job, float *x, size_t rows, size_t heads, const tk_norm *norm) {
    const size_t size = job->d->head_dim;
    for (size_t r = 0; norm->weight && r < rows; r++, x += job->wide_step)
        normalise(job, x, size, heads, size, norm, x, size);
}

static void turn(const tk_decoder_job *job, float *x, const tk_span *span, size_t heads, const tk_angles *angles) {
    TK_ASSERT(angles->cosines && angles->sines && angles->half && 2 * angles->half <= job->d->head_dim);
    const tk_decoder *d = job->d;
    tk_row_work w = {.x = x, .y = x, .n = heads * span->rows, .m = d->head_dim, .heads = heads, .rows = span->rows};
    w.half = angles->half;
    w.cosines = angles->cosines + span->before * angles->half;
    w.sines = angles->sines + span->before * angles->half;
    w.x_by.head = (ptrdiff_t)d->head_dim, w.x_by.row = (ptrdiff_t)job->wide_step;
    w.y_by = w.x_by;
    w.angles_by.row = (ptrdiff_t)angles->half;
    tk_rows_run(&w, d->pairs ? TK_ROTATE_PAIRS : TK_ROTATE, job->isa, 1);
}

/* What all attention of a span has: its queries and where its outputs go. */
static tk_attention attention_of(const tk_decoder_job *job, const tk_linear *made_by, const tk_span *span,
                                 const float *q, float *mixed) {
    const tk_decoder *d = job->d;
    tk_attention a = {.q = q, .out = mixed, .batch = 1, .heads = d->heads, .group = d->heads / d->kv_heads};
    a.n_queries = span->rows, a.d = a.dv = d->head_dim;
    a.q_by.head = (ptrdiff_t)d->head_dim, a.q_by.row = (ptrdiff_t)job->wide_step;
    a.out_by.head = (ptrdiff_t)d->head_dim, a.out_by.row = (ptrdiff_t)job->mixed_step;
    a.scale = d->scale, a.cap = d->cap, a.left = a.right = TK_FAR;
    a.narrow = made_by->kind != TK_F32; /* queries from weights of 16 bits or fewer */
    return a;
}

/* The attention of one sequence's new rows, which begin at `qkv`. */
static int attend(const tk_decoder_job *job, size_t layer, const tk_span *span, float *qkv, float *mixed) {
    const tk_decoder *d = job->d;
    const tk_decoder_layer *l = &d->layers[layer];
    const size_t size = d->head_dim;
    float *k = qkv + d->heads * size, *v = k + d->kv_heads * size;
    TK_ASSERT(l->rope < 2 && (l->window == TK_FAR || l->window > 0));
    norm_heads(job, qkv, span->rows, d->heads, &l->q);
    norm_heads(job, k, span->rows, d->kv_heads, &l->k);
    if (l->rope >= 0) {
        turn(job, qkv, span, d->heads, &d->angles[l->rope]);
        turn(job, k, span, d->kv_heads, &d->angles[l->rope]);
    }
    tk_attention a = attention_of(job, l->qkv, span, qkv, mixed);
    const size_t all = span->before + span->rows;
    if (span->kv) {
        tk_kv_make_room(span->kv, layer, span->before, all, l->window);
        tk_kv_keep(span->kv, layer, k, v, job->wide_step, span->before, span->rows);
        tk_kv_attention(span->kv, layer, all, &a);
    } else {
        a.k = k, a.v = v, a.k_by = a.v_by = a.q_by;
        a.n_keys = all, a.offset = (ptrdiff_t)span->before;
    }
    if (l->window != TK_FAR) a.left = a.right = l->window - 1;
    if (!d->bidirectional) a.right = 0;
    a.by_distance = d->by_distance, a.distance_by = d->distance_by, a.zero = d->zero + a.offset;
    return tk_attention_run(&a, job->isa, job->threads);
}

/* The attention of one sequence's new rows to its memory. */
static int attend_memory(const tk_decoder_job *job, size_t layer, const tk_span *span, const float *q, float *mixed) {
    const tk_memory *m = span->memory;
    TK_ASSERT(m && (!m->length || (m->k && m->v)));
    const size_t size = job->d->head_dim, at = layer * job->d->kv_heads * m->length * size;
    tk_attention a = attention_of(job, job->d->layers[layer].cross_q, span, q, mixed);
    a.k = m->k + at, a.v = m->v + at, a.n_keys = m->length;
    a.k_by.head = (ptrdiff_t)(m->length * size), a.k_by.row = (ptrdiff_t)size;
    a.v_by = a.k_by;
    return tk_attention_run(&a, job->isa, job->threads);
}

/* x += what a part gave, after its norm if it has one. */
static int added(const tk_decoder_job *job, const tk_linear *l, const float *part, size_t step, size_t rows,
                 const tk_norm *norm, float *x) {
    const size_t dim = job->d->dim;
    if (!norm->weight) return product(job, l, part, step, rows, x, dim, IDENTITY, x);
    if (product(job, l, part, step, rows, job->normed, job->dim_step, IDENTITY, NULL)) return TK_NO_MEMORY;
    normalise(job, job->normed, job->dim_step, rows, dim, norm, job->normed, job->dim_step);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < dim; i++) x[r * dim + i] += job->normed[r * job->dim_step + i];
    return TK_OK;
}

/* Rows that a part reads. */
typedef struct {
    const float *x;
    size_t step;
} tk_read;

static int feed_forward(const tk_decoder_job *job, const tk_decoder_layer *l, tk_read from, size_t rows, float *x) {
    const tk_decoder *d = job->d;
    const int activation = d->gated ? IDENTITY : d->activation;
    if (l->experts)
        return tk_experts_run(l->experts, from.x, from.step, rows, x, d->dim, d->gated, d->activation, job->isa,
                              job->threads);
    if (product(job, l->up, from.x, from.step, rows, job->wide, job->wide_step, activation, NULL)) return TK_NO_MEMORY;
    if (d->gated) {
        tk_row_work w = {.x = job->wide, .other = job->wide + d->hidden, .y = job->wide, .n = rows, .m = d->hidden};
        w.x_step = w.other_step = w.y_step = (ptrdiff_t)job->wide_step;
        w.kind = d->activation;
        tk_rows_run(&w, TK_GATE, job->isa, job->threads);
    }
    return added(job, l->down, job->wide, job->wide_step, rows, &l->forwarded, x);
}

/* What a part reads: x, or with a norm before the part its norm, which is written to `room`. */
static tk_read entering(const tk_decoder_job *job, const float *x, size_t rows, const tk_norm *norm, float *room) {
    const size_t dim = job->d->dim;
    if (job->d->post_norm || !norm->weight) return (tk_read){x, dim};
    normalise(job, x, dim, rows, dim, norm, room, job->dim_step);
    return (tk_read){room, job->dim_step};
}

/* With norms after the parts, that of the sum. */
static void leaving(const tk_decoder_job *job, float *x, size_t rows, const tk_norm *norm) {
    const size_t dim = job->d->dim;
    if (job->d->post_norm) normalise(job, x, dim, rows, dim, norm, x, dim);
}

/* Attention to the memories of all spans, with its norm and sum. */
static int attend_memories(const tk_decoder_job *job, size_t layer, const tk_span *spans, size_t n, float *x,
                           size_t rows) {
    const tk_decoder_layer *l = &job->d->layers[layer];
    float *q = job->wide, *mixed = job->mixed;
    tk_read from = entering(job, x, rows, &l->cross, job->normed);
    if (product(job, l->cross_q, from.x, from.step, rows, q, job->wide_step, IDENTITY, NULL)) return TK_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (attend_memory(job, layer, &spans[i], q, mixed)) return TK_NO_MEMORY;
        q += spans[i].rows * job->wide_step, mixed += spans[i].rows * job->mixed_step;
    }
    if (product(job, l->cross_o, job->mixed, job->mixed_step, rows, x, job->d->dim, IDENTITY, x)) return TK_NO_MEMORY;
    leaving(job, x, rows, &l->cross);
    return TK_OK;
}

/* One layer on `rows` rows of x, those of `spans` after one another. */
static int through(const tk_decoder_job *job, size_t layer, const tk_span *spans, size_t n, float *x, size_t rows) {
    const tk_decoder *d = job->d;
    const tk_decoder_layer *l = &d->layers[layer];
    float *wide = job->wide, *mixed = job->mixed;
    tk_read from = entering(job, x, rows, &l->attention, job->normed), second = {NULL, 0};
    if (product(job, l->qkv, from.x, from.step, rows, wide, job->wide_step, IDENTITY, NULL)) return TK_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (attend(job, layer, &spans[i], wide, mixed)) return TK_NO_MEMORY;
        wide += spans[i].rows * job->wide_step, mixed += spans[i].rows * job->mixed_step;
    }
    /* Of the x that attention read too, if both parts have the same. */
    if (d->parallel) second = entering(job, x, rows, &l->forward, job->second);
    if (added(job, l->o, job->mixed, job->mixed_step, rows, &l->attended, x)) return TK_NO_MEMORY;
    leaving(job, x, rows, &l->attention);
    if (l->cross_q && attend_memories(job, layer, spans, n, x, rows)) return TK_NO_MEMORY;
    if (!d->parallel) second = entering(job, x, rows, &l->forward, job->second);
    if (feed_forward(job, l, second, rows, x)) return TK_NO_MEMORY;
    leaving(job, x, rows, &l->forward);
    return TK_OK;
}

/* Whether a layer's matrices have the sizes that the decoder states. */
static inline int is_sound(const tk_decoder *d, const tk_decoder_layer *l) {
    const size_t heads = d->heads * d->head_dim, kv = d->kv_heads * d->head_dim;
    if (l->qkv->k != d->dim || l->qkv->n != heads + 2 * kv || l->o->k != heads || l->o->n != d->dim) return 0;
    if (!l->cross_q != !l->cross_o) return 0;
    if (l->cross_q && (l->cross_q->n != heads || l->cross_q->k != d->dim || l->cross_o->k != heads)) return 0;
    if (l->experts) return l->experts->n && l->experts->top && l->experts->top <= l->experts->n;
    return l->up->k == d->dim && l->up->n == d->hidden * (d->gated ? 2 : 1) && l->down->k == d->hidden &&
           l->down->n == d->dim;
}

static inline int are_sound(const tk_decoder *d, const tk_kv *caches, const tk_memory *memories, size_t n) {
    for (size_t i = 0; i < d->n_layers; i++)
        if (!is_sound(d, &d->layers[i]) || (d->layers[i].cross_q && !memories)) return 0;
    for (size_t i = 0; caches && i < n; i++)
        if (caches[i].heads != d->kv_heads || caches[i].head_dim != d->head_dim) return 0;
    return 1;
}

/* The next rows of a chunk: of one sequence after another, which without a cache stay whole. Returns their spans. */
static size_t next_chunk(const size_t *rows, const tk_kv *caches, const tk_memory *memories, size_t n, size_t *i,
                         size_t *done, tk_span *spans, size_t *taken) {
    size_t n_spans = 0;
    for (*taken = 0; *i < n && *taken < CHUNK_ROWS;) {
        size_t left = rows[*i] - *done, room = CHUNK_ROWS - *taken, some = left < room ? left : room;
        if (!caches && some < left) {
            if (*taken) break;
            some = left;
        }
        if (some)
            spans[n_spans++] = (tk_span){caches ? &caches[*i] : NULL, memories ? &memories[*i] : NULL,
                                         (caches ? caches[*i].length : 0) + *done, some};
        *taken += some, *done += some;
        if (*done == rows[*i]) ++*i, *done = 0;
    }
    return n_spans;
}

int tk_decoder_run(const tk_decoder *d, float *x, const size_t *rows, const tk_kv *caches, const tk_memory *memories,
                   size_t n, float *states, int isa, int threads) {
    tk_decoder_job job = {.d = d, .isa = isa, .threads = threads};
    size_t all = 0, wide = (d->heads + 2 * d->kv_heads) * d->head_dim, chunk = CHUNK_ROWS, i, done, taken;
    for (i = 0; i < n; i++) {
        all += rows[i];
        if (!caches && rows[i] > chunk) chunk = rows[i];
    }
    if (!all || !d->n_layers) return TK_OK;
    TK_ASSERT(threads > 0 && x && d->kv_heads && d->heads % d->kv_heads == 0 && d->head_dim && d->dim);
    TK_ASSERT(are_sound(d, caches, memories, n));
    if (all < chunk) chunk = all;
    if (wide < d->hidden * (d->gated ? 2 : 1)) wide = d->hidden * (d->gated ? 2 : 1);
    job.wide_step = tk_padded(wide), job.dim_step = tk_padded(d->dim);
    job.mixed_step = tk_padded(d->heads * d->head_dim);
    float *room = tk_alloc(chunk, (job.wide_step + 2 * job.dim_step + job.mixed_step) * sizeof(float));
    /* A chunk has at most one span a row. */
    tk_span *spans = tk_alloc(chunk, sizeof *spans);
    int status = room && spans ? TK_OK : TK_NO_MEMORY;
    if (!status) {
        job.wide = room;
        job.normed = job.wide + chunk * job.wide_step;
        job.second = job.normed + chunk * job.dim_step;
        job.mixed = job.second + chunk * job.dim_step;
    }
    i = done = 0; /* sequences, rows of sequence i */
    for (size_t row = 0; row < all && !status; row += taken) {
        size_t n_spans = next_chunk(rows, caches, memories, n, &i, &done, spans, &taken);
        TK_ASSERT(taken && taken <= chunk && taken <= all - row && n_spans && n_spans <= chunk);
        float *at = x + row * d->dim;
        for (size_t layer = 0; layer < d->n_layers && !status; layer++) {
            status = through(&job, layer, spans, n_spans, at, taken);
            if (states) memcpy(states + (layer * all + row) * d->dim, at, taken * d->dim * sizeof(float));
        }
    }
    free(room);
    free(spans);
    return status;
}
