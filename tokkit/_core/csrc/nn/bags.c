/* Divides the bags among threads: see bags.h. */
#include "nn/float_kernels.h"
#include "thread_team.h"

/* A part has at least so many bags: of sentences of 20 ids they take some 100 µs, against 20 µs for a thread. */
enum { PART_BAGS = 64 };

typedef struct {
    const tk_bag_work *w;
    tk_do_bags *run;
    size_t next;
} tk_bags_job;

static void work(void *job, int worker) {
    tk_bags_job *j = job;
    (void)worker;
    for (size_t from; (from = tk_team_next(&j->next) * PART_BAGS) < j->w->n;)
        j->run(j->w, from, j->w->n - from < PART_BAGS ? j->w->n : from + PART_BAGS);
}

void tk_bags_run(const tk_bag_work *w, int isa, int threads) {
    tk_bags_job job = {.w = w, .run = tk_float_kernels_of(isa)->bags};
    TK_ASSERT(threads > 0 && (!w->n || (w->table && w->starts && w->out && w->m)));
    for (size_t i = 0; i < w->n; i++) TK_ASSERT(w->starts[i] >= 0 && w->starts[i] <= w->starts[i + 1]);
    size_t parts = (w->n + PART_BAGS - 1) / PART_BAGS;
    if (w->n) tk_team_run(work, &job, (size_t)threads < parts ? threads : (int)parts);
}
