/* Routes rows to experts, and adds the outputs of the experts: see experts.h. */
#include "nn/experts.h"

#include <math.h>

#include "nn/rows.h"
#include "nn/steps.h"

enum { IDENTITY = 0 }; /* the first of lanes_math.h, which is for files of one instruction set */

/* One choice of the router: a row goes to an expert with a weight. */
typedef struct {
    size_t row;
    float weight;
} tk_choice;

typedef struct {
    const tk_experts *e;
    const float *x;
    float *y;
    size_t x_step, rows, dim, wide_step, dim_step;
    int gated, activation, isa, threads;
    float *logits, *gathered, *wide, *out; /* (rows, n); (rows, dim); (rows, hidden or twice that); (rows, dim) */
    size_t *starts;                        /* n + 1: the choices of expert i are starts[i] … starts[i + 1] */
    tk_choice *choices;                    /* rows * top, by expert */
    uint32_t *chosen;                      /* (rows, top) */
    float *weights;                        /* (rows, top) */
} tk_experts_job;

static int through(const tk_experts_job *job, const tk_expert *expert, const float *x, size_t x_step, size_t rows,
                   size_t hidden) {
    const int activation = job->gated ? IDENTITY : job->activation;
    if (tk_multiply(expert->up, x, x_step, rows, job->wide, job->wide_step, activation, NULL, job->isa, job->threads))
        return TK_NO_MEMORY;
    if (job->gated) {
        tk_row_work w = {.x = job->wide, .other = job->wide + hidden, .y = job->wide, .n = rows, .m = hidden};
        w.x_step = w.other_step = w.y_step = (ptrdiff_t)job->wide_step;
        w.kind = job->activation;
        tk_rows_run(&w, TK_GATE, job->isa, job->threads);
    }
    return tk_multiply(expert->down, job->wide, job->wide_step, rows, job->out, job->dim_step, IDENTITY, NULL, job->isa,
                       job->threads);
}

/* The greatest logits of a row, and the share of each in the softmax of all; what is no number is chosen last. */
static void choose(const tk_experts_job *job, size_t row) {
    const tk_experts *e = job->e;
    float *logits = job->logits + row * e->n, *weights = job->weights + row * e->top;
    uint32_t *chosen = job->chosen + row * e->top;
    double sum = 0, kept = 0;
    float most = -INFINITY;
    for (size_t i = 0; i < e->n; i++) most = fmaxf(most, logits[i]);
    for (size_t i = 0; i < e->n; i++) sum += exp((double)(logits[i] - most));
    for (size_t k = 0; k < e->top; k++) {
        size_t best = e->n;
        for (size_t i = 0; i < e->n; i++) {
            int taken = 0;
            for (size_t j = 0; j < k; j++) taken |= chosen[j] == i;
            if (!taken && (best == e->n || logits[i] > logits[best])) best = i;
        }
        TK_ASSERT(best < e->n);
        chosen[k] = (uint32_t)best;
        double share = exp((double)(logits[best] - most)) / sum;
        weights[k] = (float)share;
        kept += share;
    }
    for (size_t k = 0; e->renormalize && k < e->top; k++) weights[k] = (float)(weights[k] / kept);
}

