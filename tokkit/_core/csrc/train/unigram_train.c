/* Computes expected counts and losses of pieces over the edges of all units: see unigram_train.h. */
#include "train/unigram_train.h"

#include <math.h>

static const double LN_2 = 0.69314718055994530942;

/* Probabilities of long units would be less than any double: whatever falls below 2^-STEP is held 2^STEP times as
   great, and how often that was done is kept beside it. */
enum { STEP = 256, MOST_STEPS = 3 };
#define LEAST 0x1p-256
#define GREATER 0x1p256

void tk_unigram_trainer_set(tk_unigram_trainer *t, const double *probabilities) {
    for (size_t i = 0; i < t->n_pieces; i++) {
        TK_ASSERT(probabilities[i] > 0 && probabilities[i] <= 1);
        t->probabilities[i] = probabilities[i];
        t->logs[i] = log(probabilities[i]);
    }
}

int tk_unigram_trainer_keep(tk_unigram_trainer *t, const uint8_t *kept) {
    uint32_t *numbers = tk_alloc(t->n_pieces, sizeof *numbers);
    if (!numbers) return TK_NO_MEMORY;
    uint32_t n = 0;
    for (size_t i = 0; i < t->n_pieces; i++) {
        numbers[i] = kept[i] ? n : UINT32_MAX;
        if (!kept[i]) continue;
        t->at[n] = t->at[i];
        t->widths[n] = t->widths[i];
        t->occurrences[n] = t->occurrences[i];
        t->probabilities[n] = t->probabilities[i];
        t->logs[n++] = t->logs[i];
    }
    t->n_pieces = n;
    uint32_t edge = 0, made = 0;
    for (size_t i = 0; i < t->text.n; i++) {
        for (uint32_t end = t->first[i + 1], k = edge; k < end; k++) {
            t->edges[made] = numbers[t->edges[k]];
            t->lengths[made] = t->lengths[k];
            made += t->edges[made] != UINT32_MAX;
        }
        edge = t->first[i + 1];
        t->first[i + 1] = made;
    }
    TK_ASSERT(n && made <= t->n_edges);
    t->n_edges = made;
    free(numbers);
    return TK_OK;
}

typedef struct {
    double *forward, *backward;
    int32_t *steps; /* of `forward` */
} tables;

/* The probability of all segmentations, and of each beginning of the unit: in units of 2^-STEP * *steps. */
static double run_forward(const tk_unigram_trainer *t, uint32_t start, size_t n, tables b, int32_t *steps) {
    int32_t step = 0;
    TK_ASSERT(n && n <= t->longest && start + n < t->text.n);
    memset(b.forward, 0, (n + 1) * sizeof *b.forward);
    b.forward[0] = 1;
    for (size_t i = 0; i < n; i++) {
        double before = b.forward[i];
        if (TK_UNLIKELY(before < LEAST && before > 0)) {
            size_t end = n - i < t->text.depth ? n : i + t->text.depth;
            for (size_t k = i; k <= end; k++) b.forward[k] *= GREATER;
            before = b.forward[i];
            step++;
        }
        b.steps[i] = step;
        for (uint32_t k = t->first[start + i], end = t->first[start + i + 1]; k < end; k++) {
            TK_ASSERT(t->edges[k] < t->n_pieces && t->lengths[k] && t->lengths[k] <= n - i);
            b.forward[i + t->lengths[k]] += before * t->probabilities[t->edges[k]];
        }
    }
    *steps = step;
    return b.forward[n];
}

static void run_backward(const tk_unigram_trainer *t, uint32_t start, size_t n, tables b, double weight,
                         int32_t steps, int64_t *expected) {
    int32_t step = 0;
    b.backward[n] = 1;
    for (size_t i = n; i-- > 0;) {
        int32_t more = steps - b.steps[i] - step;
        double sum = 0, factor = weight * b.forward[i];
        if (TK_UNLIKELY(more)) factor *= ldexp(1.0, STEP * (more > MOST_STEPS ? MOST_STEPS : more));
        for (uint32_t k = t->first[start + i], end = t->first[start + i + 1]; k < end; k++) {
            double part = t->probabilities[t->edges[k]] * b.backward[i + t->lengths[k]];
            sum += part;
            expected[t->edges[k]] += (int64_t)(part * factor + 0.5);
        }
        b.backward[i] = sum;
        if (TK_UNLIKELY(sum < LEAST && sum > 0)) {
            size_t end = n - i < t->text.depth ? n : i + t->text.depth;
            for (size_t k = i; k <= end; k++) b.backward[k] *= GREATER;
            step++;
        }
    }
}

