/* Safe cuts: boundaries between two characters that no token spans.

   No symbol that merging forms is other than a token. So where no token can span a boundary, no merge crosses
   it, and the two sides merge as if alone: BPE(xy) = BPE(x)·BPE(y). The test is a superset of "spans": a
   token that spans the boundary between characters c and d holds either both whole, then (c, d) is in
   `bigrams` (a hashed bit set), or cuts one of them, then its two bytes at the boundary are in
   `byte_bigrams`. A cut may be missed, never wrong. Holds for text that is valid UTF-8. bpe_cuts.c fills the
   sets. */
#ifndef TK_SAFE_CUTS_H
#define TK_SAFE_CUTS_H
#include "base.h"

enum { TK_BIGRAM_BITS = 19 };

typedef struct tk_cuts {
    uint8_t *bigrams;      /* 2^19 bits */
    uint8_t *byte_bigrams; /* 2^16 bits */
    int unconditional;     /* every token is in the sets, so that a pretoken that is a token is never cut */
} tk_cuts;

/* The hash of a pair is in halves, so that a loop over characters computes each half of a character once. */
TK_INLINE uint32_t tk_bigram_left(uint32_t c) { return c * UINT32_C(0x9E3779B1); }
TK_INLINE uint32_t tk_bigram_right(uint32_t d) { return d * UINT32_C(0x85EBCA6B); }
TK_INLINE size_t tk_bigram_place(uint32_t left, uint32_t right) { return (left ^ right) >> (32 - TK_BIGRAM_BITS); }


/* May the text be cut between the character c with last byte `last`, and d with first byte `first`? `left` and
   `right` are their halves of the hash. */
TK_INLINE int tk_may_cut(const tk_cuts *cuts, uint32_t left, uint8_t last, uint32_t right, uint8_t first) {
    return !(tk_has_bit(cuts->bigrams, tk_bigram_place(left, right)) |
             tk_has_bit(cuts->byte_bigrams, (size_t)last << 8 | first));
}

#endif
