/* Divides the records among threads: see glove.h. */
#include "embed/glove.h"
#include "nn/float_kernels.h"
#include "thread_team.h"

enum { PART_RECORDS = 1 << 12 }; /* some ms, against 20 µs for a thread */

typedef struct {
    const tk_glove_work *w;
    tk_do_glove *run;
    size_t next;
    double loss[TK_TEAM_MOST];
} tk_glove_job;

static void work(void *job, int worker) {
    tk_glove_job *j = job;
    double loss = 0;
    for (size_t from; (from = tk_team_next(&j->next) * PART_RECORDS) < j->w->n;)
        loss += j->run(j->w, from, j->w->n - from < PART_RECORDS ? j->w->n : from + PART_RECORDS);
    j->loss[worker] = loss;
}

double tk_glove_run(const tk_glove_work *w, int isa, int threads) {
    tk_glove_job job = {.w = w, .run = tk_float_kernels_of(isa)->glove};
    double loss = 0;
    size_t parts = (w->n + PART_RECORDS - 1) / PART_RECORDS;
    TK_ASSERT(threads > 0 && w->n && w->step && w->step % 16 == 0 && w->records);
    TK_ASSERT((uintptr_t)w->words % 64 == 0 && (uintptr_t)w->contexts % 64 == 0);
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    if ((size_t)threads > parts) threads = (int)parts;
    tk_team_run(work, &job, threads);
    for (int i = 0; i < threads; i++) loss += job.loss[i];
    return loss;
}
