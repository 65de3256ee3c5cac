/* Kernels on rows of floats: softmax, norms, activations, gates, rotations and the gathering of embeddings. */
#ifndef TK_ROWS_H
#define TK_ROWS_H
#include "base.h"

enum { TK_SOFTMAX, TK_LOG_SOFTMAX, TK_LAYER_NORM, TK_RMS_NORM, TK_ACTIVATE, TK_GATE, TK_ROTATE, TK_ROTATE_PAIRS,
       TK_GATHER, TK_ROW_KERNELS };

/* Steps between batch entries, heads and rows, in items. */
typedef struct {
    ptrdiff_t batch, head, row;
} tk_row_steps;

typedef struct {
    const float *x, *other; /* other: what is added before a norm, or a gate's other side; may be NULL */
    float *y, *sum;         /* sum: where x + other goes before a norm; may be NULL */
    size_t n, m;            /* rows, columns */
    ptrdiff_t x_step, other_step, y_step, sum_step;
    const float *weight, *bias; /* (m) each; may be NULL */
    float eps;
    int kind; /* of activation: lanes_math.h */
    /* Rotations only: rows are (batch, head, row) in this order; 2 * half columns turn by (…, half) angles. */
    size_t heads, rows, half;
    tk_row_steps x_by, y_by, angles_by;
    const float *cosines, *sines;
    const int64_t *ids; /* (n): which row of x; they are checked beforehand */
} tk_row_work;

typedef void tk_do_rows(const tk_row_work *w, size_t from, size_t to);

void tk_rows_run(const tk_row_work *w, int what, int isa, int threads);
#endif
