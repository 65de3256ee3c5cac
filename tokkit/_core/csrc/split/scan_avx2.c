/* 64 bytes in, class masks out, by AVX2; and the scanners made of that: see scan_block.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#include "split/scan_block.h"

TK_INLINE uint64_t mask_of(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

TK_INLINE uint64_t with_any(__m256i low, __m256i high, int bits) {
    const __m256i wanted = _mm256_set1_epi8((char)bits), zero = _mm256_setzero_si256();
    return ~mask_of(_mm256_cmpeq_epi8(_mm256_and_si256(low, wanted), zero),
                    _mm256_cmpeq_epi8(_mm256_and_si256(high, wanted), zero));
}

TK_INLINE uint64_t equal_to(__m256i low, __m256i high, char byte) {
    const __m256i wanted = _mm256_set1_epi8(byte);
    return mask_of(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
}

TK_INLINE __m256i classes_of(__m256i bytes) {
    const __m256i by_low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)BY_LOW_NIBBLE));
    const __m256i by_high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)BY_HIGH_NIBBLE));
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    return _mm256_and_si256(_mm256_shuffle_epi8(by_low, bytes), _mm256_shuffle_epi8(by_high, high));
}

TK_INLINE void classify(const uint8_t *p, tk_masks *m) {
    __m256i low = _mm256_loadu_si256((const __m256i *)p), high = _mm256_loadu_si256((const __m256i *)(p + 32));
    __m256i a = classes_of(low), b = classes_of(high);
    m->other = mask_of(low, high);
    m->upper = with_any(a, b, UPPER_BITS);
    m->lower = with_any(a, b, LOWER_BITS);
    m->digit = with_any(a, b, DIGIT_BIT);
    m->line_end = with_any(a, b, LINE_END_BIT);
    m->space = equal_to(low, high, ' ');
    m->blank = with_any(a, b, CONTROL_BIT) | m->space;
    m->apostrophe = equal_to(low, high, '\'');
    m->slash = equal_to(low, high, '/');
    m->control = with_any(a, b, LOW_BIT) | equal_to(low, high, 0x7F);
}

TK_INLINE uint64_t bytes_between(const uint8_t *p, uint8_t low, uint8_t high) {
    const __m256i first = _mm256_set1_epi8((char)low), span = _mm256_set1_epi8((char)(high - low));
    __m256i a = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)p), first);
    __m256i b = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), first);
    return mask_of(_mm256_cmpeq_epi8(_mm256_min_epu8(a, span), a), _mm256_cmpeq_epi8(_mm256_min_epu8(b, span), b));
}

TK_INLINE uint64_t inner_bytes(const uint8_t *p) {
    __m256i low = _mm256_loadu_si256((const __m256i *)p), high = _mm256_loadu_si256((const __m256i *)(p + 32));
    const __m256i bound = _mm256_set1_epi8(-64);
    return mask_of(_mm256_cmpgt_epi8(bound, low), _mm256_cmpgt_epi8(bound, high));
}

TK_INLINE void write_places(uint64_t mask, size_t from, size_t *out) { write_by_eights(mask, from, out); }

SCANNERS(avx2)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
