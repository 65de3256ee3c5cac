/* The training kernels in plain C: see grad_kernels.h. */
#include "nn/lanes_scalar.h"

#define TK_TABLE tk_grad_kernels_scalar
#include "nn/grad_kernels_table.h"
