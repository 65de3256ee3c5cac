/* Blocks of 64 bytes, and units of text in vectors, by AVX-512: the operations of bytes.h. */
#ifndef TK_BYTES_AVX512_H
#define TK_BYTES_AVX512_H
#include <immintrin.h>

#include "text/bytes.h"

#if defined(__clang__)
#pragma clang attribute push(                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")
#endif

typedef __m512i vb;
typedef __mmask64 tb;

TK_INLINE vb b_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
TK_INLINE vb b_load_first(const uint8_t *p, size_t n) { return _mm512_maskz_loadu_epi8(below(n), p); }
TK_INLINE void b_store(uint8_t *p, vb v) { _mm512_storeu_si512(p, v); }
TK_INLINE vb b_and(vb a, vb b) { return _mm512_and_si512(a, b); }
TK_INLINE vb b_or(vb a, vb b) { return _mm512_or_si512(a, b); }

TK_INLINE vb b_table(const uint8_t *sixteen) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)sixteen));
}
TK_INLINE vb b_upper_halves(vb v) { return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15)); }
TK_INLINE vb b_lookup(const uint8_t *low, const uint8_t *high, vb v) {
    vb lower = _mm512_and_si512(v, _mm512_set1_epi8(15));
    return b_and(_mm512_shuffle_epi8(b_table(low), lower), _mm512_shuffle_epi8(b_table(high), b_upper_halves(v)));
}
TK_INLINE vb b_lookup_ascii(const uint8_t *low, const uint8_t *high, vb v) { /* a shuffle gives 0 for the others */
    return b_and(_mm512_shuffle_epi8(b_table(low), v), _mm512_shuffle_epi8(b_table(high), b_upper_halves(v)));
}

TK_INLINE tb b_equal(vb v, uint8_t byte) { return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)byte)); }
TK_INLINE tb b_nonzero(vb v) { return _mm512_test_epi8_mask(v, v); }
TK_INLINE tb b_between(vb v, uint8_t low, uint8_t high) {
    vb above = _mm512_sub_epi8(v, _mm512_set1_epi8((char)low));
    return _mm512_cmple_epu8_mask(above, _mm512_set1_epi8((char)(high - low)));
}
TK_INLINE tb b_continues(vb v) { return _mm512_cmplt_epi8_mask(v, _mm512_set1_epi8(-64)); }
TK_INLINE tb b_beyond_ascii(vb v) { return _mm512_movepi8_mask(v); }
TK_INLINE int b_any(vb v) { return _mm512_test_epi8_mask(v, v) != 0; }
TK_INLINE uint64_t b_bits(tb truth) { return truth; }
TK_INLINE uint64_t b_with(vb v, uint8_t bits) { return _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)bits)); }
TK_INLINE uint64_t b_some(vb v) { return _mm512_test_epi8_mask(v, v); }
TK_INLINE vb b_choose(tb truth, uint8_t byte, vb no) {
    return _mm512_mask_mov_epi8(no, truth, _mm512_set1_epi8((char)byte));
}

TK_INLINE size_t b_squeeze(uint8_t *p, uint64_t mask) {
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(p)));
    return (size_t)_mm_popcnt_u64(mask);
}

TK_INLINE vb b_numbers(uint64_t mask) { /* the numbers of the bits that are set */
    static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    return _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(numbers));
}

TK_INLINE size_t b_places(uint64_t mask, size_t from, size_t *out) {
    const __m512i base = _mm512_set1_epi64((long long)from);
    __m512i packed = b_numbers(mask);
    size_t count = (size_t)_mm_popcnt_u64(mask);
    _mm512_storeu_si512(out, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(_mm512_castsi512_si128(packed))));
    if (TK_LIKELY(count <= 8)) return count;
    __m128i second = _mm_srli_si128(_mm512_castsi512_si128(packed), 8);
    _mm512_storeu_si512(out + 8, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(second)));
    if (TK_LIKELY(count <= 16)) return count;
    uint8_t places[64];
    _mm512_storeu_si512(places, packed);
    for (size_t k = 16; k < count; k += 8) {
        __m512i eight = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(places + k)));
        _mm512_storeu_si512(out + k, _mm512_add_epi64(base, eight));
    }
    return count;
}

