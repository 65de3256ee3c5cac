/* Blocks of 64 bytes, and units of text in vectors, by AVX2: the operations of bytes.h. */
#ifndef TK_BYTES_AVX2_H
#define TK_BYTES_AVX2_H
#include <immintrin.h>

#include "text/bytes.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

typedef struct {
    __m256i a, b;
} vb, tb; /* what is true has all bits set */

#define EACH(op, ...) ((vb){op(v.a, __VA_ARGS__), op(v.b, __VA_ARGS__)})

TK_INLINE vb b_load(const uint8_t *p) {
    return (vb){_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32))};
}
TK_INLINE vb b_load_first(const uint8_t *p, size_t n) {
    uint8_t first[BLOCK] = {0};
    memcpy(first, p, n);
    return b_load(first);
}
TK_INLINE void b_store(uint8_t *p, vb v) {
    _mm256_storeu_si256((__m256i *)p, v.a);
    _mm256_storeu_si256((__m256i *)(p + 32), v.b);
}
TK_INLINE vb b_and(vb v, vb w) { return (vb){_mm256_and_si256(v.a, w.a), _mm256_and_si256(v.b, w.b)}; }
TK_INLINE vb b_or(vb v, vb w) { return (vb){_mm256_or_si256(v.a, w.a), _mm256_or_si256(v.b, w.b)}; }

TK_INLINE vb b_from_table(const uint8_t *sixteen, vb at) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)sixteen));
    return (vb){_mm256_shuffle_epi8(table, at.a), _mm256_shuffle_epi8(table, at.b)};
}
TK_INLINE vb b_upper_halves(vb v) {
    v = EACH(_mm256_srli_epi16, 4);
    return EACH(_mm256_and_si256, _mm256_set1_epi8(15));
}
TK_INLINE vb b_lookup(const uint8_t *low, const uint8_t *high, vb v) {
    vb lower = EACH(_mm256_and_si256, _mm256_set1_epi8(15));
    return b_and(b_from_table(low, lower), b_from_table(high, b_upper_halves(v)));
}
TK_INLINE vb b_lookup_ascii(const uint8_t *low, const uint8_t *high, vb v) { /* a shuffle gives 0 for the others */
    return b_and(b_from_table(low, v), b_from_table(high, b_upper_halves(v)));
}

TK_INLINE tb b_equal(vb v, uint8_t byte) { return EACH(_mm256_cmpeq_epi8, _mm256_set1_epi8((char)byte)); }
TK_INLINE tb b_nonzero(vb v) { return b_equal(b_equal(v, 0), 0); }
TK_INLINE tb b_between(vb v, uint8_t low, uint8_t high) {
    const __m256i span = _mm256_set1_epi8((char)(high - low));
    v = EACH(_mm256_sub_epi8, _mm256_set1_epi8((char)low));
    vb least = EACH(_mm256_min_epu8, span);
    return (tb){_mm256_cmpeq_epi8(least.a, v.a), _mm256_cmpeq_epi8(least.b, v.b)};
}
TK_INLINE tb b_continues(vb v) {
    const __m256i bound = _mm256_set1_epi8(-64);
    return (tb){_mm256_cmpgt_epi8(bound, v.a), _mm256_cmpgt_epi8(bound, v.b)};
}
TK_INLINE tb b_beyond_ascii(vb v) { return v; } /* the highest bits are what b_bits takes */
TK_INLINE int b_any(vb v) {
    __m256i both = _mm256_or_si256(v.a, v.b);
    return !_mm256_testz_si256(both, both);
}
TK_INLINE uint64_t b_bits(tb truth) {
    return (uint32_t)_mm256_movemask_epi8(truth.a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(truth.b) << 32;
}
TK_INLINE uint64_t b_some(vb v) { return ~b_bits(b_equal(v, 0)); }
TK_INLINE uint64_t b_with(vb v, uint8_t bits) { return b_some(EACH(_mm256_and_si256, _mm256_set1_epi8((char)bits))); }
TK_INLINE vb b_choose(tb truth, uint8_t byte, vb no) {
    const __m256i yes = _mm256_set1_epi8((char)byte);
    return (vb){_mm256_blendv_epi8(no.a, yes, truth.a), _mm256_blendv_epi8(no.b, yes, truth.b)};
}

TK_INLINE size_t b_squeeze(uint8_t *p, uint64_t mask) {
    unsigned k = (unsigned)_tzcnt_u64(~mask) & ~7u; /* what stands before stays */
    uint8_t *out = p + k;
    for (; k < 64; k += 8) { /* never beyond what is read next */
        uint64_t lanes = _pdep_u64(mask >> k, UINT64_C(0x0101010101010101)) * 0xFF;
        uint64_t kept = _pext_u64(tk_load64(p + k), lanes);
        memcpy(out, &kept, 8);
        out += _mm_popcnt_u64(lanes) / 8;
    }
    return (size_t)(out - p);
}

TK_INLINE size_t b_places(uint64_t mask, size_t from, size_t *out) { return places_by_eights(mask, from, out); }
TK_INLINE size_t b_places_32(uint64_t mask, uint32_t from, uint32_t *out) {
    const size_t n = (size_t)_mm_popcnt_u64(mask);
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = i; k < i + 4; k++, mask = _blsr_u64(mask)) out[k] = from + (uint32_t)_tzcnt_u64(mask);
    return n;
}

