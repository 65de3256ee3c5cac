/* 64 bytes in, class masks out, by AVX-512; and the scanners made of that: see scan_block.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt"))),        \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")
#endif

#include "split/scan_block.h"

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
    m->control = _mm512_test_epi8_mask(classes, _mm512_set1_epi8((char)LOW_BIT)) |
                 _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(0x7F));
}

TK_INLINE uint64_t bytes_between(const uint8_t *p, uint8_t low, uint8_t high) {
    __m512i above = _mm512_sub_epi8(_mm512_loadu_si512(p), _mm512_set1_epi8((char)low));
    return _mm512_cmple_epu8_mask(above, _mm512_set1_epi8((char)(high - low)));
}

TK_INLINE uint64_t inner_bytes(const uint8_t *p) {
    return _mm512_cmplt_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8(-64));
}

TK_INLINE void write_places(uint64_t mask, size_t from, size_t *out) {
    static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    uint8_t places[64];
    const __m512i base = _mm512_set1_epi64((long long)from);
    __m512i packed = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(numbers));
    _mm512_storeu_si512(out, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(_mm512_castsi512_si128(packed))));
    unsigned count = (unsigned)__builtin_popcountll(mask);
    if (TK_LIKELY(count <= 8)) return;
    __m128i second = _mm_srli_si128(_mm512_castsi512_si128(packed), 8);
    _mm512_storeu_si512(out + 8, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(second)));
    if (TK_LIKELY(count <= 16)) return;
    _mm512_storeu_si512(places, packed);
    for (unsigned k = 16; k < count; k += 8) {
        __m512i eight = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(places + k)));
        _mm512_storeu_si512(out + k, _mm512_add_epi64(base, eight));
    }
}

SCANNERS(avx512)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
