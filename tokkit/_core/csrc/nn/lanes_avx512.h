/* 16 floats at once, by AVX-512: the vector operations of lanes_math.h. */
#ifndef TK_LANES_AVX512_H
#define TK_LANES_AVX512_H
#include <immintrin.h>
#include "nn/linear.h"

#if defined(__clang__)
#ifndef TK_AND_MORE /* of the instruction set: a second push would replace the first */
#define TK_AND_MORE ""
#endif
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c,bmi2" TK_AND_MORE))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c,bmi2,prefer-vector-width=512")
#endif

#define VL_ROWS 8 /* rows of a matrix product whose sums fit into the registers */
enum { DECODE_ROWS = 4, DECODE_VECS = 4 };
enum { VL = 16, ROWS_1 = 12, ROWS_2 = 8, DIMS_1 = 16, DIMS_2 = 8, PANEL_ROWS = VL_ROWS, FEW_ROWS = 4 };
typedef __m512 vf;
typedef __mmask16 vm;
typedef __m512i vi;

/* Keeps a value in its register: gcc 12 would load it again from memory for every product. */
#define PIN(v) __asm__("" : "+v"(v))
#define LEAST_POWER -152.0f

TK_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
TK_INLINE void v_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
TK_INLINE __m512i v_numbers(void) {
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}
TK_INLINE __mmask16 v_first(size_t n) { return (__mmask16)((1u << n) - 1); }
TK_INLINE vf v_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(v_first(n), p); }
TK_INLINE void v_store_n(float *p, vf v, size_t n) { _mm512_mask_storeu_ps(p, v_first(n), v); }
/* The lanes from `skip` on; what is not loaded is 0. */
TK_INLINE vf v_load_from(const float *p, size_t skip) { return _mm512_maskz_loadu_ps((__mmask16)~v_first(skip), p); }
TK_INLINE void v_store_from(float *p, vf v, size_t skip) { _mm512_mask_storeu_ps(p, (__mmask16)~v_first(skip), v); }
enum { V_STREAMS = 1 };
/* Stores past the caches, to p on 64 bytes: a whole vector, or the fours of its lanes from `from` up to `to`;
   v_streamed ends some of them. */
TK_INLINE void v_stream(float *p, vf v) { _mm512_stream_ps(p, v); }
TK_INLINE void v_stream_fours(float *p, vf v, size_t from, size_t to) {
    if (!from) _mm_stream_ps(p, _mm512_castps512_ps128(v));
    if (from <= 4 && to > 4) _mm_stream_ps(p + 4, _mm512_extractf32x4_ps(v, 1));
    if (from <= 8 && to > 8) _mm_stream_ps(p + 8, _mm512_extractf32x4_ps(v, 2));
    if (to > 12) _mm_stream_ps(p + 12, _mm512_extractf32x4_ps(v, 3));
}
TK_INLINE void v_streamed(void) { _mm_sfence(); }
TK_INLINE vf v_set1(float x) { return _mm512_set1_ps(x); }
TK_INLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
TK_INLINE vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
TK_INLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
TK_INLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
TK_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
TK_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
TK_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
TK_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
TK_INLINE vm v_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
TK_INLINE vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
TK_INLINE vm v_both(vm a, vm b) { return a & b; }
TK_INLINE vf v_select(vm m, vf yes, vf no) { return _mm512_mask_blend_ps(m, no, yes); }
TK_INLINE vf v_iota(void) { return _mm512_cvtepi32_ps(v_numbers()); }
TK_INLINE vf v_rotate(vf v, size_t by) { /* lane i is lane i + by of v */
    return _mm512_permutexvar_ps(_mm512_add_epi32(v_numbers(), _mm512_set1_epi32((int)by)), v);
}
TK_INLINE float v_sum(vf v) { return _mm512_reduce_add_ps(v); }
TK_INLINE float v_top(vf v) { return _mm512_reduce_max_ps(v); }
TK_INLINE vf v_round(vf x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
TK_INLINE vf v_ldexp(vf x, vf n) { return _mm512_scalef_ps(x, n); }
TK_INLINE vf v_load_pairs(const uint16_t *p, const int odd) {
    __m512i pairs = _mm512_loadu_si512(p);
    return _mm512_castsi512_ps(odd ? _mm512_and_si512(pairs, _mm512_set1_epi32((int)0xFFFF0000u))
                                   : _mm512_slli_epi32(pairs, 16));
}

/* x of pairs (2i, 2i + 1) swapped; and lanes 2i of a beside lanes 2i + 1 of b. */
TK_INLINE vf v_swap_pairs(vf x) { return _mm512_permute_ps(x, 0xB1); }
TK_INLINE vf v_double_low(const float *p) {
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
}
TK_INLINE vf v_even_negated(vf x) {
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), _mm512_set1_epi64(0x80000000LL)));
}

