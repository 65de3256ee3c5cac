/* The loops of fasttext.h, with the vector operations of lanes_*.h. */
#ifndef TK_FASTTEXT_LOOPS_H
#define TK_FASTTEXT_LOOPS_H
#include "embed/fasttext.h"
#include "nn/rows_loops.h"

enum { ROWS_AT_ONCE = 4, REDRAWS = 8, FLOATS_A_LINE = 16, FETCHED_ROWS = 64 };

/* Probabilities below this count as this in losses, so that a product of VL of them is a double. */
static const float LEAST_PROBABILITY = 1e-15f;
static const double SMALL_PRODUCT = 1e-60;

TK_INLINE void fetch_row(const float *row, size_t dim) {
    for (size_t i = 0; i < dim; i += FLOATS_A_LINE) TK_PREFETCH(row + i);
}

TK_INLINE void add_rows(const float *matrix, size_t dim, const uint32_t *row, const int n, float *sum) {
    const float *x[ROWS_AT_ONCE];
    for (int r = 0; r < n; r++) x[r] = matrix + row[r] * dim;
    FOR_VECTORS(dim, {
        vf v = LOAD(sum);
        for (int r = 0; r < n; r++) v = v_add(v, LOAD(x[r]));
        STORE(sum, v);
    })
}

TK_INLINE void scale(float *x, size_t dim, float by) {
    FOR_VECTORS(dim, { STORE(x, v_mul(LOAD(x), v_set1(by))); })
}

static void mean_of_rows(const float *matrix, size_t dim, const uint32_t *rows, size_t n, float *mean) {
    size_t r = 0;
    memset(mean, 0, dim * sizeof *mean);
    for (; r + ROWS_AT_ONCE <= n; r += ROWS_AT_ONCE) {
        for (size_t next = r + ROWS_AT_ONCE; next < n && next < r + 2 * ROWS_AT_ONCE; next++)
            fetch_row(matrix + rows[next] * dim, dim);
        add_rows(matrix, dim, rows + r, ROWS_AT_ONCE, mean);
    }
    for (; r < n; r++) add_rows(matrix, dim, rows + r, 1, mean);
    if (n > 1) scale(mean, dim, 1.0f / (float)n);
}

/* A row that comes twice gains twice. */
static void add_to_rows(float *matrix, size_t dim, const uint32_t *rows, size_t n, const float *gain) {
    for (size_t r = 0; r < n; r++) {
        float *row = matrix + rows[r] * dim;
        FOR_VECTORS(dim, { STORE(row, v_add(LOAD(row), LOAD(gain))); })
    }
}

TK_INLINE void scores_of(const tk_fasttext *o, const uint32_t *targets, const float *hidden, float *scores,
                         const int n) {
    const float *x[ROWS_AT_ONCE];
    vf sum[ROWS_AT_ONCE];
    for (int r = 0; r < n; r++) x[r] = o->output + targets[r] * o->dim, sum[r] = v_set1(0);
    FOR_VECTORS(o->dim, {
        vf h = LOAD(hidden);
        for (int r = 0; r < n; r++) sum[r] = v_fma(LOAD(x[r]), h, sum[r]);
    })
    for (int r = 0; r < n; r++) scores[r] = v_sum(sum[r]);
}

/* grad += steps times the rows as they are, and each row += its step times hidden. The rows are different ones. */
TK_INLINE void step_rows(const tk_fasttext *o, const uint32_t *targets, const float *steps, const float *hidden,
                         float *grad, const int n) {
    float *x[ROWS_AT_ONCE];
    vf by[ROWS_AT_ONCE];
    for (int r = 0; r < n; r++) x[r] = o->output + targets[r] * o->dim, by[r] = v_set1(steps[r]);
    FOR_VECTORS(o->dim, {
        vf h = LOAD(hidden);
        vf g = LOAD(grad);
        for (int r = 0; r < n; r++) {
            vf row = LOAD(x[r]);
            g = v_fma(by[r], row, g);
            STORE(x[r], v_fma(by[r], h, row));
        }
        STORE(grad, g);
    })
}

