/* UCS-1, UCS-2 and UCS-4 in, UTF-8 out, by AVX2: units below 0x80 are narrowed 16 at a time; of the others, two at a
   time are spread over eight bytes, and those that their characters do not have are squeezed out. See utf8.h. */
#include "isa.h"
#if TK_X86
#include "text/utf8.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

/* Code points in eight dword lanes, none a surrogate, become four bytes each, those kept marked in *kept. */
TK_INLINE __m256i spread(__m256i c, __m256i *kept) {
    const __m256i low = _mm256_set1_epi32(0x3F), tail = _mm256_set1_epi32(0x80);
    __m256i two = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7F));
    __m256i three = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7FF));
    __m256i four = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0xFFFF));
    __m256i t0 = _mm256_or_si256(_mm256_and_si256(c, low), tail); /* bits 0-5, as a byte of the tail; and so on */
    __m256i t1 = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(c, 6), low), tail);
    __m256i t2 = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(c, 12), low), tail);
    __m256i of_two = _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi32(c, 6), _mm256_set1_epi32(0xC0)),
                                     _mm256_slli_epi32(t0, 8));
    __m256i of_three = _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi32(c, 12), _mm256_set1_epi32(0xE0)),
                                       _mm256_or_si256(_mm256_slli_epi32(t1, 8), _mm256_slli_epi32(t0, 16)));
    __m256i of_four = _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi32(c, 18), _mm256_set1_epi32(0xF0)),
                                      _mm256_slli_epi32(t2, 8));
    of_four = _mm256_or_si256(of_four, _mm256_or_si256(_mm256_slli_epi32(t1, 16), _mm256_slli_epi32(t0, 24)));
    *kept = _mm256_or_si256(_mm256_set1_epi32(0xFF), _mm256_and_si256(two, _mm256_set1_epi32(0xFF00)));
    *kept = _mm256_or_si256(*kept, _mm256_and_si256(three, _mm256_set1_epi32(0xFF0000)));
    *kept = _mm256_or_si256(*kept, _mm256_and_si256(four, _mm256_set1_epi32((int)0xFF000000)));
    c = _mm256_blendv_epi8(c, of_two, two);
    return _mm256_blendv_epi8(_mm256_blendv_epi8(c, of_three, three), of_four, four);
}

TK_INLINE uint8_t *put_eight(uint8_t *out, __m256i c) {
    uint64_t bytes[4], masks[4];
    __m256i kept;
    _mm256_storeu_si256((__m256i *)bytes, spread(c, &kept));
    _mm256_storeu_si256((__m256i *)masks, kept);
    for (int k = 0; k < 4; k++) {
        uint64_t two = _pext_u64(bytes[k], masks[k]);
        memcpy(out, &two, 8);
        out += (unsigned)__builtin_popcountll(masks[k]) / 8;
    }
    return out;
}

static size_t from_ucs1(const uint8_t *units, size_t n, uint8_t *out) {
    uint8_t *o = out;
    size_t i = 0;
    for (; n - i >= 16; i += 16) {
        __m128i some = _mm_loadu_si128((const __m128i *)(units + i));
        if (!_mm_movemask_epi8(some)) {
            _mm_storeu_si128((__m128i *)o, some);
            o += 16;
        } else {
            o = put_eight(o, _mm256_cvtepu8_epi32(some));
            o = put_eight(o, _mm256_cvtepu8_epi32(_mm_srli_si128(some, 8)));
        }
    }
    while (i < n) o = tk_utf8_put(o, units[i++]);
    return (size_t)(o - out);
}

static size_t from_ucs2(const uint16_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    size_t i = 0;
    while (n - i >= 16) {
        __m256i some = _mm256_loadu_si256((const __m256i *)(units + i));
        __m128i low = _mm256_castsi256_si128(some), high = _mm256_extracti128_si256(some, 1);
        __m256i top = _mm256_and_si256(some, _mm256_set1_epi16((short)0xF800));
        if (_mm256_testz_si256(some, _mm256_set1_epi16((short)0xFF80))) {
            _mm_storeu_si128((__m128i *)o, _mm_packus_epi16(low, high));
            o += 16;
        } else if (TK_UNLIKELY(_mm256_movemask_epi8(_mm256_cmpeq_epi16(top, _mm256_set1_epi16((short)0xD800))))) {
            size_t last = i + 16;
            while (i < last) o = tk_utf8_put_units(o, units, &i, n, surrogates);
            continue;
        } else {
            o = put_eight(o, _mm256_cvtepu16_epi32(low));
            o = put_eight(o, _mm256_cvtepu16_epi32(high));
        }
        i += 16;
    }
    while (i < n) o = tk_utf8_put_units(o, units, &i, n, surrogates);
    return (size_t)(o - out);
}

static size_t from_ucs4(const uint32_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    size_t i = 0;
    while (n - i >= 8) {
        __m256i some = _mm256_loadu_si256((const __m256i *)(units + i));
        __m256i top = _mm256_and_si256(some, _mm256_set1_epi32(~0x7FF));
        if (TK_UNLIKELY(_mm256_movemask_epi8(_mm256_cmpeq_epi32(top, _mm256_set1_epi32(0xD800))))) {
            size_t last = i + 8;
            while (i < last) o = tk_utf8_put_wide_units(o, units, &i, n, surrogates);
            continue;
        }
        o = put_eight(o, some);
        i += 8;
    }
    while (i < n) o = tk_utf8_put_wide_units(o, units, &i, n, surrogates);
    return (size_t)(o - out);
}

const tk_utf8_converter tk_utf8_avx2 = {from_ucs1, from_ucs2, from_ucs4};

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