TK_INLINE vi vi_zero(void) { return _mm512_setzero_si512(); }
TK_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
TK_INLINE vi vi_times(const int32_t *p, int32_t by) {
    return _mm512_mullo_epi32(_mm512_loadu_si512(p), _mm512_set1_epi32(by));
}
TK_INLINE vf v_from_vi(vi v) { return _mm512_cvtepi32_ps(v); }
TK_INLINE void v_store_bytes(uint8_t *p, vf v) { /* 0 <= v <= 255, whole numbers */
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}

/* Products of whole numbers (gemm_narrow.h, gemm_groups.h): four bytes of each column in a vector, the parts of them
   that are multiplied, their products with four numbers of x, and the sums of a group. */
enum { INT8_PARTS = 1 };
TK_INLINE vi vi_load_bytes(const uint8_t *p) { return _mm512_loadu_si512(p); }
TK_INLINE vi vi_set1(int32_t x) { return _mm512_set1_epi32(x); }
TK_INLINE vi q_part(vi w, const int kind, const int part) {
    if (kind != TK_INT4) return w;
    return _mm512_and_si512(part ? _mm512_srli_epi16(w, 4) : w, _mm512_set1_epi8(15));
}
/* gcc would add up in a tree with its branches on the stack; of many sums that are pinned it copies some. */
TK_INLINE vi q_dot(vi sum, vi w, vi x, const int kind) { /* the first factor is from 0 up */
    if (kind == TK_INT8) {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
    } else {
        sum = _mm512_dpbusd_epi32(sum, w, x);
        PIN(sum);
    }
    return sum;
}
TK_INLINE void x_spread(const uint8_t *bytes, size_t n, uint8_t *to) { (void)bytes, (void)n, (void)to; }
TK_INLINE vf q_end(vi sum, const int kind) {
    (void)kind;
    return _mm512_cvtepi32_ps(sum);
}
TK_INLINE void q_arrange(const int8_t *x, int32_t sum, const int kind, const int minima, tk_x_group *to) {
    memcpy(to->q, x, TK_GROUP);
    to->start = kind == TK_INT4 ? minima ? 0 : -8 * sum : -128 * sum;
}
TK_INLINE vf v_load_halves(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }

/* The sums of VL vectors, as one. */
TK_INLINE vf v_sums(vf *a) {
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_add_ps(_mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]), _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]));
    for (int i = 0; i < 4; i++) {
        __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
        a[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
    }
    for (int n = 2; n; n /= 2)
        for (int i = 0; i < n; i++)
            a[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0x88),
                                 _mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0xDD));
    return a[0];
}

/* The sums of the first VL / 2 vectors, and zeros. */
#define V_HALF_SUMS 1
TK_INLINE vf v_half_sums(const vf *a) {
    __m256 b[8];
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++)
        b[i] = _mm256_add_ps(_mm512_castps512_ps256(a[i]), _mm512_extractf32x8_ps(a[i], 1));
    __m256 x = _mm256_hadd_ps(_mm256_hadd_ps(b[0], b[1]), _mm256_hadd_ps(b[2], b[3]));
    __m256 y = _mm256_hadd_ps(_mm256_hadd_ps(b[4], b[5]), _mm256_hadd_ps(b[6], b[7]));
    return _mm512_zextps256_ps512(
        _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31)));
}

/* VL bytes as floats; 2 * VL bytes as 16-bit numbers; sums of products of such pairs. */
TK_INLINE vf v_load_int8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
TK_INLINE vi vi_load_shorts(const int16_t *p) { return _mm512_loadu_si512(p); }
TK_INLINE vi vi_widened(const int8_t *p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)p)); }
TK_INLINE void v_store_shorts(int16_t *p, vf v) { /* rounded */
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(v)));
}
TK_INLINE vi vi_madd(vi sum, vi a, vi b) { return _mm512_dpwssd_epi32(sum, a, b); }

/* The sums of four vectors, to to[0 … 3]. */
TK_INLINE void v_store_sums(float *to, const vf *a) {
    __m256 b[4];
    for (int i = 0; i < 4; i++) b[i] = _mm256_add_ps(_mm512_castps512_ps256(a[i]), _mm512_extractf32x8_ps(a[i], 1));
    __m256 x = _mm256_hadd_ps(_mm256_hadd_ps(b[0], b[1]), _mm256_hadd_ps(b[2], b[3]));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
}
TK_INLINE void vi_store_sums(float *to, const vi *a) { /* the same of whole numbers */
    __m256i b[4];
    for (int i = 0; i < 4; i++)
        b[i] = _mm256_add_epi32(_mm512_castsi512_si256(a[i]), _mm512_extracti32x8_epi32(a[i], 1));
    __m256i x = _mm256_hadd_epi32(_mm256_hadd_epi32(b[0], b[1]), _mm256_hadd_epi32(b[2], b[3]));
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storeu_ps(to, _mm_cvtepi32_ps(four));
}

#include "nn/lanes_four.h"
#endif
