/* 64 bytes in, normalized pieces out, by plain C: see bert_split.h. */
#include "bert.h"
#include "char_kinds.h"

#if !defined(__GNUC__)
static int __builtin_popcountll(uint64_t mask) {
    int count = 0;
    for (; mask; mask &= mask - 1) count++;
    return count;
}
static int __builtin_ctzll(uint64_t mask) {
    int count = 0;
    for (; !(mask & 1); mask >>= 1) count++;
    return count;
}
#endif

TK_INLINE tk_bert_masks read_block(const uint8_t *p, uint8_t *out, int lower) {
    tk_bert_masks masks = {0, 0, 0};
    for (unsigned i = 0; i < 64; i++) {
        uint64_t bit = UINT64_C(1) << i;
        uint8_t c = p[i];
        int white = c == ' ' || c == '\t' || c == '\n' || c == '\r', upper = (uint8_t)(c - 'A') < 26;
        if (c >= 0x7F || (c < 0x20 && !white)) masks.other |= bit;
        else if (tk_ascii_kinds[c] & TK_PUNCTUATION) masks.mark |= bit;
        else if (!white) masks.word |= bit;
        out[i] = (uint8_t)(lower && upper ? c | 0x20 : c);
    }
    return masks;
}

TK_INLINE void write_bits(uint64_t mask, uint32_t from, uint32_t *out) {
    for (; mask; mask &= mask - 1) *out++ = from + (uint32_t)__builtin_ctzll(mask);
}

#include "bert_split.h"

TK_BERT_SPLIT(scalar)
