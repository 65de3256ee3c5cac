/* The float kernels in plain C: see float_kernels.h. */
#include "nn/float_kernels.h"
#include "nn/lanes_scalar.h"

#include "nn/attend_decode.h"
#include "nn/attend_flash.h"
#include "nn/dots_loops.h"
#include "nn/gemm_loops.h"
#include "nn/rows_loops.h"

static const tk_gemm_kernels gemm = {gemm_part, quantise_row};

extern const tk_float_kernels tk_float_kernels_scalar;
const tk_float_kernels tk_float_kernels_scalar = {
    .flash = attend_flash,
    .decode = attend_decode,
    .gemm = &gemm,
    .rows = ROW_KERNELS,
    .dots = dots,
};
