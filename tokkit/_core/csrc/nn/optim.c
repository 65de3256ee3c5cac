/* Divides the array among threads, in chunks: see optim.h. */
#include "nn/grad_kernels.h"
#include "thread_team.h"

typedef struct {
    const tk_optim_work *w;
    tk_do_optim *run;
    size_t next;
} tk_optim_job;

static void work(void *job, int worker) {
    tk_optim_job *j = job;
    (void)worker;
    for (size_t from; (from = tk_team_next(&j->next) * TK_OPTIM_CHUNK) < j->w->n;)
        j->run(j->w, from, j->w->n - from < TK_OPTIM_CHUNK ? j->w->n : from + TK_OPTIM_CHUNK);
}

void tk_optim_run(const tk_optim_work *w, int what, int isa, int threads) {
    tk_optim_job job = {.w = w, .run = tk_grad_kernels_of(isa)->optim[what]};
    TK_ASSERT(what >= 0 && what < TK_OPTIM_KERNELS && threads > 0);
    TK_ASSERT(what != TK_ADAMW || !w->n || (w->p && w->g && w->m && w->v));
    size_t worth = 1 + w->n / (8 * TK_OPTIM_CHUNK);
    if (w->n) tk_team_run(work, &job, (size_t)threads < worth ? threads : (int)worth);
}

int tk_sum_of_squares(const float *g, size_t n, double *sum, int isa, int threads) {
    size_t chunks = (n + TK_OPTIM_CHUNK - 1) / TK_OPTIM_CHUNK;
    tk_optim_work w = {.g = g, .n = n, .sums = tk_alloc(chunks, sizeof(double))};
    if (!w.sums) return TK_NO_MEMORY;
    tk_optim_run(&w, TK_SQUARES, isa, threads);
    *sum = 0;
    for (size_t i = 0; i < chunks; i++) *sum += w.sums[i];
    free(w.sums);
    return TK_OK;
}
