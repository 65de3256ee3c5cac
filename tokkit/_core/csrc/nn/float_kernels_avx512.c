/* The float kernels for AVX-512: see float_kernels.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx512.h"

#define TK_TABLE tk_float_kernels_avx512
#define TK_GEMM_BF16 tk_gemm_bf16
#include "nn/float_kernels_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
