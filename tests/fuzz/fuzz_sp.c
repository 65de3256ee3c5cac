/* Fuzzes a small SentencePiece model and texts: checks that its engine gives the ids of the plain rules: by units with
   a cache that knows the texts before, as a whole, with spans, and by every instruction set. */
#include "encode/plan.h"
#include "fuzz_sp.h"

enum { MOST = 400, TEXTS = 4 };

/* ---- the twin: the tokens of a normalized text */

typedef struct {
    uint32_t *ids;
    size_t n;
} output;

/* A token; what has none is the unknown one, or those of its bytes, and unknown neighbours are one. */
static void put(const fz_sp *s, output *out, uint32_t id, const uint8_t *p, size_t n) {
    if (id != FZ_NONE && s->kinds[id] != TK_SP_UNKNOWN) {
        out->ids[out->n++] = id;
        return;
    }
    if (!s->source.byte_fallback) {
        if (!out->n || out->ids[out->n - 1]) out->ids[out->n++] = 0;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int space = s->source.escape && p[i] == ' ';
        const uint8_t *bytes = space ? (const uint8_t *)"\xe2\x96\x81" : p + i;
        for (int k = 0; k < (space ? 3 : 1); k++) out->ids[out->n++] = 1 + bytes[k]; /* they stand in order */
    }
}

typedef struct {
    float score;
    size_t start;
    uint32_t id;
    int any;
} node;

static void offer(node *there, float score, size_t start, uint32_t id) {
    if (!there->any || score > there->score) *there = (node){score, start, id, 1};
}

static void unigram(const fz_sp *s, const uint8_t *p, size_t n, output *out) {
    node *best = calloc(n + 1, sizeof *best);
    size_t *starts = malloc((n + 1) * sizeof *starts), count = 0;
    best[0].any = 1;
    for (size_t at = 0, length; at < n; at += length) {
        length = tk_utf8_length(p[at]);
        float here = best[at].score;
        if (here < -100000.0f) {
            for (size_t j = at; j <= n; j++)
                if (best[j].any) best[j].score -= here;
            here = best[at].score;
        }
        for (size_t end = at + 1; end <= n && end - at <= FZ_LONGEST; end++) {
            uint32_t id = fz_find(&s->forms, p + at, end - at);
            if (id == FZ_NONE) continue;
            float bytes = (float)(0.1 * ((double)fz_length(&s->v, id) - 1));
            offer(best + end, (s->kinds[id] == TK_SP_USER ? bytes : s->scores[id]) + here, at, id);
        }
        if (fz_find(&s->forms, p + at, length) == FZ_NONE)
            offer(best + at + length, s->least - 10.0f + here, at, FZ_NONE);
    }
    for (size_t end = n; end; end = best[end].start) starts[count++] = end;
    while (count-- > 0) {
        const node *token = best + starts[count];
        put(s, out, token->id, p + token->start, starts[count] - token->start);
    }
    free(best);
    free(starts);
}

typedef struct {
    size_t start, end;
    uint32_t joined; /* the piece that it makes with the next one */
    int frozen;
} part;

/* Bytes of the longest user-defined piece, or 0. */
static size_t frozen(const fz_sp *s, const uint8_t *p, size_t n) {
    size_t longest = 0;
    for (uint32_t id = 0; id < s->forms.n; id++) {
        size_t length = fz_length(&s->forms, id);
        if (s->kinds[id] == TK_SP_USER && !s->forms.foreign[id] && length > longest && length <= n &&
            !memcmp(p, fz_token(&s->forms, id), length))
            longest = length;
    }
    return longest;
}

static size_t read_parts(const fz_sp *s, const uint8_t *p, size_t n, part *parts) {
    size_t count = 0;
    for (size_t at = 0; at < n; at = parts[count++].end) {
        size_t whole = frozen(s, p + at, n - at);
        parts[count] = (part){at, at + (whole ? whole : tk_utf8_length(p[at])), FZ_NONE, whole > 0};
    }
    return count;
}

/* What is unused goes back to the two that were last seen to make it. */
typedef struct {
    size_t left; /* bytes of the first; 0: never seen */
} halves;