TK_INLINE size_t b_places_32(uint64_t mask, uint32_t from, uint32_t *out) {
    const __m512i base = _mm512_set1_epi32((int)from);
    __m512i packed = b_numbers(mask);
    size_t count = (size_t)_mm_popcnt_u64(mask);
    _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    if (TK_LIKELY(count <= 16)) return count;
    uint8_t places[64];
    _mm512_storeu_si512(places, packed);
    for (size_t k = 16; k < count; k += 16) {
        __m512i more = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(places + k)));
        _mm512_storeu_si512(out + k, _mm512_add_epi32(base, more));
    }
    return count;
}

/* ---- units */

enum { U_BYTES = 64, U_PARTIAL = 1 };
typedef __m512i vu;

TK_INLINE vu u_load_16(const uint16_t *p, size_t n) { return _mm512_maskz_loadu_epi16((__mmask32)below(n), p); }
TK_INLINE vu u_load_32(const uint32_t *p, size_t n) { return _mm512_maskz_loadu_epi32((__mmask16)below(n), p); }
TK_INLINE vu u_8_to_16(const uint8_t *p, size_t n) {
    return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8((__mmask32)below(n), p));
}
TK_INLINE vu u_16_to_32(const uint16_t *p, size_t n) {
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16((__mmask16)below(n), p));
}
TK_INLINE void u_16_to_8(uint8_t *out, vu v) { _mm256_storeu_si256((__m256i *)out, _mm512_cvtepi16_epi8(v)); }
TK_INLINE void u_32_to_8(uint8_t *out, vu v) { _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(v)); }
TK_INLINE vu u_and(vu a, vu b) { return _mm512_and_si512(a, b); }
TK_INLINE vu u_or(vu a, vu b) { return _mm512_or_si512(a, b); }
TK_INLINE vu u16_set(uint16_t x) { return _mm512_set1_epi16((short)x); }
TK_INLINE vu u32_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
TK_INLINE vu u16_left(vu v, const int n) { return _mm512_slli_epi16(v, (unsigned)n); }
TK_INLINE vu u32_left(vu v, const int n) { return _mm512_slli_epi32(v, (unsigned)n); }
TK_INLINE vu u16_right(vu v, const int n) { return _mm512_srli_epi16(v, (unsigned)n); }
TK_INLINE vu u32_right(vu v, const int n) { return _mm512_srli_epi32(v, (unsigned)n); }
TK_INLINE vu u16_above(vu v, uint16_t most, vu yes, vu no) {
    return _mm512_mask_mov_epi16(no, _mm512_cmpgt_epu16_mask(v, u16_set(most)), yes);
}
TK_INLINE vu u32_above(vu v, uint32_t most, vu yes, vu no) {
    return _mm512_mask_mov_epi32(no, _mm512_cmpgt_epu32_mask(v, u32_set(most)), yes);
}
TK_INLINE int u_any(vu v, vu bits) { return _mm512_test_epi32_mask(v, bits) != 0; }
TK_INLINE int u16_any_equal(vu v, uint16_t x) { return _mm512_cmpeq_epi16_mask(v, u16_set(x)) != 0; }
TK_INLINE int u32_any_equal(vu v, uint32_t x) { return _mm512_cmpeq_epi32_mask(v, u32_set(x)) != 0; }

TK_INLINE uint8_t *u_squeeze(uint8_t *out, vu v, uint64_t firsts) {
    uint64_t kept = _mm512_test_epi8_mask(v, v) | firsts;
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, v));
    return out + _mm_popcnt_u64(kept);
}
TK_INLINE uint8_t *u16_squeeze(uint8_t *out, vu v) { return u_squeeze(out, v, UINT64_C(0x5555555555555555)); }
TK_INLINE uint8_t *u32_squeeze(uint8_t *out, vu v) { return u_squeeze(out, v, UINT64_C(0x1111111111111111)); }

#endif
