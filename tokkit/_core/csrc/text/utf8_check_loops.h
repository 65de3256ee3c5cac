/* Validates UTF-8 with vector operations: see utf8.h, and bytes.h for the operations.

   Of each block the bytes that continue a character are compared with those that first bytes before them ask for
   (Unicode 16, table 3-7). What is wrong, and the last bytes, are left to plain code, which begins at a character. */
#ifndef TK_UTF8_CHECK_LOOPS_H
#define TK_UTF8_CHECK_LOOPS_H
#include "text/utf8.h"

/* What the bytes of the block before ask for: bit k for byte k of this block. */
typedef struct {
    uint64_t continued, after_e0, after_ed, after_f0, after_f4;
} utf8_carry;

/* Whether a block is valid after what was carried, and what it carries on. */
TK_INLINE int is_valid_block(vb v, utf8_carry *carry) {
    const uint64_t two = b_bits(b_between(v, 0xC2, 0xF4)), three = b_bits(b_between(v, 0xE0, 0xF4));
    const uint64_t four = b_bits(b_between(v, 0xF0, 0xF4)), continues = b_bits(b_continues(v));
    const uint64_t asked = two << 1 | three << 2 | four << 3 | carry->continued;
    uint64_t wrong = (asked ^ continues) | (b_bits(b_beyond_ascii(v)) & ~(continues | two));
    utf8_carry on = {two >> 63 | three >> 62 | four >> 61, 0, 0, 0, 0};
    if (three | carry->after_e0 | carry->after_ed | carry->after_f0 | carry->after_f4) {
        const uint64_t e0 = b_bits(b_equal(v, 0xE0)), ed = b_bits(b_equal(v, 0xED)), upper = b_with(v, 0x20);
        wrong |= ((e0 << 1 | carry->after_e0) & ~upper) | ((ed << 1 | carry->after_ed) & upper);
        on.after_e0 = e0 >> 63, on.after_ed = ed >> 63;
        if (four | carry->after_f0 | carry->after_f4) {
            const uint64_t f0 = b_bits(b_equal(v, 0xF0)), f4 = b_bits(b_equal(v, 0xF4)), above = b_with(v, 0x30);
            wrong |= ((f0 << 1 | carry->after_f0) & ~above) | ((f4 << 1 | carry->after_f4) & above);
            on.after_f0 = f0 >> 63, on.after_f4 = f4 >> 63;
        }
    }
    *carry = on;
    return !wrong;
}

static size_t utf8_invalid(const uint8_t *text, size_t n) {
    utf8_carry carry = {0, 0, 0, 0, 0};
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        vb v = b_load(text + i);
        if (!b_bits(b_beyond_ascii(v)) && !carry.continued) continue;
        if (!is_valid_block(v, &carry)) break;
    }
    while (i && tk_is_continuation(text[i - 1])) i--; /* to where a character begins: all before is valid */
    if (i && text[i - 1] >= 0xC2) i--;
    return i + tk_utf8_invalid_plain(text + i, n - i);
}

#endif
