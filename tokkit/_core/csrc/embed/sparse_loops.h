/* The loop of sparse.h, with the vector operations of lanes_*.h. */
#ifndef TK_SPARSE_LOOPS_H
#define TK_SPARSE_LOOPS_H
#include "embed/sparse.h"

static void sparse(const tk_sparse_work *w) {
    const size_t k = w->k;
    int64_t at = 0;
    for (size_t row = 0; row < w->rows; row++) {
        for (const int64_t end = w->starts[row + 1] - w->starts[0]; at < end; at++) {
            TK_ASSERT(w->indices[at] >= 0);
            const size_t other = (size_t)w->indices[at];
            const float *x = w->x + (w->transposed ? row : other) * k;
            float *y = w->y + (w->transposed ? other : row) * k;
            const vf by = v_set1(w->values[at]);
            size_t i = 0;
            for (; i + VL <= k; i += VL) v_store(y + i, v_fma(by, v_load(x + i), v_load(y + i)));
            if (i < k) v_store_n(y + i, v_fma(by, v_load_n(x + i, k - i), v_load_n(y + i, k - i)), k - i);
        }
    }
}
#endif
