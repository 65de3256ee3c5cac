/* The loops of word2vec.h, with the vector operations of lanes_*.h. */
#ifndef TK_WORD2VEC_LOOPS_H
#define TK_WORD2VEC_LOOPS_H
#include "embed/logistic_loops.h"
#include "embed/word2vec.h"

/* What one step trains: the word at `centre` from one word of its window (skip-gram), or from all of them. */
typedef struct {
    size_t centre, from, to; /* places in the sentence */
    float **targets;         /* rows of the word at `centre` and of the negative samples */
    size_t n_targets;
    int distinct; /* no target twice */
    int add;      /* afterwards, what has changed in copies of its rows is added to the matrices */
    float alpha;
} word2vec_step;

typedef struct {
    const tk_word2vec *w;
    tk_word2vec_scratch *s;
    tk_random random;
    double *loss; /* NULL: it is not asked for */
} word2vec_run;

TK_INLINE void prefetch_row(const float *row, size_t d) {
    for (size_t i = 0; i < d; i += TK_LINE_FLOATS) TK_PREFETCH_WRITE(row + i);
}

static const float first_signs[LOGISTIC_LANES] = {1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
static const float later_signs[LOGISTIC_LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* With several threads a negative sample is a word of about the same count that others do not change at this time. The
   row of the word itself has been asked for before. */
TK_INLINE void draw_targets(word2vec_run *run, word2vec_step *step, const int several) {
    const tk_word2vec *w = run->w;
    const tk_word2vec_scratch *s = run->s;
    const tk_own_rows out = several ? s->out : (tk_own_rows){.matrix = w->out, .d = w->d};
    const uint32_t mask = s->part_mask, part = s->part;
    float **targets = step->targets, *word = tk_row(&out, s->words[step->centre]);
    size_t n = 1;
    step->distinct = 1;
    targets[0] = word;
    for (size_t k = 0; k < w->negative; k++) {
        uint32_t drawn = tk_negative(&w->negatives, &run->random);
        if (several && mask) {
            uint32_t moved = (drawn & ~mask) | part, change = drawn ^ moved;
            size_t is_moved = tk_unforeseen((drawn >= s->drawn_by_all) & (moved < w->n));
            drawn ^= change & (0 - (uint32_t)is_moved);
        }
        TK_ASSERT(drawn < w->n && n <= w->negative);
        float *other = tk_row(&out, drawn);
        if (TK_UNLIKELY(other == word)) continue;
        for (size_t i = 1; i < n; i++) step->distinct &= targets[i] != other;
        targets[n++] = other;
        prefetch_row(other, w->d);
    }
    step->n_targets = n;
}

/* Learn a word's targets from x, and add to x what it changes by; `step` is another array of d, which is added to
   instead, or NULL. */
TK_INLINE void learn_targets(word2vec_run *run, const word2vec_step *now, float *x, float *step) {
    const tk_word2vec *w = run->w;
    size_t each = TK_LIKELY(now->distinct) ? LOGISTIC_ROWS : 1; /* a row that comes again has changed before */
    int apart = !step && now->n_targets > each;
    float *to = step ? step : apart ? run->s->step : x;
    logistic_group g;
    if (apart) memset(to, 0, w->d * sizeof *to);
    for (size_t from = 0; from < now->n_targets; from += each) {
        size_t n = now->n_targets - from < each ? now->n_targets - from : each;
        memcpy(g.signs, from ? later_signs : first_signs, sizeof g.signs);
        for (size_t t = 0; t < n; t++) g.rows[t] = now->targets[from + t];
        logistic_step(n, x, &g, w->d, now->alpha, to, run->loss);
    }
    if (apart) add_to(x, to, w->d);
}

/* The same for the turns of a word's path. */
TK_INLINE void learn_path(word2vec_run *run, const word2vec_step *now, float *x, float *step) {
    const tk_word2vec *w = run->w;
    uint32_t word = run->s->words[now->centre];
    size_t begin = word ? (size_t)w->path_ends[word - 1] : 0, end = (size_t)w->path_ends[word];
    int apart = !step && end - begin > LOGISTIC_ROWS;
    TK_ASSERT(word < w->n && begin <= end);
    float *to = step ? step : apart ? run->s->step : x;
    const tk_own_rows nodes = run->s->nodes;
    logistic_group g = {.signs = {0}};
    if (apart) memset(to, 0, w->d * sizeof *to);
    for (size_t from = begin; from < end; from += LOGISTIC_ROWS) {
        size_t n = end - from < LOGISTIC_ROWS ? end - from : LOGISTIC_ROWS;
        for (size_t t = 0; t < n; t++) {
            g.rows[t] = tk_row(&nodes, w->path_nodes[from + t]);
            g.signs[t] = 1.0f - 2.0f * (float)w->path_turns[from + t];
        }
        logistic_step(n, x, &g, w->d, now->alpha, to, run->loss);
    }
    if (apart) add_to(x, to, w->d);
}

static void learn_pair(word2vec_run *run, const word2vec_step *step) {
    const tk_word2vec *w = run->w;
    const tk_own_rows in = run->s->in;
    float *x = tk_row(&in, run->s->words[step->from]);
    if (w->nodes) learn_path(run, step, x, NULL);
    if (w->out) learn_targets(run, step, x, NULL);
}

static void learn_cbow(word2vec_run *run, const word2vec_step *step) {
    const tk_word2vec *w = run->w;
    tk_word2vec_scratch *s = run->s;
    TK_ASSERT(step->from <= step->centre && step->centre < step->to && step->to - step->from > 1);
    const float by = 1.0f / (float)(step->to - step->from - 1);
    const tk_own_rows in = s->in;
    float **rows = s->rows;
    size_t n = 0;
    for (size_t j = step->from; j < step->to; j++)
        if (j != step->centre) rows[n++] = tk_row(&in, s->words[j]);
    for (int objective = 0; objective < 2; objective++) {
        if (!(objective ? w->out : w->nodes)) continue;
        sum_rows(s->hidden, rows, n, w->mean ? by : 1.0f, w->d);
        memset(s->step, 0, w->d * sizeof *s->step);
        if (objective)
            learn_targets(run, step, s->hidden, s->step);
        else
            learn_path(run, step, s->hidden, s->step);
        if (!w->mean) scale_by(s->step, by, w->d);
        for (size_t j = 0; j < n; j++) add_to(rows[j], s->step, w->d);
    }
}

#include "embed/word2vec_batched.h"

/* Add what has changed in the copies of a step's rows to the matrices; or, before the step, ask for these. */
TK_INLINE void each_copy(const word2vec_run *run, const word2vec_step *step, const int add) {
    const tk_word2vec *w = run->w;
    const tk_word2vec_scratch *s = run->s;
    uint32_t word = s->words[step->centre];
    for (size_t j = step->from; j < step->to; j++) {
        float *row = tk_row(&s->in, s->words[j]);
        if (j != step->centre) add ? tk_own_row_add(&s->in, row) : tk_own_row_prefetch(&s->in, row);
    }
    for (size_t t = 0; w->out && t < step->n_targets; t++)
        add ? tk_own_row_add(&s->out, step->targets[t]) : tk_own_row_prefetch(&s->out, step->targets[t]);
    for (int64_t k = w->nodes && word ? w->path_ends[word - 1] : 0; w->nodes && k < w->path_ends[word]; k++) {
        float *node = tk_row(&s->nodes, w->path_nodes[k]);
        add ? tk_own_row_add(&s->nodes, node) : tk_own_row_prefetch(&s->nodes, node);
    }
}
static TK_NOINLINE void add_copies(const word2vec_run *run, const word2vec_step *step) { each_copy(run, step, 1); }
static TK_NOINLINE void plan_to_add(word2vec_run *run, word2vec_step *step) {
    run->s->left = run->s->add_after;
    run->s->add_after += run->s->add_after < run->s->most_after;
    step->add = 1;
    each_copy(run, step, 0);
}

/* Rows of a word that comes into windows next, and is trained itself soon. */
TK_INLINE void prefetch_word(const word2vec_run *run, uint32_t word) {
    const tk_word2vec *w = run->w;
    prefetch_row(tk_row(&run->s->in, word), w->d);
    if (w->out) prefetch_row(tk_row(&run->s->out, word), w->d);
    if (w->nodes)
        for (int64_t k = word ? w->path_ends[word - 1] : 0; k < w->path_ends[word]; k++)
            prefetch_row(tk_row(&run->s->nodes, w->path_nodes[k]), w->d);
}

/* The steps of a sentence; each is drawn, and its rows asked for, TK_WORD2VEC_AHEAD steps before its turn. */
typedef void learn_step(word2vec_run *run, const word2vec_step *step);

TK_INLINE void learn_and_add(word2vec_run *run, const word2vec_step *step, learn_step *learn, const int several) {
    learn(run, step);
    if (several && TK_UNLIKELY(step->add)) add_copies(run, step);
}

TK_INLINE void learn_sentence(word2vec_run *run, size_t n, float alpha, learn_step *learn, const int pairs,
                              const int several) {
    const tk_word2vec *w = run->w;
    const uint32_t *words = run->s->words;
    enum { STEPS = TK_WORD2VEC_AHEAD + 1 };
    word2vec_step steps[STEPS];
    size_t drawn = 0;
    for (size_t i = 0; i < STEPS; i++)
        steps[i] = (word2vec_step){.targets = run->s->targets + i * (w->negative + 1), .alpha = alpha};
    for (size_t k = 0; k < n && k <= w->window; k++) prefetch_word(run, words[k]);
    for (size_t i = 0; i < n; i++) {
        if (n - i > w->window + 1) prefetch_word(run, words[i + w->window + 1]);
        size_t reach = w->shrink ? 1 + tk_random_below(&run->random, w->window) : w->window;
        size_t from = i > reach ? i - reach : 0, to = n - i > reach ? i + reach + 1 : n;
        for (size_t j = from; j < to; j++) {
            if (pairs && j == i) continue;
            word2vec_step *step = &steps[drawn++ % STEPS];
            step->centre = i;
            step->from = pairs ? j : from;
            step->to = pairs ? j + 1 : to;
            if (w->out) draw_targets(run, step, several);
            step->add = 0;
            if (several && TK_UNLIKELY(!--run->s->left)) plan_to_add(run, step);
            if (drawn > TK_WORD2VEC_AHEAD) learn_and_add(run, &steps[drawn % STEPS], learn, several);
            if (!pairs) break;
        }
    }
    for (size_t k = drawn > TK_WORD2VEC_AHEAD ? drawn - TK_WORD2VEC_AHEAD : 0; k < drawn; k++)
        learn_and_add(run, &steps[k % STEPS], learn, several);
}

TK_INLINE void learn_part(const tk_word2vec *w, const tk_word2vec_part *part, size_t from, size_t to,
                          tk_word2vec_scratch *scratch, const int several) {
    word2vec_run run = {.w = w, .s = scratch, .loss = w->losses ? &scratch->loss : NULL};
    for (size_t s = from; s < to; s++) {
        size_t begin = s ? (size_t)w->ends[s - 1] : 0, end = (size_t)w->ends[s], n = 0;
        double alpha = part->alpha - part->alpha_fall * (double)begin;
        run.random = tk_random_of(w->seed + part->epoch * UINT64_C(0x9E3779B97F4A7C15), s);
        for (size_t i = begin; i < end; i++) {
            scratch->words[n] = w->ids[i];
            TK_ASSERT(w->ids[i] < w->n);
            n += !w->keep || w->keep[w->ids[i]] >= tk_random_next(&run.random);
        }
        scratch->n_words += n;
        if (n < 2) continue;
        if (alpha < part->min_alpha) alpha = part->min_alpha;
        if (w->batched)
            learn_sentence(&run, n, (float)alpha, learn_window, 0, several);
        else if (w->skip_gram)
            learn_sentence(&run, n, (float)alpha, learn_pair, 1, several);
        else
            learn_sentence(&run, n, (float)alpha, learn_cbow, 0, several);
    }
}

static void word2vec(const tk_word2vec *w, const tk_word2vec_part *part, size_t from, size_t to,
                     tk_word2vec_scratch *scratch) {
    if (scratch->several)
        learn_part(w, part, from, to, scratch, 1);
    else
        learn_part(w, part, from, to, scratch, 0);
}
#endif
