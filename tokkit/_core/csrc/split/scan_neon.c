/* 64 bytes in, class masks out, by NEON; and the scanners made of that: see scan_block.h. */
#include "isa.h"
#if TK_NEON
#include <arm_neon.h>

#include "split/scan_block.h"

/* One bit of each byte, which is 0 or 0xFF: sums of neighbours gather the bits of eight bytes in one. */
TK_INLINE uint64_t mask_of(const uint8x16_t *truth) {
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    uint8x16_t low = vpaddq_u8(vandq_u8(truth[0], bit), vandq_u8(truth[1], bit));
    uint8x16_t high = vpaddq_u8(vandq_u8(truth[2], bit), vandq_u8(truth[3], bit));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

TK_INLINE uint64_t with_any(const uint8x16_t *bytes, uint8_t bits) {
    uint8x16_t truth[4];
    for (int k = 0; k < 4; k++) truth[k] = vtstq_u8(bytes[k], vdupq_n_u8(bits));
    return mask_of(truth);
}

TK_INLINE uint64_t equal_to(const uint8x16_t *bytes, uint8_t byte) {
    uint8x16_t truth[4];
    for (int k = 0; k < 4; k++) truth[k] = vceqq_u8(bytes[k], vdupq_n_u8(byte));
    return mask_of(truth);
}

TK_INLINE void classify(const uint8_t *p, tk_masks *m) {
    const uint8x16_t by_low = vld1q_u8(BY_LOW_NIBBLE), by_high = vld1q_u8(BY_HIGH_NIBBLE);
    uint8x16_t bytes[4], classes[4];
    for (int k = 0; k < 4; k++) {
        bytes[k] = vld1q_u8(p + 16 * k);
        classes[k] = vandq_u8(vqtbl1q_u8(by_low, vandq_u8(bytes[k], vdupq_n_u8(15))),
                              vqtbl1q_u8(by_high, vshrq_n_u8(bytes[k], 4)));
    }
    m->other = with_any(bytes, 0x80);
    m->upper = with_any(classes, UPPER_BITS);
    m->lower = with_any(classes, LOWER_BITS);
    m->digit = with_any(classes, DIGIT_BIT);
    m->line_end = with_any(classes, LINE_END_BIT);
    m->space = equal_to(bytes, ' ');
    m->blank = with_any(classes, CONTROL_BIT) | m->space;
    m->apostrophe = equal_to(bytes, '\'');
    m->slash = equal_to(bytes, '/');
    m->control = with_any(classes, LOW_BIT) | equal_to(bytes, 0x7F);
}

TK_INLINE uint64_t bytes_between(const uint8_t *p, uint8_t low, uint8_t high) {
    const uint8x16_t first = vdupq_n_u8(low), span = vdupq_n_u8((uint8_t)(high - low));
    uint8x16_t truth[4];
    for (int k = 0; k < 4; k++) truth[k] = vcleq_u8(vsubq_u8(vld1q_u8(p + 16 * k), first), span);
    return mask_of(truth);
}

TK_INLINE uint64_t inner_bytes(const uint8_t *p) {
    uint8x16_t truth[4];
    for (int k = 0; k < 4; k++) truth[k] = vcltq_s8(vreinterpretq_s8_u8(vld1q_u8(p + 16 * k)), vdupq_n_s8(-64));
    return mask_of(truth);
}

TK_INLINE void write_places(uint64_t mask, size_t from, size_t *out) { write_by_eights(mask, from, out); }

SCANNERS(neon)

#endif
