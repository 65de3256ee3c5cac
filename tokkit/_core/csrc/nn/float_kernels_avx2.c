/* The float kernels for AVX2: see float_kernels.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx2.h"

#define TK_TABLE tk_float_kernels_avx2
#include "nn/float_kernels_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
