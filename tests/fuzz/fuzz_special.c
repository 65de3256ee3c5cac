/* Fuzzes special tokens and a text: checks that they are found where trying each place in turn finds them, and a text
   may be split where none stands across, or beside, whatever units it is given in. */
#include "fuzz.h"
#include "split/scan.h"
#include "split/split_points.h"

enum { TOKENS = 12, MOST_TOKEN = 64, MOST = 300, SYMBOLS = 12 };
static const char *const ALPHABET[SYMBOLS] = {"a", " ", "<", "|", ">", "\n", "1", "'", "\xc3\xa9", "\xe6\x9d\xb1",
                                              "\xf0\x9f\xa6\x9c", "\xcc\x81"};

typedef struct {
    fz_text list[TOKENS];
    size_t n;
} tokens;

/* The longest token at a place; of two alike the first. */
static size_t longest(const tokens *t, const uint8_t *p, size_t n) {
    size_t found = t->n;
    for (size_t k = 0; k < t->n; k++)
        if (t->list[k].n && t->list[k].n <= n && !memcmp(p, t->list[k].p, t->list[k].n) &&
            (found == t->n || t->list[k].n > t->list[found].n))
            found = k;
    return found;
}

static int spans(const tokens *t, const fz_text *text, size_t at, int beside) {
    for (size_t i = at > MOST_TOKEN ? at - MOST_TOKEN : 0; i <= at; i++)
        for (size_t k = 0; k < t->n; k++) {
            const fz_text *token = t->list + k;
            size_t end = i + token->n;
            if (!token->n || end > text->n || text->p[i] != token->p[0]) continue; /* most end here */
            if (memcmp(text->p + i, token->p, token->n)) continue;
            if ((i < at && end > at) || (beside && (i == at || end == at))) return 1;
        }
    return 0;
}

static void check_find(const tk_added *s, const tokens *t, const fz_text *text) {
    for (size_t from = 0; from <= text->n; from++) {
        size_t at = from, k = t->n;
        tk_added_match match;
        while (at < text->n && (k = longest(t, text->p + at, text->n - at)) == t->n) at++;
        int found = tk_added_find(s, text->p, text->n, from, &match);
        CHECK(found == (at < text->n));
        if (found) CHECK(match.number == k && match.start == at && match.end == at + t->list[k].n);
        for (int beside = 0; beside < 2; beside++)
            CHECK(tk_added_spans(s, text->p, text->n, from, beside) == spans(t, text, from, beside));
    }
}

/* Units of a str, and where the first byte of each stands in the UTF-8; no unit is wider than the text needs. */
typedef struct {
    uint32_t *units;
    size_t *places, n;
    int width;
} wide;

static wide widen(const fz_text *text) {
    wide w = {malloc((text->n + 1) * 4), malloc((text->n + 1) * sizeof(size_t)), 0, 1};
    for (size_t at = 0, length; at < text->n; at += length) {
        unsigned bytes;
        uint32_t c = tk_utf8_decode(text->p + at, &bytes);
        length = bytes;
        w.places[w.n] = at;
        w.units[w.n++] = c;
        if (c > 0xFF && w.width < 2) w.width = 2;
        if (c > 0xFFFF) w.width = 4;
    }
    w.places[w.n] = text->n;
    for (size_t k = 0; k < w.n; k++) {
        uint16_t two = (uint16_t)w.units[k];
        if (w.width == 2) memcpy((uint8_t *)w.units + 2 * k, &two, 2);
        if (w.width == 1) ((uint8_t *)w.units)[k] = (uint8_t)w.units[k];
    }
    return w;
}

static void check_split(const tk_added *s, const tokens *t, const fz_text *text, int beside) {
    wide w = widen(text);
    uint8_t *units = malloc(w.n * (size_t)w.width + 1);
    memcpy(units, w.units, w.n * (size_t)w.width);
    tk_document bytes = {text->p, text->n, 0, s, NULL, beside}, wider = {units, w.n, w.width, s, NULL, beside};
    for (size_t from = 0; from < w.n; from++) {
        size_t a = tk_split_point(&bytes, w.places[from], text->n), b = tk_split_point(&wider, from, w.n);
        CHECK(a == w.places[b]);
        CHECK(a == text->n || !spans(t, text, a, beside));
    }
    free(w.units);
    free(w.places);
    free(units);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    const char *symbols[SYMBOLS + TOKENS];
    char strings[TOKENS][MOST_TOKEN + 1];
    tokens t = {.n = fz_below(&f, TOKENS)};
    uint8_t bytes[TOKENS * MOST_TOKEN] = {0}, flags[TOKENS] = {0};
    int64_t ends[TOKENS + 1] = {0};
    size_t n = 0;
    tk_added s;
    memcpy(symbols, ALPHABET, sizeof ALPHABET);
    for (size_t k = 0; k < t.n; k++) {
        t.list[k] = fz_spell(&f, ALPHABET, SYMBOLS, MOST_TOKEN);
        memcpy(strings[k], t.list[k].p, t.list[k].n);
        strings[k][t.list[k].n] = 0;
        symbols[SYMBOLS + k] = strings[k];
        memcpy(bytes + n, t.list[k].p, t.list[k].n);
        ends[k] = (int64_t)(n += t.list[k].n);
    }
    fz_text text = fz_spell(&f, symbols, (unsigned)(SYMBOLS + t.n), MOST);
    CHECK(tk_added_init(&s, bytes, ends, flags, t.n, 0) == TK_OK);
    check_find(&s, &t, &text);
    for (int beside = 0; beside < 2; beside++) check_split(&s, &t, &text, beside);
    for (size_t k = 0; k < t.n; k++) free(t.list[k].p);
    free(text.p);
    tk_added_free(&s);
    return 0;
}
