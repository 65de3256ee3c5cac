/* Sorts the suffixes of texts over a small alphabet, up to the maximum length of a piece. */
#ifndef TK_SUFFIX_SORT_H
#define TK_SUFFIX_SORT_H
#include "train/big_blocks.h"

/* Symbols from 1 to 2^bits - 1; each text is closed by a 0, the last one too. */
typedef struct {
    const uint32_t *symbols;
    size_t n;
    unsigned bits;
    uint32_t depth; /* suffixes are told apart by so many symbols */
} tk_symbol_text;

/* The positions (uint32_t) of all symbols but the closing ones, in the order of the suffixes that begin there, an end
   coming first; *order is the caller's to free. With `folder` it is mapped there, and so is what sorting needs: 36
   bytes a symbol in all. TK_OK, TK_NO_MEMORY, TK_NO_DISK, or TK_TOO_LARGE beyond 2^32 symbols. */
int tk_suffix_sort(const tk_symbol_text *t, const char *folder, tk_big_block *order, size_t *n);

/* Symbols that two suffixes have in common, `depth` at most. */
TK_INLINE uint32_t tk_common_prefix(const tk_symbol_text *t, uint32_t a, uint32_t b) {
    uint32_t k = 0;
    TK_ASSERT(a < t->n && b < t->n && a != b);
    while (k < t->depth && t->symbols[a + k] == t->symbols[b + k] && t->symbols[a + k]) k++;
    return k;
}

#endif
