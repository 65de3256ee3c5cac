/* A small generator of random numbers: one per sentence, so that draws do not depend on threads. */
#ifndef TK_RANDOM_H
#define TK_RANDOM_H
#include "base.h"

/* Bytes after what a thread writes at each step: what another one reads must not be in the same line of the cache. */
enum { TK_APART = 64 };

typedef struct {
    uint64_t state;
} tk_random;

/* Of splitmix64: states that differ by one bit give unrelated numbers. */
TK_INLINE uint64_t tk_random_mix(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* The generator number `which` of a seed. */
TK_INLINE tk_random tk_random_of(uint64_t seed, uint64_t which) {
    return (tk_random){tk_random_mix(tk_random_mix(seed) ^ which)};
}

/* 32 random bits: the upper half of a linear congruential generator, whose lower bits have short periods. */
TK_INLINE uint32_t tk_random_next(tk_random *r) {
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(r->state >> 32);
}

/* A number below n, each as likely as the others to n / 2^32. */
TK_INLINE uint32_t tk_random_below(tk_random *r, uint32_t n) {
    TK_ASSERT(n);
    return (uint32_t)((uint64_t)tk_random_next(r) * n >> 32);
}
#endif
