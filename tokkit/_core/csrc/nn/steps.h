/* What the layers of encoders, decoders and experts share: products of packed weights and rows, and scratch memory. */
#ifndef TK_STEPS_H
#define TK_STEPS_H
#include "nn/linear.h"

/* Rows a multiple of 512 bytes apart would share their places in the cache. */
static inline size_t tk_padded(size_t columns) { return columns % 128 ? columns : columns + 16; }

/* y = activation(x Wᵀ + bias) + residual; residual, which may be NULL, has the rows of y. */
static inline int tk_multiply(const tk_linear *l, const float *x, size_t x_step, size_t rows, float *y, size_t y_step,
                              int activation, const float *residual, int isa, int threads) {
    tk_product p = {.l = l, .x = x, .y = y, .m = rows, .residual = residual, .activation = activation};
    p.x_step = (ptrdiff_t)x_step, p.y_step = (ptrdiff_t)y_step, p.residual_step = (ptrdiff_t)y_step;
    return tk_linear_run(&p, isa, threads);
}
#endif
