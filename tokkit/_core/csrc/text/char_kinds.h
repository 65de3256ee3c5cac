/* The classes of code points in tokenizers: word character, white space, punctuation, number. */
#ifndef TK_CHAR_KINDS_H
#define TK_CHAR_KINDS_H
#include "text/unicode_tables.h"
#include "text/utf8.h"

enum {
    TK_WORD = 1,        /* \w: Alphabetic, M, Nd, Pc, Join_Control (Unicode 16) */
    TK_WHITE = 2,       /* \s: White_Space */
    TK_PUNCTUATION = 4, /* ASCII punctuation with its symbols, and P of Unicode 8 */
    TK_NUMBER = 8,      /* N of Unicode 17 */
    TK_KINDS = 16
};

extern const uint8_t tk_ascii_kinds[128];

/* For code points from 0x80 on. */
unsigned tk_kinds_beyond_ascii(uint32_t c);

/* The kinds of the character at p, whose bytes go to *length. */
TK_INLINE unsigned tk_kinds_at(const uint8_t *p, unsigned *length) {
    if (TK_LIKELY(*p < 0x80)) return *length = 1, tk_ascii_kinds[*p];
    return tk_kinds_beyond_ascii(tk_utf8_decode(p, length));
}

/* The kinds of the character that ends before p; there is one. */
TK_INLINE unsigned tk_kinds_before(const uint8_t *p, unsigned *length) {
    const uint8_t *start = p - 1;
    while (tk_is_continuation(*start)) start--;
    return tk_kinds_at(start, length);
}

#endif
