/* Finds where added tokens may begin, 64 positions at a time: see added.h, and bytes.h for the operations. */
#ifndef TK_ADDED_LOOPS_H
#define TK_ADDED_LOOPS_H
#include "split/added.h"

static uint64_t added_skip(const tk_added_filter *f, const uint8_t *text, size_t *at, size_t n) {
    size_t i = *at; /* *at might be part of the filter, for all that the compiler knows */
    for (; n - i >= BLOCK + TK_ADDED_LOOK - 1; i += BLOCK) {
        const uint8_t *p = text + i;
        vb first = b_lookup(f->low[0], f->high[0], b_load(p)), second = b_lookup(f->low[1], f->high[1], b_load(p + 1));
        vb third = b_lookup(f->low[2], f->high[2], b_load(p + 2));
        vb found = b_and(b_and(first, second), third);
        if (b_any(found)) return *at = i, b_some(found);
    }
    return *at = i, 0;
}

#endif
