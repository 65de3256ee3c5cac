/* The float kernels by AVX2: see float_kernels.h. */
#include "isa.h"
#if TK_X86
#include "nn/float_kernels.h"
#include "nn/lanes_avx2.h"

#include "nn/attend_decode.h"
#include "nn/attend_flash.h"
#include "nn/dots_loops.h"
#include "nn/gemm_loops.h"
#include "nn/rows_loops.h"

static const tk_gemm_kernels gemm = {gemm_part, quantise_row};

extern const tk_float_kernels tk_float_kernels_avx2;
const tk_float_kernels tk_float_kernels_avx2 = {
    .flash = attend_flash,
    .decode = attend_decode,
    .gemm = &gemm,
    .rows = ROW_KERNELS,
    .dots = dots,
};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
