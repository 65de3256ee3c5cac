/* Fuzzes a text: checks that the four normal forms of Unicode hold what the standard says of them: each of its own
   form is itself, and forms of forms are the last one's. */
#include "fuzz.h"
#include "text/normalize.h"

enum { MOST = 700 };

static fz_text form(int which, const fz_text *text) {
    tk_aligned a;
    CHECK(tk_aligned_init(&a, text->p, text->n) == TK_OK);
    CHECK(tk_normalize_form(&a, which) == TK_OK);
    CHECK(a.n_pieces == (text->n > 0) && (!text->n || (a.pieces->start == 0 && a.pieces->end == a.n)));
    for (size_t k = 0; a.spans && k < a.n; k++) CHECK(a.spans[k].start <= a.spans[k].end && a.spans[k].end <= text->n);
    fz_text made = fz_copy(a.text, a.n);
    CHECK(tk_utf8_invalid(made.p, made.n) == made.n);
    if (tk_normalize_form_stays(which, text->p, text->n)) CHECK(fz_equal(made.p, made.n, text->p, text->n));
    tk_aligned_free(&a);
    return made;
}

/* The form `last` of `first` of a text is its form `wanted`. */
static void check(const fz_text *text, int first, int last, int wanted) {
    fz_text once = form(first, text), twice = form(last, &once), directly = form(wanted, text);
    CHECK(fz_equal(twice.p, twice.n, directly.p, directly.n));
    free(once.p);
    free(twice.p);
    free(directly.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { D = TK_QUICK_NFD, C = TK_QUICK_NFC, KD = TK_QUICK_NFKD, KC = TK_QUICK_NFKC };
    static const int rules[][3] = {{D, D, D},    {C, C, C},    {KD, KD, KD}, {KC, KC, KC}, {C, D, D},   {D, C, C},
                                   {KC, KD, KD}, {KD, KC, KC}, {KD, D, KD},  {KC, C, KC},  {D, KD, KD}, {C, KC, KC},
                                   {KD, C, KC},  {KC, D, KD}};
    fz f = {data, data + size};
    fz_text text = fz_valid(&f, MOST);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) check(&text, rules[k][0], rules[k][1], rules[k][2]);
    free(text.p);
    return 0;
}
