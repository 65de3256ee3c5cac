/* Pseudo-random numbers from a counter and a seed, so that dropout is the same in forward and backward. */
#ifndef TK_NUMBER_HASH_H
#define TK_NUMBER_HASH_H
#include "base.h"

/* A hash of a number and a seed: equal for every instruction set. */
TK_INLINE uint32_t number_hash(uint32_t i, uint32_t low, uint32_t high) {
    uint32_t h = (i ^ low) * UINT32_C(0x9E3779B1);
    h = (h ^ h >> 15 ^ high) * UINT32_C(0x85EBCA77);
    h = (h ^ h >> 13) * UINT32_C(0xC2B2AE3D);
    return h ^ h >> 16;
}
#endif
