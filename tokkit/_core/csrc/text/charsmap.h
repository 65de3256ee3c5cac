/* A sentencepiece model's precompiled_charsmap: the replacements of spans of text.

   The map is a number of bytes (32 bits), a double array of that size (Darts: units of 32 bits, little-endian), and
   the strings to put, each ended by NUL; a leaf holds the place of one. Nothing in it is trusted but that the
   strings are UTF-8. */
#ifndef TK_CHARSMAP_H
#define TK_CHARSMAP_H
#include "text/aligned.h"

typedef struct {
    uint32_t *units;
    uint8_t *strings; /* a NUL stands after the last */
    size_t n_units, n_strings;
    uint8_t plain[128]; /* ASCII that nothing is put for by itself */
    int all_plain;      /* U+0020 to U+007E are */
    uint8_t leads[1024]; /* whether a string stands for something with these first two bytes of three (10 bits) */
} tk_charsmap;

/* TK_OK, TK_NO_MEMORY, or TK_BAD_INPUT for what is no map; *reason then says why. `map` is freed by tk_charsmap_free
   either way. */
int tk_charsmap_init(tk_charsmap *map, const uint8_t *data, size_t n, const char **reason);
void tk_charsmap_free(tk_charsmap *map);

/* The place of the string for the shortest prefix of the n bytes at p that has one; SIZE_MAX where none has. */
size_t tk_charsmap_find(const tk_charsmap *map, const uint8_t *p, size_t n);

/* The place of the string for the longest prefix of them that has one, whose *length is; SIZE_MAX where none has. */
size_t tk_charsmap_find_longest(const tk_charsmap *map, const uint8_t *p, size_t n, size_t *length);

/* Whether a string stands for something that begins with the n bytes at p. */
int tk_charsmap_begins(const tk_charsmap *map, const uint8_t *p, size_t n);

/* Whether the character at p, of three bytes, begins nothing that has a string: most of Chinese and Korean. */
TK_INLINE int tk_charsmap_passes(const tk_charsmap *map, const uint8_t *p) {
    return (p[0] & 0xF0) == 0xE0 && !map->leads[(p[0] & 15) << 6 | (p[1] & 63)];
}

/* Normalize each piece, as tokenizers' Precompiled does, or, with `longest`, by the longest prefix that has a string at
   each place, as sentencepiece does. */
int tk_charsmap_normalize(tk_aligned *a, const tk_charsmap *map, int longest);

#endif
