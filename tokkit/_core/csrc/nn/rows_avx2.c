/* Rows of floats by AVX2: see rows.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx2.h"

#include "nn/rows_loops.h"

tk_do_rows *const tk_row_kernels_avx2[] = ROW_KERNELS;

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
