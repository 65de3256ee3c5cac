/* Divides the sentences among threads: see word2vec.h. */
#include "embed/word2vec.h"

#include "nn/float_kernels.h"
#include "thread_team.h"

/* Ids of a thread's turn, about: 3 ms of work, so that threads end a part at nearly the same time. */
enum { TURN_IDS = 1 << 11, PAD = 64 };

/* Frequent words, and nodes of the tree from the root on, that each of several threads copies. Fewer keep cores
   waiting, more do not fit into their caches: bench_word2vec. */
enum { OWN_ROWS = 1024 };

typedef struct {
    const tk_word2vec *w;
    const tk_word2vec_part *part;
    tk_do_word2vec *run;
    tk_word2vec_scratch *scratch;
    size_t each, next;
} train_job;

static void work(void *job, int worker) {
    train_job *j = job;
    const tk_word2vec_part *part = j->part;
    tk_word2vec_scratch *s = &j->scratch[worker];
    for (size_t from; (from = part->from + tk_team_next(&j->next) * j->each) < part->to;)
        j->run(j->w, part, from, part->to - from < j->each ? part->to : from + j->each, s);
    tk_own_rows_end(&s->out);
    tk_own_rows_end(&s->nodes);
}

static int get_scratch(tk_word2vec_scratch *s, const tk_word2vec *w, size_t longest, int threads) {
    s->words = tk_alloc(longest + 1, sizeof *s->words);
    s->targets = tk_alloc((TK_WORD2VEC_AHEAD + 1) * (w->negative + 1), sizeof *s->targets);
    s->rows = tk_alloc(longest + 1, sizeof *s->rows);
    s->hidden = tk_calloc(w->d + PAD, sizeof *s->hidden);
    s->step = tk_calloc(w->d + PAD, sizeof *s->step);
    if (!s->words || !s->targets || !s->rows || !s->hidden || !s->step) return TK_NO_MEMORY;
    size_t words = w->n_out < OWN_ROWS ? w->n_out : OWN_ROWS;
    size_t top = w->n_nodes < OWN_ROWS ? w->n_nodes : OWN_ROWS; /* the root is the last node */
    int status = tk_own_rows_make(&s->out, w->out, w->d, 0, words, threads);
    return status ? status : tk_own_rows_make(&s->nodes, w->nodes, w->d, w->n_nodes - top, top, threads);
}

int tk_word2vec_run(const tk_word2vec *w, tk_word2vec_part *part, int isa, int threads) {
    size_t n = part->to - part->from, longest = 0;
    if (part->to <= part->from) return TK_OK;
    for (size_t s = part->from; s < part->to; s++) {
        size_t words = (size_t)(w->ends[s] - (s ? w->ends[s - 1] : 0));
        if (words > longest) longest = words;
    }
    size_t ids = (size_t)(w->ends[part->to - 1] - (part->from ? w->ends[part->from - 1] : 0));
    train_job job = {.w = w, .part = part, .run = tk_float_kernels_of(isa)->word2vec, .each = n * TURN_IDS / ids + 1};
    size_t turns = (n + job.each - 1) / job.each;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    if ((size_t)threads > turns) threads = (int)turns;
    int status = TK_OK;
    job.scratch = tk_calloc((size_t)threads, sizeof *job.scratch);
    if (!job.scratch) return TK_NO_MEMORY;
    for (int t = 0; t < threads && !status; t++) status = get_scratch(&job.scratch[t], w, longest, threads);
    if (!status) tk_team_run(work, &job, threads);
    for (int t = 0; t < threads; t++) {
        tk_word2vec_scratch *s = &job.scratch[t];
        part->words += s->n_words;
        part->loss += s->loss;
        free(s->words);
        free(s->targets);
        free(s->rows);
        free(s->hidden);
        free(s->step);
        tk_own_rows_free(&s->out);
        tk_own_rows_free(&s->nodes);
    }
    free(job.scratch);
    return status;
}
