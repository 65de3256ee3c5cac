/* Divides the rows among threads: see rows.h. */
#include "nn/float_kernels.h"
#include "thread_team.h"

/* A part is at least so many items: some 10 µs of work, against 20 for a thread. */
enum { PART_ITEMS = 1 << 16 };

typedef struct {
    const tk_row_work *w;
    tk_do_rows *run;
    size_t each, next;
} tk_rows_job;

static void work(void *job, int worker) {
    tk_rows_job *j = job;
    (void)worker;
    for (size_t from; (from = tk_team_next(&j->next) * j->each) < j->w->n;)
        j->run(j->w, from, j->w->n - from < j->each ? j->w->n : from + j->each);
}

void tk_rows_run(const tk_row_work *w, int what, int isa, int threads) {
    tk_rows_job job = {.w = w, .run = tk_float_kernels_of(isa)->rows[what], .each = PART_ITEMS / (w->m + 1) + 1};
    TK_ASSERT(what >= 0 && what < TK_ROW_KERNELS && threads > 0);
    if (!w->n || !w->m) return;
    TK_ASSERT(w->x && w->y && ((what != TK_ROTATE && what != TK_ROTATE_PAIRS) || 2 * w->half <= w->m));
    TK_ASSERT((what != TK_GATE || w->other) && (what != TK_GATHER || w->ids));
    size_t parts = (w->n + job.each - 1) / job.each;
    tk_team_run(work, &job, (size_t)threads < parts ? threads : (int)parts);
}
