/* Attention by AVX2: see attend.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx2.h"

#include "nn/attend_few.h"
#include "nn/attend_tiles.h"

const tk_attenders tk_attenders_avx2 = {attend_tiles, attend_few};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
