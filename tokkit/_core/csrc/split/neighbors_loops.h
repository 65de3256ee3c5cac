/* Finds the boundaries of characters in a block of 64 bytes that no token stands across: see neighbors.h. */
#ifndef TK_NEIGHBORS_LOOPS_H
#define TK_NEIGHBORS_LOOPS_H
#include "split/neighbors.h"

/* The bytes of a character by the highest four bits of its first, and what is of it in the four that are read. */
static const uint8_t LENGTHS[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
static const uint32_t PACKED[5] = {0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF};

/* Those of the boundaries in `test`, bits of the bytes at p, where the two characters are no neighbours; `starts` has
   all places where characters begin. Characters follow one another, mostly: the one on the right is the next one's
   left, and half of the hash is known. Four bytes may be read after the block. */
TK_INLINE uint64_t between_neighbors(const uint8_t *set, const uint8_t *text, const uint8_t *p, uint64_t test,
                                     uint64_t starts) {
    uint64_t cuts = 0;
    ptrdiff_t end = -64; /* of the last right character */
    uint32_t left = 0, bytes;
#if TK_NEIGHBORS_AT_ONCE
    uint64_t joined;
    if (joined_together(set, text, p, test, starts, &joined)) return test & ~joined;
#endif
    (void)starts;
    for (; test; test &= test - 1) {
        ptrdiff_t at = tk_lowest_bit(test);
        const uint8_t *q = p + at;
        if (TK_UNLIKELY(at != end)) left = tk_neighbor_before(text, q);
        unsigned length = LENGTHS[*q >> 4];
        memcpy(&bytes, q, sizeof bytes);
        bytes &= PACKED[length];
        cuts |= (uint64_t)!tk_has_bit(set, tk_neighbor_place(left, tk_neighbor_right(bytes))) << at;
        left = tk_neighbor_left(bytes);
        end = at + length;
    }
    return cuts;
}

#endif