#define IN_GROUPS(n, call)                                                                        \
    {                                                                                             \
        size_t t = 0;                                                                             \
        for (; t + ROWS_AT_ONCE <= (n); t += ROWS_AT_ONCE) call(ROWS_AT_ONCE);                    \
        for (; t + 2 <= (n); t += 2) call(2);                                                     \
        if (t < (n)) call(1);                                                                     \
    }

static void all_scores(const tk_fasttext *o, const uint32_t *targets, size_t n, const float *hidden, float *scores) {
#define CALL(rows) scores_of(o, targets + t, hidden, scores + t, rows)
    IN_GROUPS(n, CALL)
#undef CALL
}

static void all_steps(const tk_fasttext *o, const uint32_t *targets, size_t n, const float *steps, const float *hidden,
                      float *grad) {
#define CALL(rows) step_rows(o, targets + t, steps + t, hidden, grad, rows)
    IN_GROUPS(n, CALL)
#undef CALL
}

TK_INLINE void count_probability(tk_fasttext_worker *s, float p) {
    s->product *= p > LEAST_PROBABILITY ? p : LEAST_PROBABILITY;
    if (s->product < SMALL_PRODUCT) s->loss -= log(s->product), s->product = 1;
}

/* A step of logistic regressions: target t is to be s->wanted[t], 1 or 0. The targets from `from` on are different. */
static void logistic_steps(const tk_fasttext *o, tk_fasttext_worker *s, const uint32_t *targets, size_t from, size_t n,
                           float rate) {
    float *scores = s->scores + from, *wanted = s->wanted + from, likely[VL];
    all_scores(o, targets + from, n, s->hidden, scores);
    for (size_t t = 0; t < n; t += VL) { /* there is room after the last */
        vf p = v_activate(v_load(scores + t), TK_SIGMOID), want = v_load(wanted + t), missing = v_sub(want, p);
        v_store(scores + t, v_mul(v_set1(rate), missing));
        v_store(likely, v_sub(v_set1(1), v_max(missing, v_sub(v_set1(0), missing))));
        for (size_t k = 0; k < VL && t + k < n; k++) count_probability(s, likely[k]);
    }
    all_steps(o, targets + from, n, scores, s->hidden, s->grad);
}

static void negative_steps(const tk_fasttext *o, tk_fasttext_worker *s, uint32_t target, float rate) {
    size_t n = 1;
    int twice = 0;
    s->targets[0] = target, s->wanted[0] = 1;
    for (size_t k = 0; k < o->negative; k++) {
        uint32_t drawn = tk_negative(&o->negatives, &s->random);
        for (int tries = 0; drawn == target && tries < REDRAWS; tries++) drawn = tk_negative(&o->negatives, &s->random);
        if (drawn == target) continue;
        for (size_t t = 1; t < n; t++) twice |= s->targets[t] == drawn;
        TK_ASSERT(drawn < o->n_out && n <= o->negative);
        s->targets[n] = drawn, s->wanted[n++] = 0;
    }
    if (!twice) {
        logistic_steps(o, s, s->targets, 0, n, rate);
        return;
    }
    for (size_t t = 0; t < n; t++) logistic_steps(o, s, s->targets, t, 1, rate);
}

static void path_steps(const tk_fasttext *o, tk_fasttext_worker *s, uint32_t target, float rate) {
    int64_t from = target ? o->path_ends[target - 1] : 0;
    size_t n = (size_t)(o->path_ends[target] - from);
    for (size_t k = 0; k < n; k++) s->wanted[k] = o->path_turns[(size_t)from + k];
    logistic_steps(o, s, o->path_nodes + from, 0, n, rate);
}

static void softmax_steps(const tk_fasttext *o, tk_fasttext_worker *s, uint32_t target, float rate) {
    const tk_row_work one = {.x = s->scores, .y = s->scores, .n = 1, .m = o->n_out};
    all_scores(o, o->all, o->n_out, s->hidden, s->scores);
    rows_softmax(&one, 0, 1);
    count_probability(s, s->scores[target]);
    scale(s->scores, o->n_out, -rate);
    s->scores[target] += rate;
    all_steps(o, o->all, o->n_out, s->scores, s->hidden, s->grad);
}

