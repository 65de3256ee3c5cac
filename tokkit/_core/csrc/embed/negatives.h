/* Draws words by count^exponent: cumulative weights, and a guide table with the start of the search. */
#ifndef TK_NEGATIVES_H
#define TK_NEGATIVES_H
#include "embed/random.h"

enum { TK_NEGATIVE_BITS = 31 }; /* of a draw; the last cumulated weight is 2^31 */

typedef struct {
    const uint32_t *cumulated; /* of words 0 … i, not decreasing; the last is 2^TK_NEGATIVE_BITS */
    const uint32_t *guide;     /* for each value of the upper bits of a draw, the word of the lowest such draw */
    int shift;                 /* lower bits, which the guide does not see */
} tk_negatives;

_Static_assert(TK_NEGATIVE_BITS < 32, "the last cumulated weight fits a uint32_t");

/* The word of a draw below 2^31: the first whose cumulated weight is above it. */
TK_INLINE uint32_t tk_negative_of(const tk_negatives *t, uint32_t draw) {
    TK_ASSERT(draw >> TK_NEGATIVE_BITS == 0 && t->shift >= 0 && t->shift < 32);
    uint32_t word = t->guide[draw >> t->shift];
    /* Two steps that are not foreseen cost less as sums than as branches; few draws need more. */
    word += tk_unforeseen(t->cumulated[word] <= draw);
    word += tk_unforeseen(t->cumulated[word] <= draw);
    while (t->cumulated[word] <= draw) word++;
    TK_ASSERT(!word || t->cumulated[word - 1] <= draw);
    return word;
}

TK_INLINE uint32_t tk_negative(const tk_negatives *t, tk_random *r) {
    return tk_negative_of(t, tk_random_next(r) >> (32 - TK_NEGATIVE_BITS));
}
#endif
