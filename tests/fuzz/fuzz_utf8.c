/* Fuzzes any bytes: checks that UTF-8 is checked and code units are converted as the plainest loop does, by every
   instruction set. */
#include "fuzz.h"

/* The characters of table 3-7 of the Unicode standard, one at a time. */
static size_t naive_invalid(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n;) {
        uint32_t c = p[i], least;
        size_t length = c < 0x80 ? 1 : c < 0xC0 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF8 ? 4 : 0;
        if (!length || i + length > n) return i;
        c = length == 1 ? c : c & (0x7Fu >> length);
        for (size_t k = 1; k < length; k++) {
            if (p[i + k] >> 6 != 2) return i;
            c = c << 6 | (p[i + k] & 63);
        }
        least = length == 1 ? 0 : length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
        if (c < least || c > 0x10FFFF || c >> 11 == 0x1B) return i;
        i += length;
    }
    return n;
}

static uint32_t unit_at(const uint8_t *p, size_t i, int width) {
    uint32_t c = 0;
    memcpy(&c, p + i * (size_t)width, (size_t)width);
    return c;
}

static size_t naive_convert(const uint8_t *p, size_t n, int width, uint8_t *out, int *surrogates) {
    uint8_t *o = out;
    *surrogates = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = unit_at(p, i, width), next = i + 1 < n ? unit_at(p, i + 1, width) : 0;
        if (c >= 0xD800 && c < 0xE000) {
            *surrogates = 1;
            int pair = c < 0xDC00 && next >= 0xDC00 && next < 0xE000;
            c = pair ? 0x10000 + ((c - 0xD800) << 10) + (next - 0xDC00) : 0xFFFD;
            i += (size_t)pair;
        }
        o = tk_utf8_put(o, c);
    }
    return (size_t)(o - out);
}

/* Units of one width, each code point at most U+10FFFF: so are those of a str. */
static void convert(const uint8_t *data, size_t size, int width) {
    size_t n = size / (size_t)width, room = tk_utf8_bound(n, width);
    fz_text units = fz_copy(data, n * (size_t)width);
    for (size_t i = 0; i < n && width == 4; i++) {
        uint32_t c = unit_at(units.p, i, 4) % 0x110000;
        memcpy(units.p + 4 * i, &c, 4);
    }
    uint8_t *wanted = malloc(room), *found = malloc(room);
    int any_wanted, any;
    size_t n_wanted = naive_convert(units.p, n, width, wanted, &any_wanted);
    CHECK(n_wanted + 64 <= room);
    FOR_EACH_ISA(isa) {
        size_t got = tk_utf8_from_units_by(isa, units.p, n, width, found, &any);
        CHECK(fz_equal(found, got, wanted, n_wanted));
        CHECK(any == any_wanted);
        CHECK(tk_utf8_invalid(found, got) == got);
        tk_isa_use(isa);
        tk_text_view view = {units.p, n, width};
        uint8_t *buffer = NULL;
        const uint8_t *p;
        size_t capacity = 0;
        CHECK(tk_utf8_of(&view, &buffer, &capacity, &p, &got) == TK_OK);
        CHECK(fz_equal(p, got, wanted, n_wanted));
        free(buffer);
    }
    free(wanted);
    free(found);
    free(units.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    unsigned width = fz_below(&f, 6);
    if (width == 1 || width == 2 || width == 4) {
        convert(f.p, (size_t)(f.end - f.p), (int)width);
        return 0;
    }
    fz_text text = width == 3 ? fz_valid(&f, FZ_MOST) : fz_copy(f.p, (size_t)(f.end - f.p));
    FOR_EACH_ISA(isa)
        CHECK(tk_utf8_invalid_by(isa, text.p, text.n) == naive_invalid(text.p, text.n));
    unsigned length;
    for (size_t i = 0; width == 3 && i < text.n; i += length) {
        uint8_t again[4];
        uint32_t c = tk_utf8_decode(text.p + i, &length);
        CHECK(tk_utf8_put(again, c) == again + length && !memcmp(again, text.p + i, length));
    }
    free(text.p);
    return 0;
}
