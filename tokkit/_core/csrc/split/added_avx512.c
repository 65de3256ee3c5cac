/* Text in, places where an added token may begin out, 64 at a time by AVX-512: see added.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,bmi,bmi2,popcnt")
#endif

#include "split/added.h"

TK_INLINE __m512i table(const uint8_t *nibbles) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)nibbles));
}

TK_INLINE __m512i buckets(const uint8_t *p, __m512i low, __m512i high) {
    const __m512i nibble = _mm512_set1_epi8(15), bytes = _mm512_loadu_si512(p);
    __m512i upper = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibble);
    return _mm512_and_si512(_mm512_shuffle_epi8(low, _mm512_and_si512(bytes, nibble)),
                            _mm512_shuffle_epi8(high, upper));
}

uint64_t tk_added_skip_avx512(const tk_added_filter *f, const uint8_t *text, size_t *at, size_t n) {
    const __m512i low[3] = {table(f->low[0]), table(f->low[1]), table(f->low[2])};
    const __m512i high[3] = {table(f->high[0]), table(f->high[1]), table(f->high[2])};
    for (; n - *at >= 66; *at += 64) {
        const uint8_t *p = text + *at;
        __m512i first = buckets(p, low[0], high[0]), second = buckets(p + 1, low[1], high[1]);
        uint64_t found = _mm512_test_epi8_mask(_mm512_and_si512(first, second), buckets(p + 2, low[2], high[2]));
        if (found) return found;
    }
    return 0;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
