/* Blocks of 64 bytes, and units of text in vectors, by NEON: the operations of bytes.h. */
#ifndef TK_BYTES_NEON_H
#define TK_BYTES_NEON_H
#include <arm_neon.h>

#include "text/bytes.h"
#include "text/utf8.h"

typedef uint8x16x4_t vb, tb; /* what is true has all bits set */

/* Functions of one vector, done to each of the four. */
#define EACH(call) ((vb){{call(0), call(1), call(2), call(3)}})

TK_INLINE vb b_load(const uint8_t *p) { return vld1q_u8_x4(p); }
TK_INLINE vb b_load_first(const uint8_t *p, size_t n) {
    uint8_t first[BLOCK] = {0};
    memcpy(first, p, n);
    return b_load(first);
}
TK_INLINE void b_store(uint8_t *p, vb v) { vst1q_u8_x4(p, v); }

TK_INLINE vb b_and(vb v, vb w) {
#define AND(k) vandq_u8(v.val[k], w.val[k])
    return EACH(AND);
#undef AND
}
TK_INLINE vb b_or(vb v, vb w) {
#define OR(k) vorrq_u8(v.val[k], w.val[k])
    return EACH(OR);
#undef OR
}

TK_INLINE vb b_lookup(const uint8_t *low, const uint8_t *high, vb v) {
    const uint8x16_t by_low = vld1q_u8(low), by_high = vld1q_u8(high), half = vdupq_n_u8(15);
#define LOOKUP(k)                                                                                            \
    vandq_u8(vqtbl1q_u8(by_low, vandq_u8(v.val[k], half)), vqtbl1q_u8(by_high, vshrq_n_u8(v.val[k], 4)))
    return EACH(LOOKUP);
#undef LOOKUP
}
TK_INLINE vb b_lookup_ascii(const uint8_t *low, const uint8_t *high, vb v) { return b_lookup(low, high, v); }

TK_INLINE tb b_equal(vb v, uint8_t byte) {
#define EQUAL(k) vceqq_u8(v.val[k], vdupq_n_u8(byte))
    return EACH(EQUAL);
#undef EQUAL
}
TK_INLINE tb b_tests(vb v, uint8_t bits) {
#define TESTS(k) vtstq_u8(v.val[k], vdupq_n_u8(bits))
    return EACH(TESTS);
#undef TESTS
}
TK_INLINE tb b_nonzero(vb v) { return b_tests(v, 0xFF); }
TK_INLINE tb b_between(vb v, uint8_t low, uint8_t high) {
    const uint8x16_t first = vdupq_n_u8(low), span = vdupq_n_u8((uint8_t)(high - low));
#define BETWEEN(k) vcleq_u8(vsubq_u8(v.val[k], first), span)
    return EACH(BETWEEN);
#undef BETWEEN
}
TK_INLINE tb b_continues(vb v) { return b_between(v, 0x80, 0xBF); }
TK_INLINE tb b_beyond_ascii(vb v) { return b_tests(v, 0x80); }
TK_INLINE int b_any(vb v) {
    return vmaxvq_u8(vorrq_u8(vorrq_u8(v.val[0], v.val[1]), vorrq_u8(v.val[2], v.val[3]))) != 0;
}
TK_INLINE uint64_t b_bits(tb truth) { /* one bit of each byte: sums of neighbours gather those of eight in one */
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    uint8x16_t low = vpaddq_u8(vandq_u8(truth.val[0], bit), vandq_u8(truth.val[1], bit));
    uint8x16_t high = vpaddq_u8(vandq_u8(truth.val[2], bit), vandq_u8(truth.val[3], bit));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}
TK_INLINE uint64_t b_with(vb v, uint8_t bits) { return b_bits(b_tests(v, bits)); }
TK_INLINE uint64_t b_some(vb v) { return b_bits(b_nonzero(v)); }
TK_INLINE vb b_choose(tb truth, uint8_t byte, vb no) {
#define CHOOSE(k) vbslq_u8(truth.val[k], vdupq_n_u8(byte), no.val[k])
    return EACH(CHOOSE);
#undef CHOOSE
}

TK_INLINE size_t b_squeeze(uint8_t *p, uint64_t mask) { return squeeze_by_ones(p, mask); }
TK_INLINE size_t b_places(uint64_t mask, size_t from, size_t *out) { return places_by_eights(mask, from, out); }
TK_INLINE size_t b_places_32(uint64_t mask, uint32_t from, uint32_t *out) {
    return places_by_fours(mask, from, out);
}

