/* Rows of floats by AVX-512: see rows.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx512.h"

#include "nn/rows_loops.h"

tk_do_rows *const tk_row_kernels_avx512[] = ROW_KERNELS;

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
