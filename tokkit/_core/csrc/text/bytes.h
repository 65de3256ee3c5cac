/* The vector operations that byte kernels are written in, the same for every instruction set: on 64 bytes as one
   value, and on 64 bits with a truth value for each byte.

   A kernel is a header of loops (*_loops.h), which byte_kernels_scalar.c, byte_kernels_avx2.c, byte_kernels_avx512.c
   and byte_kernels_neon.c include after bytes_scalar.h, bytes_avx2.h, … . Each of these headers, which also turns
   the instruction set on for what follows, has

       vb                               64 bytes
       tb                               of each, whether something is true
       b_load, b_store                  anywhere in memory
       b_load_first(p, n)               the first n bytes, n up to 64, and zeros after them
       b_and, b_or
       b_lookup(low, high, v)           low[byte & 15] & high[byte >> 4]: a byte's classes by its halves
       b_lookup_ascii(low, high, v)     the same, where high[8] to high[15] are 0
       b_equal(v, byte), b_nonzero(v)   which bytes are
       b_between(v, first, last)
       b_continues(v), b_beyond_ascii(v)  which are 0x80 to 0xBF; 0x80 to 0xFF
       b_bits(tb)                       the truths as a number, byte k in bit k;
       b_with(v, bits), b_some(v)       such a number at once: which bytes have any of the bits, which are not 0
       b_any(v)                         whether any byte is not 0
       b_choose(tb, byte, no)           `byte` where it is true, else what `no` has
       b_squeeze(p, mask)               moves those of the 64 bytes at p that `mask` has to p; returns how many
       b_places(mask, from, out)        writes from + k for each bit k of `mask`, and up to seven words of waste
       b_places_32                      after them; returns how many. 32 bits each: up to fifteen words of waste

   and for conversions (utf8_loops.h) vectors `vu` of U_BYTES bytes, whose lanes are units of 16 or of 32 bits:

       u_load_16, u_load_32             from memory, as they are
       u_8_to_16, u_16_to_32            or widened: the first n lanes, and zeros after them, where fewer than all
                                        may be asked for (U_PARTIAL)
       u_16_to_8, u_32_to_8             lanes below 0x100 to memory
       u_and, u_or, u16_set, u16_left, u16_right …
       u16_above(v, most, yes, no)      the lanes of `yes` where those of v are above `most`, else of `no`
       u_any(v, bits)                   whether any lane has any of the bits;
       u16_any_equal(v, x) …            whether any is x
       u16_squeeze(out, v) …            writes the first byte of each lane and those after it that are not 0, and up
                                        to U_BYTES of waste; returns where the next go */
#ifndef TK_BYTES_H
#define TK_BYTES_H
#include "base.h"

enum { BLOCK = 64 };

TK_INLINE uint64_t behind(uint64_t mask) { return mask << 1; }

/* Bits below n, for n up to 64. */
TK_INLINE uint64_t below(size_t n) { return n < BLOCK ? (UINT64_C(1) << n) - 1 : UINT64_MAX; }

/* ---- where an instruction set has no better way */

TK_INLINE size_t count_bits(uint64_t mask) {
#if defined(__GNUC__)
    return (size_t)__builtin_popcountll(mask);
#else
    size_t n = 0;
    for (; mask; mask &= mask - 1) n++;
    return n;
#endif
}

TK_INLINE size_t squeeze_by_ones(uint8_t *p, uint64_t mask) {
    size_t n = 0;
    for (; mask; mask &= mask - 1) p[n++] = p[tk_lowest_bit(mask)];
    return n;
}

/* Several at a time, so that few branches are in it. */
TK_INLINE size_t places_by_eights(uint64_t mask, size_t from, size_t *out) {
    const size_t n = count_bits(mask);
    do {
        for (int k = 0; k < 8; k++) {
            out[k] = from + (mask ? tk_lowest_bit(mask) : 0);
            mask &= mask - 1;
        }
        out += 8;
    } while (mask);
    return n;
}
TK_INLINE size_t places_by_fours(uint64_t mask, uint32_t from, uint32_t *out) {
    const size_t n = count_bits(mask);
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = i; k < i + 4; k++, mask &= mask - 1) out[k] = from + (mask ? tk_lowest_bit(mask) : 0);
    return n;
}

#endif