/* One step towards a target, from s->hidden; s->grad gains what the hidden vector is to gain. */
TK_INLINE void steps_to(const tk_fasttext *o, tk_fasttext_worker *s, uint32_t target, float rate) {
    TK_ASSERT(target < o->n_out);
    switch (o->loss) {
    case TK_LOSS_NEGATIVE: negative_steps(o, s, target, rate); break;
    case TK_LOSS_HIERARCHICAL: path_steps(o, s, target, rate); break;
    default: softmax_steps(o, s, target, rate);
    }
    s->n += !o->next;
}

static void one_vs_all_steps(const tk_fasttext *o, tk_fasttext_worker *s, float rate) {
    const tk_row_list *labels = &s->line.labels;
    for (size_t t = 0; t < o->n_out; t++) s->wanted[t] = 0;
    for (size_t k = 0; k < labels->n; k++) {
        TK_ASSERT(labels->rows[k] < o->n_out);
        s->wanted[labels->rows[k]] = 1;
    }
    logistic_steps(o, s, o->all, 0, o->n_out, rate);
    s->n++;
}

TK_INLINE void fetch_rows(const tk_fasttext *o, const uint32_t *rows, size_t n) {
    for (size_t r = 0; r < n && r < FETCHED_ROWS; r++) fetch_row(o->input + rows[r] * o->dim, o->dim);
}

/* Make the rows of a line, which `s` will come to next, and begin to load them. */
TK_INLINE void make_next_line(const tk_classifier_work *w, size_t line, tk_fasttext_worker *s) {
    int64_t from = line ? w->ends[line - 1] : 0;
    s->status = tk_line_of_ids(&w->rows, w->ids + from, (size_t)(w->ends[line] - from), &s->next);
    if (!s->status) fetch_rows(&w->model, s->next.rows.rows, s->next.rows.n);
}

static void classify(const void *job, size_t first, size_t last, tk_fasttext_worker *s) {
    const tk_classifier_work *w = job;
    const tk_fasttext *o = &w->model;
    const tk_row_list *rows = &s->line.rows, *labels = &s->line.labels;
    if (first < last) make_next_line(w, first, s);
    for (size_t line = first; line < last && !s->status; line++) {
        tk_line next = s->line;
        s->line = s->next, s->next = next;
        if (line + 1 < last) make_next_line(w, line + 1, s);
        int64_t from = line ? w->ends[line - 1] : 0, seen = (w->begun + from) / w->rate_each * w->rate_each;
        float rate = w->lr * (float)(1 - (double)seen / (double)w->total);
        if (s->status || !rows->n || !labels->n) continue;
        s->random = tk_random_of(w->seed, line);
        mean_of_rows(o->input, o->dim, rows->rows, rows->n, s->hidden);
        memset(s->grad, 0, o->dim * sizeof *s->grad);
        if (o->loss == TK_LOSS_ONE_VS_ALL) one_vs_all_steps(o, s, rate);
        else steps_to(o, s, labels->rows[tk_random_below(&s->random, (uint32_t)labels->n)], rate);
        scale(s->grad, o->dim, 1.0f / (float)rows->n);
        add_to_rows(o->input, o->dim, rows->rows, rows->n, s->grad);
    }
}

TK_INLINE const uint32_t *rows_of_word(const tk_fasttext_work *w, uint32_t word, size_t *n) {
    int64_t from = word ? w->row_ends[word - 1] : 0;
    *n = (size_t)(w->row_ends[word] - from);
    return w->rows + from;
}

