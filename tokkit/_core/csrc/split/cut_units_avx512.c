/* Units of a text, by AVX-512: see cut_units.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")
#endif

#include "split/cut_rule.h"

/* The low half of a byte chooses a row of each table, its high half the table and a bit of the row. */
TK_INLINE uint64_t in_set(const tk_byte_set *set, const uint8_t *p) {
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i bits = _mm512_set1_epi64((long long)UINT64_C(0x8040201008040201));
    __m512i bytes = _mm512_loadu_si512(p);
    __m512i rows = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)set->low[0]));
    __m512i more = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)set->low[1]));
    __m512i at = _mm512_and_si512(bytes, low);
    __m512i bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low));
    __m512i row = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(rows, at), _mm512_movepi8_mask(bytes), more, at);
    return _mm512_test_epi8_mask(row, bit);
}

#include "split/cut_units.h"

size_t tk_cut_blocks_avx512(const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *at, size_t *ends,
                          size_t limit) {
    return cut_blocks(rule, text, n, at, ends, limit);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
