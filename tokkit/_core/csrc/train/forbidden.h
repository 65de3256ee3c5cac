/* Texts that no learned token may hold. */
#ifndef TK_FORBIDDEN_H
#define TK_FORBIDDEN_H
#include "split/added.h"

/* Whether the text of a token of `width` symbols, each one character or byte, holds one of the texts (NULL: none). A
   token that continues a word begins with a prefix of n_prefix bytes, which is no text: then it has more characters
   than symbols. */
static inline int tk_holds_forbidden(const tk_added *forbidden, const uint8_t *bytes, size_t n, uint32_t width,
                                     size_t n_prefix) {
    size_t from = 0;
    tk_added_match match;
    if (!forbidden) return 0;
    if (n_prefix) {
        size_t n_characters = 0;
        for (size_t i = 0; i < n; i++) n_characters += (bytes[i] & 0xC0) != 0x80;
        if (n_characters > width) from = n_prefix;
    }
    return tk_added_find(forbidden, bytes, n, from, &match);
}

#endif
