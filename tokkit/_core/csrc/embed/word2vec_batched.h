/* Skip-gram with negative sampling, one window at a time: all its words share the negative samples.

   Inputs times targets, slopes, and both products of the slopes are small matrix products. A target that was drawn
   several times counts so often. Included by word2vec_loops.h. */
#ifndef TK_WORD2VEC_BATCHED_H
#define TK_WORD2VEC_BATCHED_H

/* Inputs whose products with a group are sums at once, as registers allow; and at most so many before rows change. */
enum { INPUTS_AT_ONCE = VL == 16 ? 4 : 1, INPUTS = 32, TARGETS = 8 };

TK_INLINE void dots_of_inputs(const int n, const int inputs, float *const *in, const logistic_group *g, size_t d,
                              float *dots) {
    vf sum[INPUTS_AT_ONCE][LOGISTIC_LANES];
    size_t i = 0;
    for (int j = 0; j < inputs; j++)
#pragma GCC unroll 16
        for (int t = 0; t < (n + VL - 1) / VL * VL; t++) sum[j][t] = v_set1(0);
    for (; i < d; i += VL) {
        size_t rest = d - i;
        vf x[INPUTS_AT_ONCE];
        for (int j = 0; j < inputs; j++) x[j] = rest < VL ? v_load_n(in[j] + i, rest) : v_load(in[j] + i);
        for (int t = 0; t < n; t++) {
            vf row = rest < VL ? v_load_n(g->rows[t] + i, rest) : v_load(g->rows[t] + i);
            for (int j = 0; j < inputs; j++) sum[j][t] = v_fma(row, x[j], sum[j][t]);
        }
    }
    for (int j = 0; j < inputs; j++) store_sums(n, dots + j * LOGISTIC_LANES, sum[j]);
}

/* Each VL columns at a time: inputs change by slopes times targets as they were, targets by slopes times inputs. */
TK_INLINE void changes_of_inputs(const int n, size_t n_inputs, float *const *in, const logistic_group *g, size_t d,
                                 float (*slopes)[LOGISTIC_LANES]) {
    for (size_t i = 0; i < d; i += VL) {
        size_t rest = d - i;
        vf row[TARGETS], change[TARGETS];
        for (int t = 0; t < n; t++) {
            row[t] = rest < VL ? v_load_n(g->rows[t] + i, rest) : v_load(g->rows[t] + i);
            change[t] = row[t];
        }
        for (size_t j = 0; j < n_inputs; j++) {
            vf x = rest < VL ? v_load_n(in[j] + i, rest) : v_load(in[j] + i), sum = x;
            for (int t = 0; t < n; t++) {
                vf by = v_set1(slopes[j][t]);
                sum = v_fma(by, row[t], sum);
                change[t] = v_fma(by, x, change[t]);
            }
            if (rest < VL)
                v_store_n(in[j] + i, sum, rest);
            else
                v_store(in[j] + i, sum);
        }
        for (int t = 0; t < n; t++) {
            if (rest < VL)
                v_store_n(g->rows[t] + i, change[t], rest);
            else
                v_store(g->rows[t] + i, change[t]);
        }
    }
}

TK_INLINE void batch_step_of(const int n, word2vec_run *run, float *const *in, size_t n_inputs, const logistic_group *g,
                             const float *times, float alpha) {
    float dots[INPUTS][LOGISTIC_LANES], slopes[INPUTS][LOGISTIC_LANES];
    size_t d = run->w->d, j = 0;
    for (; j + INPUTS_AT_ONCE <= n_inputs; j += INPUTS_AT_ONCE)
        dots_of_inputs(n, INPUTS_AT_ONCE, in + j, g, d, dots[j]);
    for (; j < n_inputs; j++) dots_of_inputs(n, 1, in + j, g, d, dots[j]);
    for (j = 0; j < n_inputs; j++) logistic_slopes(n, dots[j], g->signs, times, alpha, slopes[j], run->loss);
    changes_of_inputs(n, n_inputs, in, g, d, slopes);
}

static void learn_window(word2vec_run *run, const word2vec_step *step) {
    float *in[INPUTS];
    logistic_group g;
    TK_ASSERT(step->n_targets && step->n_targets <= run->w->negative + 1 && (int)TARGETS <= (int)LOGISTIC_ROWS);
    for (size_t from = 0; from < step->n_targets;) {
        float times[LOGISTIC_LANES] = {0};
        size_t n = 0;
        memcpy(g.signs, from ? later_signs : first_signs, sizeof g.signs);
        for (; from < step->n_targets && n < TARGETS; from++) {
            float *row = step->targets[from];
            size_t t = 0;
            while (t < n && g.rows[t] != row) t++;
            g.rows[t] = row;
            times[t] += 1;
            n += t == n;
        }
        for (size_t j = step->from; j < step->to;) {
            size_t inputs = 0;
            for (; j < step->to && inputs < INPUTS; j++)
                if (j != step->centre) in[inputs++] = tk_row(&run->s->in, run->s->words[j]);
            switch (n) {
            case 1: batch_step_of(1, run, in, inputs, &g, times, step->alpha); break;
            case 2: batch_step_of(2, run, in, inputs, &g, times, step->alpha); break;
            case 3: batch_step_of(3, run, in, inputs, &g, times, step->alpha); break;
            case 4: batch_step_of(4, run, in, inputs, &g, times, step->alpha); break;
            case 5: batch_step_of(5, run, in, inputs, &g, times, step->alpha); break;
            case 6: batch_step_of(6, run, in, inputs, &g, times, step->alpha); break;
            case 7: batch_step_of(7, run, in, inputs, &g, times, step->alpha); break;
            case 8: batch_step_of(8, run, in, inputs, &g, times, step->alpha); break;
            }
        }
    }
}
#endif
