/* Matrix products by AVX-512: see linear.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx512.h"

#include "nn/linear_parts.h"

const tk_multipliers tk_multipliers_avx512 = {linear_part, quantise_row};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
