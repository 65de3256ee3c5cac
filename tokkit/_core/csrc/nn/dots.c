/* Divides the rows among threads: see dots.h. */
#include "nn/float_kernels.h"
#include "thread_team.h"

/* A part is about so many items, 1 MiB: 50 µs where memory gives 20 GB/s, against 20 µs for a thread. */
enum { PART_ITEMS = 1 << 18 };

typedef struct {
    const tk_dot_work *w;
    tk_do_dots *run;
    size_t each, next;
} tk_dots_job;

static void work(void *job, int worker) {
    tk_dots_job *j = job;
    (void)worker;
    for (size_t from; (from = tk_team_next(&j->next) * j->each) < j->w->n;)
        j->run(j->w, from, j->w->n - from < j->each ? j->w->n : from + j->each);
}

void tk_dots_run(const tk_dot_work *w, int isa, int threads) {
    tk_dots_job job = {.w = w, .run = tk_float_kernels_of(isa)->dots, .each = PART_ITEMS / (w->m + 1) + 1};
    if (!w->n || !w->n_queries) return;
    TK_ASSERT(threads > 0 && w->queries && w->scores && (w->x || !w->m));
    size_t parts = (w->n + job.each - 1) / job.each;
    tk_team_run(work, &job, (size_t)threads < parts ? threads : (int)parts);
}
