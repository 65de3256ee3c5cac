/* Finds which characters of 64 bytes may be in one token with the character before them, by AVX-512: sixteen adjacent
   pairs are looked up at once. It does not use the operations of bytes.h: without gather and compress, one pair after
   another is faster (neighbors_loops.h). */
#ifndef TK_NEIGHBORS_AVX512_H
#define TK_NEIGHBORS_AVX512_H
#include "split/neighbors.h"

#define TK_NEIGHBORS_AT_ONCE 1
enum { WORTH_IT = 6 }; /* boundaries */

/* Those that begin at `starts`, in *joined; 0 where it does not say. Characters stand in lanes of four bytes. */
TK_INLINE int joined_together(const uint8_t *set, const uint8_t *text, const uint8_t *p, uint64_t test, uint64_t starts,
                              uint64_t *joined) {
    if (_mm_popcnt_u64(test) < WORTH_IT) return 0;
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
    __m512i before = _mm512_set1_epi32(p_first > text ? (int)tk_neighbor_before(text, p_first) : 0);
    size_t count = (size_t)_mm_popcnt_u64(starts);
    uint64_t found = 0;
    for (size_t k = 0; k < count; k += 16) {
        __m512i right = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(parts[0]));
        for (int i = 1; i < 4; i++) {
            __m512i part = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(parts[i]));
            right = _mm512_or_si512(right, _mm512_sll_epi32(part, _mm_cvtsi32_si128(8 * i)));
        }
        for (int i = 0; i < 4; i++) parts[i] = _mm512_alignr_epi64(parts[i], parts[i], 2);
        __m512i as_left = _mm512_mullo_epi32(right, _mm512_set1_epi32((int)tk_neighbor_left(1)));
        __m512i place = _mm512_mullo_epi32(right, _mm512_set1_epi32((int)tk_neighbor_right(1)));
        place = _mm512_xor_si512(place, _mm512_alignr_epi32(as_left, before, 15));
        place = _mm512_srli_epi32(place, 32 - TK_NEIGHBOR_BITS);
        __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(place, 5), set, 4);
        __m512i bits = _mm512_rorv_epi32(words, place);
        found |= (uint64_t)_mm512_test_epi32_mask(bits, _mm512_set1_epi32(1)) << k;
        before = as_left;
    }
    *joined = _pdep_u64(found, starts);
    return 1;
}

#endif
