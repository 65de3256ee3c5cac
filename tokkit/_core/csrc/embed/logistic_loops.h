/* Training steps of logistic regressions with a common input: products, gradients and updates of several rows at once.

   Written with the vector operations of lanes_*.h. All rows of a group are distinct: the order of their updates does
   not matter then, and one pass over the input serves them all. */
#ifndef TK_LOGISTIC_LOOPS_H
#define TK_LOGISTIC_LOOPS_H
#include <math.h>
#include "nn/lanes_math.h"

enum { LOGISTIC_ROWS = 12, LOGISTIC_LANES = 16 }; /* twelve sums and an input fit into AVX2's registers */
#define MAX_LOGIT 20.0f

typedef struct {
    float *rows[LOGISTIC_ROWS];
    float signs[LOGISTIC_LANES];  /* 1 where the answer is yes, -1 where it is no */
    float slopes[LOGISTIC_LANES]; /* what each row changes by, times the input */
} logistic_group;

/* The sums of n vectors, to a multiple of VL floats; those after them are zeros. */
TK_INLINE void store_sums(const int n, float *dots, vf *sum) {
#ifdef V_HALF_SUMS /* most groups have no more, and sixteen sums do not stay in registers */
    if (n <= VL / 2) {
        v_store(dots, v_half_sums(sum));
        return;
    }
#endif
#pragma GCC unroll 16
    for (int t = 0; t < n; t += VL) v_store(dots + t, v_sums(sum + t));
}

TK_INLINE void logistic_dots(const int n, const float *x, const logistic_group *g, size_t d, float *dots) {
    vf sum[LOGISTIC_LANES];
    const float *rows[LOGISTIC_ROWS];
    size_t i = 0;
    /* Unrolled, here and below, so that arrays become registers. */
#pragma GCC unroll 16
    for (int t = 0; t < (n + VL - 1) / VL * VL; t++) sum[t] = v_set1(0);
#pragma GCC unroll 16
    for (int t = 0; t < n; t++) rows[t] = g->rows[t];
    for (; i + VL <= d; i += VL) {
        vf a = v_load(x + i);
#pragma GCC unroll 16
        for (int t = 0; t < n; t++) sum[t] = v_fma(v_load(rows[t] + i), a, sum[t]);
    }
    if (i < d) {
        vf a = v_load_n(x + i, d - i);
#pragma GCC unroll 16
        for (int t = 0; t < n; t++) sum[t] = v_fma(v_load_n(rows[t] + i, d - i), a, sum[t]);
    }
    store_sums(n, dots, sum);
}

/* The slope of log σ(sign · dot), times alpha; and -log σ added to *loss. Both are multiplied by `times`, if any. */
TK_INLINE void logistic_slopes(const int n, const float *dots, const float *signs, const float *times, float alpha,
                               float *slopes, double *loss) {
    for (int t = 0; t < n; t += VL) {
        vf sign = v_load(signs + t), z = v_mul(v_load(dots + t), sign);
        vf by = times ? v_mul(v_load(times + t), sign) : sign;
        v_store(slopes + t, v_div(v_mul(v_set1(alpha), by), v_add(v_set1(1.0f), v_exp(z))));
    }
    if (!loss) return;
    /* log(1 + e^z) - z, with one logarithm for all; beyond MAX_LOGIT it is 0 in single precision. */
    float grown[LOGISTIC_LANES], z[LOGISTIC_LANES];
    double product = 1, sum = 0;
    for (int t = 0; t < n; t += VL) {
        v_store(z + t, v_min(v_set1(MAX_LOGIT), v_mul(v_load(dots + t), v_load(signs + t))));
        v_store(grown + t, v_add(v_set1(1.0f), v_exp(v_load(z + t))));
    }
    for (int t = 0; t < n; t++)
        for (int k = times ? (int)times[t] : 1; k; k--) sum += z[t], product *= grown[t];
    *loss += log(product) - sum;
}

