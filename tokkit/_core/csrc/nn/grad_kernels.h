/* The training kernels: a table of them for each instruction set. */
#ifndef TK_GRAD_KERNELS_H
#define TK_GRAD_KERNELS_H
#include "isa.h"
#include "nn/grad_attend.h"
#include "nn/grad_rows.h"
#include "nn/matmul.h"
#include "nn/optim.h"

typedef struct {
    tk_matmul_kernels matmul;
    tk_do_grad_attend *attend, *attend_backward;
    tk_do_grad_rows *rows[TK_GRAD_ROWS];
    tk_do_optim *optim[TK_OPTIM_KERNELS];
} tk_grad_kernels;

/* Those of an instruction set that tk_isa_of_floats gave. */
const tk_grad_kernels *tk_grad_kernels_of(int isa);

#endif
