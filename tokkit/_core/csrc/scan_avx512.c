/* 64 bytes in, class masks out, by AVX-512; and the scanners made of that: see scan_block.h. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,bmi,bmi2,popcnt")
#endif

#include "scan_block.h"

TK_INLINE void classify(const uint8_t *p, tk_masks *m) {
    const __m512i by_low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)BY_LOW_NIBBLE));
    const __m512i by_high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)BY_HIGH_NIBBLE));
    __m512i bytes = _mm512_loadu_si512(p);
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(15));
    __m512i classes = _mm512_and_si512(_mm512_shuffle_epi8(by_low, bytes), _mm512_shuffle_epi8(by_high, high));
    m->other = _mm512_movepi8_mask(bytes);
    m->upper = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(UPPER_BITS));
    m->lower = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(LOWER_BITS));
    m->digit = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(DIGIT_BIT));
    m->line_end = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(LINE_END_BIT));
    m->space = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' '));
    m->blank = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(CONTROL_BIT)) | m->space;
    m->apostrophe = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\''));
    m->slash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('/'));
}

SCANNERS(avx512)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
