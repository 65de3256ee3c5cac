/* Fuzzes charsmaps: checks that one made of any bytes is refused or can be used without harm, and that one built of
   rules finds what a look at each rule finds. */
#include "fuzz_charsmap.h"
#include "sentencepiece/sp_normalize.h"

enum { MOST = 1500, SYMBOLS = 15 };
static const char *const ALPHABET[SYMBOLS] = {"a", "b", " ", "\xc3\xa9", "\xe6\x9d\xb1", "\xe6\x9d\xb2", "\xe2\x96\x81",
                                              "\xcc\x81", "\xe3\x82\x99", "\r", "\n", "\xf0\x9f\xa6\x9c",
                                              "\xe3\x81\x8b", "A", "\xef\xbc\xa1"};

/* Of the shortest prefix that has a rule, and of the longest that ends a character. */
static void check_find(const tk_charsmap *map, const fz_rules *r, const fz_text *text) {
    for (size_t at = 0; at < text->n && at < 64; at++) {
        size_t n = text->n - at, shortest = SIZE_MAX, length = 0, ours = 0;
        size_t best = tk_is_continuation(text->p[at]) ? SIZE_MAX : fz_rule(r, text->p + at, n, 0);
        for (size_t k = 1; k <= n && k <= FZ_MOST_RULE + 8 && shortest == SIZE_MAX; k++)
            shortest = fz_rule(r, text->p + at, k, 1);
        CHECK(tk_charsmap_find(map, text->p + at, n) == (shortest == SIZE_MAX ? SIZE_MAX : r->place[shortest]));
        if (tk_is_continuation(text->p[at])) continue;
        CHECK(tk_charsmap_find_longest(map, text->p + at, n, &ours) == (best == SIZE_MAX ? SIZE_MAX : r->place[best]));
        length = best == SIZE_MAX ? 0 : r->from[best].n;
        CHECK(ours == length);
        int begins = 0;
        for (size_t k = 0; k < r->n && n >= 2; k++)
            begins |= !memcmp(r->from[k].p, text->p + at, r->from[k].n < 2 ? r->from[k].n : 2);
        if (n >= 2) CHECK(tk_charsmap_begins(map, text->p + at, 2) == begins);
    }
}

/* ---- what a map does to a text */

static void normalize(const tk_charsmap *map, int longest, const fz_text *text) {
    tk_aligned a;
    CHECK(tk_aligned_init(&a, text->p, text->n) == TK_OK);
    CHECK(tk_charsmap_normalize(&a, map, longest) == TK_OK);
    CHECK(tk_utf8_invalid(a.text, a.n) == a.n);
    for (size_t k = 0; a.spans && k < a.n; k++) CHECK(a.spans[k].start <= a.spans[k].end && a.spans[k].end <= text->n);
    for (size_t k = 0; k < a.n_pieces; k++) CHECK(a.pieces[k].start < a.pieces[k].end && a.pieces[k].end <= a.n);
    tk_aligned_free(&a);
}

static void normalize_sentencepiece(const fz_text *map, unsigned options, const fz_text *text) {
    tk_sp_normalizer z;
    tk_sp_options o = {0};
    const char *reason = NULL;
    o.add_prefix = options & 1, o.remove_extra = options >> 1 & 1, o.escape = options >> 2 & 1;
    o.suffix = options >> 3 & 1, o.one_byte_space = options >> 5 & 1;
    tk_sp_text out = {.aligns = options >> 4 & 1};
    if (tk_sp_normalizer_init(&z, map->p, map->n, o, NULL, &reason) == TK_OK) {
        CHECK(tk_sp_normalize(&z, text->p, text->n, &out) == TK_OK);
        CHECK(tk_utf8_invalid(out.text, out.n) == out.n);
    }
    tk_sp_normalizer_free(&z);
    tk_sp_text_free(&out);
}

static int strings_are_utf8(const tk_charsmap *map) {
    return tk_utf8_invalid(map->strings, map->n_strings) == map->n_strings;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    unsigned options = fz_byte(&f);
    const char *reason = NULL;
    fz_rules r = {.n = 0};
    fz_text raw = {NULL, 0};
    if (options & 1) {
        fz_read_rules(&f, &r, ALPHABET, SYMBOLS);
        raw = fz_build_rules(&r);
    } else {
        size_t n = fz_short(&f), left = (size_t)(f.end - f.p);
        raw = fz_copy(f.p, n < left ? n : left);
        f.p += raw.n;
    }
    fz_text text = fz_spell(&f, ALPHABET, SYMBOLS, MOST);
    tk_charsmap map;
    int status = tk_charsmap_init(&map, raw.p, raw.n, &reason);
    CHECK(status == TK_OK || (status == TK_BAD_INPUT && !r.n && *reason));
    if (status == TK_OK && strings_are_utf8(&map)) {
        if (r.n) check_find(&map, &r, &text);
        for (int longest = 0; longest < 2; longest++) normalize(&map, longest, &text);
        normalize_sentencepiece(&raw, options >> 1, &text);
    }
    tk_charsmap_free(&map);
    fz_free_rules(&r);
    free(raw.p);
    free(text.p);
    return 0;
}
