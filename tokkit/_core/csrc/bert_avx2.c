/* 64 bytes in, normalized pieces out, by AVX2: see bert_split.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#include "bert.h"

TK_INLINE __m256i between(__m256i bytes, char low, char high) {
    __m256i above = _mm256_sub_epi8(bytes, _mm256_set1_epi8(low)), span = _mm256_set1_epi8((char)(high - low));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(above, span), above);
}

TK_INLINE __m256i equal(__m256i bytes, char byte) { return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte)); }

/* 32 bytes of a block, the first or the second half of it. */
TK_INLINE void read_half(const uint8_t *p, uint8_t *out, int lower, tk_bert_masks *masks, unsigned shift) {
    const __m256i bit = _mm256_set1_epi8(lower ? 0x20 : 0);
    __m256i bytes = _mm256_loadu_si256((const __m256i *)p), upper = between(bytes, 'A', 'Z');
    __m256i white = _mm256_or_si256(_mm256_or_si256(equal(bytes, ' '), equal(bytes, '\t')),
                                    _mm256_or_si256(equal(bytes, '\n'), equal(bytes, '\r')));
    __m256i word = _mm256_or_si256(_mm256_or_si256(upper, between(bytes, 'a', 'z')), between(bytes, '0', '9'));
    __m256i plain = _mm256_or_si256(between(bytes, 0x20, 0x7E), white);
    masks->word |= (uint64_t)(uint32_t)_mm256_movemask_epi8(word) << shift;
    masks->other |= (uint64_t)(uint32_t)~_mm256_movemask_epi8(plain) << shift;
    masks->mark |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_andnot_si256(_mm256_or_si256(word, white), plain))
                   << shift;
    _mm256_storeu_si256((__m256i *)out, _mm256_or_si256(bytes, _mm256_and_si256(upper, bit)));
}

TK_INLINE tk_bert_masks read_block(const uint8_t *p, uint8_t *out, int lower) {
    tk_bert_masks masks = {0, 0, 0};
    read_half(p, out, lower, &masks, 0);
    read_half(p + 32, out + 32, lower, &masks, 32);
    return masks;
}

TK_INLINE void write_bits(uint64_t mask, uint32_t from, uint32_t *out) {
    while (mask) {
        for (int k = 0; k < 8; k++) *out++ = from + (uint32_t)_tzcnt_u64(mask), mask = _blsr_u64(mask);
    }
}

#include "bert_split.h"

TK_BERT_SPLIT(avx2)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
