/* Fuzzes a byte-level vocabulary and texts: checks that they have the ids that merging each piece by itself gives: by
   a worker whose cache knows the texts before, by every instruction set, and in parts. */
#include "encode/plan.h"
#include "fuzz_bpe.h"

enum { MOST = 500, TEXTS = 5, ADDED = 3 };

typedef struct {
    const fz_bpe *bpe;
    tk_plan plan;
    tk_finder finder;
    uint32_t lengths[FZ_TOKENS];
    const int64_t *added_ids;
} engine;

/* The ids of a text without added tokens, and the ends of its pieces. */
static size_t naive_section(const engine *e, const uint8_t *p, size_t n, uint32_t *ids, int64_t *ends, size_t *pieces) {
    tk_split split = {.family = e->plan.front.split.family};
    size_t at = 0, start = 0, end, count = 0;
    while (tk_scan_by(TK_ISA_SCALAR, &split, p, n, &at, &end, 1)) {
        count += fz_naive_piece(e->bpe, p + start, end - start, ids + count);
        if (ends) ends[(*pieces)++] = (int64_t)end;
        start = end;
    }
    return count;
}

static size_t naive(const engine *e, const uint8_t *p, size_t n, uint32_t *ids) {
    static tk_added_cursor cursor;
    tk_added_match match;
    size_t count = 0, start = 0;
    tk_added_start(&cursor);
    while (e->finder.given && tk_added_next(e->finder.given, p, n, NULL, &cursor, &match)) {
        count += naive_section(e, p + start, match.start - start, ids + count, NULL, NULL);
        ids[count++] = (uint32_t)e->added_ids[match.number];
        start = match.end;
    }
    return count + naive_section(e, p + start, n - start, ids + count, NULL, NULL);
}

static void check(const tk_worker *w, const uint32_t *wanted, size_t count) {
    CHECK(w->n_ids == count && (!count || !memcmp(w->ids, wanted, count * sizeof *wanted)));
}

static void check_offsets(const engine *e, tk_worker *w, const fz_text *text, const uint32_t *wanted, size_t count) {
    w->n_ids = 0;
    int status = tk_encode_offsets(&e->plan, w, &e->finder, text->p, text->n);
    if (status == TK_UNSUPPORTED) return; /* a byte that has no token */
    CHECK(status == TK_OK);
    check(w, wanted, count);
    if (!count) return;
    const int64_t *spans = tk_offsets_spans(w);
    const int32_t *words = tk_offsets_words(w);
    for (size_t k = 0; k < count; k++) {
        CHECK(spans[2 * k] == (k ? spans[2 * k - 1] : 0)); /* nothing is dropped */
        int added = wanted[k] >= e->bpe->v.n; /* which may take white space beside it */
        CHECK(added || spans[2 * k + 1] - spans[2 * k] == e->lengths[wanted[k]]);
        CHECK(words[k] == 0 || (k && (words[k] == words[k - 1] || words[k] == words[k - 1] + 1)));
    }
    CHECK((size_t)spans[2 * count - 1] == text->n);
}

/* All ways to the ids of one text. */
static void encode(const engine *e, tk_worker *w, const fz_text *text, size_t step) {
    uint32_t *wanted = malloc((text->n + 1) * sizeof *wanted);
    int64_t *ends = malloc((text->n + 1) * sizeof *ends);
    size_t count = naive(e, text->p, text->n, wanted), pieces = 0, at;
    FOR_EACH_ISA(isa) {
        tk_isa_use(isa);
        for (int pass = 0; pass < 2; pass++) { /* in steps, which end where a chunk does; what was met is known */
            w->n_ids = at = 0;
            while (at < text->n) {
                size_t before = at;
                CHECK(tk_encode(&e->plan, w, &e->finder, text->p, text->n, &at, pass ? text->n : at + step) == TK_OK);
                CHECK(at > before && at <= text->n);
            }
            check(w, wanted, count);
        }
        check_offsets(e, w, text, wanted, count);
    }
    if (!e->finder.given) {
        CHECK(naive_section(e, text->p, text->n, wanted, ends, &pieces) == count);
        w->n_ids = 0;
        CHECK(tk_encode_pieces(&e->plan, w, text->p, ends, pieces) == TK_OK);
        check(w, wanted, count);
    }
    free(wanted);
    free(ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t contents[] = "ab|a.", flags[ADDED] = {0, TK_ADDED_LSTRIP, TK_ADDED_SINGLE_WORD};
    static const int64_t ends[ADDED] = {2, 3, 5};
    static const size_t few[] = {2, 30, 100, 1000}; /* with none, the cache is made anew for each word: that is slow */
    int64_t ids[ADDED];
    fz f = {data, data + size};
    static fz_bpe b;
    static engine e;
    tk_added added;
    memset(&e, 0, sizeof e);
    fz_bpe_make(&f, &b, 1);
    int family = (int)fz_below(&f, TK_SCAN_FAMILIES), with_added = fz_byte(&f) & 1, valid = fz_byte(&f) & 1;
    size_t max_words = few[fz_below(&f, 4)], step = fz_byte(&f) + 1;
    for (uint32_t id = 0; id < b.v.n; id++) e.lengths[id] = (uint32_t)fz_length(&b.v, id);
    for (int k = 0; k < ADDED; k++) ids[k] = b.v.n + (uint32_t)k; /* ids of their own, as a tokenizer gives them */
    e.bpe = &b;
    e.added_ids = ids;
    tk_plan_bytes(&e.plan, &b.model, (tk_split){.family = family}, e.lengths, max_words);
    e.plan.offset_lines = 8;
    CHECK(tk_added_init(&added, contents, ends, flags, ADDED, TK_ISA_SCALAR) == TK_OK);
    if (with_added) e.finder.given = &added, e.finder.given_ids = ids;
    tk_worker w;
    CHECK(tk_worker_init(&w, &e.plan, max_words) == TK_OK);
    for (int k = 0; k < TEXTS && f.p < f.end; k++) {
        fz_text text = valid ? fz_valid(&f, MOST) : fz_spell(&f, FZ_BPE_ALPHABET, FZ_N_BPE_ALPHABET, MOST);
        encode(&e, &w, &text, step);
        if (step & 1) tk_worker_shrink(&w, 64);
        free(text.p);
    }
    tk_worker_free(&w);
    tk_added_free(&added);
    fz_bpe_free(&b);
    return 0;
}
