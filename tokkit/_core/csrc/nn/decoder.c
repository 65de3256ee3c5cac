/* Chunks of new tokens through all layers, with what the caches hold before them: see decoder.h. */
#include "nn/decoder.h"

#include "nn/rows.h"

/* New rows of a chunk: enough that reading the weights again for the next one costs little, and few enough that the
   widest layer of a small model stays in the second cache (benchmarks/bench_generate.py). */
enum { CHUNK_ROWS = 256, STEP_PAD = 16 };
enum { IDENTITY = 0 }; /* the first of lanes_math.h, which is for files of one instruction set */

/* New tokens of one sequence: `rows` of them, after the `before` that are in its cache or in chunks before. */
typedef struct {
    const tk_kv *kv;
    size_t before, rows;
} tk_span;

typedef struct {
    const tk_decoder *d;
    size_t wide_step, dim_step, mixed_step;
    float *wide, *normed, *second, *mixed;
    int isa, threads;
} tk_decoder_job;

/* Rows a multiple of 512 bytes apart would share their places in the cache. */
static size_t padded(size_t columns) { return columns % 128 ? columns : columns + STEP_PAD; }

static void normalise(const tk_decoder_job *job, const float *x, size_t x_step, size_t rows, size_t columns,
                      const tk_norm *norm, float *y, size_t y_step) {
    tk_row_work w = {.x = x, .y = y, .n = rows, .m = columns, .weight = norm->weight, .bias = norm->bias};
    w.eps = job->d->eps, w.x_step = (ptrdiff_t)x_step, w.y_step = (ptrdiff_t)y_step;
    tk_rows_run(&w, job->d->rms ? TK_RMS_NORM : TK_LAYER_NORM, job->isa, 1);
}

static int product(const tk_decoder_job *job, const tk_linear *l, const float *x, size_t x_step, size_t rows, float *y,
                   size_t y_step, int activation, const float *residual) {
    tk_product p = {.l = l, .x = x, .y = y, .m = rows, .residual = residual, .activation = activation};
    p.x_step = (ptrdiff_t)x_step, p.y_step = (ptrdiff_t)y_step, p.residual_step = (ptrdiff_t)y_step;
    return tk_linear_run(&p, job->isa, job->threads);
}

static void norm_heads(const tk_decoder_job *job, float *x, size_t rows, size_t heads, const tk_norm *norm) {
    const size_t size = job->d->head_dim;
    for (size_t r = 0; norm->weight && r < rows; r++, x += job->wide_step)
        normalise(job, x, size, heads, size, norm, x, size);
}

