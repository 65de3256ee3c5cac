/* Runs chunks of packed sequences through all layers: see encoder.h. */
#include "nn/encoder.h"

#include <stdatomic.h>

#include "thread_team.h"
#include "nn/rows.h"
#include "nn/steps.h"

/* Rows of a chunk, if its sequences allow that: 256 rows of a small encoder's widest layer are 1.6 MB. Of 64, 128, 256
   and 512 this was fastest (benchmarks/bench_pipeline.py). A thread is worth starting for half a chunk. */
enum { CHUNK_ROWS = 256, LEAST_ROWS = 64 };
enum { IDENTITY = 0 }; /* the first of lanes_math.h, which is for files of one instruction set */

typedef struct {
    size_t row, rows, n; /* first row, rows, sequences */
    const int64_t *starts; /* n + 1, from 0 on */
} tk_chunk;

typedef struct {
    const tk_encoder *e;
    float *x, *states, *room;
    const tk_chunk *chunks;
    size_t n_chunks, rows, wide_step, dim_step, room_each, next;
    int isa, inside; /* inside: threads of one chunk's products */
    _Atomic(int) failed;
} tk_encoder_job;

static void normalise(const tk_encoder *e, float *x, size_t rows, const float *weight, const float *bias, int isa) {
    tk_row_work w = {.x = x, .y = x, .n = rows, .m = e->dim, .weight = weight, .bias = bias, .eps = e->eps};
    w.x_step = w.y_step = (ptrdiff_t)e->dim;
    tk_rows_run(&w, TK_LAYER_NORM, isa, 1);
}

static int product(const tk_encoder_job *job, const tk_linear *l, const float *x, size_t x_step, size_t rows, float *y,
                   size_t y_step, int activation, const float *residual) {
    return tk_multiply(l, x, x_step, rows, y, y_step, activation, residual, job->isa, job->inside);
}

static int look(const tk_encoder_job *job, const tk_chunk *chunk, float *qkv, float *mixed) {
    const tk_encoder *e = job->e;
    tk_attention a = {.q = qkv, .k = qkv + e->dim, .v = qkv + 2 * e->dim, .out = mixed};
    a.batch = chunk->n, a.heads = e->heads, a.group = 1;
    a.d = a.dv = e->dim / e->heads;
    a.q_by.head = (ptrdiff_t)a.d, a.q_by.row = (ptrdiff_t)job->wide_step;
    a.k_by = a.v_by = a.q_by;
    a.out_by.head = (ptrdiff_t)a.d, a.out_by.row = (ptrdiff_t)job->dim_step;
    a.scale = e->scale, a.left = TK_FAR, a.right = TK_FAR;
    a.by_distance = e->by_distance, a.distance_by = e->distance_by, a.zero = e->zero;
    a.q_starts = a.k_starts = chunk->starts;
    for (size_t i = 0; i < chunk->n; i++) {
        size_t length = (size_t)(chunk->starts[i + 1] - chunk->starts[i]);
        if (length > a.n_queries) a.n_queries = a.n_keys = length;
    }
    return a.n_queries ? tk_attention_run(&a, job->isa, job->inside) : TK_OK;
}

static int through(const tk_encoder_job *job, const tk_chunk *chunk, float *room) {
    const tk_encoder *e = job->e;
    size_t rows = chunk->rows, dim = e->dim;
    /* One block serves q, k and v first, and then the middle of the feed-forward. */
    float *x = job->x + chunk->row * dim, *wide = room, *mixed = room + rows * job->wide_step;
    for (size_t i = 0; i < e->n_layers; i++) {
        const tk_encoder_layer *l = &e->layers[i];
        TK_ASSERT(l->qkv->n == 3 * dim && l->qkv->k == dim && l->o->n == dim && l->o->k == dim);
        TK_ASSERT(l->up->k == dim && l->down->k == l->up->n && l->down->n == dim && l->up->n <= job->wide_step);
        if (product(job, l->qkv, x, dim, rows, wide, job->wide_step, IDENTITY, NULL)) return TK_NO_MEMORY;
        if (look(job, chunk, wide, mixed)) return TK_NO_MEMORY;
        if (product(job, l->o, mixed, job->dim_step, rows, x, dim, IDENTITY, x)) return TK_NO_MEMORY;
        normalise(e, x, rows, l->attention_weight, l->attention_bias, job->isa);
        if (product(job, l->up, x, dim, rows, wide, job->wide_step, e->activation, NULL)) return TK_NO_MEMORY;
        if (product(job, l->down, wide, job->wide_step, rows, x, dim, IDENTITY, x)) return TK_NO_MEMORY;
        normalise(e, x, rows, l->forward_weight, l->forward_bias, job->isa);
        if (job->states)
            memcpy(job->states + (i * job->rows + chunk->row) * dim, x, rows * dim * sizeof(float));
    }
    return TK_OK;
}

