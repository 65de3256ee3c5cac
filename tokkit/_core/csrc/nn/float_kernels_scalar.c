/* The float kernels in plain C: see float_kernels.h. */
#include "nn/lanes_scalar.h"

#define TK_TABLE tk_float_kernels_scalar
#include "nn/float_kernels_table.h"
