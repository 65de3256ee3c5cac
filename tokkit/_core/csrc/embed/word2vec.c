/* Divides the sentences among threads: see word2vec.h. */
#include "embed/word2vec.h"

#include "nn/float_kernels.h"
#include "thread_team.h"

/* Ids of a thread's turn, about: 3 ms of work, so that threads end a part at nearly the same time. */
enum { TURN_IDS = 1 << 11, PAD = 64 };

/* Rows of the most frequent words, and of nodes from the root on, that a thread copies: fewer keep cores waiting, above
   all cores without a common cache. And steps of all other threads before a thread adds what its step has changed:
   so many, each of which does not see the others, do not overshoot at usual learning rates (0.025); of windows, whose
   words all change a row in one step, half as many. By bench_word2vec. */
enum { COPIED = 4096, UNSEEN = 64, UNSEEN_LEAST = 4 };

/* The words of a group that are drawn at a time differ between threads: negative samples are moved within their group,
   which means 2 % more or less for the words after the first 1,024, and less and less for others. A thread draws all
   words of a group in turns. Parts are many rows, because processors also fetch rows that follow. */
enum { DRAWN_BY_ALL = 1024, GROUP = 64, MOST_PARTS = 8 };

typedef struct {
    const tk_word2vec *w;
    const tk_word2vec_part *part;
    tk_do_word2vec *run;
    tk_word2vec_scratch *scratch;
    size_t each, turns, parts;
    uint8_t apart[TK_APART];
    size_t next;
} train_job;

static void work(void *job, int worker) {
    train_job *j = job;
    const tk_word2vec_part *part = j->part;
    tk_word2vec_scratch *s = &j->scratch[worker];
    tk_own_rows_begin(&s->in);
    tk_own_rows_begin(&s->out);
    tk_own_rows_begin(&s->nodes);
    for (size_t turn; (turn = tk_team_next(&j->next)) < j->turns;) {
        size_t from = part->from + turn * j->each;
        s->part = (uint32_t)(((size_t)worker + turn * j->parts / j->turns) % j->parts * (GROUP / j->parts));
        j->run(j->w, part, from, part->to - from < j->each ? part->to : from + j->each, s);
    }
    tk_own_rows_end(&s->in);
    tk_own_rows_end(&s->out);
    tk_own_rows_end(&s->nodes);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static int get_scratch(tk_word2vec_scratch *s, const tk_word2vec *w, size_t longest) {
    s->words = tk_alloc(longest + 1, sizeof *s->words);
    s->targets = tk_alloc((TK_WORD2VEC_AHEAD + 1) * (w->negative + 1), sizeof *s->targets);
    s->rows = tk_alloc(longest + 1, sizeof *s->rows);
    s->hidden = tk_calloc(w->d + PAD, sizeof *s->hidden);
    s->step = tk_calloc(w->d + PAD, sizeof *s->step);
    return s->words && s->targets && s->rows && s->hidden && s->step ? TK_OK : TK_NO_MEMORY;
}

/* The first thread changes the matrices themselves, but also copies the nodes, which are in all paths. */
static int get_copies(tk_word2vec_scratch *s, const tk_word2vec *w, int worker, int threads, size_t parts) {
    int several = w->copies && threads > 1, copies = several && worker;
    size_t in = copies ? least(COPIED, w->n) : 0, out = w->out ? in : 0;
    size_t nodes = several && w->nodes ? least(COPIED, w->n - 1) : 0; /* the root is the last one */
    size_t unseen = several ? UNSEEN / (w->batched ? 2 : 1) / (size_t)(threads - 1) : 0;
    s->add_after = UNSEEN_LEAST;
    s->most_after = unseen < UNSEEN_LEAST ? UNSEEN_LEAST : unseen;
    s->left = in || nodes ? s->add_after : SIZE_MAX;
    s->several = threads > 1;
    s->drawn_by_all = DRAWN_BY_ALL;
    s->part_mask = (uint32_t)((parts - 1) * (GROUP / parts));
    TK_ASSERT(parts && parts <= MOST_PARTS && !(parts & (parts - 1)) && GROUP % parts == 0);
    int status = tk_own_rows_make(&s->in, w->in, w->d, 0, in);
    if (!status) status = tk_own_rows_make(&s->out, w->out, w->d, 0, out);
    if (!status) status = tk_own_rows_make(&s->nodes, w->nodes, w->d, w->n - 1 - nodes, nodes);
    return status;
}

int tk_word2vec_run(const tk_word2vec *w, tk_word2vec_part *part, int isa, int threads) {
    size_t n = part->to - part->from, longest = 0;
    if (part->to <= part->from) return TK_OK;
    TK_ASSERT(threads > 0 && w->in && (w->out || w->nodes) && w->n && w->d && w->window && w->ids && w->ends);
    TK_ASSERT(!w->batched || (w->skip_gram && w->out && !w->nodes));
    TK_ASSERT(!w->out || !w->negative || (w->negatives.cumulated && w->negatives.guide));
    for (size_t s = part->from; s < part->to; s++) {
        TK_ASSERT(w->ends[s] >= (s ? w->ends[s - 1] : 0));
        size_t words = (size_t)(w->ends[s] - (s ? w->ends[s - 1] : 0));
        if (words > longest) longest = words;
    }
    size_t ids = (size_t)(w->ends[part->to - 1] - (part->from ? w->ends[part->from - 1] : 0));
    TK_ASSERT(ids); /* no sentence is empty */
    train_job job = {.w = w, .part = part, .run = tk_float_kernels_of(isa)->word2vec, .each = n * TURN_IDS / ids + 1};
    size_t turns = (n + job.each - 1) / job.each;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    if ((size_t)threads > turns) threads = (int)turns;
    job.turns = turns;
    for (job.parts = 1; w->parts && job.parts < (size_t)threads && job.parts < MOST_PARTS;) job.parts *= 2;
    int status = TK_OK;
    job.scratch = tk_calloc((size_t)threads, sizeof *job.scratch);
    if (!job.scratch) return TK_NO_MEMORY;
    for (int t = 0; t < threads && !status; t++) {
        status = get_scratch(&job.scratch[t], w, longest);
        if (!status) status = get_copies(&job.scratch[t], w, t, threads, job.parts);
    }
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
        tk_own_rows_free(&s->in);
        tk_own_rows_free(&s->out);
        tk_own_rows_free(&s->nodes);
    }
    free(job.scratch);
    return status;
}