/* Choices sorted by expert: counted, then placed. */
static void sort_choices(const tk_experts_job *job) {
    const size_t n = job->e->n, top = job->e->top;
    size_t *starts = job->starts;
    memset(starts, 0, (n + 1) * sizeof *starts);
    for (size_t i = 0; i < job->rows * top; i++) starts[job->chosen[i]]++;
    for (size_t i = 0, sum = 0; i <= n; i++) {
        size_t count = starts[i];
        starts[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < job->rows * top; i++)
        job->choices[starts[job->chosen[i]]++] = (tk_choice){i / top, job->weights[i]};
    /* Each start has moved to where the next one was. */
    memmove(starts + 1, starts, n * sizeof *starts);
    starts[0] = 0;
}

/* Adds row r of what an expert gave to y. */
static void add_row(const tk_experts_job *job, size_t r, tk_choice to) {
    float *y = job->y + to.row * job->dim;
    const float *out = job->out + r * job->dim_step;
    for (size_t i = 0; i < job->dim; i++) y[i] += to.weight * out[i];
}

static int routed(const tk_experts_job *job) {
    const tk_experts *e = job->e;
    if (tk_multiply(e->router, job->x, job->x_step, job->rows, job->logits, e->n, IDENTITY, NULL, job->isa,
                    job->threads))
        return TK_NO_MEMORY;
    for (size_t row = 0; row < job->rows; row++) choose(job, row);
    sort_choices(job);
    for (size_t i = 0; i < e->n; i++) {
        const tk_choice *choices = job->choices + job->starts[i];
        const size_t n = job->starts[i + 1] - job->starts[i];
        const float *x = job->x + (n ? choices->row : 0) * job->x_step;
        TK_ASSERT(n <= job->rows); /* no row goes to an expert twice */
        if (!n) continue;
        if (n > 1) {
            for (size_t r = 0; r < n; r++)
                memcpy(job->gathered + r * job->dim_step, job->x + choices[r].row * job->x_step,
                       job->dim * sizeof(float));
            x = job->gathered;
        }
        if (through(job, &e->experts[i], x, job->dim_step, n, e->hidden)) return TK_NO_MEMORY;
        for (size_t r = 0; r < n; r++) add_row(job, r, choices[r]);
    }
    return TK_OK;
}

static int shared(const tk_experts_job *job) {
    const tk_experts *e = job->e;
    float *gates = job->gathered; /* (rows), where there is a gate */
    if (through(job, &e->shared, job->x, job->x_step, job->rows, e->shared_hidden)) return TK_NO_MEMORY;
    if (e->shared_gate && tk_multiply(e->shared_gate, job->x, job->x_step, job->rows, gates, 1, IDENTITY, NULL,
                                      job->isa, job->threads))
        return TK_NO_MEMORY;
    for (size_t r = 0; r < job->rows; r++)
        add_row(job, r, (tk_choice){r, e->shared_gate ? 1 / (1 + expf(-gates[r])) : 1});
    return TK_OK;
}

int tk_experts_run(const tk_experts *e, const float *x, size_t x_step, size_t rows, float *y, size_t dim, int gated,
                   int activation, int isa, int threads) {
    tk_experts_job job = {.e = e, .x = x, .y = y, .x_step = x_step, .rows = rows, .dim = dim, .gated = gated,
                          .activation = activation, .isa = isa, .threads = threads};
    TK_ASSERT(e->top && e->top <= e->n && e->router->n == e->n && e->router->k == dim && threads > 0);
    TK_ASSERT(!e->shared_gate || (e->shared.up && e->shared_gate->n == 1));
    size_t hidden = e->shared.up && e->shared_hidden > e->hidden ? e->shared_hidden : e->hidden;
    job.wide_step = tk_padded(hidden * (gated ? 2 : 1)), job.dim_step = tk_padded(dim);
    float *room = tk_alloc(rows, (job.wide_step + 2 * job.dim_step + e->n + e->top) * sizeof(float));
    size_t *starts = tk_alloc(e->n + 1, sizeof *starts);
    tk_choice *choices = tk_alloc(rows, e->top * (sizeof *choices + sizeof *job.chosen));
    int status = TK_NO_MEMORY;
    if (room && starts && choices) {
        job.wide = room;
        job.gathered = job.wide + rows * job.wide_step;
        job.out = job.gathered + rows * job.dim_step;
        job.logits = job.out + rows * job.dim_step;
        job.weights = job.logits + rows * e->n;
        job.starts = starts, job.choices = choices;
        job.chosen = (uint32_t *)(choices + rows * e->top);
        status = routed(&job);
        if (!status && e->shared.up) status = shared(&job);
    }
    free(room);
    free(starts);
    free(choices);
    return status;
}
