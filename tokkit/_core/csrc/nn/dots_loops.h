/* The loops of dots.h, with the vector operations of lanes_*.h. */
#ifndef TK_DOTS_LOOPS_H
#define TK_DOTS_LOOPS_H
#include "nn/dots.h"

/* Four sums hide the latency of one another; memory, not arithmetic, is what a search waits for. */
enum { DOT_ROWS = 4 };

TK_INLINE void dots_of(const tk_dot_work *w, size_t row, const int rows) {
    const float *x[DOT_ROWS];
    for (int r = 0; r < rows; r++) x[r] = w->x + (ptrdiff_t)(row + (size_t)r) * w->x_step;
    for (size_t query = 0; query < w->n_queries; query++) {
        const float *q = w->queries + query * w->m;
        float *score = w->scores + query * w->n + row;
        vf sum[DOT_ROWS];
        for (int r = 0; r < rows; r++) sum[r] = v_set1(0);
        size_t i = 0;
        for (; i + VL <= w->m; i += VL) {
            vf by = v_load(q + i);
            for (int r = 0; r < rows; r++) sum[r] = v_fma(v_load(x[r] + i), by, sum[r]);
        }
        if (i < w->m) {
            vf by = v_load_n(q + i, w->m - i);
            for (int r = 0; r < rows; r++) sum[r] = v_fma(v_load_n(x[r] + i, w->m - i), by, sum[r]);
        }
        for (int r = 0; r < rows; r++) score[r] = v_sum(sum[r]);
    }
}

static void dots(const tk_dot_work *w, size_t from, size_t to) {
    for (; from + DOT_ROWS <= to; from += DOT_ROWS) dots_of(w, from, DOT_ROWS);
    for (; from < to; from++) dots_of(w, from, 1);
}
#endif
