/* Fuzzes components, a model and texts: checks that texts cut into units, with a cache that knows those before, have
   the ids, spans and words that one run over the whole text gives; in parts and with added tokens too. */
#include "encode/plan.h"
#include "fuzz_model.h"
#include "fuzz_stages.h"
#include "split/split_points.h"

enum { MOST = 300, TEXTS = 4, CASES = 4 };

typedef struct {
    tk_plan plan;
    tk_cut_rule rule;
    tk_stage stages[4];
    size_t n_stages;
    unsigned edges;
    int cuts;
    tk_finder finder;
    tk_model_worker direct;
    uint32_t *wanted;
    size_t n_wanted;
} engine;

/* What changes characters one by one, or by those beside them, and then cuts; and where that lets a text be cut: before
   a space behind what is no white space. Of the last case nothing is known, and a text is one unit. */
static void set_stages(fz *f, engine *e) {
    unsigned which = fz_below(f, CASES), options = fz_byte(f);
    tk_stage *s = e->stages;
    if (options & 1) *s++ = (tk_stage){.kind = TK_COMPONENT_FORM, .numbers = {1 << (options >> 1 & 3)}};
    if (options & 8) *s++ = (tk_stage){.kind = TK_COMPONENT_LOWERCASE};
    if (which == 2) {
        int scheme = (int)(options >> 4) % 3;
        *s++ = (tk_stage){.kind = TK_COMPONENT_METASPACE, .count = 0x2581, .numbers = {scheme}, .skips_inside = 1};
        *s++ = (tk_stage){.kind = TK_COMPONENT_SPLIT_CHARACTER, .count = 0x2581, .numbers = {TK_MERGED_WITH_NEXT}};
        if (scheme != TK_PREPEND_NEVER) e->edges = TK_EDGE_TEXT_START | TK_EDGE_SECTION_START;
    } else if (which == 1) {
        *s++ = (tk_stage){.kind = TK_COMPONENT_SPLIT_KIND, .numbers = {TK_REMOVED, TK_WHITE}};
    } else {
        *s++ = (tk_stage){.kind = options & 16 ? TK_COMPONENT_SPLIT_BERT : TK_COMPONENT_SPLIT_WORDS};
    }
    e->n_stages = (size_t)(s - e->stages);
    if (which == 3) return;
    memset(e->rule.left, 1, TK_ATOMS);
    for (int c = 0; c < 128; c++) e->rule.left[c] = !(c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c < 0x20));
    e->rule.left[TK_ATOM_WHITE] = e->rule.left[TK_ATOM_BLANK] = 0;
    e->rule.right[' '] = 1;
    tk_cut_rule_finish(&e->rule);
    e->cuts = 1;
}

/* One run over a section, into e->direct. */
static int run(engine *e, const uint8_t *p, size_t n, int place) {
    tk_aligned a = {0};
    CHECK(tk_aligned_reset(&a, p, n, place, 0) == TK_OK);
    CHECK(tk_stages_run(e->stages, e->n_stages, &a) == TK_OK);
    int status = tk_model_encode(e->plan.model.tokens, &e->direct, &a);
    tk_aligned_free(&a);
    return status;
}

static void want(engine *e, const uint32_t *ids, size_t n) {
    e->wanted = realloc(e->wanted, (e->n_wanted + n + 1) * sizeof *ids);
    if (n) memcpy(e->wanted + e->n_wanted, ids, n * sizeof *ids);
    e->n_wanted += n;
}

static void naive_added(engine *e, const fz_text *text) {
    static tk_added_cursor cursor;
    tk_added_match match;
    size_t start = 0;
    int found = 1;
    e->n_wanted = 0;
    for (tk_added_start(&cursor); found;) {
        found = tk_added_next(e->finder.given, text->p, text->n, NULL, &cursor, &match);
        size_t end = found ? match.start : text->n;
        if (end > start) {
            CHECK(run(e, text->p + start, end - start, start ? TK_AT_SECTION_START : TK_AT_TEXT_START) == TK_OK);
            want(e, e->direct.ids, e->direct.n);
        }
        uint32_t id = found ? (uint32_t)e->finder.given_ids[match.number] : 0;
        if (found) want(e, &id, 1), start = match.end;
    }
}

static void check_ids(const engine *e, const tk_worker *w) {
    CHECK(w->n_ids == e->n_wanted && (!w->n_ids || !memcmp(w->ids, e->wanted, w->n_ids * sizeof *w->ids)));
}

/* Append the ids of a text or of a part of one. */
static void encode(const engine *e, tk_worker *w, const tk_finder *finder, const uint8_t *p, size_t n, size_t step) {
    fz_text exact = fz_copy(p, n);
    for (size_t at = 0; at < n;) CHECK(tk_encode(&e->plan, w, finder, exact.p, n, &at, at + step) == TK_OK);
    free(exact.p);
}

