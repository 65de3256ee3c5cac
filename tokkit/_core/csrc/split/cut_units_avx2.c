/* Units of a text, by AVX2: see cut_units.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#include "split/cut_rule.h"

/* The low half of a byte chooses a row of each table, its high half the table and a bit of the row. */
TK_INLINE uint64_t in_half(const tk_byte_set *set, const uint8_t *p) {
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i first = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64,
                                           -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i second = _mm256_permute4x64_epi64(first, 0xB1); /* the halves of each lane change places */
    __m256i bytes = _mm256_loadu_si256((const __m256i *)p);
    __m256i rows = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->low[0]));
    __m256i more = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->low[1]));
    __m256i at = _mm256_and_si256(bytes, low), high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
    __m256i found = _mm256_and_si256(_mm256_shuffle_epi8(rows, at), _mm256_shuffle_epi8(first, high));
    __m256i beyond = _mm256_and_si256(_mm256_shuffle_epi8(more, at), _mm256_shuffle_epi8(second, high));
    __m256i none = _mm256_cmpeq_epi8(_mm256_or_si256(found, beyond), _mm256_setzero_si256());
    return (uint32_t)~_mm256_movemask_epi8(none);
}

TK_INLINE uint64_t in_set(const tk_byte_set *set, const uint8_t *p) {
    return in_half(set, p) | in_half(set, p + 32) << 32;
}

#include "split/cut_units.h"

size_t tk_cut_blocks_avx2(const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *at, size_t *ends,
                          size_t limit) {
    return cut_blocks(rule, text, n, at, ends, limit);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