/* Rows change by their slopes times x; step grows by the sum of slopes times rows as they were. */
TK_INLINE void logistic_changes(const int n, const float *x, const logistic_group *g, size_t d, float *step) {
    vf by[LOGISTIC_ROWS];
    float *rows[LOGISTIC_ROWS];
    size_t i = 0;
#pragma GCC unroll 16
    for (int t = 0; t < n; t++) by[t] = v_set1(g->slopes[t]), rows[t] = g->rows[t];
    for (; i + VL <= d; i += VL) {
        vf a = v_load(x + i), sum = v_load(step + i);
#pragma GCC unroll 16
        for (int t = 0; t < n; t++) {
            vf row = v_load(rows[t] + i);
            sum = v_fma(by[t], row, sum);
            v_store(rows[t] + i, v_fma(by[t], a, row));
        }
        v_store(step + i, sum);
    }
    if (i < d) {
        size_t rest = d - i;
        vf a = v_load_n(x + i, rest), sum = v_load_n(step + i, rest);
#pragma GCC unroll 16
        for (int t = 0; t < n; t++) {
            vf row = v_load_n(rows[t] + i, rest);
            sum = v_fma(by[t], row, sum);
            v_store_n(rows[t] + i, v_fma(by[t], a, row), rest);
        }
        v_store_n(step + i, sum, rest);
    }
}

TK_INLINE void logistic_step_of(const int n, const float *x, logistic_group *g, size_t d, float alpha, float *step,
                                double *loss) {
    float dots[LOGISTIC_LANES];
    logistic_dots(n, x, g, d, dots);
    logistic_slopes(n, dots, g->signs, NULL, alpha, g->slopes, loss);
    logistic_changes(n, x, g, d, step);
}

/* One group of 1 to LOGISTIC_ROWS rows. `step` may be x, if no other group follows. */
static void logistic_step(size_t n, const float *x, logistic_group *g, size_t d, float alpha, float *step,
                          double *loss) {
    switch (n) {
    case 1: logistic_step_of(1, x, g, d, alpha, step, loss); break;
    case 2: logistic_step_of(2, x, g, d, alpha, step, loss); break;
    case 3: logistic_step_of(3, x, g, d, alpha, step, loss); break;
    case 4: logistic_step_of(4, x, g, d, alpha, step, loss); break;
    case 5: logistic_step_of(5, x, g, d, alpha, step, loss); break;
    case 6: logistic_step_of(6, x, g, d, alpha, step, loss); break;
    case 7: logistic_step_of(7, x, g, d, alpha, step, loss); break;
    case 8: logistic_step_of(8, x, g, d, alpha, step, loss); break;
    case 9: logistic_step_of(9, x, g, d, alpha, step, loss); break;
    case 10: logistic_step_of(10, x, g, d, alpha, step, loss); break;
    case 11: logistic_step_of(11, x, g, d, alpha, step, loss); break;
    case 12: logistic_step_of(12, x, g, d, alpha, step, loss); break;
    }
}

/* The sum of rows. */
TK_INLINE void sum_rows(float *to, float *const *rows, size_t n, float by, size_t d) {
    enum { SUMS = 4 }; /* fewer, longer loops over rows, of which a context has no constant number */
    size_t i = 0;
    for (; i + SUMS * VL <= d; i += SUMS * VL) {
        vf sum[SUMS];
#pragma GCC unroll 4
        for (int k = 0; k < SUMS; k++) sum[k] = v_set1(0);
        for (size_t j = 0; j < n; j++) {
            const float *row = rows[j] + i;
#pragma GCC unroll 4
            for (int k = 0; k < SUMS; k++) sum[k] = v_add(sum[k], v_load(row + k * VL));
        }
#pragma GCC unroll 4
        for (int k = 0; k < SUMS; k++) v_store(to + i + k * VL, v_mul(sum[k], v_set1(by)));
    }
    for (; i < d; i += VL) {
        size_t rest = d - i;
        vf sum = v_set1(0);
        if (TK_LIKELY(rest >= VL)) {
            for (size_t j = 0; j < n; j++) sum = v_add(sum, v_load(rows[j] + i));
            v_store(to + i, v_mul(sum, v_set1(by)));
        } else {
            for (size_t j = 0; j < n; j++) sum = v_add(sum, v_load_n(rows[j] + i, rest));
            v_store_n(to + i, v_mul(sum, v_set1(by)), rest);
        }
    }
}

TK_INLINE void add_to(float *to, const float *x, size_t d) {
    size_t i = 0;
    for (; i + VL <= d; i += VL) v_store(to + i, v_add(v_load(to + i), v_load(x + i)));
    if (i < d) v_store_n(to + i, v_add(v_load_n(to + i, d - i), v_load_n(x + i, d - i)), d - i);
}

TK_INLINE void scale_by(float *x, float by, size_t d) {
    size_t i = 0;
    for (; i + VL <= d; i += VL) v_store(x + i, v_mul(v_load(x + i), v_set1(by)));
    if (i < d) v_store_n(x + i, v_mul(v_load_n(x + i, d - i), v_set1(by)), d - i);
}
#endif
