/* Text in, the buffer filled and cut out, by AVX2: see sp_front.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#include "sentencepiece/sp_engine.h"

/* Lanes of FF where a byte is in the set: its low half chooses a row, and its high half a bit of that. */
TK_INLINE __m256i in_set(const tk_sp_set *set, __m256i bytes) {
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i bits = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64,
                                          -128, 0, 0, 0, 0, 0, 0, 0, 0);
    __m256i rows = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->low));
    __m256i row = _mm256_shuffle_epi8(rows, _mm256_and_si256(bytes, low));
    __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low));
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(_mm256_and_si256(row, bit), _mm256_setzero_si256()),
                               _mm256_set1_epi8(-1));
}

TK_INLINE uint64_t mask_of(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

TK_INLINE tk_sp_text_masks read_text(const tk_sp *m, const uint8_t *p, uint8_t *out) {
    const __m256i space = _mm256_set1_epi8(' '), first = _mm256_set1_epi8((char)0xE2);
    __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 32));
    __m256i white_a = in_set(&m->white, a), white_b = in_set(&m->white, b);
    _mm256_storeu_si256((__m256i *)out, _mm256_blendv_epi8(a, space, white_a));
    _mm256_storeu_si256((__m256i *)(out + 32), _mm256_blendv_epi8(b, space, white_b));
    return (tk_sp_text_masks){mask_of(in_set(&m->keep, a), in_set(&m->keep, b)), mask_of(white_a, white_b),
                              mask_of(a, b), mask_of(_mm256_cmpeq_epi8(a, first), _mm256_cmpeq_epi8(b, first))};
}

TK_INLINE tk_sp_cut_masks read_cuts(const tk_sp *m, const uint8_t *p) {
    const __m256i space = _mm256_set1_epi8(' '), lead = _mm256_set1_epi8(-64);
    __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 32));
    return (tk_sp_cut_masks){mask_of(_mm256_cmpeq_epi8(a, space), _mm256_cmpeq_epi8(b, space)),
                             mask_of(in_set(&m->apart, a), in_set(&m->apart, b)), mask_of(a, b),
                             mask_of(_mm256_cmpgt_epi8(lead, a), _mm256_cmpgt_epi8(lead, b))};
}

TK_INLINE size_t squeeze(uint8_t *bytes, uint64_t mask) {
    (void)bytes, (void)mask;
    return 0;
}

TK_INLINE size_t write_bits(uint64_t mask, uint32_t from, uint32_t *out) {
    size_t n = (size_t)_mm_popcnt_u64(mask);
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = i; k < i + 4; k++, mask = _blsr_u64(mask)) out[k] = from + (uint32_t)_tzcnt_u64(mask);
    return n;
}

TK_INLINE int joined_together(const tk_sp *m, const tk_sp_scratch *w, uint64_t test, uint64_t starts,
                              uint64_t *joined) {
    (void)m, (void)w, (void)test, (void)starts, (void)joined;
    return 0;
}

#include "sentencepiece/sp_front.h"

TK_SP_FRONT(avx2)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
