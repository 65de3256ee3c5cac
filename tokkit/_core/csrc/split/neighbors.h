/* Sets of pairs of characters that stand side by side in a token, hashed: where two characters are no such pair, no
   token stands across, and what merges or Viterbi find on both sides is what they find of the whole. A pair that is
   not in the set may be taken for one that is: a cut less, never a wrong one. */
#ifndef TK_NEIGHBORS_H
#define TK_NEIGHBORS_H
#include "text/utf8.h"

enum { TK_NEIGHBOR_BITS = 20, TK_NEIGHBOR_BYTES = 1 << (TK_NEIGHBOR_BITS - 3) };

/* The character of so many bytes at p as a number that no other has, where four bytes may be read. */
TK_INLINE uint32_t tk_packed(const uint8_t *p, unsigned length) {
    static const uint8_t keep[8] = {255, 255, 255, 255};
    uint32_t bytes, mask;
    memcpy(&bytes, p, sizeof bytes);
    memcpy(&mask, keep + 4 - length, sizeof mask);
    return bytes & mask;
}

/* The hash of a pair is in halves, so that a loop over characters computes each half of a character once. */
TK_INLINE uint32_t tk_neighbor_left(uint32_t left) { return left * UINT32_C(0x9E3779B1); }
TK_INLINE uint32_t tk_neighbor_right(uint32_t right) { return right * UINT32_C(0x85EBCA6B); }
TK_INLINE size_t tk_neighbor_place(uint32_t left, uint32_t right) { return (left ^ right) >> (32 - TK_NEIGHBOR_BITS); }
TK_INLINE size_t tk_neighbor_pair(uint32_t left, uint32_t right) {
    return tk_neighbor_place(tk_neighbor_left(left), tk_neighbor_right(right));
}

/* Half of the hash of the character before p, in text that begins at `text`; three bytes may be read from p on. */
TK_INLINE uint32_t tk_neighbor_before(const uint8_t *text, const uint8_t *p) {
    unsigned back = 1;
    while (back < 4 && p - back > text && tk_is_continuation(p[-(ptrdiff_t)back])) back++;
    return tk_neighbor_left(tk_packed(p - back, back));
}

#endif
