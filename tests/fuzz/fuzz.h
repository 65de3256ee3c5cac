/* What the fuzz targets share: numbers, texts and vocabularies made of the bytes of an input.

   A target reads its options first, a byte each, and its text last, so that a change of one byte of the input is a
   change of one thing. An input that is over reads as zeros. What is wrong ends by abort(). */
#ifndef FUZZ_H
#define FUZZ_H
#include <stdio.h>

#include "byte_kernels.h"
#include "text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(holds)                                                              \
    do {                                                                          \
        if (!(holds)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);   \
            abort();                                                              \
        }                                                                         \
    } while (0)

typedef struct {
    const uint8_t *p, *end;
} fz;

static inline unsigned fz_byte(fz *f) { return f->p < f->end ? *f->p++ : 0; }
static inline unsigned fz_below(fz *f, unsigned n) { return fz_byte(f) % n; }
static inline unsigned fz_short(fz *f) {
    unsigned high = fz_byte(f);
    return high << 8 | fz_byte(f);
}

/* Every instruction set that this machine has, the scalar one first. */
#define FOR_EACH_ISA(isa)                    \
    for (int isa = 0; isa < TK_ISAS; isa++)  \
        if (tk_isa_supported(isa))

/* ---- texts, in memory of just their size: to read beyond is found */

typedef struct {
    uint8_t *p;
    size_t n;
} fz_text;

static inline fz_text fz_copy(const uint8_t *p, size_t n) {
    fz_text text = {malloc(n ? n : 1), n};
    if (n) memcpy(text.p, p, n);
    return text;
}

static inline int fz_equal(const uint8_t *p, size_t n, const uint8_t *q, size_t m) {
    return n == m && (!n || !memcmp(p, q, n));
}

/* The last characters of p[:n] again and again, as two bytes of the input say, up to `most` bytes in all. */
static inline size_t fz_repeat(fz *f, uint8_t *p, size_t n, size_t most) {
    size_t start = n, back = fz_below(f, 16) + 1, times = fz_below(f, 64) + 1;
    for (; back && start; back--) {
        start--;
        while (start && tk_is_continuation(p[start])) start--;
    }
    size_t length = n - start;
    for (; times && n + length <= most; times--, n += length) memcpy(p + n, p + n - length, length);
    return n;
}

enum { FZ_MOST = 1 << 12, FZ_REPEATS = 0xFE, FZ_ENDS = 0xFF };

/* The rest of the input, or what is before a byte FZ_ENDS: each byte is a symbol of the alphabet. */
static inline fz_text fz_spell(fz *f, const char *const *alphabet, unsigned n_alphabet, size_t most) {
    uint8_t made[FZ_MOST + 64];
    size_t n = 0;
    while (f->p < f->end && n < most) {
        unsigned byte = fz_byte(f);
        if (byte == FZ_ENDS) break;
        if (byte >= 0xF0) {
            n = fz_repeat(f, made, n, most);
            continue;
        }
        const char *symbol = alphabet[byte % n_alphabet];
        if (n + strlen(symbol) > most) break;
        memcpy(made + n, symbol, strlen(symbol));
        n += strlen(symbol);
    }
    return fz_copy(made, n);
}

/* Characters that tables and rules tell apart: what a byte stands for that is no UTF-8 where it stands. */
static const uint32_t FZ_CHARACTERS[] = {
    0x85,    0xA0,    0xAD,    0xC5,    0xDF,    0xE9,    0x130,   0x131,   0x17F,   0x1C5,   0x2B0,   0x300,
    0x301,   0x30A,   0x323,   0x327,   0x345,   0x3A3,   0x3C2,   0x410,   0x5D0,   0x600,   0x64B,   0x661,
    0x6DD,   0x70F,   0x890,   0x900,   0x915,   0x93E,   0x94D,   0xD4E,   0xE01,   0xE33,   0x1100,  0x1161,
    0x11A8,  0x1680,  0x1E9E,  0x1F88,  0x2000,  0x200B,  0x200C,  0x200D,  0x2019,  0x2028,  0x2029,  0x202F,
    0x205F,  0x2060,  0x2126,  0x212B,  0x2160,  0x2460,  0x2581,  0x2C00,  0x3000,  0x3001,  0x3005,  0x3007,
    0x3040,  0x3042,  0x304B,  0x3099,  0x30A2,  0x30FC,  0x30FF,  0x3131,  0x3400,  0x4DBF,  0x4E00,  0x6771,
    0x9FA5,  0x9FFF,  0xA000,  0xAC00,  0xAC01,  0xD7A3,  0xD7FF,  0xE000,  0xF900,  0xFA0E,  0xFAFF,  0xFB01,
    0xFDFA,  0xFE0F,  0xFEFF,  0xFF21,  0xFF76,  0xFF9E,  0xFFFD,  0xFFFF,  0x10000, 0x10330, 0x11000, 0x11099,
    0x110BA, 0x110BD, 0x11FFF, 0x1D15E, 0x1D16D, 0x1D400, 0x1F1E6, 0x1F3FB, 0x1F468, 0x1F600, 0x1F98A, 0x20000,
    0x2A6DF, 0x2A700, 0x2B81F, 0x2B820, 0x2F800, 0x2FA1F, 0xE0001, 0xE0100, 0x10FFFF};

