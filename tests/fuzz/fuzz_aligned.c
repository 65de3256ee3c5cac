/* Fuzzes components and texts: checks that each leaves a text of whole characters in pieces one after another, every
   byte of which comes from a place in the original; and the same in memory that is used again. */
#include "fuzz_stages.h"

enum { MOST = 300, TEXTS = 3, TOO_LONG = 1 << 16 };

static int starts_character(const tk_aligned *a, size_t at) { return at == a->n || !tk_is_continuation(a->text[at]); }

/* Forms put marks in order, and the charsmap counts as tokenizers does: all else leaves bytes in the order of where
   they come from. */
static int keeps_order(const tk_stage *stage) {
    int forms = stage->kind == TK_COMPONENT_FORM || stage->kind == TK_COMPONENT_BERT;
    return !forms && stage->kind != TK_COMPONENT_CHARSMAP;
}

static void check(const tk_aligned *a, const fz_text *original, int in_order) {
    size_t before = 0;
    CHECK(a->n_original == original->n);
    CHECK(tk_utf8_invalid(a->text, a->n) == a->n);
    for (int k = 0; k < TK_ALIGNED_SLACK; k++) CHECK(!a->text[a->n + (size_t)k]);
    for (size_t k = 0; k < a->n_pieces; k++) {
        const tk_piece *p = a->pieces + k;
        CHECK(p->start >= before && p->start < p->end && p->end <= a->n && p->id == TK_NO_TOKEN);
        CHECK(starts_character(a, p->start) && starts_character(a, p->end));
        tk_span span = tk_aligned_span(a, p->start, p->end);
        CHECK(span.start <= original->n && span.end <= original->n);
        before = p->end;
    }
    for (size_t k = 0; k < a->n; k++) {
        tk_span span = tk_aligned_span(a, k, k + 1);
        CHECK(span.start <= span.end && span.end <= original->n);
        if (in_order && k) CHECK(tk_aligned_span(a, k - 1, k).start <= span.start);
        int whole = span.start == original->n || !tk_is_continuation(original->p[span.start]);
        CHECK(whole && (span.end == original->n || !tk_is_continuation(original->p[span.end])));
    }
    /* Without spans each character is of its own place: it may be another one all the same. */
    CHECK(a->spans || !a->n || a->n == original->n);
}

static void check_same(const tk_aligned *a, const tk_aligned *b) {
    CHECK(fz_equal(a->text, a->n, b->text, b->n) && a->n_pieces == b->n_pieces);
    CHECK(!a->n_pieces || !memcmp(a->pieces, b->pieces, a->n_pieces * sizeof *a->pieces));
    for (size_t k = 0; k < a->n; k++) {
        tk_span x = tk_aligned_span(a, k, k + 1), y = tk_aligned_span(b, k, k + 1);
        CHECK(x.start == y.start && x.end == y.end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_stages s;
    tk_aligned again = {0}, spare = {0};
    again.spare = &spare;
    fz_read_stages(&f, &s, FZ_MOST_STAGES);
    int place = (int)fz_below(&f, 3), goes_on = fz_byte(&f) & 1, spelt_out = fz_byte(&f) & 1;
    FOR_EACH_ISA(isa) tk_isa_use(isa); /* the best there is, for the scanners */
    for (int k = 0; k < TEXTS && f.p < f.end; k++) {
        fz_text text = fz_valid(&f, MOST);
        tk_aligned a = {0};
        CHECK(tk_aligned_reset(&a, text.p, text.n, place, goes_on) == TK_OK);
        CHECK(tk_aligned_reset(&again, text.p, text.n, place, goes_on) == TK_OK);
        int in_order = 1;
        if (spelt_out) CHECK(tk_aligned_spell_out(&a) == TK_OK);
        for (size_t i = 0; i < s.n && a.n < TOO_LONG; i++) {
            int keeps = tk_stages_keep(s.list + i, 1, a.text, a.n);
            fz_text before = fz_copy(a.text, keeps ? a.n : 0);
            CHECK(tk_stages_run(s.list + i, 1, &a) == TK_OK);
            if (keeps) CHECK(fz_equal(a.text, a.n, before.p, before.n));
            CHECK(tk_stages_run(s.list + i, 1, &again) == TK_OK);
            free(before.p);
            in_order = in_order && keeps_order(s.list + i);
            check(&a, &text, in_order);
            check_same(&a, &again);
        }
        tk_aligned_free(&a);
        free(text.p);
    }
    tk_aligned_free(&again);
    tk_aligned_free(&spare);
    fz_free_stages(&s);
    return 0;
}