static void turn(const tk_decoder_job *job, float *x, const tk_span *span, size_t heads, const tk_angles *angles) {
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

/* Rows of (kv_heads, head_dim) → [head][position][head_dim] from `before` on. */
static void keep(const tk_decoder_job *job, const float *x, const tk_span *span, float *to) {
    const tk_decoder *d = job->d;
    const size_t size = d->head_dim;
    for (size_t r = 0; r < span->rows; r++, x += job->wide_step)
        for (size_t h = 0; h < d->kv_heads; h++)
            memcpy(to + (h * span->kv->capacity + span->before + r) * size, x + h * size, size * sizeof(float));
}

/* The attention of one sequence's new rows, which begin at `qkv`. */
static int attend(const tk_decoder_job *job, size_t layer, const tk_span *span, float *qkv, float *mixed) {
    const tk_decoder *d = job->d;
    const tk_decoder_layer *l = &d->layers[layer];
    const size_t size = d->head_dim, at = layer * d->kv_heads * span->kv->capacity * size;
    float *k = qkv + d->heads * size, *v = k + d->kv_heads * size;
    norm_heads(job, qkv, span->rows, d->heads, &l->q);
    norm_heads(job, k, span->rows, d->kv_heads, &l->k);
    if (l->rope >= 0) {
        turn(job, qkv, span, d->heads, &d->angles[l->rope]);
        turn(job, k, span, d->kv_heads, &d->angles[l->rope]);
    }
    keep(job, k, span, span->kv->k + at);
    keep(job, v, span, span->kv->v + at);
    tk_attention a = {.q = qkv, .k = span->kv->k + at, .v = span->kv->v + at, .out = mixed, .batch = 1};
    a.heads = d->heads, a.group = d->heads / d->kv_heads;
    a.n_queries = span->rows, a.n_keys = span->before + span->rows, a.d = a.dv = size;
    a.q_by.head = (ptrdiff_t)size, a.q_by.row = (ptrdiff_t)job->wide_step;
    a.k_by.head = (ptrdiff_t)(span->kv->capacity * size), a.k_by.row = (ptrdiff_t)size;
    a.v_by = a.k_by;
    a.out_by.head = (ptrdiff_t)size, a.out_by.row = (ptrdiff_t)job->mixed_step;
    a.scale = d->scale, a.offset = (ptrdiff_t)span->before, a.right = 0;
    a.left = l->window == TK_FAR ? TK_FAR : l->window - 1;
    a.by_distance = d->by_distance, a.distance_by = d->distance_by, a.zero = d->zero + a.offset;
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

static int feed_forward(const tk_decoder_job *job, const tk_decoder_layer *l, const float *normed, size_t rows,
                        float *x) {
    const tk_decoder *d = job->d;
    const int activation = d->gated ? IDENTITY : d->activation;
    if (product(job, l->up, normed, job->dim_step, rows, job->wide, job->wide_step, activation, NULL))
        return TK_NO_MEMORY;
    if (d->gated) {
        tk_row_work w = {.x = job->wide, .other = job->wide + d->hidden, .y = job->wide, .n = rows, .m = d->hidden};
        w.x_step = w.other_step = w.y_step = (ptrdiff_t)job->wide_step;
        w.kind = d->activation;
        tk_rows_run(&w, TK_GATE, job->isa, job->threads);
    }
    return added(job, l->down, job->wide, job->wide_step, rows, &l->forwarded, x);
}

/* One layer on `rows` rows of x, those of `spans` after one another. */
static int through(const tk_decoder_job *job, size_t layer, const tk_span *spans, size_t n, float *x, size_t rows) {
    const tk_decoder *d = job->d;
    const tk_decoder_layer *l = &d->layers[layer];
    float *qkv = job->wide, *mixed = job->mixed;
    normalise(job, x, d->dim, rows, d->dim, &l->attention, job->normed, job->dim_step);
    if (product(job, l->qkv, job->normed, job->dim_step, rows, qkv, job->wide_step, IDENTITY, NULL))
        return TK_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (attend(job, layer, &spans[i], qkv, mixed)) return TK_NO_MEMORY;
        qkv += spans[i].rows * job->wide_step, mixed += spans[i].rows * job->mixed_step;
    }
    /* Of the x that attention read too, if both parts have the same. */
    if (d->parallel) normalise(job, x, d->dim, rows, d->dim, &l->forward, job->second, job->dim_step);
    if (added(job, l->o, job->mixed, job->mixed_step, rows, &l->attended, x)) return TK_NO_MEMORY;
    if (!d->parallel) normalise(job, x, d->dim, rows, d->dim, &l->forward, job->second, job->dim_step);
    return feed_forward(job, l, job->second, rows, x);
}

static int run(tk_decoder_job *job, float *x, const size_t *rows, const tk_kv *caches, size_t n, tk_span *spans,
               float *states, size_t all) {
    const tk_decoder *d = job->d;
    size_t i = 0, done = 0, row = 0; /* sequences, rows of sequence i, rows of x */
    while (row < all) {
        size_t n_spans = 0, taken = 0;
        while (i < n && taken < CHUNK_ROWS) {
            size_t left = rows[i] - done, some = left < CHUNK_ROWS - taken ? left : CHUNK_ROWS - taken;
            if (some) spans[n_spans++] = (tk_span){&caches[i], caches[i].length + done, some};
            taken += some, done += some;
            if (done == rows[i]) i++, done = 0;
        }
        for (size_t layer = 0; layer < d->n_layers; layer++) {
            if (through(job, layer, spans, n_spans, x + row * d->dim, taken)) return TK_NO_MEMORY;
            if (states)
                memcpy(states + (layer * all + row) * d->dim, x + row * d->dim, taken * d->dim * sizeof(float));
        }
        row += taken;
    }
    return TK_OK;
}

int tk_decoder_run(const tk_decoder *d, float *x, const size_t *rows, const tk_kv *caches, size_t n, float *states,
                   int isa, int threads) {
    tk_decoder_job job = {.d = d, .isa = isa, .threads = threads};
    size_t all = 0, wide = (d->heads + 2 * d->kv_heads) * d->head_dim, chunk;
    for (size_t i = 0; i < n; i++) all += rows[i];
    if (!all || !d->n_layers) return TK_OK;
    if (wide < d->hidden * (d->gated ? 2 : 1)) wide = d->hidden * (d->gated ? 2 : 1);
    job.wide_step = padded(wide), job.dim_step = padded(d->dim), job.mixed_step = padded(d->heads * d->head_dim);
    chunk = all < CHUNK_ROWS ? all : CHUNK_ROWS;
    float *room = tk_alloc(chunk, (job.wide_step + 2 * job.dim_step + job.mixed_step) * sizeof(float));
    /* A chunk has at most one span a row. */
    tk_span *spans = tk_alloc(chunk, sizeof *spans);
    int status = TK_NO_MEMORY;
    if (room && spans) {
        job.wide = room;
        job.normed = job.wide + chunk * job.wide_step;
        job.second = job.normed + chunk * job.dim_step;
        job.mixed = job.second + chunk * job.dim_step;
        status = run(&job, x, rows, caches, n, spans, states, all);
    }
    free(room);
    free(spans);
    return status;
}
