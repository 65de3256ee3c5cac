/* Rows of floats by plain C: see rows.h. */
#include "nn/lanes_scalar.h"

#include "nn/rows_loops.h"

tk_do_rows *const tk_row_kernels_scalar[] = ROW_KERNELS;
