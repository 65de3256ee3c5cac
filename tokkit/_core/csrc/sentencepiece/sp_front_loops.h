/* Normalizes a text into the buffer by the rules of a sentencepiece model, and cuts it into units: see sp_engine.h for
   the rules, and bytes.h for the operations. */
#ifndef TK_SP_FRONT_LOOPS_H
#define TK_SP_FRONT_LOOPS_H
#include "sentencepiece/sp_engine.h"
#include "split/neighbors_loops.h"

TK_INLINE size_t lowest(uint64_t mask) { return mask ? tk_lowest_bit(mask) : BLOCK; }

/* The bytes that are in the set are not 0: the low half of one chooses a row, and its high half a bit of that. */
TK_INLINE vb sp_in_set(const tk_sp_set *set, vb v) {
    static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    return b_lookup_ascii(set->low, bits, v);
}

TK_INLINE void trace(tk_sp_scratch *w, const uint8_t *p, size_t count, size_t from) {
    for (size_t i = 0, start = 0; i < count; i++) {
        start = (p[i] & 0xC0) == 0x80 ? start : i;
        w->from[w->n + i] = (uint32_t)(from + start);
    }
}

/* Up to 64 bytes that need no look; returns how many they were. */
TK_INLINE size_t fill_block(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, int aligned) {
    uint8_t last[BLOCK + 1];
    const uint8_t *p = text + w->at;
    size_t left = n - w->at;
    if (TK_UNLIKELY(left <= BLOCK)) {
        memset(last, 0, sizeof last);
        memcpy(last, p, left);
        p = last;
    }
    const vb v = b_load(p);
    const tb is_white = b_nonzero(sp_in_set(&m->white, v));
    uint64_t white = b_bits(is_white), keep = b_some(sp_in_set(&m->keep, v)), high = b_bits(b_beyond_ascii(v));
    b_store(w->text + w->n, b_choose(is_white, ' ', v));
    if (m->verbatim) {
        keep |= high;
        if (m->escape) /* U+2581 is E2 96 81: where the next byte is not here, the first alone may begin it */
            keep &= ~(b_bits(b_equal(v, 0xE2)) & (b_bits(b_equal(v, 0x96)) >> 1 | UINT64_C(1) << 63));
    }
    uint64_t stop = ~(keep | white);
    if (m->composes) stop |= high >> 1 | (uint64_t)(p[BLOCK] >= 0x80) << 63;
    size_t count = lowest(stop);
    while (count && (p[count] & 0xC0) == 0x80) count--; /* the buffer holds whole characters */
    if (!count) return 0;
    if (!m->remove_extra) {
        if (aligned) trace(w, p, count, w->at);
        w->n += count;
        return count;
    }
    uint64_t drop = white & (white << 1 | (uint64_t)w->previous) & below(count);
    if (TK_UNLIKELY(drop)) {
        if (aligned) { /* bytes up to it, so that each can be traced */
            size_t first = lowest(drop);
            if (!first) return lowest(~drop) < count ? lowest(~drop) : count; /* spaces after a space */
            count = first;
            trace(w, p, count, w->at);
            w->n += count;
        } else {
            w->n += b_squeeze(w->text + w->n, below(count) & ~drop);
        }
    } else {
        if (aligned) trace(w, p, count, w->at);
        w->n += count;
    }
    w->previous = (int)(white >> (count - 1) & 1);
    return count;
}

/* Whether a character, of fewer than four bytes, becomes what it is, whatever follows. */
TK_INLINE int stays(const tk_sp *m, const uint8_t *text, size_t n, size_t next, uint32_t c) {
    uint8_t what = m->firsts[c];
    if (TK_LIKELY(!(what & (TK_SP_ALONE | TK_SP_BEGINS)))) return 1;
    if (what & TK_SP_ALONE) return 0;
    if (next >= n) return 1;
    if (text[next] >= 0xF0) return 0;
    unsigned length;
    return !(m->firsts[tk_utf8_decode(text + next, &length)] & TK_SP_SECOND);
}

/* One character, or what is replaced as one; 0 where there is no room. */
TK_INLINE size_t fill_character(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t limit,
                                int aligned) {
    const uint8_t *p = text + w->at, *put;
    unsigned length = tk_utf8_length(*p), other;
    size_t n_put;
    if (TK_LIKELY(length < 4) && stays(m, text, n, w->at + length, tk_utf8_decode(p, &other))) {
        for (unsigned i = 0; i < length; i++) w->text[w->n + i] = p[i];
        if (aligned)
            for (unsigned i = 0; i < length; i++) w->from[w->n + i] = (uint32_t)w->at;
        w->n += length;
        w->previous = 0;
        return length;
    }
    if (*p == ' ' && m->ascii[' '] == TK_SP_WHITE && (w->at + 1 >= n || !(m->firsts[' '] & TK_SP_BEGINS))) {
        if (!w->previous) tk_sp_put(m, w, p, 1);
        return 1;
    }
    size_t taken = tk_sp_replaced(m, text, n, w->at, &put, &n_put);
    if (w->n + n_put + BLOCK > limit + TK_SP_SPARE) return 0;
    tk_sp_put(m, w, put, n_put);
    return taken;
}

TK_INLINE void fill(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, int aligned) {
    size_t limit = w->capacity - TK_SP_SPARE, taken;
    while (w->at < n && w->n < limit) {
        if (TK_LIKELY(text[w->at] < 0x80 || m->verbatim) && (taken = fill_block(m, w, text, n, aligned)) > 0) {
            w->at += taken;
            continue;
        }
        do {
            taken = fill_character(m, w, text, n, limit, aligned);
            if (!taken) return;
            w->at += taken;
        } while (w->at < n && w->n < limit && text[w->at] >= 0x80 && !m->verbatim);
    }
}

TK_INLINE void cut(const tk_sp *m, tk_sp_scratch *w) {
    memset(w->text + w->n, 0, sizeof(uint32_t));
    for (; w->scanned < w->n; w->scanned += BLOCK) {
        size_t count = w->n - w->scanned;
        const uint8_t *p = w->text + w->scanned;
        const vb v = b_load(p);
        uint64_t space = b_bits(b_equal(v, ' ')), apart = b_some(sp_in_set(&m->apart, v));
        uint64_t high = b_bits(b_beyond_ascii(v)), rest = b_bits(b_continues(v));
        uint8_t before = w->scanned ? p[-1] : ' ';
        uint64_t mask = below(count), open = space << 1 | (uint64_t)(before == ' ');
        uint64_t cuts = m->plain ? space & ~open : 0;
        cuts |= apart | apart << 1 | (uint64_t)tk_sp_in(&m->apart, before);
        uint64_t test = 0;
        if (high || before >= 0x80) test = ~rest & (high | high << 1 | (uint64_t)(before >> 7));
        if (!m->plain) test |= (space | open) & ~rest;
        test &= ~cuts & ~(space & open) & mask;
        if (!w->scanned) test &= ~UINT64_C(1), cuts &= ~UINT64_C(1);
        if (test) cuts |= between_neighbors(m->neighbors, w->text, p, test, ~rest & mask);
        w->n_starts += b_places_32(cuts & mask, (uint32_t)w->scanned, w->starts + w->n_starts);
    }
    w->scanned = w->n;
}

static void sp_fill(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    if (w->aligned) fill(m, w, text, n, 1);
    else fill(m, w, text, n, 0);
}

static void sp_cut(const tk_sp *m, tk_sp_scratch *w) { cut(m, w); }

#endif
