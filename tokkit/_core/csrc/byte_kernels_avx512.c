/* The byte kernels for AVX-512: see byte_kernels.h, and text/bytes.h for the operations they use. */
#include "isa.h"
#if TK_X86
#include "text/bytes_avx512.h"

#include "encode/bpe_keys_avx512.h"
#include "split/neighbors_avx512.h"

#define TK_TABLE tk_byte_kernels_avx512
#define TK_KEYS 1
#include "byte_kernels_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
