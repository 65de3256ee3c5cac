/* Rows of floats by plain C: see rows.h. */
#include "lanes_scalar.h"

#include "rows_loops.h"

tk_do_rows *const tk_row_kernels_scalar[] = ROW_KERNELS;
