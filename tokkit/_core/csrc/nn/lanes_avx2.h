/* 8 floats at once, by AVX2 and FMA: the vector operations of lanes_math.h. */
#ifndef TK_LANES_AVX2_H
#define TK_LANES_AVX2_H
#include <immintrin.h>
#include "nn/linear.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi2")
#endif

#define VL_ROWS 6 /* rows of a matrix product whose sums fit into the registers */
enum { DECODE_ROWS = 3, DECODE_VECS = 4 };
enum { VL = 8, ROWS_1 = 12, ROWS_2 = 6, DIMS_1 = 8, DIMS_2 = 4, PANEL_ROWS = VL_ROWS, FEW_ROWS = 2 };
typedef __m256 vf;
typedef __m256 vm;
typedef __m256i vi;

/* Keeps a value in its register: gcc 12 would load it again from memory for every product. */
#define PIN(v) __asm__("" : "+x"(v))
#define LEAST_POWER -127.0f

TK_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
TK_INLINE void v_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
TK_INLINE __m256i v_numbers(void) { return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0); }
TK_INLINE __m256i v_first(size_t n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), v_numbers()); }
TK_INLINE __m256i v_from(size_t n) { return _mm256_cmpgt_epi32(v_numbers(), _mm256_set1_epi32((int)n - 1)); }
TK_INLINE vf v_load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, v_first(n)); }
/* By 4, 2 and 1: a masked store takes a dozen cycles on AMD's Zen 1 to 3. */
TK_INLINE void v_store_n(float *p, vf v, size_t n) {
    __m128 part = _mm256_castps256_ps128(v);
    if (n & 8) _mm256_storeu_ps(p, v);
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, part);
}
/* The lanes from `skip` on; what is not loaded is 0. */
TK_INLINE vf v_load_from(const float *p, size_t skip) { return _mm256_maskload_ps(p, v_from(skip)); }
TK_INLINE void v_store_from(float *p, vf v, size_t skip) { _mm256_maskstore_ps(p, v_from(skip), v); }
enum { V_STREAMS = 1 };
/* Stores past the caches, to p on 32 bytes: a whole vector, or the fours of its lanes from `from` up to `to`;
   v_streamed ends some of them. */
TK_INLINE void v_stream(float *p, vf v) { _mm256_stream_ps(p, v); }
TK_INLINE void v_stream_fours(float *p, vf v, size_t from, size_t to) {
    if (!from) _mm_stream_ps(p, _mm256_castps256_ps128(v));
    if (to > 4) _mm_stream_ps(p + 4, _mm256_extractf128_ps(v, 1));
}
TK_INLINE void v_streamed(void) { _mm_sfence(); }
TK_INLINE vf v_set1(float x) { return _mm256_set1_ps(x); }
TK_INLINE vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
TK_INLINE vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
TK_INLINE vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
TK_INLINE vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
TK_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
TK_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
TK_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
TK_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
TK_INLINE vm v_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
TK_INLINE vm v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
TK_INLINE vm v_both(vm a, vm b) { return _mm256_and_ps(a, b); }
TK_INLINE vf v_select(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, m); }
TK_INLINE vf v_iota(void) { return _mm256_cvtepi32_ps(v_numbers()); }
TK_INLINE vf v_rotate(vf v, size_t by) { /* lane i is lane i + by of v */
    return _mm256_permutevar8x32_ps(v, _mm256_add_epi32(v_numbers(), _mm256_set1_epi32((int)by)));
}
TK_INLINE float v_sum(vf v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}
TK_INLINE float v_top(vf v) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_shuffle_ps(x, x, 1)));
}
TK_INLINE vf v_round(vf x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
TK_INLINE vf v_ldexp(vf x, vf n) { /* whole n from LEAST_POWER, which gives 0, to 127; at NaN, what x is */
    __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(power));
}
TK_INLINE vf v_load_pairs(const uint16_t *p, const int odd) {
    __m256i pairs = _mm256_loadu_si256((const __m256i *)p);
    return _mm256_castsi256_ps(odd ? _mm256_and_si256(pairs, _mm256_set1_epi32((int)0xFFFF0000u))
                                   : _mm256_slli_epi32(pairs, 16));
}

TK_INLINE vf v_swap_pairs(vf x) { return _mm256_permute_ps(x, 0xB1); }
TK_INLINE vf v_double_low(const float *p) {
    const __m256i twice = _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), twice);
}
TK_INLINE vf v_even_negated(vf x) {
    return _mm256_xor_ps(x, _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000LL)));
}

