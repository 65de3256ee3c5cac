/* Makes rules and their charsmap of the bytes of an input, for targets that normalize by one. */
#ifndef FUZZ_CHARSMAP_H
#define FUZZ_CHARSMAP_H
#include "text/charsmap.h"
#include "fuzz.h"

enum { FZ_RULES = 24, FZ_MOST_RULE = 24, FZ_UNITS = 1 << 14 };

typedef struct {
    fz_text from[FZ_RULES], to[FZ_RULES];
    size_t place[FZ_RULES], n;
} fz_rules;

/* ---- a double array of rules, in the order of which the strings are */

typedef struct {
    uint32_t units[FZ_UNITS];
    uint8_t taken[FZ_UNITS], based[FZ_UNITS]; /* no two nodes have a base in common: they would share children */
    size_t n;
} fz_double_array;

/* The longest rule that n bytes begin with, or that they are; SIZE_MAX for none. */
static inline size_t fz_rule(const fz_rules *r, const uint8_t *p, size_t n, int exact) {
    size_t found = SIZE_MAX, length = 0;
    for (size_t k = 0; k < r->n; k++)
        if (r->from[k].n <= n && (!exact || r->from[k].n == n) && r->from[k].n > length &&
            !memcmp(r->from[k].p, p, r->from[k].n))
            found = k, length = r->from[k].n;
    return found;
}

/* The children of the node at `at`, which `prefix` leads to, and what is behind them. */
static inline void fz_place(fz_double_array *d, const fz_rules *r, size_t at, uint8_t *prefix, size_t n) {
    uint8_t labels[256] = {0};
    size_t leaf = n ? fz_rule(r, prefix, n, 1) : SIZE_MAX, base = 1, k;
    int any = 0;
    for (k = 0; k < r->n; k++)
        if (r->from[k].n > n && !memcmp(r->from[k].p, prefix, n)) labels[r->from[k].p[n]] = 1, any = 1;
    labels[0] = leaf != SIZE_MAX;
    if (!any && !labels[0]) return;
    for (;; base++) {
        int fits = !d->based[base];
        for (unsigned c = 0; c < 256 && fits; c++) fits = !labels[c] || !d->taken[base ^ c];
        if (fits && (at ^ base) < 1 << 21) break;
    }
    CHECK(base + 256 < FZ_UNITS);
    d->based[base] = 1;
    d->units[at] |= (uint32_t)(at ^ base) << 10 | (uint32_t)(leaf != SIZE_MAX) << 8;
    for (unsigned c = 0; c < 256; c++)
        if (labels[c]) d->taken[base ^ c] = 1, d->n = d->n > (base ^ c) ? d->n : base ^ c;
    if (leaf != SIZE_MAX) d->units[base] = UINT32_C(0x80000000) | (uint32_t)r->place[leaf];
    for (unsigned c = 1; c < 256; c++) {
        if (!labels[c]) continue;
        d->units[base ^ c] = c;
        prefix[n] = (uint8_t)c;
        fz_place(d, r, base ^ c, prefix, n + 1);
    }
}

static inline fz_text fz_build_rules(fz_rules *r) {
    static fz_double_array d;
    uint8_t prefix[FZ_MOST_RULE + 8], strings[FZ_RULES * (FZ_MOST_RULE + 9)];
    size_t n_strings = 0;
    memset(&d, 0, sizeof d);
    for (size_t k = 0; k < r->n; k++) {
        r->place[k] = n_strings;
        memcpy(strings + n_strings, r->to[k].p, r->to[k].n);
        strings[n_strings += r->to[k].n] = 0;
        n_strings++;
    }
    d.taken[0] = d.based[0] = 1;
    fz_place(&d, r, 0, prefix, 0);
    uint32_t size = (uint32_t)(4 * ((d.n | 255) + 1));
    fz_text map = {malloc(4 + size + n_strings), 4 + size + n_strings};
    memcpy(map.p, &size, 4);
    memcpy(map.p + 4, d.units, size);
    memcpy(map.p + 4 + size, strings, n_strings);
    return map;
}

/* Rules, each for something else. */
static inline void fz_read_rules(fz *f, fz_rules *r, const char *const *alphabet, unsigned n_alphabet) {
    r->n = fz_below(f, FZ_RULES);
    for (size_t k = 0; k < r->n; k++) {
        r->from[k] = fz_spell(f, alphabet, n_alphabet, FZ_MOST_RULE);
        r->to[k] = fz_spell(f, alphabet, n_alphabet, FZ_MOST_RULE);
        int again = !r->from[k].n;
        for (size_t j = 0; j < k; j++) again |= fz_equal(r->from[j].p, r->from[j].n, r->from[k].p, r->from[k].n);
        if (again) free(r->from[k].p), free(r->to[k].p), r->n--, k--;
    }
}

static inline void fz_free_rules(fz_rules *r) {
    for (size_t k = 0; k < r->n; k++) free(r->from[k].p), free(r->to[k].p);
}

#endif
