/* Converts units of 8, 16 or 32 bits to UTF-8 with vector operations: see utf8.h, and bytes.h for the operations.

   Each unit is spread over two or four bytes, and those that its character does not have are squeezed out. The last
   units are done as a whole vector, filled up with zeros, where that can be loaded at once (U_PARTIAL): each zero
   becomes one byte, which is not counted. Elsewhere they are done one by one. */
#ifndef TK_UTF8_LOOPS_H
#define TK_UTF8_LOOPS_H
#include "text/utf8.h"

enum { U16_LANES = U_BYTES / 2, U32_LANES = U_BYTES / 4 };

/* Runs of ASCII are copied by so many units at a time: in most languages it is easier to foresee whether many are all
   ASCII than whether a few are. Shorter vectors of them are asked about one by one, too. */
enum { RUN_OF_16 = 2 * U16_LANES, RUN_OF_32 = 16, ASKS_EACH = U_BYTES < 64 };

/* How many of `left` units the next vector takes; 0 where it takes none. */
TK_INLINE size_t units_taken(size_t left, size_t lanes) { return left >= lanes ? lanes : U_PARTIAL ? left : 0; }

/* Units below 0x800. */
TK_INLINE uint8_t *put_two(uint8_t *out, vu c) {
    vu first = u_or(u16_right(c, 6), u16_set(0xC0)), second = u_or(u_and(c, u16_set(0x3F)), u16_set(0x80));
    return u16_squeeze(out, u16_above(c, 0x7F, u_or(first, u16_left(second, 8)), c));
}

/* Code points of at most `widest` bytes, none a surrogate. */
TK_INLINE uint8_t *put_four(uint8_t *out, vu c, const int widest) {
    const vu low = u32_set(0x3F), tail = u32_set(0x80);
    vu t0 = u_or(u_and(c, low), tail); /* bits 0-5, as a byte of the tail; and so on */
    vu t1 = u_or(u_and(u32_right(c, 6), low), tail);
    vu two = u_or(u_or(u32_right(c, 6), u32_set(0xC0)), u32_left(t0, 8));
    vu three = u_or(u_or(u32_right(c, 12), u32_set(0xE0)), u_or(u32_left(t1, 8), u32_left(t0, 16)));
    vu bytes = u32_above(c, 0x7FF, three, u32_above(c, 0x7F, two, c));
    if (widest > 3 && u_any(c, u32_set(~UINT32_C(0xFFFF)))) {
        vu t2 = u_or(u_and(u32_right(c, 12), low), tail);
        vu four = u_or(u_or(u32_right(c, 18), u32_set(0xF0)), u32_left(t2, 8));
        bytes = u32_above(c, 0xFFFF, u_or(four, u_or(u32_left(t1, 16), u32_left(t0, 24))), bytes);
    }
    return u32_squeeze(out, bytes);
}

static size_t from_ucs1(const uint8_t *units, size_t n, uint8_t *out) {
    uint8_t *o = out;
    size_t i = 0;
    for (size_t count; (count = units_taken(n - i, U16_LANES)); i += count) {
        vu some = u_8_to_16(units + i, count);
        if (u_any(some, u16_set(0x80))) {
            o = put_two(o, some) - (U16_LANES - count);
        } else {
            u_16_to_8(o, some);
            o += count;
        }
    }
    while (i < n) o = tk_utf8_put(o, units[i++]);
    return (size_t)(o - out);
}

static size_t from_ucs2(const uint16_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    size_t i = 0;
    for (size_t count;;) {
        for (; n - i >= RUN_OF_16; i += RUN_OF_16, o += RUN_OF_16) {
            vu low = u_load_16(units + i, U16_LANES), high = u_load_16(units + i + U16_LANES, U16_LANES);
            if (u_any(u_or(low, high), u16_set(0xFF80))) break;
            u_16_to_8(o, low);
            u_16_to_8(o + U16_LANES, high);
        }
        if (!(count = units_taken(n - i, U16_LANES))) break;
        vu some = u_load_16(units + i, count), top = u_and(some, u16_set(0xF800));
        if (ASKS_EACH && !u_any(some, u16_set(0xFF80))) {
            u_16_to_8(o, some);
            o += count;
        } else if (!u_any(top, top)) {
            o = put_two(o, some) - (U16_LANES - count);
        } else if (TK_UNLIKELY(u16_any_equal(top, 0xD800))) {
            const size_t last = i + count;
            while (i < last) o = tk_utf8_put_units(o, units, &i, n, surrogates);
            continue;
        } else {
            size_t first = count < U32_LANES ? count : U32_LANES;
            o = put_four(o, u_16_to_32(units + i, first), 3) - (U32_LANES - first);
            if (count > first)
                o = put_four(o, u_16_to_32(units + i + first, count - first), 3) - (U16_LANES - count);
        }
        i += count;
    }
    while (i < n) o = tk_utf8_put_units(o, units, &i, n, surrogates);
    return (size_t)(o - out);
}

static size_t from_ucs4(const uint32_t *units, size_t n, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    size_t i = 0;
    for (size_t count;;) {
        for (; n - i >= RUN_OF_32; i += RUN_OF_32, o += RUN_OF_32) {
            const uint32_t *p = units + i;
            vu any = u_load_32(p, U32_LANES);
            for (size_t k = U32_LANES; k < RUN_OF_32; k += U32_LANES) any = u_or(any, u_load_32(p + k, U32_LANES));
            if (u_any(any, u32_set(~UINT32_C(0x7F)))) break;
            for (size_t k = 0; k < RUN_OF_32; k += U32_LANES) u_32_to_8(o + k, u_load_32(p + k, U32_LANES));
        }
        if (!(count = units_taken(n - i, U32_LANES))) break;
        vu some = u_load_32(units + i, count);
        if (TK_UNLIKELY(u32_any_equal(u_and(some, u32_set(~UINT32_C(0x7FF))), 0xD800))) {
            const size_t last = i + count;
            while (i < last) o = tk_utf8_put_wide_units(o, units, &i, n, surrogates);
            continue;
        } else {
            o = put_four(o, some, 4) - (U32_LANES - count);
        }
        i += count;
    }
    while (i < n) o = tk_utf8_put_wide_units(o, units, &i, n, surrogates);
    return (size_t)(o - out);
}

#endif
