/* Writes a float in the digits of a tokenizer.json: see decimal_write.h.

   All comparisons are exact, in integers of 128 bits. A float is m * 2^-s; times 10^k it lies between two bounds, the
   halves of the way to its neighbours, and a decimal of k places between them is read as this float by any correct
   reader. The shortest of these is what repr shows. */
#include "files/decimal_write.h"

#ifdef __SIZEOF_INT128__
typedef unsigned __int128 wide;

enum { MAX_PLACES = 21, DIGITS = 17, EXPONENT_BIAS = 1075, FRACTION_BITS = 52 };

static const double LEAST = 0.01, MOST = 1e15;

static const double TENS[MAX_PLACES + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                            1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21};

static const uint64_t POWERS[20] = {UINT64_C(1),
                                    UINT64_C(10),
                                    UINT64_C(100),
                                    UINT64_C(1000),
                                    UINT64_C(10000),
                                    UINT64_C(100000),
                                    UINT64_C(1000000),
                                    UINT64_C(10000000),
                                    UINT64_C(100000000),
                                    UINT64_C(1000000000),
                                    UINT64_C(10000000000),
                                    UINT64_C(100000000000),
                                    UINT64_C(1000000000000),
                                    UINT64_C(10000000000000),
                                    UINT64_C(100000000000000),
                                    UINT64_C(1000000000000000),
                                    UINT64_C(10000000000000000),
                                    UINT64_C(100000000000000000),
                                    UINT64_C(1000000000000000000),
                                    UINT64_C(10000000000000000000)};

/* A float from LEAST to MOST: value = four / 2^shift. */
typedef struct {
    double value;
    uint64_t four;       /* four times the significand */
    uint64_t below;      /* what is subtracted for the lower bound: 2, or 1 at a power of two */
    unsigned shift;      /* up to 64 */
    int includes_bounds; /* the bounds themselves are read as this float: its significand is even */
    int before_point;    /* how many digits before the point, below 1 if zeros follow the point */
} number;

static wide power_of_ten(unsigned k) { return k < 20 ? (wide)POWERS[k] : (wide)POWERS[19] * POWERS[k - 19]; }

/* The number of the digits before the point; 0 in *far if rounding in log10 could give another one. */
static int before_point(double a, int *far) {
    int d = 0;
    if (a >= 1)
        for (d = 1; a >= TENS[d]; d++) continue;
    else
        for (; a * TENS[-d + 1] < 1; d--) continue;
    const double next = d >= 0 ? TENS[d] : 1 / TENS[-d];
    *far = a < next * (1 - 1e-12) && a > next / 10 * (1 + 1e-12);
    return d;
}

static number parts_of(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    number v = {.value = a, .four = (fraction | UINT64_C(1) << FRACTION_BITS) << 2, .below = fraction ? 2 : 1};
    v.shift = (unsigned)(EXPONENT_BIAS + 2 - (int)(bits >> FRACTION_BITS));
    v.includes_bounds = !(fraction & 1);
    TK_ASSERT(v.shift > 2 && v.shift <= 64);
    return v;
}

/* Whether digits / 10^places is nearer to this float than to any other. */
static int is_nearest(const number *v, uint64_t digits, unsigned places) {
    /* Of half the scale, so that 128 bits hold it. */
    const wide ten = power_of_ten(places), given = (wide)digits << (v->shift - 1);
    const wide at = (v->four >> 1) * ten, high = at + ten, low2 = 2 * at - v->below * ten;
    if (given > high || (given == high && !v->includes_bounds)) return 0;
    return 2 * given > low2 || (2 * given == low2 && v->includes_bounds);
}

/* What tokenizers reads. */
static int is_read(const number *v, uint64_t digits, unsigned places) {
    return (double)digits / TENS[places] == v->value;
}

