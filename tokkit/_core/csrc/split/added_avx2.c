/* Text in, places where an added token may begin out, 64 at a time by AVX2: see added.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#include "split/added.h"

TK_INLINE __m256i table(const uint8_t *nibbles) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)nibbles));
}

TK_INLINE __m256i buckets(const uint8_t *p, __m256i low, __m256i high) {
    const __m256i nibble = _mm256_set1_epi8(15), bytes = _mm256_loadu_si256((const __m256i *)p);
    __m256i upper = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
    return _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble)),
                            _mm256_shuffle_epi8(high, upper));
}

uint64_t tk_added_skip_avx2(const tk_added_filter *f, const uint8_t *text, size_t *at, size_t n) {
    const __m256i low[3] = {table(f->low[0]), table(f->low[1]), table(f->low[2])};
    const __m256i high[3] = {table(f->high[0]), table(f->high[1]), table(f->high[2])};
    const __m256i zero = _mm256_setzero_si256();
    for (; n - *at >= 66; *at += 64) {
        const uint8_t *p = text + *at;
        __m256i a = buckets(p, low[0], high[0]), b = buckets(p + 32, low[0], high[0]);
        a = _mm256_and_si256(a, buckets(p + 1, low[1], high[1]));
        b = _mm256_and_si256(b, buckets(p + 33, low[1], high[1]));
        a = _mm256_and_si256(a, buckets(p + 2, low[2], high[2]));
        b = _mm256_and_si256(b, buckets(p + 34, low[2], high[2]));
        if (_mm256_testz_si256(_mm256_or_si256(a, b), _mm256_or_si256(a, b))) continue;
        uint32_t none_a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, zero));
        uint32_t none_b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, zero));
        return ~(none_a | (uint64_t)none_b << 32);
    }
    return 0;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
