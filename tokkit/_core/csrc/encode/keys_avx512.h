/* Loads and masks for making keys with AVX-512; included after bytes_avx512.h. */
#ifndef TK_KEYS_AVX512_H
#define TK_KEYS_AVX512_H
#include "base.h"

/* The 16 bytes at each of four places. */
TK_INLINE __m512i tk_four_words(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
    __m256i first = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a));
    __m256i second = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)c));
    first = _mm256_inserti128_si256(first, _mm_loadu_si128((const __m128i *)b), 1);
    second = _mm256_inserti128_si256(second, _mm_loadu_si128((const __m128i *)d), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/* The lowest bits that are set, as many as each lane says; 64 and more are all. */
TK_INLINE __m512i tk_low_bits(__m512i bits) {
    const __m512i one = _mm512_set1_epi64(1);
    return _mm512_sub_epi64(_mm512_sllv_epi64(one, bits), one);
}

#endif
