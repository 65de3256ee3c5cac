/* Blocks of 64 bytes in plain C, eight bytes in an integer: the operations of bytes.h that the scalar kernels need. */
#ifndef TK_BYTES_SCALAR_H
#define TK_BYTES_SCALAR_H
#include "text/bytes.h"

typedef struct {
    uint64_t at[8];
} vb, tb; /* what is true has its highest bit set */

#define ALL(byte) ((byte) * UINT64_C(0x0101010101010101))
#define EACH(value)                                                                                          \
    vb made;                                                                                                 \
    for (int k = 0; k < 8; k++) made.at[k] = (value);                                                        \
    return made

TK_INLINE vb b_load(const uint8_t *p) { EACH(tk_load64(p + 8 * k)); }
TK_INLINE vb b_load_first(const uint8_t *p, size_t n) {
    uint8_t first[BLOCK] = {0};
    memcpy(first, p, n);
    return b_load(first);
}
TK_INLINE void b_store(uint8_t *p, vb v) { memcpy(p, v.at, sizeof v.at); }

TK_INLINE uint64_t lookup_eight(const uint8_t *low, const uint8_t *high, uint64_t bytes) {
    uint64_t found = 0;
    for (int k = 0; k < 64; k += 8) found |= (uint64_t)(low[bytes >> k & 15] & high[bytes >> (k + 4) & 15]) << k;
    return found;
}
TK_INLINE vb b_lookup_ascii(const uint8_t *low, const uint8_t *high, vb v) { EACH(lookup_eight(low, high, v.at[k])); }

/* A sum carries into the highest bit of a byte whose others are not all 0. */
TK_INLINE tb b_nonzero(vb v) { EACH(((v.at[k] & ALL(0x7F)) + ALL(0x7F)) | v.at[k]); }
TK_INLINE tb b_equal(vb v, uint8_t byte) {
    EACH(~((((v.at[k] ^ ALL(byte)) & ALL(0x7F)) + ALL(0x7F)) | (v.at[k] ^ ALL(byte))));
}
TK_INLINE tb b_continues(vb v) { EACH(v.at[k] & ~(v.at[k] << 1)); }
TK_INLINE tb b_beyond_ascii(vb v) { return v; }
TK_INLINE uint64_t b_bits(tb truth) { /* a product gathers the bits of eight bytes in its highest one */
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++)
        bits |= ((truth.at[k] >> 7 & ALL(1)) * UINT64_C(0x0102040810204080) >> 56) << 8 * k;
    return bits;
}
TK_INLINE uint64_t b_some(vb v) { return b_bits(b_nonzero(v)); }
TK_INLINE vb b_choose(tb truth, uint8_t byte, vb no) {
    EACH(no.at[k] ^ ((no.at[k] ^ ALL(byte)) & (truth.at[k] >> 7 & ALL(1)) * 0xFF));
}

TK_INLINE size_t b_squeeze(uint8_t *p, uint64_t mask) { return squeeze_by_ones(p, mask); }
TK_INLINE size_t b_places_32(uint64_t mask, uint32_t from, uint32_t *out) {
    return places_by_fours(mask, from, out);
}

#undef EACH
#undef ALL
#endif
