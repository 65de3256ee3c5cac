/* Validation and conversion of text: see utf8.h. */
#include "text/utf8.h"

#include "byte_kernels.h"

static const uint64_t HIGH_BITS = UINT64_C(0x8080808080808080);

enum { ASCII_BLOCK = 64 };

/* A block at once: compilers make vectors of this. */
static int is_ascii(const uint8_t *p) {
    uint64_t all = 0;
    for (int k = 0; k < ASCII_BLOCK; k += 8) all |= tk_load64(p + k);
    return !(all & HIGH_BITS);
}

size_t tk_utf8_invalid_plain(const uint8_t *text, size_t n) {
    TK_ASSERT(text || !n);
    size_t i = 0;
    while (i < n) {
        while (i + ASCII_BLOCK <= n && is_ascii(text + i)) i += ASCII_BLOCK;
        while (i + 8 <= n && !(tk_load64(text + i) & HIGH_BITS)) i += 8;
        if (i == n) break;
        uint8_t c = text[i], low = 0x80, high = 0xBF;
        size_t length;
        if (c < 0x80) {
            i++;
            continue;
        }
        if (c >= 0xC2 && c <= 0xDF) length = 2;
        else if (c >= 0xE0 && c <= 0xEF) length = 3, low = c == 0xE0 ? 0xA0 : 0x80, high = c == 0xED ? 0x9F : 0xBF;
        else if (c >= 0xF0 && c <= 0xF4) length = 4, low = c == 0xF0 ? 0x90 : 0x80, high = c == 0xF4 ? 0x8F : 0xBF;
        else return i;
        if (n - i < length || text[i + 1] < low || text[i + 1] > high) return i;
        for (size_t k = 2; k < length; k++)
            if (!tk_is_continuation(text[i + k])) return i;
        i += length;
    }
    return n;
}

size_t tk_utf8_invalid(const uint8_t *text, size_t n) {
    return n < ASCII_BLOCK ? tk_utf8_invalid_plain(text, n) : tk_kernels->utf8_invalid(text, n);
}

size_t tk_utf8_invalid_by(int isa, const uint8_t *text, size_t n) {
    return tk_byte_kernels_of(isa)->utf8_invalid(text, n);
}

size_t tk_utf8_from_ucs1(const uint8_t *units, size_t n, uint8_t *out) {
    uint8_t *o = out;
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (i + 8 <= n && !((eight = tk_load64(units + i)) & HIGH_BITS)) {
            memcpy(o, &eight, 8);
            i += 8, o += 8;
        } else {
            o = tk_utf8_put(o, units[i++]);
        }
    }
    return (size_t)(o - out);
}

size_t tk_utf8_from_ucs2(const uint16_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    size_t i = 0;
    while (i < n) {
        if (i + 16 <= n) {
            uint16_t any = 0; /* both loops are 16 wide so that compilers turn them into vector code */
            for (int k = 0; k < 16; k++) any |= units[i + k];
            if (any < 0x80) {
                for (int k = 0; k < 16; k++) o[k] = (uint8_t)units[i + k];
                i += 16, o += 16;
                continue;
            }
        }
        size_t stop = n - i < 16 ? n : i + 16;
        while (i < stop) o = tk_utf8_put_units(o, units, &i, n, surrogates);
    }
    return (size_t)(o - out);
}

size_t tk_utf8_from_ucs4(const uint32_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    for (size_t i = 0; i < n;) o = tk_utf8_put_wide_units(o, units, &i, n, surrogates);
    return (size_t)(o - out);
}

static size_t from_units(const tk_byte_kernels *by, const void *units, size_t n, int width, uint8_t *out,
                         int *surrogates) {
    TK_ASSERT((units || !n) && out && surrogates);
    TK_ASSERT(width == 1 || width == 2 || width == 4);
    *surrogates = 0;
    if (width == 1) return by->from_ucs1(units, n, out);
    if (width == 2) return by->from_ucs2(units, n, out, surrogates);
    return by->from_ucs4(units, n, out, surrogates);
}

size_t tk_utf8_from_units(const void *units, size_t n, int width, uint8_t *out, int *surrogates) {
    return from_units(tk_kernels, units, n, width, out, surrogates);
}

size_t tk_utf8_from_units_by(int isa, const void *units, size_t n, int width, uint8_t *out, int *surrogates) {
    return from_units(tk_byte_kernels_of(isa), units, n, width, out, surrogates);
}

int tk_utf8_of(const tk_text_view *view, uint8_t **buffer, size_t *capacity, const uint8_t **p, size_t *n) {
    int surrogates, status;
    TK_ASSERT(view && buffer && capacity && p && n);
    if (view->width == 0) return *p = view->data, *n = view->length, TK_OK;
    status = tk_reserve(buffer, capacity, tk_utf8_bound(view->length, view->width), 1);
    if (status != TK_OK) return status;
    *n = tk_utf8_from_units(view->data, view->length, view->width, *buffer, &surrogates);
    TK_ASSERT(*n <= *capacity);
    return *p = *buffer, TK_OK;
}
