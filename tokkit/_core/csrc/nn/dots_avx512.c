/* Scores of rows by AVX-512: see dots.h. */
#include "isa.h"
#if TK_X86
#include "nn/lanes_avx512.h"

#include "nn/dots_loops.h"

void tk_dots_avx512(const tk_dot_work *w, size_t from, size_t to) { dots(w, from, to); }

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
