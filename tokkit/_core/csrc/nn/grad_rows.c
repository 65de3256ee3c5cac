/* Divides rows or columns among threads, in chunks, and adds the sums of chunks in order: see grad_rows.h. */
#include "nn/grad_kernels.h"
#include "thread_team.h"

/* A part has a multiple of so many columns, whole lines; and so many items are worth a thread (rows.c). */
enum { COLUMNS = 64, ITEMS = 1 << 16 };

typedef struct {
    const tk_grad_rows_work *w;
    tk_do_grad_rows *run;
    size_t n, each, next;
} tk_grad_rows_job;

static void work(void *job, int worker) {
    tk_grad_rows_job *j = job;
    (void)worker;
    for (size_t from; (from = tk_team_next(&j->next) * j->each) < j->n;)
        j->run(j->w, from, j->n - from < j->each ? j->n : from + j->each);
}

int tk_grad_rows_run(tk_grad_rows_work *w, int what, int isa, int threads) {
    tk_grad_rows_job job = {.w = w, .run = tk_grad_kernels_of(isa)->rows[what], .n = w->n, .each = TK_GRAD_CHUNK};
    const int norm = what == TK_LAYER_NORM_BACK || what == TK_RMS_NORM_BACK, batch = what == TK_BATCH_NORM_BACK;
    TK_ASSERT(what >= 0 && what < TK_GRAD_ROWS && threads > 0);
    if (!w->n || !w->m) return TK_OK;
    TK_ASSERT(!(norm || batch) || w->dweight);
    if (what >= TK_BY_COLUMNS) { /* columns are apart: how many are one part changes no sum */
        job.n = w->m;
        job.each = (w->m + (size_t)threads - 1) / (size_t)threads;
        job.each = (job.each + COLUMNS - 1) / COLUMNS * COLUMNS;
    }
    const size_t parts = (job.n + job.each - 1) / job.each;
    if (norm || batch) {
        w->partial = tk_calloc(batch ? 1 : parts, 2 * w->m * sizeof(float));
        if (!w->partial) return TK_NO_MEMORY;
    }
    size_t worth = 1 + w->n * w->m / ITEMS;
    if ((size_t)threads > worth) threads = (int)worth;
    tk_team_run(work, &job, (size_t)threads < parts ? threads : (int)parts);
    if (norm || batch) {
        for (size_t part = 0; part < (batch ? 1 : parts); part++) {
            const float *sums = w->partial + part * 2 * w->m;
            for (size_t i = 0; i < w->m; i++) w->dweight[i] += sums[i];
            for (size_t i = 0; i < w->m && w->dbias; i++) w->dbias[i] += sums[w->m + i];
        }
        free(w->partial);
    }
    return TK_OK;
}
