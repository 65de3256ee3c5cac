/* Fuzzes a text: checks that the scanners of each family cut it alike by every instruction set, whatever is asked for
   at a time; with safe cuts, finer; and where it may be split, its parts have the pieces of the whole. */
#include "fuzz.h"
#include "split/scan.h"
#include "split/split_points.h"

enum { LIMIT = 256 };

static size_t scan(int isa, const tk_split *split, const uint8_t *text, size_t n, size_t limit, size_t *ends) {
    size_t at = 0, count = 0, got, *some = malloc(limit * sizeof *some);
    while ((got = tk_scan_by(isa, split, text, n, &at, some, limit))) {
        CHECK(got <= limit && at == some[got - 1]);
        memcpy(ends + count, some, got * sizeof *ends);
        count += got;
    }
    free(some);
    for (size_t k = 0; k < count; k++) CHECK(ends[k] > (k ? ends[k - 1] : 0) && ends[k] <= n);
    CHECK(n ? ends[count - 1] == n : !count);
    return count;
}

static int same(const size_t *a, size_t n, const size_t *b, size_t m) {
    return n == m && (!n || !memcmp(a, b, n * sizeof *a));
}

/* Some pairs of characters that no cut may part, as hashed sets have them. */
static void set_cuts(fz *f, tk_cuts *cuts) {
    cuts->bigrams = calloc((size_t)1 << TK_BIGRAM_BITS >> 3, 1);
    cuts->byte_bigrams = calloc(65536 / 8, 1);
    cuts->unconditional = 1;
    for (unsigned k = fz_below(f, 8); k > 0; k--) {
        unsigned kind = fz_byte(f), c = 'a' + fz_below(f, 26), d = 'a' + fz_below(f, 26);
        if (kind & 1) tk_set_bit(cuts->byte_bigrams, (size_t)c << 8 | d);
        else tk_set_bit(cuts->bigrams, tk_bigram_place(tk_bigram_left(c), tk_bigram_right(d)));
    }
}

static int has(const size_t *ends, size_t n, size_t end) {
    for (size_t k = 0; k < n; k++)
        if (ends[k] == end) return 1;
    return 0;
}

/* The parts on both sides of a split point, scanned apart. */
static void split(int isa, const tk_split *by, const fz_text *text, size_t from, const size_t *wanted, size_t count) {
    tk_document document = {text->p, text->n, 0, NULL, NULL, 0};
    size_t point = text->n ? tk_split_point(&document, from % text->n, text->n) : 0;
    size_t *found = malloc((text->n + 1) * sizeof *found);
    fz_text first = fz_copy(text->p, point), last = fz_copy(text->p + point, text->n - point);
    size_t n = point ? scan(isa, by, first.p, first.n, LIMIT, found) : 0;
    size_t more = last.n ? scan(isa, by, last.p, last.n, LIMIT, found + n) : 0;
    for (size_t k = n; k < n + more; k++) found[k] += point;
    CHECK(same(found, n + more, wanted, count));
    free(first.p);
    free(last.p);
    free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    int family = (int)fz_below(&f, TK_SCAN_FAMILIES);
    size_t limit = fz_byte(&f) + 1, from = fz_short(&f);
    tk_cuts cuts;
    set_cuts(&f, &cuts);
    fz_text text = fz_valid(&f, FZ_MOST);
    size_t *wanted = malloc((text.n + 1) * sizeof *wanted), *found = malloc((text.n + 1) * sizeof *found);
    tk_split plain = {.family = family}, cutting = {.family = family, .cuts = &cuts};
    size_t count = scan(TK_ISA_SCALAR, &plain, text.p, text.n, LIMIT, wanted);
    FOR_EACH_ISA(isa) {
        tk_isa_use(isa);
        size_t got = scan(isa, &plain, text.p, text.n, isa ? LIMIT : limit, found);
        CHECK(same(found, got, wanted, count));
        got = scan(isa, &plain, text.p, text.n, limit, found);
        CHECK(same(found, got, wanted, count));
        got = scan(isa, &cutting, text.p, text.n, limit, found);
        for (size_t k = 0; k < count; k++) CHECK(has(found, got, wanted[k]));
        for (size_t k = 0; k + 1 < got; k++) { /* what is no end of a piece is a cut that the sets allow */
            unsigned length;
            size_t at = found[k], before = at - 1;
            if (has(wanted, count, at)) continue;
            CHECK(!tk_is_continuation(text.p[at]));
            while (tk_is_continuation(text.p[before])) before--;
            uint32_t left = tk_bigram_left(tk_utf8_decode(text.p + before, &length));
            uint32_t right = tk_bigram_right(tk_utf8_decode(text.p + at, &length));
            CHECK(tk_may_cut(&cuts, left, text.p[at - 1], right, text.p[at]));
        }
        if (family != TK_SCAN_WHOLE) split(isa, &plain, &text, from, wanted, count);
    }
    free(cuts.bigrams);
    free(cuts.byte_bigrams);
    free(wanted);
    free(found);
    free(text.p);
    return 0;
}
