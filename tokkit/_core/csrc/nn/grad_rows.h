/* Backward passes of operations on rows: norms, activations, gates, cross-entropy, biases, embeddings; and dropout
   and batch norm, forward and backward. */
#ifndef TK_GRAD_ROWS_H
#define TK_GRAD_ROWS_H
#include "base.h"

/* The first of them are cut by rows, in chunks that do not depend on threads; sums of columns and of embeddings, and
   batch norms, are cut by columns, and go through the rows in order. */
enum { TK_LAYER_NORM_BACK, TK_RMS_NORM_BACK, TK_ACTIVATE_BACK, TK_GATE_BACK, TK_CROSS_ENTROPY, TK_DROPOUT,
       TK_BY_COLUMNS, TK_COLUMN_SUMS = TK_BY_COLUMNS, TK_SCATTER_ADD, TK_BATCH_NORM, TK_BATCH_NORM_BACK, TK_GRAD_ROWS };

typedef struct {
    const float *x, *other, *dy;   /* what forward read; the gradient of what it gave */
    float *dx, *dother, *y;        /* gradients of x and other; y: what forward gave, made anew (or NULL) */
    const float *add;              /* added to dx, (n, m); or NULL */
    size_t n, m;
    ptrdiff_t x_step, other_step, dy_step, dx_step, dother_step, y_step, add_step;
    const float *weight, *bias;    /* of norms (m) */
    float *dweight, *dbias;        /* (m), added to; dbias may be NULL */
    float *partial;                /* (chunks, 2, m): sums of norms before they come together; of batch norms (2, m) */
    float *mean, *variance;        /* (m): of batch norms; set by forward where they are the batch's */
    int of_batch;                  /* whether they are the batch's, and not given */
    float eps, by;                 /* by: the scale of gradients of cross-entropy, or of what dropout leaves */
    int kind;                      /* of activation: lanes_math.h */
    const int64_t *ids;            /* (n): targets, negative ones are ignored; rows of dx to add to */
    float *losses;                 /* (n) */
    uint64_t seed;                 /* of dropout; number i of the array is kept where the hash of i is at least */
    uint32_t least;
} tk_grad_rows_work;

enum { TK_GRAD_CHUNK = 64 /* rows */ };

/* Rows from … to, of one chunk; or columns from … to of all rows. */
typedef void tk_do_grad_rows(const tk_grad_rows_work *w, size_t from, size_t to);

int tk_grad_rows_run(tk_grad_rows_work *w, int what, int isa, int threads);
#endif
