/* Makes the keys of eight pretokens at a time, by AVX-512: see bpe_keys.h. AVX2 and NEON lack the products of 64 bits
   that the hash needs: with them, and with the operations of bytes.h, one key after another is as fast. */
#ifndef TK_BPE_KEYS_AVX512_H
#define TK_BPE_KEYS_AVX512_H
#include "encode/bpe_keys.h"
#include "encode/keys_avx512.h"

static size_t bpe_keys(const tk_cache *cache, const uint8_t *text, size_t n, size_t at, const size_t *ends,
                           size_t count, tk_keys *keys) {
    const __m512i hash_high = _mm512_set1_epi64((long long)TK_HASH_HIGH);
    const __m512i hash_all = _mm512_set1_epi64((long long)TK_HASH_ALL);
    const __m512i first_four = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i last_four = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const __m128i shift = _mm_cvtsi32_si128((int)cache->line_shift);
    const uint8_t *lines = (const uint8_t *)cache->words;
    uint64_t offsets[8];
    size_t k = 0;
    for (; k + 8 <= count && ends[k + 6] + 16 <= n; at = ends[k + 7], k += 8) {
        const size_t *e = ends + k;
        __m512i end = _mm512_loadu_si512(e);
        __m512i start = _mm512_alignr_epi64(end, _mm512_set1_epi64((long long)at), 7);
        __m512i even = tk_four_words(text + at, text + e[1], text + e[3], text + e[5]);
        __m512i odd = tk_four_words(text + e[0], text + e[2], text + e[4], text + e[6]);
        __m512i length = _mm512_sub_epi64(end, start);
        __m512i bits = _mm512_slli_epi64(length, 3);
        __m512i low = _mm512_and_si512(_mm512_unpacklo_epi64(even, odd), tk_low_bits(bits));
        __m512i more = tk_low_bits(_mm512_subs_epu16(bits, _mm512_set1_epi64(64)));
        __m512i high = _mm512_and_si512(_mm512_unpackhi_epi64(even, odd), more);
        high = _mm512_or_si512(high, _mm512_slli_epi64(length, 56));
        __m512i hash = _mm512_xor_si512(low, _mm512_mullo_epi64(high, hash_high));
        hash = _mm512_mullo_epi64(hash, hash_all);
        _mm512_storeu_si512(keys->words + 2 * k, _mm512_permutex2var_epi64(low, first_four, high));
        _mm512_storeu_si512(keys->words + 2 * k + 8, _mm512_permutex2var_epi64(low, last_four, high));
        _mm512_storeu_si512(keys->hash + k, hash);
        __m512i line = _mm512_and_si512(_mm512_srl_epi64(hash, shift), _mm512_set1_epi64(~63LL));
        _mm512_storeu_si512(offsets, line);
        for (int i = 0; i < 8; i++) TK_PREFETCH(lines + offsets[i]);
        /* Bytes rather than lanes are compared: gcc 12 -O1 stores one byte of a mask of 8 bits and reads four. */
        uint64_t longer = _mm512_cmpgt_epu8_mask(length, _mm512_set1_epi64(TK_SHORT_WORD));
        while (TK_UNLIKELY(longer)) {
            unsigned lane = tk_lowest_bit(longer) / 8;
            size_t i = k + lane, from = lane ? ends[i - 1] : at;
            tk_key key = tk_long_key(cache, text + from, ends[i] - from);
            tk_put_key(keys, i, &key);
            longer &= ~(UINT64_C(0xFF) << 8 * lane);
        }
    }
    return k;
}

#endif
