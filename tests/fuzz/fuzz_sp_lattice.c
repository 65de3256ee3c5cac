/* Fuzzes a small Unigram model and a text: checks that the lattice has the ways that going all of them finds: the best
   ones, the entropy, and by chance only such ways. */
#include <math.h>

#include "fuzz_sp.h"
#include "sentencepiece/sp_lattice.h"

enum { MOST = 14, MOST_WAYS = 4000, WANTED = 40 };

typedef struct {
    double scores[MOST_WAYS];
    size_t n;
} ways;

/* All ways on from a place, and the score of each; it stops where there are too many. */
static void go(const tk_sp_lattice *l, size_t at, double score, ways *w) {
    if (at == l->n && w->n < MOST_WAYS) w->scores[w->n++] = score;
    for (size_t k = 0; at < l->n && k < l->n_arcs && w->n < MOST_WAYS; k++)
        if (l->arcs[k].start == at) go(l, l->arcs[k].end, score + (double)l->arcs[k].score, w);
}

static int greater(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

static int near(double x, double y) { return fabs(x - y) <= 1e-4 * (1 + fabs(x)); }

/* An arc for each piece at each character, and for a character that is none. */
static void check_arcs(const fz_sp *s, const tk_sp_lattice *l, const fz_text *p) {
    size_t n = 0;
    for (size_t at = 0; at < p->n; at += tk_utf8_length(p->p[at])) {
        int known = 0;
        for (size_t end = at + 1; end <= p->n; end++) {
            uint32_t id = fz_find(&s->forms, p->p + at, end - at);
            if (id == FZ_NONE) continue;
            CHECK(n < l->n_arcs && l->arcs[n].id == id && l->arcs[n].start == at && l->arcs[n].end == end);
            known |= end - at == tk_utf8_length(p->p[at]);
            n++;
        }
        if (known) continue;
        CHECK(n < l->n_arcs && l->arcs[n].start == at && l->arcs[n].end == at + tk_utf8_length(p->p[at]));
        n++;
    }
    CHECK(n == l->n_arcs);
}

static double entropy(const ways *w, double alpha) {
    double sum = 0, result = 0;
    for (size_t k = 0; k < w->n; k++) sum += exp(alpha * (w->scores[k] - w->scores[0]));
    for (size_t k = 0; k < w->n; k++) {
        double share = exp(alpha * (w->scores[k] - w->scores[0])) / sum;
        if (share > 0) result -= share * log(share);
    }
    return result;
}

static void check_chance(tk_sp_lattice *l, const ways *w, double alpha, uint64_t seed) {
    uint32_t path[MOST + 1];
    double scratch[MOST + 1];
    tk_sp_lattice_sum(l, alpha);
    CHECK(near(entropy(w, alpha), tk_sp_lattice_entropy(l, alpha, scratch)));
    for (int k = 0; k < 4; k++) {
        size_t count = tk_sp_lattice_sample(l, alpha, &seed, path), at = l->n;
        for (size_t i = 0; i < count; i++) {
            CHECK(path[i] < l->n_arcs && l->arcs[path[i]].end == at);
            at = l->arcs[path[i]].start;
        }
        CHECK(at == 0);
    }
}

/* A way that was found: whole, and its score. */
static double score_of(const tk_sp_lattice *l, const tk_sp_search *s, uint32_t number) {
    double score = 0;
    size_t at = 0;
    for (const tk_sp_way *way = s->ways + number; at < l->n; way = s->ways + way->next) {
        CHECK(way->arc < l->n_arcs && l->arcs[way->arc].start == at);
        score += (double)l->arcs[way->arc].score;
        at = l->arcs[way->arc].end;
    }
    return score;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_sp s;
    static ways w;
    const char *reason = NULL;
    fz_sp_read(&f, &s);
    s.source.model = TK_SP_UNIGRAM;
    double alpha = 0.1 * fz_below(&f, 20);
    uint64_t seed = fz_short(&f);
    fz_text text = fz_spell(&f, FZ_SP_ALPHABET, FZ_N_SP_ALPHABET, MOST), p = text;
    tk_sp_lattice l = {0};
    tk_sp_search found = {0};
    p.n = fz_sp_escape(s.source.escape, text.p, text.p, text.n);
    free(s.forms.blob); /* they depend on the kind of model */
    memset(&s.forms, 0, sizeof s.forms);
    fz_sp_forms(&s);
    CHECK(tk_sp_build(&s.m, &s.source, &reason) == TK_OK);
    CHECK(tk_sp_lattice_build(&l, &s.m, p.p, p.n) == TK_OK);
    check_arcs(&s, &l, &p);
    w.n = 0;
    go(&l, 0, 0, &w);
    if (w.n < MOST_WAYS && p.n) {
        qsort(w.scores, w.n, sizeof *w.scores, greater);
        CHECK(tk_sp_lattice_search(&l, &found, WANTED, 1, NULL) == TK_OK);
        CHECK(found.n_found == (w.n < WANTED ? w.n : WANTED));
        for (size_t k = 0; k < found.n_found; k++) CHECK(near(w.scores[k], score_of(&l, &found, found.found[k])));
        check_chance(&l, &w, alpha, seed);
        CHECK(tk_sp_lattice_search(&l, &found, WANTED, alpha, &seed) == TK_OK);
        CHECK(found.n_found == (w.n < WANTED ? w.n : WANTED));
        for (size_t k = 0; k < found.n_found; k++) score_of(&l, &found, found.found[k]);
    }
    tk_sp_search_free(&found);
    tk_sp_lattice_free(&l);
    tk_sp_free(&s.m);
    fz_sp_free(&s);
    free(text.p);
    return 0;
}
