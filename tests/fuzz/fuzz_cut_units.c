/* Fuzzes a cut rule and a text: checks that every instruction set cuts units where a loop over characters does, and a
   split point of the rule is one of these places. */
#include "fuzz.h"
#include "split/cut_rule.h"
#include "split/split_points.h"

static unsigned length_at(const uint8_t *p) { return tk_utf8_length(*p); }

static size_t naive(const tk_cut_rule *rule, const uint8_t *p, size_t n, size_t *ends) {
    size_t count = 0, before = 0;
    unsigned length;
    for (size_t at = n ? length_at(p) : 0; at < n; before = at, at += length_at(p + at))
        if (rule->left[tk_atom_at(p + before, &length)] & rule->right[tk_atom_at(p + at, &length)]) ends[count++] = at;
    if (n) ends[count++] = n;
    return count;
}

/* A few atoms get bits: all, those of a range, or one. As in engine/cut_rules.py, nothing but Chinese characters and
   ASCII may stand right of a cut, and no white space left of one. */
static void set_rule(fz *f, tk_cut_rule *rule) {
    memset(rule, 0, sizeof *rule);
    for (unsigned k = fz_below(f, 12); k > 0; k--) {
        unsigned first = fz_below(f, TK_ATOMS), last = first + fz_below(f, 40), bits = fz_byte(f);
        int right = fz_byte(f) & 1;
        for (unsigned atom = first; atom <= last && atom < TK_ATOMS; atom++)
            (right ? rule->right : rule->left)[atom] ^= (uint8_t)bits;
    }
    rule->right[TK_ATOM_OTHER] = rule->right[TK_ATOM_WHITE] = 0;
    rule->right[TK_ATOM_BLANK] = rule->right[TK_ATOM_LEADS] = 0;
    tk_cut_rule_finish(rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    tk_cut_rule rule;
    size_t limit = fz_byte(&f) + 64, from = fz_short(&f);
    set_rule(&f, &rule);
    fz_text text = fz_valid(&f, FZ_MOST);
    size_t *wanted = malloc((text.n + 1) * sizeof *wanted), *some = malloc(limit * sizeof *some);
    size_t count = naive(&rule, text.p, text.n, wanted);
    FOR_EACH_ISA(isa) {
        size_t at = 0, done = 0, got;
        while ((got = tk_cut_units_by(isa, &rule, text.p, text.n, &at, some, limit))) {
            CHECK(got <= limit && done + got <= count && at == some[got - 1]);
            CHECK(!memcmp(some, wanted + done, got * sizeof *some));
            done += got;
        }
        CHECK(done == count && (!text.n || at == text.n));
    }
    tk_document document = {text.p, text.n, 0, NULL, &rule, 0};
    from = text.n ? from % text.n : 0;
    size_t point = tk_split_point(&document, from, text.n), first = text.n;
    for (size_t k = count; k-- > 0;)
        if (wanted[k] >= (from ? from : 1)) first = wanted[k];
    CHECK(point == first);
    free(wanted);
    free(some);
    free(text.p);
    return 0;
}
