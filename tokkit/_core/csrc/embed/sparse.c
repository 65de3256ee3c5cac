/* Chooses the kernel of a sparse product: see sparse.h. */
#include "embed/sparse.h"
#include "nn/float_kernels.h"

void tk_sparse_run(const tk_sparse_work *w, int isa) {
    TK_ASSERT(w->k && (!w->rows || (w->starts && w->x && w->y && w->starts[w->rows] >= w->starts[0])));
    tk_float_kernels_of(isa)->sparse(w);
}
