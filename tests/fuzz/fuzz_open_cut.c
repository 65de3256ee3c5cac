/* Fuzzes a vocabulary, a compiled pattern and a text: checks that the text, encoded up to the place where it may be
   cut and from there on, has its ids, whatever follows; and that they are those of the naive twins. */
#include "encode/open_piece.h"
#include "fuzz_bpe.h"
#include "fuzz_dfa.h"

enum { MOST = 600 };

static size_t naive(const fz_bpe *b, const fz_dfa *d, const uint8_t *p, size_t n, uint32_t *ids) {
    size_t *ends = malloc((n + 1) * sizeof *ends), count = 0, start = 0, pieces = fz_dfa_scan(d, p, n, ends);
    for (size_t k = 0; k < pieces; k++) {
        size_t end = ends[k] & ~TK_DROPPED;
        if (!(ends[k] & TK_DROPPED)) count += fz_naive_piece(b, p + start, end - start, ids + count);
        start = end;
    }
    free(ends);
    return count;
}

/* Append the ids of a text. */
static void encode(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n) {
    size_t at = 0;
    fz_text exact = fz_copy(p, n);
    while (at < n) CHECK(tk_encode(plan, w, NULL, exact.p, n, &at, n) == TK_OK);
    free(exact.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_bpe b;
    static fz_dfa d;
    static uint32_t lengths[FZ_TOKENS];
    uint32_t wanted[MOST + 1];
    fz_dfa_make(&f, &d);
    fz_bpe_make(&f, &b, 1);
    size_t shown = fz_short(&f);
    fz_text text = fz_spell(&f, FZ_DFA_ALPHABET, FZ_N_DFA_ALPHABET, MOST);
    for (uint32_t id = 0; id < b.v.n; id++) lengths[id] = (uint32_t)fz_length(&b.v, id);
    tk_plan plan = {0};
    tk_plan_bytes(&plan, &b.model, (tk_split){.dfa = &d.dfa}, lengths, 100);
    tk_worker w;
    CHECK(tk_worker_init(&w, &plan, 100) == TK_OK);
    size_t count = naive(&b, &d, text.p, text.n, wanted);
    encode(&plan, &w, text.p, text.n);
    CHECK(w.n_ids == count && (!count || !memcmp(w.ids, wanted, count * sizeof *wanted)));

    /* The place is looked for where only the beginning is known. */
    size_t known = text.n ? shown % (text.n + 1) : 0, at;
    while (known < text.n && tk_is_continuation(text.p[known])) known++;
    int status;
    fz_text beginning = fz_copy(text.p, known);
    at = tk_open_cut(&plan, &w, &d.dfa, beginning.p, known, 1, &status);
    CHECK(status == TK_OK && at <= known);
    if (at) {
        w.n_ids = 0;
        encode(&plan, &w, text.p, at);
        encode(&plan, &w, text.p + at, text.n - at);
        CHECK(w.n_ids == count && (!count || !memcmp(w.ids, wanted, count * sizeof *wanted)));
    }
    free(beginning.p);
    free(text.p);
    tk_worker_free(&w);
    fz_bpe_free(&b);
    return 0;
}
