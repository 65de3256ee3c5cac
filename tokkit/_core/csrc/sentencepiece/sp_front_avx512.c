/* Text in, the buffer filled and cut out, by AVX-512: see sp_front.h. */
#include "isa.h"
#if TK_X86
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")
#endif

#include "sentencepiece/sp_engine.h"

/* Which bytes are in the set: the low half of one chooses a row, and its high half a bit of that. */
TK_INLINE uint64_t in_set(const tk_sp_set *set, __m512i bytes) {
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i bits = _mm512_broadcast_i32x4(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
    __m512i rows = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)set->low));
    __m512i row = _mm512_shuffle_epi8(rows, _mm512_and_si512(bytes, low));
    __m512i bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low));
    return _mm512_test_epi8_mask(row, bit);
}

TK_INLINE tk_sp_text_masks read_text(const tk_sp *m, const uint8_t *p, uint8_t *out) {
    __m512i bytes = _mm512_loadu_si512(p);
    uint64_t white = in_set(&m->white, bytes);
    _mm512_storeu_si512(out, _mm512_mask_mov_epi8(bytes, white, _mm512_set1_epi8(' ')));
    /* U+2581 is E2 96 81: where the next byte is not here, the first alone may begin it. */
    uint64_t symbol = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0xE2));
    symbol &= _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0x96)) >> 1 | UINT64_C(1) << 63;
    return (tk_sp_text_masks){in_set(&m->keep, bytes), white, _mm512_movepi8_mask(bytes), symbol};
}

TK_INLINE tk_sp_cut_masks read_cuts(const tk_sp *m, const uint8_t *p) {
    __m512i bytes = _mm512_loadu_si512(p);
    return (tk_sp_cut_masks){_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' ')), in_set(&m->apart, bytes),
                             _mm512_movepi8_mask(bytes), _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(-64))};
}

TK_INLINE size_t squeeze(uint8_t *bytes, uint64_t mask) {
    _mm512_storeu_si512(bytes, _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(bytes)));
    return (size_t)_mm_popcnt_u64(mask);
}

TK_INLINE size_t write_bits(uint64_t mask, uint32_t from, uint32_t *out) {
    static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i base = _mm512_set1_epi32((int)from);
    __m512i packed = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(numbers));
    size_t count = (size_t)_mm_popcnt_u64(mask);
    _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    if (TK_LIKELY(count <= 16)) return count;
    uint8_t places[64];
    _mm512_storeu_si512(places, packed);
    for (size_t k = 16; k < count; k += 16) {
        __m512i more = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(places + k)));
        _mm512_storeu_si512(out + k, _mm512_add_epi32(base, more));
    }
    return count;
}

enum { WORTH_IT = 6 }; /* boundaries */

TK_INLINE uint32_t left_of(const tk_sp_scratch *w, const uint8_t *p);

/* Characters stand in lanes of four bytes, so that pairs of neighbours are looked up sixteen at a time. */
TK_INLINE int joined_together(const tk_sp *m, const tk_sp_scratch *w, uint64_t test, uint64_t starts,
                              uint64_t *joined) {
    if (_mm_popcnt_u64(test) < WORTH_IT) return 0;
    const uint8_t *p = w->text + w->scanned;
    __m512i bytes = _mm512_loadu_si512(p);
    uint64_t two = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xC0));
    uint64_t three = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xE0));
    uint64_t four = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xF0));
    uint64_t rest = _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(-64)), first = _blsi_u64(starts);
    uint64_t last = UINT64_MAX >> __builtin_clzll(starts); /* the last one's length its first byte says alone */
    if (((rest ^ (two << 1 | three << 2 | four << 3)) & last & ~(first - 1)) != 0) return 0; /* not UTF-8 */
    __m512i parts[4] = {bytes, _mm512_maskz_loadu_epi8(two, p + 1), _mm512_maskz_loadu_epi8(three, p + 2),
                        _mm512_maskz_loadu_epi8(four, p + 3)};
    for (int i = 0; i < 4; i++) parts[i] = _mm512_maskz_compress_epi8(starts, parts[i]);
    const uint8_t *p_first = p + _tzcnt_u64(first);
    __m512i before = _mm512_set1_epi32(p_first > w->text ? (int)left_of(w, p_first) : 0);
    size_t count = (size_t)_mm_popcnt_u64(starts);
    uint64_t found = 0;
    for (size_t k = 0; k < count; k += 16) {
        __m512i right = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(parts[0]));
        for (int i = 1; i < 4; i++) {
            __m512i part = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(parts[i]));
            right = _mm512_or_si512(right, _mm512_sll_epi32(part, _mm_cvtsi32_si128(8 * i)));
        }
        for (int i = 0; i < 4; i++) parts[i] = _mm512_alignr_epi64(parts[i], parts[i], 2);
        __m512i as_left = _mm512_mullo_epi32(right, _mm512_set1_epi32((int)tk_sp_bigram_left(1)));
        __m512i place = _mm512_mullo_epi32(right, _mm512_set1_epi32((int)tk_sp_bigram_right(1)));
        place = _mm512_xor_si512(place, _mm512_alignr_epi32(as_left, before, 15));
        place = _mm512_srli_epi32(place, 32 - TK_SP_BIGRAM_BITS);
        __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(place, 5), m->bigrams, 4);
        __m512i bits = _mm512_rorv_epi32(words, place);
        found |= (uint64_t)_mm512_test_epi32_mask(bits, _mm512_set1_epi32(1)) << k;
        before = as_left;
    }
    *joined = _pdep_u64(found, starts);
    return 1;
}

#include "sentencepiece/sp_front.h"

TK_SP_FRONT(avx512)

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
