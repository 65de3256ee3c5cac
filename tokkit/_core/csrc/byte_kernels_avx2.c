/* The byte kernels for AVX2: see byte_kernels.h, and text/bytes.h for the operations they use. */
#include "isa.h"
#if TK_X86
#include "text/bytes_avx2.h"

#define TK_TABLE tk_byte_kernels_avx2
#include "byte_kernels_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
