/* A vocabulary in, safe cuts out: boundaries between characters that no token spans.

   No symbol that merging forms is other than a token. So where no token can span a boundary, no merge crosses
   it, and the two sides merge as if alone: BPE(xy) = BPE(x)·BPE(y). The test is a superset of "spans": a
   token that spans the boundary between characters c and d holds either both whole, then (c, d) is in
   `bigrams` (a hashed bit set), or cuts one of them, then its two bytes at the boundary are in
   `byte_bigrams`. A cut may be missed, never wrong. Holds for text that is valid UTF-8. */
#ifndef TK_BPE_CUTS_H
#define TK_BPE_CUTS_H
#include "bpe_model.h"

enum { TK_BIGRAM_BITS = 19 };

int tk_cuts_build(tk_bpe *model);

TK_INLINE size_t tk_bigram_hash(uint32_t c, uint32_t d) {
    return ((c * UINT32_C(0x9E3779B1)) ^ (d * UINT32_C(0x85EBCA6B))) >> (32 - TK_BIGRAM_BITS);
}

TK_INLINE int tk_has_bit(const uint8_t *bits, size_t i) { return bits[i >> 3] >> (i & 7) & 1; }

/* May the text be cut between character c, whose last byte is `last`, and d, whose first byte is `first`? */
TK_INLINE int tk_may_cut(const tk_bpe *model, uint32_t c, uint8_t last, uint32_t d, uint8_t first) {
    return !tk_has_bit(model->bigrams, tk_bigram_hash(c, d)) &&
           !tk_has_bit(model->byte_bigrams, (size_t)last << 8 | first);
}

#endif