int tk_unigram_trainer_expect(const tk_unigram_trainer *t, size_t from, size_t after, int64_t *expected,
                              tk_unigram_sums *sums) {
    TK_ASSERT(from <= after && after <= t->n_units && expected && sums);
    tables b = {tk_alloc(t->longest + 1, sizeof(double)), tk_alloc(t->longest + 1, sizeof(double)),
                tk_alloc(t->longest + 1, sizeof(int32_t))};
    int status = b.forward && b.backward && b.steps ? TK_OK : TK_NO_MEMORY;
    double scale = ldexp(1.0, t->scale), log_scale = ldexp(1.0, t->log_scale);
    for (size_t u = from; u < after && !status; u++) {
        uint32_t start = t->starts[u];
        size_t n = t->starts[u + 1] - start - 1;
        int32_t steps;
        tk_work += t->first[start + n] - t->first[start];
        double all = run_forward(t, start, n, b, &steps), count = (double)t->counts[u];
        if (!(all > 0)) {
            sums->n_failed++;
            continue;
        }
        sums->log_likelihood += (int64_t)floor(count * (log(all) - STEP * LN_2 * steps) * log_scale + 0.5);
        run_backward(t, start, n, b, count * scale / all, steps, expected);
    }
    free(b.forward);
    free(b.backward);
    free(b.steps);
    return status;
}

/* ---- pruning ---- */

typedef struct {
    double *best;    /* log-probability of the best segmentation as far as here */
    uint32_t *edges; /* by which it came */
} path;

/* The best segmentation of a piece without itself; its log-probability is -INFINITY where there is none. */
static double best_other(const tk_unigram_trainer *t, size_t piece, path p) {
    size_t n = t->widths[piece];
    TK_ASSERT(n && n <= t->text.depth && t->at[piece] + n < t->text.n);
    for (size_t i = 0; i <= n; i++) p.best[i] = -INFINITY;
    p.best[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *first = t->first + t->at[piece] + i;
        if (p.best[i] == -INFINITY) continue;
        for (uint32_t k = first[0]; k < first[1] && i + t->lengths[k] <= n; k++) {
            double score = p.best[i] + t->logs[t->edges[k]];
            size_t end = i + t->lengths[k];
            if (t->edges[k] == piece || score <= p.best[end]) continue;
            p.best[end] = score;
            p.edges[end] = k;
        }
    }
    return p.best[n];
}

int tk_unigram_trainer_losses(const tk_unigram_trainer *t, size_t from, size_t after, tk_unigram_loss by,
                              double *losses) {
    TK_ASSERT(from <= after && after <= t->n_pieces && by.expected && losses);
    path p = {tk_alloc((size_t)t->text.depth + 1, sizeof(double)), tk_alloc((size_t)t->text.depth + 1, 4)};
    int status = p.best && p.edges ? TK_OK : TK_NO_MEMORY;
    for (size_t i = from; i < after && !status; i++) {
        const double *expected = by.expected;
        double best = best_other(t, i, p);
        losses[i] = INFINITY;
        if (best == -INFINITY || (by.keep_divided && best > t->logs[i])) continue;
        /* All counts of the piece go to those that stand for it then. */
        double other = 0, n_parts = 0;
        for (size_t end = t->widths[i]; end; end -= t->lengths[p.edges[end]], n_parts++)
            other += log(expected[t->edges[p.edges[end]]] + expected[i]);
        other -= n_parts * log(by.total + expected[i] * (n_parts - 1));
        losses[i] = expected[i] * (log(expected[i]) - log(by.total) - other + by.token_cost * (n_parts - 1));
    }
    free(p.best);
    free(p.edges);
    return status;
}

/* ---- best segmentations ---- */

int tk_unigram_trainer_best(const tk_unigram_trainer *t, size_t from, size_t after, int64_t *counts) {
    TK_ASSERT(from <= after && after <= t->n_units && counts);
    path p = {tk_alloc(t->longest + 1, sizeof(double)), tk_alloc(t->longest + 1, 4)};
    int status = p.best && p.edges ? TK_OK : TK_NO_MEMORY;
    for (size_t u = from; u < after && !status; u++) {
        const uint32_t *first = t->first + t->starts[u];
        size_t n = t->starts[u + 1] - t->starts[u] - 1;
        tk_work += first[n] - first[0];
        for (size_t i = 1; i <= n; i++) p.best[i] = -INFINITY;
        p.best[0] = 0;
        for (size_t i = 0; i < n; i++) {
            for (uint32_t k = first[i]; k < first[i + 1]; k++) {
                double score = p.best[i] + t->logs[t->edges[k]];
                size_t end = i + t->lengths[k];
                if (score <= p.best[end]) continue;
                p.best[end] = score;
                p.edges[end] = k;
            }
        }
        if (p.best[n] == -INFINITY) continue;
        for (size_t end = n; end; end -= t->lengths[p.edges[end]]) counts[t->edges[p.edges[end]]] += t->counts[u];
    }
    free(p.best);
    free(p.edges);
    return status;
}
