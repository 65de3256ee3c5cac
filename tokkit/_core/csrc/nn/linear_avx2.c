/* Matrix products by AVX2: see linear.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx2.h"

#include "nn/linear_parts.h"

const tk_multipliers tk_multipliers_avx2 = {linear_part, quantise_row};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
