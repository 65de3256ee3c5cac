/* 64 bytes in, normalized pieces out, by AVX-512: see bert_split.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")
#endif

#include "bert.h"

TK_INLINE uint64_t between(__m512i bytes, char low, char high) {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(low)), _mm512_set1_epi8((char)(high - low)));
}

TK_INLINE uint64_t equal(__m512i bytes, char byte) { return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte)); }

TK_INLINE tk_bert_masks read_block(const uint8_t *p, uint8_t *out, int lower) {
    const __m512i bit = _mm512_set1_epi8(0x20);
    __m512i bytes = _mm512_loadu_si512(p);
    uint64_t upper = between(bytes, 'A', 'Z');
    uint64_t white = equal(bytes, ' ') | equal(bytes, '\t') | equal(bytes, '\n') | equal(bytes, '\r');
    tk_bert_masks masks;
    masks.word = upper | between(bytes, 'a', 'z') | between(bytes, '0', '9');
    masks.other = ~between(bytes, 0x20, 0x7E) & ~white;
    masks.mark = ~(masks.word | masks.other | white);
    _mm512_storeu_si512(out, _mm512_mask_add_epi8(bytes, lower ? upper : 0, bytes, bit));
    return masks;
}

TK_INLINE void write_bits(uint64_t mask, uint32_t from, uint32_t *out) {
    static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i base = _mm512_set1_epi32((int)from);
    __m512i packed = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(numbers));
    unsigned count = (unsigned)__builtin_popcountll(mask);
    _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    if (TK_LIKELY(count <= 16)) return;
    uint8_t places[64];
    _mm512_storeu_si512(places, packed);
    for (unsigned k = 16; k < count; k += 16) {
        __m512i more = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(places + k)));
        _mm512_storeu_si512(out + k, _mm512_add_epi32(base, more));
    }
}

#include "bert_split.h"

TK_BERT_SPLIT(avx512)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