/* The shortest digits that are nearest to this float, and of these the closest, of two the even ones. */
static uint64_t shortest(const number *v, unsigned *places) {
    const unsigned k = (unsigned)(DIGITS - v->before_point);
    const wide ten = POWERS[k], at = v->four * ten, mask = ((wide)1 << v->shift) - 1;
    const wide above = at + 2 * ten, under = at - v->below * ten;
    uint64_t high = (uint64_t)(above >> v->shift), low = (uint64_t)(under >> v->shift);
    if (under & mask || !v->includes_bounds) low++;
    if (!(above & mask) && !v->includes_bounds) high--;
    if (high < low) return 0;
    const uint64_t whole = (uint64_t)(at >> v->shift);
    const wide rest = at & mask;
    unsigned p = 0;
    uint64_t found = whole; /* without its last p digits; only constants divide here, which is faster */
    for (uint64_t q = high / 10; p < DIGITS && p < k && q * POWERS[p + 1] >= low; q /= 10) found /= 10, p++;
    const uint64_t unit = POWERS[p], left = whole - found * unit;
    int up;
    if (!p) {
        const wide half = (wide)1 << (v->shift - 1);
        up = rest > half || (rest == half && found & 1);
    } else {
        up = left > unit / 2 || (left == unit / 2 && (rest || found & 1));
    }
    if (up ? (found + 1) * unit > high : found * unit < low) up = !up;
    *places = k - p;
    return found + (uint64_t)up;
}

static double next_to(double a, int step) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits += (uint64_t)(int64_t)step;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* Digits that tokenizers reads as this float, preferring those that are also nearest to it; 0 if none were found. */
static uint64_t read_digits(const number *v, unsigned *places) {
    const unsigned first = (unsigned)(16 - v->before_point);
    uint64_t best = 0;
    for (unsigned power = first; power < first + 5 && power <= MAX_PLACES; power++) {
        const double near = v->value * TENS[power], tries[3] = {near, next_to(near, 1), next_to(near, -1)};
        int is_best_nearest = 0;
        for (int i = 0; i < 3; i++) {
            if (tries[i] >= 18446744073709551616.0) continue;
            const uint64_t digits = (uint64_t)tries[i];
            if (!is_read(v, digits, power)) continue;
            const int nearest = is_nearest(v, digits, power);
            if (best && !nearest) continue;
            best = digits, *places = power, is_best_nearest = nearest;
        }
        if (is_best_nearest) break;
    }
    return best;
}

static void put_pair(uint8_t *out, uint32_t value) {
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    memcpy(out, pairs + 2 * value, 2);
}

/* Eight digits: pairs that do not wait for one another. */
static void put_eight(uint8_t *out, uint32_t value) {
    const uint32_t high = value / 10000, low = value % 10000;
    put_pair(out, high / 100);
    put_pair(out + 2, high % 100);
    put_pair(out + 4, low / 100);
    put_pair(out + 6, low % 100);
}

/* The digits with a point, of which `places` are after it, and a zero before it at least. */
static size_t put_digits(uint64_t digits, unsigned places, uint8_t *out) {
    enum { EIGHT = 100000000, ALL = 32, MOST_DIGITS = 24 };
    uint8_t all[ALL];
    memset(all, '0', ALL - MOST_DIGITS);
    const uint64_t high = digits / EIGHT;
    put_eight(all + ALL - 24, (uint32_t)(high / EIGHT));
    put_eight(all + ALL - 16, (uint32_t)(high % EIGHT));
    put_eight(all + ALL - 8, (uint32_t)(digits % EIGHT));
    size_t n = places + 1;
    while (n < MOST_DIGITS && n < 20 && digits >= POWERS[n]) n++;
    const size_t before = n - places;
    memcpy(out, all + ALL - n, before);
    out[before] = '.';
    memcpy(out + before + 1, all + ALL - places, places);
    return n + 1;
}

size_t tk_decimal_write(double value, int read_back, uint8_t *out) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int negative = (int)(bits >> 63);
    const double a = negative ? -value : value;
    if (negative) *out++ = '-';
    if (a == 0) return memcpy(out, "0.0", 3), (size_t)3 + (size_t)negative;
    if (!(a >= LEAST && a < MOST)) return 0;
    int far;
    number v = parts_of(a);
    v.before_point = before_point(a, &far);
    unsigned places = 0;
    uint64_t digits = shortest(&v, &places);
    if (!digits) return 0;
    if (!places) digits *= 10, places = 1; /* "3.0" */
    if (read_back && !is_read(&v, digits, places)) {
        unsigned others = 0;
        if (!far) return 0;
        const uint64_t found = read_digits(&v, &others);
        if (found) digits = found, places = others;
    }
    return put_digits(digits, places, out) + (size_t)negative;
}

#else

size_t tk_decimal_write(double value, int read_back, uint8_t *out) {
    (void)value;
    (void)read_back;
    (void)out;
    return 0;
}

#endif
