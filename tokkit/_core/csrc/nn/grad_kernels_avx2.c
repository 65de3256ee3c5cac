/* The training kernels for AVX2: see grad_kernels.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx2.h"

#define TK_TABLE tk_grad_kernels_avx2
#include "nn/grad_kernels_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