static void look(const fz_sp *s, const uint8_t *p, part *parts, size_t k, size_t n, halves *seen) {
    parts[k].joined = FZ_NONE;
    if (k + 1 >= n || parts[k].frozen || parts[k + 1].frozen) return;
    parts[k].joined = fz_find(&s->forms, p + parts[k].start, parts[k + 1].end - parts[k].start);
    if (parts[k].joined != FZ_NONE) seen[parts[k].joined].left = parts[k].end - parts[k].start;
}

static void put_split(const fz_sp *s, const halves *seen, const uint8_t *p, size_t n, output *out) {
    uint32_t id = fz_find(&s->forms, p, n);
    if (id == FZ_NONE || s->kinds[id] != TK_SP_UNUSED || !seen[id].left) {
        put(s, out, id, p, n);
        return;
    }
    put_split(s, seen, p, seen[id].left, out);
    put_split(s, seen, p + seen[id].left, n - seen[id].left, out);
}

static void bpe(const fz_sp *s, const uint8_t *p, size_t n, output *out) {
    static halves seen[FZ_TOKENS];
    part *parts = malloc((n + 1) * sizeof *parts);
    size_t count = read_parts(s, p, n, parts);
    memset(seen, 0, sizeof seen);
    for (size_t k = 0; k < count; k++) look(s, p, parts, k, count, seen);
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k + 1 < count; k++)
            if (parts[k].joined != FZ_NONE &&
                (best == SIZE_MAX || s->scores[parts[k].joined] > s->scores[parts[best].joined]))
                best = k;
        if (best == SIZE_MAX) break;
        parts[best].end = parts[best + 1].end;
        count--;
        memmove(parts + best + 1, parts + best + 2, (count - best - 1) * sizeof *parts);
        if (best) look(s, p, parts, best - 1, count, seen);
        look(s, p, parts, best, count, seen);
    }
    for (size_t k = 0; k < count; k++) put_split(s, seen, p + parts[k].start, parts[k].end - parts[k].start, out);
    free(parts);
}

static int begins_word(const fz_sp *s, const uint8_t *p, size_t n) {
    return s->source.escape ? *p == ' ' : n >= 3 && !memcmp(p, "\xe2\x96\x81", 3);
}

static size_t naive_ids(const fz_sp *s, const fz_text *normal, uint32_t *ids) {
    output out = {ids, 0};
    const uint8_t *p = normal->p;
    size_t n = normal->n;
    if (s->source.model == TK_SP_UNIGRAM) unigram(s, p, n, &out);
    if (s->source.model == TK_SP_BPE) bpe(s, p, n, &out);
    for (size_t at = 0, end; at < n && s->source.model > TK_SP_BPE; at = end) {
        size_t whole = s->source.model == TK_SP_CHAR ? frozen(s, p + at, n - at) : 0;
        end = at + (whole ? whole : tk_utf8_length(p[at]));
        while (s->source.model == TK_SP_WORD && end < n && !begins_word(s, p + end, n - end)) end++;
        put(s, &out, fz_find(&s->forms, p + at, end - at), p + at, end - at);
    }
    return out.n;
}

/* ---- the engine */

static void check(const tk_worker *w, const uint32_t *wanted, size_t count) {
    CHECK(w->n_ids == count && (!count || !memcmp(w->ids, wanted, count * sizeof *wanted)));
}

