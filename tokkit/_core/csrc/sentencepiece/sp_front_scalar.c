/* Text in, the buffer filled and cut out, by plain C: see sp_front.h. */
#include "sentencepiece/sp_engine.h"

TK_INLINE tk_sp_text_masks read_text(const tk_sp *m, const uint8_t *p, uint8_t *out) {
    tk_sp_text_masks masks = {0, 0, 0, 0};
    for (unsigned i = 0; i < 64; i++) {
        unsigned what = p[i] < 0x80 ? m->ascii[p[i]] : TK_SP_LOOK;
        masks.keep |= (uint64_t)(what == TK_SP_KEEP) << i;
        masks.white |= (uint64_t)(what == TK_SP_WHITE) << i;
        masks.high |= (uint64_t)(p[i] >> 7) << i;
        masks.symbol |= (uint64_t)(p[i] == 0xE2) << i;
        out[i] = what == TK_SP_WHITE ? ' ' : p[i];
    }
    return masks;
}

TK_INLINE tk_sp_cut_masks read_cuts(const tk_sp *m, const uint8_t *p) {
    tk_sp_cut_masks masks = {0, 0, 0, 0};
    for (unsigned i = 0; i < 64; i++) {
        masks.space |= (uint64_t)(p[i] == ' ') << i;
        masks.apart |= (uint64_t)tk_sp_in(&m->apart, p[i]) << i;
        masks.high |= (uint64_t)(p[i] >> 7) << i;
        masks.rest |= (uint64_t)((p[i] & 0xC0) == 0x80) << i;
    }
    return masks;
}

TK_INLINE size_t squeeze(uint8_t *bytes, uint64_t mask) {
    size_t n = 0;
    for (; mask; mask &= mask - 1) bytes[n++] = bytes[tk_lowest_bit(mask)];
    return n;
}

TK_INLINE size_t write_bits(uint64_t mask, uint32_t from, uint32_t *out) {
    size_t n = 0;
    for (; mask; mask &= mask - 1) out[n++] = from + tk_lowest_bit(mask);
    return n;
}

TK_INLINE int joined_together(const tk_sp *m, const tk_sp_scratch *w, uint64_t test, uint64_t starts,
                              uint64_t *joined) {
    (void)m, (void)w, (void)test, (void)starts, (void)joined;
    return 0;
}

#include "sentencepiece/sp_front.h"

TK_SP_FRONT(scalar)
