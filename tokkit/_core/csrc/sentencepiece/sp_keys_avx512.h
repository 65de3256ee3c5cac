/* Makes the keys of eight units at a time, by AVX-512: see sp_keys.h, and bpe_keys_avx512.h for why only AVX-512. */
#ifndef TK_SP_KEYS_AVX512_H
#define TK_SP_KEYS_AVX512_H
#include "sentencepiece/sp_keys.h"
#include "encode/keys_avx512.h"

static size_t sp_keys(const tk_sp_cache *cache, const uint8_t *text, const uint32_t *starts, size_t n,
                              tk_sp_keys *keys) {
    const __m512i mix_low = _mm512_set1_epi64((long long)TK_SP_MIX_LOW), add = _mm512_set1_epi64((long long)TK_SP_ADD);
    const __m512i mix_high = _mm512_set1_epi64((long long)TK_SP_MIX_HIGH);
    const __m512i mix = _mm512_set1_epi64((long long)TK_SP_MIX), line_mask = _mm512_set1_epi64((long long)cache->mask);
    const __m512i first_four = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i last_four = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        const uint32_t *s = starts + k;
        __m256i begin = _mm256_loadu_si256((const __m256i *)s), end = _mm256_loadu_si256((const __m256i *)(s + 1));
        __m512i length = _mm512_cvtepu32_epi64(_mm256_min_epu32(_mm256_sub_epi32(end, begin), _mm256_set1_epi32(16)));
        __m512i even = tk_four_words(text + s[0], text + s[2], text + s[4], text + s[6]);
        __m512i odd = tk_four_words(text + s[1], text + s[3], text + s[5], text + s[7]);
        __m512i bits = _mm512_slli_epi64(length, 3);
        __m512i low = _mm512_and_si512(_mm512_unpacklo_epi64(even, odd), tk_low_bits(bits));
        __m512i more = tk_low_bits(_mm512_subs_epu16(bits, _mm512_set1_epi64(64)));
        __m512i high = _mm512_and_si512(_mm512_unpackhi_epi64(even, odd), more);
        /* 16 is marked by a bit more: four times itself */
        __m512i marked = _mm512_or_si512(length, _mm512_slli_epi64(_mm512_and_si512(length, _mm512_set1_epi64(16)), 2));
        high = _mm512_or_si512(high, _mm512_slli_epi64(marked, 56));
        __m512i hash = _mm512_mullo_epi64(_mm512_xor_si512(low, add), mix_low);
        hash = _mm512_xor_si512(hash, _mm512_mullo_epi64(high, mix_high));
        hash = _mm512_mullo_epi64(_mm512_xor_si512(hash, _mm512_srli_epi64(hash, 32)), mix);
        __m512i line = _mm512_and_si512(_mm512_srli_epi64(hash, 32), line_mask);
        _mm512_storeu_si512(keys->words + 2 * k, _mm512_permutex2var_epi64(low, first_four, high));
        _mm512_storeu_si512(keys->words + 2 * k + 8, _mm512_permutex2var_epi64(low, last_four, high));
        _mm512_storeu_si512(keys->lines + k, line);
        for (int i = 0; i < 8; i++) TK_PREFETCH(cache->entries + 2 * keys->lines[k + (size_t)i]);
    }
    return k;
}

#endif