static void check(engine *e, tk_worker *w, const fz_text *text, size_t step) {
    naive_added(e, text);
    w->n_ids = 0;
    encode(e, w, &e->finder, text->p, text->n, step);
    check_ids(e, w);
    w->n_ids = 0;
    CHECK(tk_encode_offsets(&e->plan, w, &e->finder, text->p, text->n) == TK_OK);
    check_ids(e, w);
    CHECK(run(e, text->p, text->n, TK_AT_TEXT_START) == TK_OK);
    e->n_wanted = 0;
    want(e, e->direct.ids, e->direct.n);
    FOR_EACH_ISA(isa) {
        tk_isa_use(isa);
        w->n_ids = 0;
        encode(e, w, NULL, text->p, text->n, step);
        check_ids(e, w);
        w->n_ids = 0;
        CHECK(tk_encode_offsets(&e->plan, w, NULL, text->p, text->n) == TK_OK);
        check_ids(e, w);
        CHECK(!w->n_ids || !memcmp(tk_offsets_spans(w), e->direct.spans, 2 * w->n_ids * sizeof(int64_t)));
        CHECK(!w->n_ids || !memcmp(tk_offsets_words(w), e->direct.words, w->n_ids * sizeof(int32_t)));
    }
    tk_document document = {text->p, text->n, 0, NULL, e->plan.part_rule, 0};
    size_t point = e->plan.part_rule && text->n ? tk_split_point(&document, step % text->n, text->n) : text->n;
    w->n_ids = 0;
    w->has_next = point < text->n;
    encode(e, w, NULL, text->p, point, text->n + 1);
    w->is_continuation = w->has_next, w->has_next = 0;
    encode(e, w, NULL, text->p + point, text->n - point, text->n + 1);
    w->is_continuation = 0;
    check_ids(e, w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int64_t ids[2] = {1000, 1001}, ends[2] = {2, 4};
    static const uint8_t flags[2] = {0, TK_ADDED_RSTRIP};
    static const size_t few[] = {0, 2, 1000};
    fz f = {data, data + size};
    static fz_vocab v;
    static engine e;
    double scores[FZ_TOKENS];
    tk_model m = {0};
    tk_added added;
    int64_t culprit;
    memset(&v, 0, sizeof v);
    memset(&e, 0, sizeof e);
    unsigned kind = fz_below(&f, 3);
    const char *prefix = kind == 0 ? "#" : "";
    tk_model_options o = {.prefix = (const uint8_t *)prefix, .n_prefix = strlen(prefix), .most_characters = 20,
                          .suffix = (const uint8_t *)"", .scores = scores, .least_score = -7, .fuses = 1};
    set_stages(&f, &e);
    size_t max_words = few[fz_below(&f, 3)], step = fz_byte(&f) + 1;
    fz_put(&v, "<unk>", 5);
    fz_put_characters(&f, &v, prefix, "");
    fz_put_joined(&f, &v, o.n_prefix, 60);
    for (uint32_t id = 0; id < v.n; id++) scores[id] = -(double)(id % 8);
    o.merges = v.merges, o.n_merges = v.n_merges;
    tk_own_tokens own = {v.blob, v.offsets, v.n, v.foreign};
    CHECK((kind == 0 ? tk_wordpiece_build : kind == 1 ? tk_char_bpe_build : tk_unigram_build)(&m, &own, &o, &culprit) ==
          TK_OK);
    tk_plan_staged(&e.plan, &m, e.stages, e.n_stages, max_words);
    if (e.cuts) tk_plan_cut(&e.plan, &e.rule, &e.rule, e.edges);
    e.plan.cache_lines = e.plan.offset_lines = 4;
    CHECK(tk_added_init(&added, (const uint8_t *)"aa a", ends, flags, 2, TK_ISA_SCALAR) == TK_OK);
    e.finder.given = &added, e.finder.given_ids = ids;
    tk_worker w;
    CHECK(tk_worker_init(&w, &e.plan, max_words) == TK_OK);
    for (int k = 0; k < TEXTS && f.p < f.end; k++) {
        fz_text text = k & 1 ? fz_valid(&f, MOST) : fz_spell(&f, FZ_MODEL_ALPHABET, FZ_N_MODEL_ALPHABET, MOST);
        check(&e, &w, &text, step);
        if (step & 1) tk_worker_shrink(&w, 64);
        free(text.p);
    }
    tk_worker_free(&w);
    tk_model_worker_free(&e.direct);
    tk_added_free(&added);
    tk_model_free(&m);
    free(e.wanted);
    free(v.blob);
    return 0;
}
