/* Attention by AVX-512: see attend.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx512.h"

#include "nn/attend_few.h"
#include "nn/attend_tiles.h"

const tk_attenders tk_attenders_avx512 = {attend_tiles, attend_few};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
