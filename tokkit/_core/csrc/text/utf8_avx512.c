/* UCS-1, UCS-2 and UCS-4 in, UTF-8 out, by AVX-512: each unit is spread over two or four bytes, and those that
   its character does not have are squeezed out. See utf8.h. */
#include "isa.h"
#if TK_X86
#include "text/utf8.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt"))),   \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")
#endif

/* The first `count` of 32 or 16 lanes. */
static __mmask32 first_32(size_t count) { return count < 32 ? (__mmask32)((1u << count) - 1) : ~(__mmask32)0; }
static __mmask16 first_16(size_t count) { return (__mmask16)(count < 16 ? (1u << count) - 1 : 0xFFFF); }

TK_INLINE uint8_t *squeeze(uint8_t *out, __m512i bytes, __mmask64 kept) {
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, bytes));
    return out + __builtin_popcountll(kept);
}

/* 32 units below 0x800: one byte or two. */
TK_INLINE uint8_t *put_two(uint8_t *out, __m512i units, __mmask32 taken) {
    __mmask32 wide = _mm512_mask_cmpge_epu16_mask(taken, units, _mm512_set1_epi16(0x80));
    __m512i first = _mm512_or_si512(_mm512_srli_epi16(units, 6), _mm512_set1_epi16(0xC0));
    __m512i second = _mm512_or_si512(_mm512_and_si512(units, _mm512_set1_epi16(0x3F)), _mm512_set1_epi16(0x80));
    __m512i both = _mm512_or_si512(first, _mm512_slli_epi16(second, 8));
    return squeeze(out, _mm512_mask_mov_epi16(units, wide, both),
                   _pdep_u64(taken, 0x5555555555555555) | _pdep_u64(wide, 0xAAAAAAAAAAAAAAAA));
}

/* 16 code points, none a surrogate: one byte to four. */
TK_INLINE uint8_t *put_four(uint8_t *out, __m512i c, __mmask16 taken) {
    const __m512i low = _mm512_set1_epi32(0x3F), tail = _mm512_set1_epi32(0x80);
    __mmask16 two = _mm512_mask_cmpge_epu32_mask(taken, c, _mm512_set1_epi32(0x80));
    __mmask16 three = _mm512_mask_cmpge_epu32_mask(taken, c, _mm512_set1_epi32(0x800));
    __mmask16 four = _mm512_mask_cmpge_epu32_mask(taken, c, _mm512_set1_epi32(0x10000));
    __m512i t0 = _mm512_or_si512(_mm512_and_si512(c, low), tail); /* bits 0-5, as a byte of the tail; and so on */
    __m512i t1 = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(c, 6), low), tail);
    __m512i t2 = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(c, 12), low), tail);
    __m512i of_two = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(c, 6), _mm512_set1_epi32(0xC0)),
                                     _mm512_slli_epi32(t0, 8));
    __m512i of_three = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(c, 12), _mm512_set1_epi32(0xE0)),
                                       _mm512_or_si512(_mm512_slli_epi32(t1, 8), _mm512_slli_epi32(t0, 16)));
    __m512i bytes = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(c, two, of_two), three, of_three);
    if (four) {
        __m512i of_four = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(c, 18), _mm512_set1_epi32(0xF0)),
                                          _mm512_slli_epi32(t2, 8));
        of_four = _mm512_or_si512(of_four, _mm512_or_si512(_mm512_slli_epi32(t1, 16), _mm512_slli_epi32(t0, 24)));
        bytes = _mm512_mask_mov_epi32(bytes, four, of_four);
    }
    return squeeze(out, bytes, _pdep_u64(taken, 0x1111111111111111) | _pdep_u64(two, 0x2222222222222222) |
                                   _pdep_u64(three, 0x4444444444444444) | _pdep_u64(four, 0x8888888888888888));
}

static size_t from_ucs1(const uint8_t *units, size_t n, uint8_t *out) {
    uint8_t *o = out;
    for (size_t i = 0; i < n; i += 32) {
        __mmask32 taken = first_32(n - i);
        __m256i some = _mm256_maskz_loadu_epi8(taken, units + i);
        if (!_mm256_movepi8_mask(some)) {
            _mm256_storeu_si256((__m256i *)o, some);
            o += n - i < 32 ? n - i : 32;
        } else {
            o = put_two(o, _mm512_cvtepu8_epi16(some), taken);
        }
    }
    return (size_t)(o - out);
}

static size_t from_ucs2(const uint16_t *units, size_t n, uint8_t *out, int *surrogates) {
    const __m512i beyond_ascii = _mm512_set1_epi16((short)0xFF80);
    uint8_t *o = out;
    for (size_t i = 0; i < n;) {
        /* 64 at a time, not 32: whether these are all ASCII is easier to foresee in most languages. */
        for (; n - i >= 64; i += 64, o += 64) {
            __m512i low = _mm512_loadu_si512(units + i), high = _mm512_loadu_si512(units + i + 32);
            if (_mm512_test_epi16_mask(_mm512_or_si512(low, high), beyond_ascii)) break;
            _mm256_storeu_si256((__m256i *)o, _mm512_cvtepi16_epi8(low));
            _mm256_storeu_si256((__m256i *)(o + 32), _mm512_cvtepi16_epi8(high));
        }
        size_t count = n - i < 32 ? n - i : 32;
        __mmask32 taken = first_32(count);
        __m512i some = _mm512_maskz_loadu_epi16(taken, units + i);
        if (!_mm512_test_epi16_mask(some, _mm512_set1_epi16((short)0xF800))) {
            o = put_two(o, some, taken);
        } else if (TK_UNLIKELY(_mm512_cmpeq_epi16_mask(_mm512_and_si512(some, _mm512_set1_epi16((short)0xF800)),
                                                       _mm512_set1_epi16((short)0xD800)))) {
            size_t last = i + count;
            while (i < last) o = tk_utf8_put_units(o, units, &i, n, surrogates);
            continue;
        } else {
            o = put_four(o, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(some)), (__mmask16)taken);
            if (taken >> 16)
                o = put_four(o, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(some, 1)), (__mmask16)(taken >> 16));
        }
        i += count;
    }
    return (size_t)(o - out);
}

static size_t from_ucs4(const uint32_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    for (size_t i = 0; i < n;) {
        size_t count = n - i < 16 ? n - i : 16;
        __mmask16 taken = first_16(count);
        __m512i some = _mm512_maskz_loadu_epi32(taken, units + i);
        if (!_mm512_test_epi32_mask(some, _mm512_set1_epi32(~0x7F))) {
            _mm_storeu_si128((__m128i *)o, _mm512_cvtepi32_epi8(some));
            o += count;
        } else if (TK_UNLIKELY(_mm512_cmpeq_epi32_mask(_mm512_and_si512(some, _mm512_set1_epi32(~0x7FF)),
                                                       _mm512_set1_epi32(0xD800)))) {
            size_t last = i + count;
            while (i < last) o = tk_utf8_put_wide_units(o, units, &i, n, surrogates);
            continue;
        } else {
            o = put_four(o, some, taken);
        }
        i += count;
    }
    return (size_t)(o - out);
}

const tk_utf8_converter tk_utf8_avx512 = {from_ucs1, from_ucs2, from_ucs4};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
