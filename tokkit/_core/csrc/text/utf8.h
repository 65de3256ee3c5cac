/* Reads UTF-8, and converts UCS-1, UCS-2 and UCS-4 to it. All text the core scans is valid UTF-8. */
#ifndef TK_UTF8_H
#define TK_UTF8_H
#include "base.h"

/* Bytes of the character whose first byte is `lead`, in valid UTF-8. */
TK_INLINE unsigned tk_utf8_length(uint8_t lead) {
    TK_ASSERT((lead & 0xC0) != 0x80 && lead < 0xF5);
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

TK_INLINE int tk_is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* The code point that starts at p in valid UTF-8; *length gets its bytes. */
TK_INLINE uint32_t tk_utf8_decode(const uint8_t *p, unsigned *length) {
    uint32_t c = p[0];
    TK_ASSERT((c & 0xC0) != 0x80 && c < 0xF5);
    if (c < 0x80) return *length = 1, c;
    if (c < 0xE0) return *length = 2, (c & 0x1F) << 6 | (p[1] & 0x3F);
    if (c < 0xF0) return *length = 3, (c & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    return *length = 4, (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F);
}

TK_INLINE uint8_t *tk_utf8_put(uint8_t *out, uint32_t c) {
    TK_ASSERT(c < 0x110000);
    if (c < 0x80) return *out = (uint8_t)c, out + 1;
    if (c < 0x800) return out[0] = (uint8_t)(0xC0 | c >> 6), out[1] = (uint8_t)(0x80 | (c & 0x3F)), out + 2;
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return out + 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return out + 4;
}

/* Offset of the first byte that is not valid UTF-8 (Unicode 16, table 3-7), or n. */
size_t tk_utf8_invalid(const uint8_t *text, size_t n);
size_t tk_utf8_invalid_by(int isa, const uint8_t *text, size_t n);

/* The same, one character after another. */
size_t tk_utf8_invalid_plain(const uint8_t *text, size_t n);

/* One character from UCS-2 units at *i, a surrogate pair as one: *i moves after it. */
TK_INLINE uint8_t *tk_utf8_put_units(uint8_t *out, const uint16_t *units, size_t *i, size_t n, int *surrogates) {
    TK_ASSERT(*i < n);
    uint32_t c = units[(*i)++];
    if (TK_UNLIKELY((c & 0xF800) == 0xD800)) {
        *surrogates = 1;
        if (c < 0xDC00 && *i < n && (units[*i] & 0xFC00) == 0xDC00)
            c = 0x10000 + ((c & 0x3FF) << 10) + (units[(*i)++] & 0x3FF);
        else c = 0xFFFD;
    }
    return tk_utf8_put(out, c);
}

TK_INLINE uint8_t *tk_utf8_put_wide_units(uint8_t *out, const uint32_t *units, size_t *i, size_t n, int *surrogates) {
    TK_ASSERT(*i < n);
    uint32_t c = units[(*i)++];
    if (TK_UNLIKELY((c & 0xFFFFF800) == 0xD800)) {
        *surrogates = 1;
        if (c < 0xDC00 && *i < n && (units[*i] & 0xFFFFFC00) == 0xDC00)
            c = 0x10000 + ((c & 0x3FF) << 10) + (units[(*i)++] & 0x3FF);
        else c = 0xFFFD;
    }
    return tk_utf8_put(out, c);
}

/* Convert n code units of 1, 2 or 4 bytes each; out holds tk_utf8_bound bytes. Returns the bytes written.
   A surrogate pair becomes one character and a lone surrogate U+FFFD, as Python's utf-16 codec with
   surrogatepass and then replace does; *surrogates is set where there was either. */
size_t tk_utf8_from_units(const void *units, size_t n, int width, uint8_t *out, int *surrogates);

/* A text as Python has it: `length` units of `width` bytes, or for width 0 bytes of UTF-8. */
typedef struct {
    const void *data;
    size_t length;
    int width;
} tk_text_view;

/* A text's UTF-8, *n bytes at *p: as it is, or converted into *buffer, which grows as need be. */
int tk_utf8_of(const tk_text_view *view, uint8_t **buffer, size_t *capacity, const uint8_t **p, size_t *n);

size_t tk_utf8_from_units_by(int isa, const void *units, size_t n, int width, uint8_t *out, int *surrogates);

/* The longest that n units may become, and what vector stores write after that. */
static inline size_t tk_utf8_bound(size_t n, int width) { return n * (width == 1 ? 2 : width == 2 ? 3 : 4) + 64; }

/* The same for each width, one unit after another. */
size_t tk_utf8_from_ucs1(const uint8_t *units, size_t n, uint8_t *out);
size_t tk_utf8_from_ucs2(const uint16_t *units, size_t n, uint8_t *out, int *surrogates);
size_t tk_utf8_from_ucs4(const uint32_t *units, size_t n, uint8_t *out, int *surrogates);

#endif
