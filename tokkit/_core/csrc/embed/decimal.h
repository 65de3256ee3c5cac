/* Converts decimals to float32 and back, without libc's functions, which depend on the locale.

   A decimal whose digits fit 53 bits and whose power of ten is at most 22 becomes a double by one rounding (Clinger,
   How to Read Floating Point Numbers Accurately, 1990), and then a float, as numpy does it. Others are scaled in steps:
   their error is below 2^-49, which matters only that near to the middle between two floats. */
#ifndef TK_DECIMAL_H
#define TK_DECIMAL_H
#include "base.h"
#include <math.h>

enum { TK_EXACT_POWER = 22, TK_DIGITS = 19 };

static const double tk_powers_of_ten[TK_EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* digits * 10^power */
TK_INLINE double tk_scaled(double digits, int power) {
    if (power > 400) power = 400; /* beyond all doubles, whatever the digits */
    if (power < -400) power = -400;
    for (; power > TK_EXACT_POWER; power -= TK_EXACT_POWER) digits *= 1e22;
    for (; power < -TK_EXACT_POWER; power += TK_EXACT_POWER) digits /= 1e22;
    TK_ASSERT(power <= TK_EXACT_POWER && -power <= TK_EXACT_POWER);
    return power < 0 ? digits / tk_powers_of_ten[-power] : digits * tk_powers_of_ten[power];
}

/* The digits that 8 bytes begin with: their number, and their value in *value. */
TK_INLINE unsigned tk_eight_digits(uint64_t bytes, uint64_t *value) {
    uint64_t x = bytes ^ UINT64_C(0x3030303030303030);
    uint64_t others = ((x + UINT64_C(0x7676767676767676)) | x) & UINT64_C(0x8080808080808080);
    unsigned n = others ? tk_lowest_bit(others) / 8 : 8;
    if (!n) return 0;
    x <<= 8 * (8 - n); /* zeros before them */
    x = (x * 10 + (x >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    x = (x * 100 + (x >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *value = (x * 10000 + (x >> 32)) & UINT64_C(0xFFFFFFFF);
    return n;
}

static inline int tk_same_letters(const uint8_t *p, const uint8_t *end, const char *word) {
    for (; *word; p++, word++)
        if (p == end || (*p | 0x20) != *word) return 0;
    return 1;
}

/* Read a decimal at p, before end; return its bytes, 0 for none. nan and inf are numbers, in any case of letters. */
static inline size_t tk_decimal(const uint8_t *p, const uint8_t *end, float *value) {
    const uint8_t *start = p;
    TK_ASSERT(p <= end && value);
    uint64_t digits = 0;
    int power = 0, significant = 0, any = 0;
    int negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    for (; p < end && (uint8_t)(*p - '0') < 10; p++) {
        any = 1;
        if (significant < TK_DIGITS) digits = digits * 10 + (uint64_t)(*p - '0'), significant += digits != 0;
        else if (power < 1000) power++;
    }
    if (p < end && *p == '.') {
        p++;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        uint64_t value8;
        unsigned n = end - p >= 8 && significant <= TK_DIGITS - 8 ? tk_eight_digits(tk_load64(p), &value8) : 0;
        if (n) {
            digits = digits * (uint64_t)tk_powers_of_ten[n] + value8;
            significant += digits ? (int)n : 0;
            power -= (int)n;
            any = 1;
            p += n;
        }
#endif
        for (; p < end && (uint8_t)(*p - '0') < 10; p++) {
            any = 1;
            if (significant < TK_DIGITS) {
                digits = digits * 10 + (uint64_t)(*p - '0'), significant += digits != 0;
                if (power > -1000) power--;
            }
        }
    }
    if (!any) {
        int nan = tk_same_letters(p, end, "nan");
        if (!nan && !tk_same_letters(p, end, "inf")) return 0;
        p += !nan && tk_same_letters(p, end, "infinity") ? 8 : 3;
        *value = nan ? NAN : negative ? -INFINITY : INFINITY;
        return (size_t)(p - start);
    }
    if (p + 1 < end && (*p | 0x20) == 'e') {
        const uint8_t *q = p + 1;
        int down = *q == '-', shift = 0;
        if (*q == '-' || *q == '+') q++;
        if (q < end && (uint8_t)(*q - '0') < 10) {
            for (; q < end && (uint8_t)(*q - '0') < 10; q++)
                if (shift < 10000) shift = shift * 10 + (*q - '0');
            power += down ? -shift : shift;
            p = q;
        }
    }
    double read = digits ? tk_scaled((double)digits, power) : 0;
    *value = (float)(negative ? -read : read);
    return (size_t)(p - start);
}
#endif
