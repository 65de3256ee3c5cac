/* Fuzzes added tokens and a text: checks that they are found where trying each place in turn finds them, by every
   instruction set, and cut an aligned text there. */
#include "split/added.h"
#include "text/char_kinds.h"
#include "fuzz.h"

enum { TOKENS = 24, MOST_TOKEN = 400, SYMBOLS = 14 };
static const char *const ALPHABET[SYMBOLS] = {"a", "b", "A", " ", "\n", "<", "|", ">", "_", "\xc3\xa9",
                                              "\xe6\x9d\xb1", "\xe3\x80\x80", "\xc2\xa0", "ab"};

typedef struct {
    char *content[TOKENS];
    uint8_t flags[TOKENS], allowed[TOKENS];
    size_t n;
} tokens;

static int is(unsigned kind, const uint8_t *p) {
    unsigned length;
    return (tk_kinds_at(p, &length) & kind) != 0;
}

static size_t before(const uint8_t *p, size_t at) {
    for (at--; tk_is_continuation(p[at]);) at--;
    return at;
}

/* The longest token at a place, of two alike the first; or the number of tokens. */
static size_t longest(const tokens *t, const uint8_t *p, size_t n) {
    size_t found = t->n, length = 0;
    for (size_t k = 0; k < t->n; k++) {
        size_t m = strlen(t->content[k]);
        if (m > length && m <= n && !memcmp(p, t->content[k], m)) found = k, length = m;
    }
    return found;
}

static size_t naive(const tokens *t, int chooses, const uint8_t *p, size_t n, tk_added_match *matches) {
    size_t count = 0, taken = 0;
    for (size_t at = 0; at < n;) {
        size_t k = longest(t, p + at, n - at), start = at, end;
        if (k == t->n) {
            at++;
            continue;
        }
        at = end = start + strlen(t->content[k]);
        if (chooses && !t->allowed[k]) continue;
        if (t->flags[k] & TK_ADDED_SINGLE_WORD &&
            ((start && is(TK_WORD, p + before(p, start))) || (end < n && is(TK_WORD, p + end))))
            continue;
        if (t->flags[k] & TK_ADDED_LSTRIP) {
            while (start && is(TK_WHITE, p + before(p, start))) start = before(p, start);
            if (start < taken) start = taken;
        }
        if (t->flags[k] & TK_ADDED_RSTRIP)
            while (end < n && is(TK_WHITE, p + end)) end += tk_utf8_length(p[end]);
        if (start >= end) continue;
        taken = end;
        matches[count++] = (tk_added_match){start, end, (uint32_t)k};
    }
    return count;
}

static void check_cut(const tk_added *set, const uint8_t *allowed, const fz_text *text, const tk_added_match *matches,
                      size_t count) {
    int64_t ids[TOKENS];
    tk_aligned a;
    for (int k = 0; k < TOKENS; k++) ids[k] = 100 + k;
    CHECK(tk_aligned_init(&a, text->p, text->n) == TK_OK);
    CHECK(tk_added_cut(set, ids, allowed, &a) == TK_OK);
    size_t taken = 0, k = 0;
    for (size_t piece = 0; piece < a.n_pieces; piece++) {
        const tk_piece *p = a.pieces + piece;
        CHECK(p->start < p->end && p->end <= text->n);
        if (p->id == TK_NO_TOKEN) {
            CHECK(p->start == taken && p->end == (k < count ? matches[k].start : text->n));
        } else {
            CHECK(k < count && p->id == ids[matches[k].number] && p->start == matches[k].start);
            CHECK(p->end == matches[k++].end);
        }
        taken = p->end;
    }
    CHECK(k == count && taken == text->n);
    tk_aligned_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    const char *symbols[SYMBOLS + TOKENS];
    uint8_t bytes[TOKENS * MOST_TOKEN];
    int64_t ends[TOKENS + 1];
    static tk_added_cursor cursor;
    tokens t = {.n = fz_below(&f, TOKENS)};
    int chooses = fz_byte(&f) & 1;
    size_t n = 0;
    memcpy(symbols, ALPHABET, sizeof ALPHABET);
    for (size_t k = 0; k < t.n; k++) {
        unsigned flags = fz_byte(&f);
        t.flags[k] = flags & 7, t.allowed[k] = !(flags & 8);
        fz_text content = fz_spell(&f, ALPHABET, SYMBOLS, MOST_TOKEN);
        memcpy(bytes + n, content.p, content.n);
        ends[k] = (int64_t)(n += content.n);
        t.content[k] = memcpy(calloc(content.n + 1, 1), content.p, content.n);
        symbols[SYMBOLS + k] = t.content[k];
        free(content.p);
    }
    fz_text text = fz_spell(&f, symbols, (unsigned)(SYMBOLS + t.n), FZ_MOST), exact = fz_copy(bytes, n);
    tk_added_match *wanted = malloc((text.n + 1) * sizeof *wanted), match;
    const uint8_t *allowed = chooses ? t.allowed : NULL;
    size_t count = naive(&t, chooses, text.p, text.n, wanted);
    FOR_EACH_ISA(isa) {
        tk_added set;
        size_t k = 0;
        CHECK(tk_added_init(&set, exact.p, ends, t.flags, t.n, isa) == TK_OK);
        tk_added_start(&cursor);
        while (tk_added_next(&set, text.p, text.n, allowed, &cursor, &match)) {
            CHECK(k < count && match.start == wanted[k].start && match.end == wanted[k].end);
            CHECK(match.number == wanted[k++].number);
        }
        CHECK(k == count);
        check_cut(&set, allowed, &text, wanted, count);
        tk_added_free(&set);
    }
    for (size_t k = 0; k < t.n; k++) free(t.content[k]);
    free(wanted);
    free(exact.p);
    free(text.p);
    return 0;
}
