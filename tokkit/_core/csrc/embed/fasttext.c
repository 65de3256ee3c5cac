/* Runs the training of fasttext.h in threads, each with its own scratch memory. */
#include <math.h>
#include "nn/float_kernels.h"
#include "thread_team.h"

/* Lines that a thread takes at once, and means. */
enum { LINES_AT_ONCE = 32, MEANS_AT_ONCE = 256, LANES = 16 };

typedef struct {
    const void *work;
    tk_fasttext_run *run;
    tk_fasttext_worker *workers;
    size_t next, first, end;
} tk_fasttext_job;

static void free_worker(tk_fasttext_worker *s) {
    free(s->hidden);
    free(s->grad);
    free(s->total);
    free(s->scores);
    free(s->wanted);
    free(s->targets);
    free(s->sentence);
    tk_line_free(&s->line);
    tk_line_free(&s->next);
}

/* Whether a model has what its loss reads. */
static inline int is_sound(const tk_fasttext *o) {
    if (!o->input || !o->output || !o->dim || !o->n_out) return 0;
    if (o->loss == TK_LOSS_NEGATIVE) return o->negatives.cumulated && o->negatives.guide;
    if (o->loss == TK_LOSS_SOFTMAX || o->loss == TK_LOSS_ONE_VS_ALL) return o->all != NULL;
    return o->loss == TK_LOSS_HIERARCHICAL && o->path_ends && o->path_nodes && o->path_turns;
}

static inline int are_sound(const tk_fasttext *o) {
    for (const tk_fasttext *each = o; each; each = each->next)
        if (!is_sound(each) || each->dim != o->dim) return 0;
    return 1;
}

/* Of one step, at most. */
static size_t most_targets(const tk_fasttext *o) {
    size_t most = 0;
    if (o->loss == TK_LOSS_NEGATIVE) return o->negative + 1;
    if (o->loss != TK_LOSS_HIERARCHICAL) return o->n_out;
    for (size_t i = 0; i < o->n_out; i++) {
        size_t n = (size_t)(o->path_ends[i] - (i ? o->path_ends[i - 1] : 0));
        most = n > most ? n : most;
    }
    return most;
}

static int make_worker(const tk_fasttext *o, tk_fasttext_worker *s) {
    size_t targets = 0;
    for (const tk_fasttext *each = o; each; each = each->next) {
        size_t n = most_targets(each);
        targets = n > targets ? n : targets;
    }
    s->hidden = tk_calloc(o->dim, sizeof *s->hidden);
    s->grad = tk_calloc(o->dim, sizeof *s->grad);
    s->total = tk_calloc(o->dim, sizeof *s->total);
    s->scores = tk_calloc(targets + LANES, sizeof *s->scores);
    s->wanted = tk_calloc(targets + LANES, sizeof *s->wanted);
    s->targets = tk_calloc(targets + LANES, sizeof *s->targets);
    s->product = 1;
    return s->hidden && s->grad && s->total && s->scores && s->wanted && s->targets ? TK_OK : TK_NO_MEMORY;
}

static void work(void *job, int worker) {
    tk_fasttext_job *j = job;
    for (size_t from; (from = j->first + tk_team_next(&j->next) * LINES_AT_ONCE) < j->end;)
        j->run(j->work, from, j->end - from < LINES_AT_ONCE ? j->end : from + LINES_AT_ONCE, &j->workers[worker]);
}

static int train(const tk_fasttext *o, tk_fasttext_job job, int threads, double *loss, int64_t *count) {
    int status = TK_OK;
    TK_ASSERT(threads > 0 && threads <= TK_TEAM_MOST && job.first <= job.end);
    TK_ASSERT(are_sound(o));
    job.workers = tk_calloc((size_t)threads, sizeof *job.workers);
    if (!job.workers) return TK_NO_MEMORY;
    for (int t = 0; t < threads && !status; t++) status = make_worker(o, &job.workers[t]);
    if (!status) tk_team_run(work, &job, threads);
    for (int t = 0; t < threads; t++) {
        tk_fasttext_worker *s = &job.workers[t];
        if (!status) status = s->status;
        if (s->product > 0) *loss += s->loss - log(s->product);
        *count += s->n;
        free_worker(s);
    }
    free(job.workers);
    return status;
}

int tk_classifier_train(const tk_classifier_work *w, size_t first, size_t n, int isa, int threads, double *loss,
                        int64_t *count) {
    tk_fasttext_job job = {w, tk_float_kernels_of(isa)->fasttext->classify, NULL, 0, first, first + n};
    return train(&w->model, job, threads, loss, count);
}

int tk_fasttext_train(const tk_fasttext_work *w, size_t first, size_t n, int isa, int threads, double *loss,
                      int64_t *count) {
    tk_fasttext_job job = {w, tk_float_kernels_of(isa)->fasttext->words, NULL, 0, first, first + n};
    return train(&w->model, job, threads, loss, count);
}

typedef struct {
    const float *matrix;
    size_t dim;
    const uint32_t *rows;
    const int64_t *ends;
    size_t n, next;
    float *out;
    const tk_fasttext_kernels *kernels;
} tk_means_job;

static void some_means(void *job, int worker) {
    tk_means_job *j = job;
    (void)worker;
    for (size_t from; (from = tk_team_next(&j->next) * MEANS_AT_ONCE) < j->n;) {
        size_t to = j->n - from < MEANS_AT_ONCE ? j->n : from + MEANS_AT_ONCE;
        j->kernels->means(j->matrix, j->dim, j->rows, j->ends, from, to, j->out);
    }
}

void tk_fasttext_means(const float *matrix, size_t dim, const uint32_t *rows, const int64_t *ends, size_t n, float *out,
                       int isa, int threads) {
    tk_means_job job = {matrix, dim, rows, ends, n, 0, out, tk_float_kernels_of(isa)->fasttext};
    size_t parts = n / MEANS_AT_ONCE + 1;
    TK_ASSERT(threads > 0 && dim && (!n || (matrix && ends && out)));
    tk_team_run(some_means, &job, (size_t)threads < parts ? threads : (int)parts);
}
