/* The training kernels for AVX-512: see grad_kernels.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx512.h"

#define TK_TABLE tk_grad_kernels_avx512
#include "nn/grad_kernels_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