/* ---- units */

enum { U_BYTES = 32, U_PARTIAL = 0 };
typedef __m256i vu;

TK_INLINE vu u_load_16(const uint16_t *p, size_t n) { return (void)n, _mm256_loadu_si256((const __m256i *)p); }
TK_INLINE vu u_load_32(const uint32_t *p, size_t n) { return (void)n, _mm256_loadu_si256((const __m256i *)p); }
TK_INLINE vu u_8_to_16(const uint8_t *p, size_t n) {
    return (void)n, _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
}
TK_INLINE vu u_16_to_32(const uint16_t *p, size_t n) {
    return (void)n, _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}
TK_INLINE void u_16_to_8(uint8_t *out, vu v) {
    __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storeu_si128((__m128i *)out, packed);
}
TK_INLINE void u_32_to_8(uint8_t *out, vu v) {
    __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)out, _mm_packus_epi16(packed, packed));
}
TK_INLINE vu u_and(vu a, vu b) { return _mm256_and_si256(a, b); }
TK_INLINE vu u_or(vu a, vu b) { return _mm256_or_si256(a, b); }
TK_INLINE vu u16_set(uint16_t x) { return _mm256_set1_epi16((short)x); }
TK_INLINE vu u32_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
TK_INLINE vu u16_left(vu v, const int n) { return _mm256_slli_epi16(v, n); }
TK_INLINE vu u32_left(vu v, const int n) { return _mm256_slli_epi32(v, n); }
TK_INLINE vu u16_right(vu v, const int n) { return _mm256_srli_epi16(v, n); }
TK_INLINE vu u32_right(vu v, const int n) { return _mm256_srli_epi32(v, n); }
/* Units lie below 0x8000 where this is called, and code points always: signed comparisons will do. */
TK_INLINE vu u16_above(vu v, uint16_t most, vu yes, vu no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi16(v, u16_set(most)));
}
TK_INLINE vu u32_above(vu v, uint32_t most, vu yes, vu no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi32(v, u32_set(most)));
}
TK_INLINE int u_any(vu v, vu bits) { return !_mm256_testz_si256(v, bits); }
TK_INLINE int u16_any_equal(vu v, uint16_t x) { return _mm256_movemask_epi8(_mm256_cmpeq_epi16(v, u16_set(x))) != 0; }
TK_INLINE int u32_any_equal(vu v, uint32_t x) { return _mm256_movemask_epi8(_mm256_cmpeq_epi32(v, u32_set(x))) != 0; }

TK_INLINE uint8_t *u_squeeze(uint8_t *out, vu v, vu firsts) {
    uint64_t words[4], masks[4];
    vu zero = _mm256_cmpeq_epi8(v, _mm256_setzero_si256());
    _mm256_storeu_si256((__m256i *)words, v);
    _mm256_storeu_si256((__m256i *)masks, _mm256_or_si256(_mm256_cmpeq_epi8(zero, _mm256_setzero_si256()), firsts));
    for (int k = 0; k < 4; k++) {
        uint64_t kept = _pext_u64(words[k], masks[k]);
        memcpy(out, &kept, 8);
        out += _mm_popcnt_u64(masks[k]) / 8;
    }
    return out;
}
TK_INLINE uint8_t *u16_squeeze(uint8_t *out, vu v) { return u_squeeze(out, v, u16_set(0xFF)); }
TK_INLINE uint8_t *u32_squeeze(uint8_t *out, vu v) { return u_squeeze(out, v, u32_set(0xFF)); }

#undef EACH
#endif
