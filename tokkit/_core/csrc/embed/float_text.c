/* The shortest decimal that reads as a float, in the form of numpy's str: 0.25, 1.0, 1e-05. */
#include "embed/decimal.h"
#include "embed/vector_file.h"
#include <float.h>

/* Digits: what every decimal keeps in a float32; what every float32 needs, and one, as log10 is rounded too. */
enum { FEWEST = 6, MOST = 10 };

/* The digits of value > 0 as an integer without zeros at its end, and the power of ten of the last. */
static uint64_t shortest(float value, int *power) {
    int exponent = (int)floor(log10((double)value));
    TK_ASSERT(value > 0);
    double digits = 0;
    for (int n = value < FLT_MIN ? 1 : FEWEST; n <= MOST; n++) {
        *power = exponent - n + 1;
        digits = rint(tk_scaled((double)value, -*power));
        if ((float)tk_scaled(digits, *power) == value) break;
    }
    uint64_t whole = (uint64_t)digits;
    while (whole % 10 == 0) whole /= 10, ++*power;
    return whole;
}

size_t tk_float_text(float value, char *out) {
    char *start = out, digits[16];
    int power = 0, n = 0;
    TK_ASSERT(isfinite(value));
    if (signbit(value)) *out++ = '-';
    value = fabsf(value);
    if (value == 0) {
        memcpy(out, "0.0", 3);
        return (size_t)(out + 3 - start);
    }
    uint64_t whole = shortest(value, &power);
    for (uint64_t rest = whole; rest; rest /= 10) digits[n++] = (char)('0' + rest % 10); /* the last first */
    int exponent = power + n - 1;
    TK_ASSERT(n > 0 && n <= MOST && exponent > -100 && exponent < 100); /* at most TK_FLOAT_CHARS characters */
    if (exponent < -4 || exponent >= 16) {
        *out++ = digits[n - 1];
        if (n > 1) *out++ = '.';
        for (int i = n - 2; i >= 0; i--) *out++ = digits[i];
        *out++ = 'e';
        *out++ = exponent < 0 ? '-' : '+';
        if (exponent < 0) exponent = -exponent;
        *out++ = (char)('0' + exponent / 10);
        *out++ = (char)('0' + exponent % 10);
        return (size_t)(out - start);
    }
    if (exponent < 0) {
        *out++ = '0', *out++ = '.';
        for (int i = -1; i > exponent; i--) *out++ = '0';
        for (int i = n - 1; i >= 0; i--) *out++ = digits[i];
        return (size_t)(out - start);
    }
    for (int place = exponent; place >= 0 || place >= power; place--) {
        if (place == -1) *out++ = '.';
        int i = place - power;
        *out++ = i >= 0 && i < n ? digits[i] : '0';
    }
    if (power >= 0) *out++ = '.', *out++ = '0';
    return (size_t)(out - start);
}