TK_INLINE vi vi_zero(void) { return _mm256_setzero_si256(); }
TK_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
TK_INLINE vi vi_times(const int32_t *p, int32_t by) {
    return _mm256_mullo_epi32(_mm256_loadu_si256((const __m256i *)p), _mm256_set1_epi32(by));
}
TK_INLINE vf v_from_vi(vi v) { return _mm256_cvtepi32_ps(v); }
TK_INLINE void v_store_bytes(uint8_t *p, vf v) {
    __m256i n = _mm256_cvtps_epi32(v);
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

/* Products of whole numbers (gemm_narrow.h, gemm_groups.h): four bytes of each column in a vector, the parts of them
   that are multiplied, their products with four numbers of x, and the sums of a group. Sums of int4 are halves of 16
   bits, at most 16 * 8 * 127; bytes of int8 are multiplied as 16 bits, even ones first: maddubs would saturate. */
enum { INT8_PARTS = 2 };
TK_INLINE vi vi_load_bytes(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
TK_INLINE vi vi_set1(int32_t x) { return _mm256_set1_epi32(x); }
TK_INLINE vi q_part(vi w, const int kind, const int part) {
    const __m256i nibbles = _mm256_set1_epi8(0x0F);
    if (kind == TK_INT4) return _mm256_and_si256(part ? _mm256_srli_epi16(w, 4) : w, nibbles);
    if (kind == TK_INT8) return _mm256_srai_epi16(part ? w : _mm256_slli_epi16(w, 8), 8);
    return part ? _mm256_srli_epi16(w, 8) : _mm256_and_si256(w, _mm256_set1_epi16(0x00FF));
}
TK_INLINE vi q_dot(vi sum, vi w, vi x, const int kind) {
    if (kind == TK_INT4) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, x));
    else sum = _mm256_add_epi32(sum, _mm256_madd_epi16(w, x));
    PIN(sum); /* gcc would add up in a tree, and keep its branches on the stack */
    return sum;
}
/* n fours of bytes → even ones, then odd ones, as 16 bits; `bytes` may be the second half of `to`. */
TK_INLINE void x_spread(const uint8_t *bytes, size_t n, uint8_t *to) {
    const __m256i mask = _mm256_set1_epi16(0x00FF);
    for (size_t i = 0; i < n; i += 8, bytes += 32, to += 64) {
        __m256i all = _mm256_loadu_si256((const __m256i *)bytes);
        __m256i even = _mm256_and_si256(all, mask), odd = _mm256_srli_epi16(all, 8);
        __m256i low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);
        _mm256_storeu_si256((__m256i *)to, _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256((__m256i *)(to + 32), _mm256_permute2x128_si256(low, high, 0x31));
    }
}
TK_INLINE vf q_end(vi sum, const int kind) {
    return _mm256_cvtepi32_ps(kind == TK_INT4 ? _mm256_madd_epi16(sum, _mm256_set1_epi16(1)) : sum);
}
TK_INLINE void q_arrange(const int8_t *x, int32_t sum, const int kind, const int minima, tk_x_group *to) {
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)x);
    if (kind == TK_INT4) {
        int32_t first = 0; /* of each four, what the lower 16 bits add up */
        _mm256_storeu_si256((__m256i *)to->q, bytes);
        for (int i = 0; i < TK_GROUP; i++) first += i % 4 < 2 ? x[i] : 0;
        to->start = minima ? 0 : (int32_t)((uint32_t)(-8 * (sum - first)) << 16 | ((uint32_t)(-8 * first) & 0xFFFF));
    } else {
        _mm256_storeu_si256((__m256i *)to->q, _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8));
        _mm256_storeu_si256((__m256i *)(to->q + 8), _mm256_srai_epi16(bytes, 8));
        to->start = -128 * sum;
    }
}
TK_INLINE vf v_load_halves(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }

TK_INLINE vf v_sums(vf *a) {
    for (int i = 0; i < 4; i++)
        a[i] = _mm256_add_ps(_mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]), _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]));
    for (int i = 0; i < 2; i++) {
        __m256d x = _mm256_castps_pd(a[2 * i]), y = _mm256_castps_pd(a[2 * i + 1]);
        a[i] = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(x, y)), _mm256_castpd_ps(_mm256_unpackhi_pd(x, y)));
    }
    return _mm256_add_ps(_mm256_permute2f128_ps(a[0], a[1], 0x20), _mm256_permute2f128_ps(a[0], a[1], 0x31));
}

/* VL bytes as floats; 2 * VL bytes as 16-bit numbers; sums of products of such pairs. */
TK_INLINE vf v_load_int8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
TK_INLINE vi vi_load_shorts(const int16_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
TK_INLINE vi vi_widened(const int8_t *p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p)); }
TK_INLINE void v_store_shorts(int16_t *p, vf v) { /* rounded */
    __m256i n = _mm256_cvtps_epi32(v);
    _mm_storeu_si128((__m128i *)p, _mm_packs_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1)));
}
TK_INLINE vi vi_madd(vi sum, vi a, vi b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

/* The sums of four vectors, to to[0 … 3]. */
TK_INLINE void v_store_sums(float *to, const vf *a) {
    vf b[2];
    for (int i = 0; i < 2; i++) {
        const vf *two = a + 2 * i;
        b[i] = _mm256_add_ps(_mm256_shuffle_ps(two[0], two[1], 0x4E), _mm256_blend_ps(two[0], two[1], 0xCC));
    }
    vf x = _mm256_add_ps(_mm256_shuffle_ps(b[0], b[1], 0x88), _mm256_shuffle_ps(b[0], b[1], 0xDD));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
}
TK_INLINE void vi_store_sums(float *to, const vi *a) { /* the same of whole numbers */
    __m256i b[2];
    for (int i = 0; i < 2; i++) {
        __m256i low = _mm256_unpacklo_epi64(a[2 * i], a[2 * i + 1]);
        b[i] = _mm256_add_epi32(low, _mm256_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
    }
    __m256 x = _mm256_castsi256_ps(b[0]), y = _mm256_castsi256_ps(b[1]);
    __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88));
    __m256i sum = _mm256_add_epi32(even, _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xDD)));
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    _mm_storeu_ps(to, _mm_cvtepi32_ps(four));
}

#include "nn/lanes_four.h"
#endif