static void work(void *of, int worker) {
    tk_encoder_job *job = of;
    for (size_t i; (i = tk_team_next(&job->next)) < job->n_chunks;)
        if (through(job, &job->chunks[i], job->room + job->room_each * (size_t)worker))
            atomic_store_explicit(&job->failed, 1, memory_order_relaxed);
}

/* Cuts sequences into chunks of at most `most` rows, or of one sequence; returns the rows of the greatest. */
static size_t cut(tk_encoder_job *job, tk_chunk *chunks, int64_t *relative, const int64_t *starts, size_t n,
                  size_t most) {
    size_t greatest = 0, i = 0;
    while (i < n) {
        tk_chunk *c = &chunks[job->n_chunks++];
        *c = (tk_chunk){.row = (size_t)starts[i], .starts = relative};
        *relative++ = 0;
        do {
            *relative++ = starts[++i] - (int64_t)c->row;
            c->n++;
        } while (i < n && (size_t)(starts[i + 1] - (int64_t)c->row) <= most);
        c->rows = (size_t)(starts[i] - (int64_t)c->row);
        TK_ASSERT(c->n && (c->rows <= most || c->n == 1));
        if (c->rows > greatest) greatest = c->rows;
    }
    return greatest;
}

int tk_encoder_run(const tk_encoder *e, float *x, const int64_t *starts, size_t n, float *states, int isa,
                   int threads) {
    tk_encoder_job job = {.e = e, .x = x, .states = states, .rows = (size_t)starts[n], .isa = isa, .inside = 1};
    if (!job.rows || !e->n_layers) return TK_OK;
    TK_ASSERT(threads > 0 && x && e->heads && e->dim && e->dim % e->heads == 0 && starts[0] == 0);
    for (size_t i = 0; i < n; i++) TK_ASSERT(starts[i] <= starts[i + 1]);
    size_t most = job.rows / (2 * (size_t)threads), wide = 3 * e->dim;
    if (most > CHUNK_ROWS || threads == 1) most = CHUNK_ROWS;
    if (most < LEAST_ROWS) most = LEAST_ROWS;
    for (size_t i = 0; i < e->n_layers; i++)
        if (e->layers[i].up->n > wide) wide = e->layers[i].up->n;
    job.wide_step = tk_padded(wide), job.dim_step = tk_padded(e->dim);
    tk_chunk *chunks = tk_alloc(n, sizeof *chunks);
    int64_t *relative = tk_alloc(2 * n, sizeof *relative);
    int status = TK_NO_MEMORY;
    if (chunks && relative) {
        size_t greatest = cut(&job, chunks, relative, starts, n, most);
        job.chunks = chunks;
        /* Where there is less than a chunk for each thread, they share the products of one. */
        if (job.n_chunks < (size_t)threads) job.inside = threads, threads = 1;
        size_t floats = job.wide_step + job.dim_step;
        if (greatest <= (size_t)PTRDIFF_MAX / sizeof(float) / floats) {
            job.room_each = (greatest * floats + 15) / 16 * 16;
            job.room = tk_alloc((size_t)threads, job.room_each * sizeof(float));
        }
        if (job.room) {
            tk_team_run(work, &job, threads);
            status = job.failed ? TK_NO_MEMORY : TK_OK;
        }
    }
    free(chunks);
    free(relative);
    free(job.room);
    return status;
}