/* ---- units */

enum { U_BYTES = 16, U_PARTIAL = 0 };
typedef uint8x16_t vu;

TK_INLINE uint16x8_t u_as_16(vu v) { return vreinterpretq_u16_u8(v); }
TK_INLINE uint32x4_t u_as_32(vu v) { return vreinterpretq_u32_u8(v); }
TK_INLINE vu u_of_16(uint16x8_t v) { return vreinterpretq_u8_u16(v); }
TK_INLINE vu u_of_32(uint32x4_t v) { return vreinterpretq_u8_u32(v); }

TK_INLINE vu u_load_16(const uint16_t *p, size_t n) { return (void)n, u_of_16(vld1q_u16(p)); }
TK_INLINE vu u_load_32(const uint32_t *p, size_t n) { return (void)n, u_of_32(vld1q_u32(p)); }
TK_INLINE vu u_8_to_16(const uint8_t *p, size_t n) { return (void)n, u_of_16(vmovl_u8(vld1_u8(p))); }
TK_INLINE vu u_16_to_32(const uint16_t *p, size_t n) { return (void)n, u_of_32(vmovl_u16(vld1_u16(p))); }
TK_INLINE void u_16_to_8(uint8_t *out, vu v) { vst1_u8(out, vmovn_u16(u_as_16(v))); }
TK_INLINE void u_32_to_8(uint8_t *out, vu v) {
    uint16x4_t narrow = vmovn_u32(u_as_32(v));
    vst1_lane_u32((uint32_t *)(void *)out, vreinterpret_u32_u8(vmovn_u16(vcombine_u16(narrow, narrow))), 0);
}
TK_INLINE vu u_and(vu a, vu b) { return vandq_u8(a, b); }
TK_INLINE vu u_or(vu a, vu b) { return vorrq_u8(a, b); }
TK_INLINE vu u16_set(uint16_t x) { return u_of_16(vdupq_n_u16(x)); }
TK_INLINE vu u32_set(uint32_t x) { return u_of_32(vdupq_n_u32(x)); }
TK_INLINE vu u16_left(vu v, const int n) { return u_of_16(vshlq_u16(u_as_16(v), vdupq_n_s16((int16_t)n))); }
TK_INLINE vu u32_left(vu v, const int n) { return u_of_32(vshlq_u32(u_as_32(v), vdupq_n_s32(n))); }
TK_INLINE vu u16_right(vu v, const int n) { return u_of_16(vshlq_u16(u_as_16(v), vdupq_n_s16((int16_t)-n))); }
TK_INLINE vu u32_right(vu v, const int n) { return u_of_32(vshlq_u32(u_as_32(v), vdupq_n_s32(-n))); }
TK_INLINE vu u16_above(vu v, uint16_t most, vu yes, vu no) {
    return vbslq_u8(u_of_16(vcgtq_u16(u_as_16(v), vdupq_n_u16(most))), yes, no);
}
TK_INLINE vu u32_above(vu v, uint32_t most, vu yes, vu no) {
    return vbslq_u8(u_of_32(vcgtq_u32(u_as_32(v), vdupq_n_u32(most))), yes, no);
}
TK_INLINE int u_any(vu v, vu bits) { return vmaxvq_u8(vandq_u8(v, bits)) != 0; }
TK_INLINE int u16_any_equal(vu v, uint16_t x) { return vmaxvq_u16(vceqq_u16(u_as_16(v), vdupq_n_u16(x))) != 0; }
TK_INLINE int u32_any_equal(vu v, uint32_t x) { return vmaxvq_u32(vceqq_u32(u_as_32(v), vdupq_n_u32(x))) != 0; }

/* Each lane is stored whole, and the next one over what it does not need. */
TK_INLINE uint8_t *u16_squeeze(uint8_t *out, vu v) {
    uint16_t lanes[8];
    vst1q_u16(lanes, u_as_16(v));
    for (int k = 0; k < 8; k++) {
        memcpy(out, lanes + k, 2);
        out += 1 + (lanes[k] > 0xFF);
    }
    return out;
}
TK_INLINE uint8_t *u32_squeeze(uint8_t *out, vu v) {
    uint32_t lanes[4];
    vst1q_u32(lanes, u_as_32(v));
    for (int k = 0; k < 4; k++) {
        memcpy(out, lanes + k, 4);
        out += tk_utf8_length((uint8_t)lanes[k]);
    }
    return out;
}

#undef EACH
#endif