/* Word i predicts its neighbours. All rows of a word gain the same, so its mean is known without a look at them. */
static void skip_gram(const tk_fasttext_work *w, tk_fasttext_worker *s, size_t i, size_t from, size_t to, float rate) {
    const tk_fasttext *o = &w->model;
    const uint32_t *words = s->sentence;
    const vf gain = v_set1(w->gain[words[i]]);
    size_t n, n_next;
    const uint32_t *rows = rows_of_word(w, words[i], &n);
    mean_of_rows(o->input, o->dim, rows, n, s->hidden);
    if (i + 1 < to) {
        const uint32_t *next = rows_of_word(w, words[i + 1], &n_next);
        fetch_rows(o, next, n_next);
    }
    memset(s->total, 0, o->dim * sizeof *s->total);
    for (size_t j = from; j < to; j++) {
        if (j == i) continue;
        for (const tk_fasttext *each = o; each; each = each->next) {
            memset(s->grad, 0, o->dim * sizeof *s->grad);
            steps_to(each, s, words[j], rate);
            FOR_VECTORS(o->dim, {
                vf g = LOAD(s->grad);
                STORE(s->total, v_add(LOAD(s->total), g));
                STORE(s->hidden, v_fma(gain, g, LOAD(s->hidden)));
            })
        }
    }
    add_to_rows(o->input, o->dim, rows, n, s->total);
}

static void cbow(const tk_fasttext_work *w, tk_fasttext_worker *s, size_t i, size_t from, size_t to, float rate) {
    const tk_fasttext *o = &w->model;
    tk_row_list *all = &s->line.rows;
    all->n = 0;
    for (size_t j = from; j < to && !s->status; j++) {
        size_t n;
        const uint32_t *rows = rows_of_word(w, s->sentence[j], &n);
        if (j == i) continue;
        s->status = tk_reserve(&all->rows, &all->capacity, all->n + n, sizeof *rows);
        if (!s->status) memcpy(all->rows + all->n, rows, n * sizeof *rows), all->n += n;
    }
    if (s->status || !all->n) return;
    for (const tk_fasttext *each = o; each; each = each->next) {
        mean_of_rows(o->input, o->dim, all->rows, all->n, s->hidden);
        if (!w->mean) scale(s->hidden, o->dim, (float)all->n);
        memset(s->grad, 0, o->dim * sizeof *s->grad);
        steps_to(each, s, s->sentence[i], rate);
        if (!w->mean) scale(s->grad, o->dim, 1.0f / (float)all->n);
        add_to_rows(o->input, o->dim, all->rows, all->n, s->grad);
    }
}

static void train_words(const void *job, size_t first, size_t last, tk_fasttext_worker *s) {
    const tk_fasttext_work *w = job;
    for (size_t sentence = first; sentence < last && !s->status; sentence++) {
        int64_t from = sentence ? w->ends[sentence - 1] : 0, all = w->ends[sentence] - from;
        TK_ASSERT(all >= 0 && w->window);
        double falling = w->alpha - w->alpha_fall * (double)from;
        float rate = (float)(falling > w->min_alpha ? falling : w->min_alpha);
        size_t n = 0;
        s->random = tk_random_of(w->seed, sentence);
        s->status = tk_reserve(&s->sentence, &s->sentence_capacity, (size_t)all, sizeof *s->sentence);
        if (s->status) return;
        for (int64_t k = from; k < from + all; k++) {
            s->sentence[n] = w->ids[k];
            n += !w->keep || tk_random_next(&s->random) <= w->keep[w->ids[k]];
        }
        for (size_t i = 0; i < n && !s->status; i++) {
            size_t reach = w->shrink ? 1 + tk_random_below(&s->random, w->window) : w->window;
            size_t start = i > reach ? i - reach : 0, stop = n - i > reach ? i + reach + 1 : n;
            if (w->cbow) cbow(w, s, i, start, stop, rate);
            else skip_gram(w, s, i, start, stop, rate);
        }
    }
}

static void means_of_rows(const float *matrix, size_t dim, const uint32_t *rows, const int64_t *ends, size_t first,
                          size_t last, float *out) {
    for (size_t i = first; i < last; i++) {
        int64_t from = i ? ends[i - 1] : 0;
        TK_ASSERT(ends[i] >= from);
        mean_of_rows(matrix, dim, rows + from, (size_t)(ends[i] - from), out + i * dim);
    }
}

static const tk_fasttext_kernels fasttext = {classify, train_words, means_of_rows};
#endif
