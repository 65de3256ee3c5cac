/* The scores of pairs of tokens that wordpiece_train.c uses, and their exact comparison. */
#ifndef TK_PAIR_SCORES_H
#define TK_PAIR_SCORES_H
#include <math.h>

#include "base.h"

typedef enum { TK_SCORE_PMI, TK_SCORE_GAIN } tk_pair_score;

/* a · b · c in 192 bits, the highest limb first. */
static inline void tk_product3(uint64_t a, uint64_t b, uint64_t c, uint64_t out[3]) {
    uint64_t parts[2] = {0, 0}, limbs[6] = {0}, digits[4];
    const uint64_t mask = UINT32_MAX;
    uint64_t low = (a & mask) * (b & mask), m1 = (a >> 32) * (b & mask), m2 = (a & mask) * (b >> 32);
    uint64_t middle = (low >> 32) + (m1 & mask) + (m2 & mask);
    parts[0] = (middle << 32) | (low & mask);
    parts[1] = (a >> 32) * (b >> 32) + (m1 >> 32) + (m2 >> 32) + (middle >> 32);
    for (int i = 0; i < 4; i++) digits[i] = parts[i >> 1] >> (i & 1 ? 32 : 0) & mask;
    for (int j = 0; j < 2; j++) {
        uint64_t carry = 0, factor = j ? c >> 32 : c & mask;
        for (int i = 0; i < 4; i++) {
            uint64_t sum = digits[i] * factor + limbs[i + j] + carry;
            limbs[i + j] = sum & mask;
            carry = sum >> 32;
        }
        limbs[4 + j] += carry;
    }
    for (int k = 0; k < 3; k++) out[k] = limbs[5 - 2 * k] << 32 | limbs[4 - 2 * k];
}

/* 1 where a[0] · a[1] · a[2] is greater than b's, -1 where it is less, 0 where they are equal; none is below 0. A
   count is 0 while a pair that occurs no more is still in its group. */
TK_NOINLINE static int tk_compare_products(const int64_t a[3], const int64_t b[3]) {
    uint64_t x[3], y[3];
    TK_ASSERT(a[0] >= 0 && a[1] >= 0 && a[2] >= 0 && b[0] >= 0 && b[1] >= 0 && b[2] >= 0);
    tk_product3((uint64_t)a[0], (uint64_t)a[1], (uint64_t)a[2], x);
    tk_product3((uint64_t)b[0], (uint64_t)b[1], (uint64_t)b[2], y);
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k]) return x[k] > y[k] ? 1 : -1;
    return 0;
}

/* What is left of a token's count·log(count) where n of its occurrences go: (count - n)·log(1 - n / count). */
static inline double tk_gain_left(int64_t count, int64_t n) {
    return count > n ? (double)(count - n) * log1p(-(double)n / (double)count) : 0;
}

/* The gain in log-likelihood of a merge of n pairs; trainers/wordpiece.py derives it. h(m) = m·log m in what follows:
   h(n) + [h(a - n) - h(a)] + [h(b - n) - h(b)] + [h(N) - h(N - n)], with the terms of n·log gathered. */
static inline double tk_gain(int64_t n, int64_t a, int64_t b, int64_t total, int same) {
    double m = (double)n, to_total = log((double)total);
    if (same) {
        double kept = a > 2 * n ? (double)(a - 2 * n) : 0, all = (double)a;
        double change = (kept > 0 ? kept * log(kept) : 0) - all * log(all);
        return m * (log(m) + to_total) + change - tk_gain_left(total, n);
    }
    double change = tk_gain_left(a, n) + tk_gain_left(b, n);
    return m * ((log(m) + to_total) - (log((double)a) + log((double)b))) + change - tk_gain_left(total, n);
}

/* Gains that differ by less than that are equal: the last bits of a logarithm depend on the library. */
static inline double tk_to_32_bits(double x) {
    int exponent;
    double mantissa = frexp(x, &exponent);
    return ldexp(rint(mantissa * 0x1p32), exponent - 32);
}

#endif