/* Spans of the text are those of the tokens that the whole text has without the cache; words are counted. */
static void check_offsets(const fz_sp *s, const tk_plan *plan, tk_worker *w, const fz_text *text, const fz_text *normal,
                          const uint32_t *wanted, size_t count) {
    int64_t *spans = malloc((2 * count + 1) * sizeof *spans);
    w->n_ids = 0;
    CHECK(tk_encode_normalized_sp(plan, w, text->p, text->n) == TK_OK);
    for (size_t k = 0; k < 2 * count; k++) spans[k] = w->sp->from[tk_offsets_spans(w)[k]];
    if (s->source.model == TK_SP_BPE || s->source.model == TK_SP_UNIGRAM) {
        tk_sp_scratch alone = {0};
        float score = 0;
        CHECK((s->m.bpe ? tk_sp_merge(&s->m, &alone, normal->p, normal->n, 0, NULL)
                        : tk_sp_best(&s->m, &alone, normal->p, normal->n, &score)) == TK_OK);
        for (size_t k = 0, i = 0; k < count; k++, i++) {
            CHECK(i < alone.n_tokens && alone.tokens[i].id == wanted[k]);
            CHECK(spans[2 * k] == (int64_t)w->sp->from[alone.tokens[i].start]);
            while (!s->m.byte_fallback && wanted[k] == s->m.unknown && i + 1 < alone.n_tokens &&
                   alone.tokens[i + 1].id == s->m.unknown)
                i++;
            CHECK(spans[2 * k + 1] == (int64_t)w->sp->from[alone.tokens[i].end]);
        }
        tk_sp_scratch_free(&alone);
    }
    w->n_ids = 0;
    CHECK(tk_encode_offsets(plan, w, NULL, text->p, text->n) == TK_OK);
    check(w, wanted, count);
    CHECK(!count || !memcmp(spans, tk_offsets_spans(w), 2 * count * sizeof *spans));
    for (size_t k = 0; k < count; k++) CHECK(tk_offsets_words(w)[k] == (int32_t)k); /* all marks say so */
    free(spans);
}

static void encode(const fz_sp *s, const tk_plan *plan, tk_worker *w, const fz_text *text, size_t step) {
    fz_text normal = fz_sp_normalize(s, text);
    size_t room = 3 * normal.n + 1, count;
    uint32_t *wanted = malloc(room * sizeof *wanted);
    count = naive_ids(s, &normal, wanted);
    FOR_EACH_ISA(isa) {
        tk_isa_use(isa);
        tk_sp_scratch *sp = w->sp;
        CHECK(tk_sp_prepare(&s->m, sp, text->p, text->n, 0) == TK_OK);
        CHECK(fz_equal(sp->text, sp->n, normal.p, normal.n));
        sp->aligned = 0;
        for (int pass = 0; pass < 4; pass++) { /* in steps, at once, without the cache, with it again */
            size_t at = 0;
            sp->uncached = pass == 2 ? SIZE_MAX : 0;
            w->n_ids = 0;
            while (at < text->n)
                CHECK(tk_encode(plan, w, NULL, text->p, text->n, &at, pass ? text->n : at + step) == TK_OK);
            check(w, wanted, count);
        }
        sp->uncached = 0;
        for (int pass = 0; pass < 2; pass++) { /* what the first met is known to the second */
            w->n_ids = 0;
            CHECK(tk_encode_normalized_sp(plan, w, text->p, text->n) == TK_OK);
            check(w, wanted, count);
            const int64_t *spans = tk_offsets_spans(w);
            for (size_t k = 0; k < count; k++) {
                CHECK(spans[2 * k] >= (k ? spans[2 * k - 1] : 0) && spans[2 * k] <= spans[2 * k + 1]);
                CHECK(spans[2 * k + 1] <= (int64_t)sp->n);
            }
            for (size_t k = 0; k <= sp->n; k++) CHECK(sp->from[k] <= text->n && (!k || sp->from[k] >= sp->from[k - 1]));
        }
        check_offsets(s, plan, w, text, &normal, wanted, count);
    }
    free(wanted);
    free(normal.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_sp s;
    const char *reason = NULL;
    static uint8_t marks[FZ_TOKENS];
    tk_plan plan = {0};
    tk_worker w;
    fz_sp_read(&f, &s);
    size_t units = (size_t)1 << (fz_below(&f, 8) + 2), step = fz_byte(&f) + 1;
    int status = tk_sp_build(&s.m, &s.source, &reason);
    CHECK(status == TK_OK);
    memset(marks, TK_BEGINS_WORD | TK_ENDS_WORD, sizeof marks);
    tk_plan_sp(&plan, &s.m, marks, units);
    plan.cache_lines = plan.offset_lines = 4;
    CHECK(tk_worker_init(&w, &plan, units) == TK_OK);
    for (int k = 0; k < TEXTS && f.p < f.end; k++) {
        fz_text text = fz_spell(&f, FZ_SP_ALPHABET, FZ_N_SP_ALPHABET, MOST);
        encode(&s, &plan, &w, &text, step);
        if (step & 1) tk_worker_shrink(&w, 64);
        free(text.p);
    }
    tk_worker_free(&w);
    tk_sp_free(&s.m);
    fz_sp_free(&s);
    return 0;
}
