/* Conversion of floats to bf16, the upper 16 bits, rounded to nearest, ties to even. */
#ifndef TK_BF16_H
#define TK_BF16_H
#include "base.h"

/* Bits of a float whose last 16 become 0. NaN stays NaN. */
static inline uint32_t tk_rounded_bits(uint32_t x) {
    const uint32_t up = x + 0x7FFF + (x >> 16 & 1);
    return ((x & 0x7FFFFFFF) > 0x7F800000 ? x | 0x400000 : up) & 0xFFFF0000;
}

static inline uint16_t tk_bf16_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(tk_rounded_bits(bits) >> 16);
}
#endif
