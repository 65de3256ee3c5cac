/* The byte kernels by AVX2: see byte_kernels.h, and text/bytes.h for how they are written. */
#include "isa.h"
#if TK_X86
#include "byte_kernels.h"
#include "text/bytes_avx2.h"

#include "sentencepiece/sp_front_loops.h"
#include "split/added_loops.h"
#include "split/cut_units_loops.h"
#include "split/scan_loops.h"
#include "text/utf8_loops.h"

extern const tk_byte_kernels tk_byte_kernels_avx2;
const tk_byte_kernels tk_byte_kernels_avx2 = {
    .from_ucs1 = from_ucs1,
    .from_ucs2 = from_ucs2,
    .from_ucs4 = from_ucs4,
    .scanners = scanners,
    .cut_blocks = cut_blocks,
    .added_skip = added_skip,
    .sp_fill = sp_fill,
    .sp_cut = sp_cut,
};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