/* The same with bytes as they are, and characters in place of those that are no UTF-8. */
static inline fz_text fz_valid(fz *f, size_t most) {
    enum { CHARACTERS = sizeof FZ_CHARACTERS / sizeof *FZ_CHARACTERS };
    uint8_t made[FZ_MOST + 64];
    size_t n = 0;
    while (f->p < f->end && n < most) {
        const int leads = !tk_is_continuation(*f->p) && *f->p < 0xF5;
        size_t length = leads ? tk_utf8_length(*f->p) : 1, left = (size_t)(f->end - f->p);
        if (*f->p == FZ_REPEATS || *f->p == FZ_ENDS) {
            if (fz_byte(f) == FZ_ENDS) break;
            n = fz_repeat(f, made, n, most);
        } else if (length <= left && tk_utf8_invalid(f->p, length) == length) {
            memcpy(made + n, f->p, length);
            n += length;
            f->p += length;
        } else {
            n = (size_t)(tk_utf8_put(made + n, FZ_CHARACTERS[fz_byte(f) % CHARACTERS]) - made);
        }
    }
    return fz_copy(made, n);
}

/* ---- vocabularies */

enum { FZ_TOKENS = 512, FZ_LONGEST = 96 };
#define FZ_NONE UINT32_MAX

typedef struct {
    uint8_t *blob; /* just as large as the tokens are */
    int64_t offsets[FZ_TOKENS + 1];
    uint8_t foreign[FZ_TOKENS];
    uint32_t merges[3 * FZ_TOKENS], n, n_merges;
} fz_vocab;

static inline size_t fz_length(const fz_vocab *v, uint32_t id) { return (size_t)(v->offsets[id + 1] - v->offsets[id]); }
static inline const uint8_t *fz_token(const fz_vocab *v, uint32_t id) { return v->blob + v->offsets[id]; }

/* The token with these bytes, of several the last; or FZ_NONE. The second looks at those from `first` on alone. */
static inline uint32_t fz_find_from(const fz_vocab *v, uint32_t first, const uint8_t *p, size_t n) {
    for (uint32_t id = v->n; id-- > first;) {
        const uint8_t *token = fz_token(v, id);
        if (fz_length(v, id) == n && !v->foreign[id] && (!n || (*token == *p && !memcmp(token, p, n)))) return id;
    }
    return FZ_NONE;
}
static inline uint32_t fz_find(const fz_vocab *v, const uint8_t *p, size_t n) { return fz_find_from(v, 0, p, n); }

static inline uint32_t fz_put(fz_vocab *v, const void *p, size_t n) {
    size_t had = (size_t)v->offsets[v->n];
    uint8_t *grown = malloc(had + n ? had + n : 1); /* p may be one of the tokens */
    if (had) memcpy(grown, v->blob, had);
    if (n) memcpy(grown + had, p, n);
    free(v->blob);
    v->blob = grown;
    v->foreign[v->n++] = 0;
    v->offsets[v->n] = (int64_t)(had + n);
    return v->n - 1;
}

/* One more token, two that are there joined but for `prefix` bytes of the second, and its merge; unless it is too long,
   or there, or there is no room. */
static inline void fz_join(fz_vocab *v, uint32_t left, uint32_t right, size_t prefix) {
    uint8_t made[2 * FZ_LONGEST];
    size_t a = fz_length(v, left), b = fz_length(v, right);
    if (v->n == FZ_TOKENS || v->n_merges == FZ_TOKENS || b < prefix || !a || a + b - prefix > FZ_LONGEST) return;
    memcpy(made, fz_token(v, left), a);
    memcpy(made + a, fz_token(v, right) + prefix, b - prefix);
    uint32_t result = fz_find(v, made, a + b - prefix);
    if (result == FZ_NONE) result = fz_put(v, made, a + b - prefix);
    uint32_t *merge = v->merges + 3 * v->n_merges++;
    merge[0] = left, merge[1] = right, merge[2] = result;
}

/* Merges in the opposite order: what they make is then merged before its parts. */
static inline void fz_turn_merges(fz_vocab *v) {
    for (uint32_t i = 0, j = v->n_merges; i + 1 < j; i++) {
        uint32_t kept[3];
        j--;
        memcpy(kept, v->merges + 3 * i, sizeof kept);
        memcpy(v->merges + 3 * i, v->merges + 3 * j, sizeof kept);
        memcpy(v->merges + 3 * j, kept, sizeof kept);
    }
}

#endif
