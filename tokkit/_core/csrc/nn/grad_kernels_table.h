/* Defines the table of training kernels of one instruction set: a grad_kernels_*.c includes this once, after its
   vectors (lanes_*.h), with TK_TABLE for the name of the table. */
#include "nn/grad_kernels.h"

#include "nn/grad_attend_loops.h"
#include "nn/grad_rows_loops.h"
#include "nn/matmul_loops.h"
#include "nn/optim_loops.h"

extern const tk_grad_kernels TK_TABLE;
const tk_grad_kernels TK_TABLE = {
    .matmul = {matmul, matmul_room},
    .attend = grad_attend,
    .attend_backward = grad_attend_backward,
    .rows = GRAD_ROW_KERNELS,
    .optim = OPTIM_KERNELS,
};
