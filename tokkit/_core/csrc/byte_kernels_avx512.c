/* The byte kernels by AVX-512: see byte_kernels.h, and text/bytes.h for how they are written. */
#include "isa.h"
#if TK_X86
#include "byte_kernels.h"
#include "text/bytes_avx512.h"

#include "sentencepiece/sp_pairs_avx512.h"
#include "sentencepiece/sp_front_loops.h"
#include "split/added_loops.h"
#include "split/cut_units_loops.h"
#include "split/scan_loops.h"
#include "text/utf8_loops.h"

#include "encode/bpe_keys_avx512.h"
#include "sentencepiece/sp_keys_avx512.h"

extern const tk_byte_kernels tk_byte_kernels_avx512;
const tk_byte_kernels tk_byte_kernels_avx512 = {
    .from_ucs1 = from_ucs1,
    .from_ucs2 = from_ucs2,
    .from_ucs4 = from_ucs4,
    .scanners = scanners,
    .cut_blocks = cut_blocks,
    .added_skip = added_skip,
    .sp_fill = sp_fill,
    .sp_cut = sp_cut,
    .bpe_keys = bpe_keys,
    .sp_keys = sp_keys,
};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
