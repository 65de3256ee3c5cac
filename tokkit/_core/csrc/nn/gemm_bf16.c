/* Matrix products and attention of bf16 by AVX-512, where the CPU multiplies that: see linear.h and attend.h. */
#include "isa.h"
#include "nn/linear.h"
#include "nn/matmul.h"
#if TK_X86
#define TK_AND_MORE ",avx512bf16"
#include "nn/lanes_avx512.h"

#if !defined(__clang__)
#pragma GCC target("avx512bf16")
#endif

TK_INLINE vi vi_load(const uint16_t *p) { return _mm512_loadu_si512(p); }

/* sum + the products of both items of a pair: the same two of x for every lane. */
TK_INLINE vf v_dot2(vf sum, int32_t two, vi w) {
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(two), (__m512bh)w);
}

#define TK_BF16_DOTS 1
#include "nn/attend_flash.h"
#include "nn/gemm_loops.h"
#include "nn/matmul_loops.h"

static void round_row(const float *x, size_t k, uint8_t *out, size_t room, float *scale, int32_t *zero) {
    (void)scale, (void)zero, (void)room;
    /* Zeros come after the last: one may be the other half of its pair. */
    for (size_t i = 0; i < k; i += VL) {
        __m512 v = k - i < VL ? v_load_n(x + i, k - i) : v_load(x + i);
        _mm256_storeu_si256((__m256i *)(out + 2 * i), (__m256i)_mm512_cvtneps_pbh(v));
    }
}

void tk_attend_bf16(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, float *room) {
    attend_flash(a, sequence, kv_head, from, to, room);
}

const tk_gemm_kernels tk_gemm_bf16 = {gemm_part, round_row, NULL};
static const tk_matmul_kernels dots = {matmul, matmul_room};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

int tk_has_bf16(void) {
#if TK_X86
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
}

/* Cores of AMD multiply bf16 at twice the rate of float32 (Zen 4), those of Intel at half of it (5.1 of Emerald Rapids'
   10.6 billion vectors a second, two at a time; their tiles, AMX, are not used). */
int tk_fast_bf16(void) {
#if TK_X86
    return tk_has_bf16() && __builtin_cpu_is("amd");
#else
    return 0;
#endif
}

const tk_matmul_kernels *tk_matmul_dots(void) {
#if TK_X86
    return tk_has_bf16() ? &dots : NULL;
#else
    return NULL;
#endif
}
