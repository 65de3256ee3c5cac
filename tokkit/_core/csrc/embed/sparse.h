/* Products of a sparse and a dense matrix, which take most of the time of a randomized SVD of counts. */
#ifndef TK_SPARSE_H
#define TK_SPARSE_H
#include "base.h"

typedef struct {
    const int64_t *starts; /* (rows + 1) */
    const int32_t *indices;
    const float *values; /* those of rows [0, rows) without gaps: a block of a larger matrix */
    size_t rows, k;
    const float *x; /* rows of k */
    float *y;       /* rows of k */
    int transposed;
} tk_sparse_work;

/* y[row] += value · x[index] for each number; transposed, y[index] += value · x[row]. */
typedef void tk_do_sparse(const tk_sparse_work *w);

void tk_sparse_run(const tk_sparse_work *w, int isa);
#endif
